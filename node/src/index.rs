//! One living index of this node: its settings, its shard's files, what reads see of it.

mod files;
mod row;

pub(crate) use files::Kept;
pub use row::{IndexRow, IndexStats};

use crate::dictionaries::SharedDictionaries;
use crate::error::{Error, Result};
use crate::index::files::KeptFiles;
use crate::log_place::LogPlace;
use crate::ops::Incarnation;
use crate::progress::Progress;
use crate::resources::Resources;
use crate::shard::{ShardHandle, ShardQueue};
use crate::virtual_configuration::VirtualConfiguration;
use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;
use quorate_engine::index::{Built, IndexError, Payload, RebuildCounts, ShardFigures, ShardView};
use quorate_engine::{Configuration, RuleSet, Schema, SynonymSet};
use quorate_model::{GroupId, RecordOp, Settings};
use quorate_store::files::Files;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What the files in `folder` say they hold; `None` when there are none.
pub(crate) fn durable_payload(folder: &Path, files: &dyn Files) -> Result<Option<Payload>> {
    let engine = |source| Error::Engine { folder: folder.to_path_buf(), source };
    files.before_read(folder).map_err(|e| engine(IndexError::io(folder, e)))?;
    ShardView::durable(folder).map_err(engine)
}

/// What one read sees: records and the settings they were indexed with, from one moment.
#[derive(Debug)]
pub struct IndexView {
    /// What is in force for queries.
    pub configuration: Configuration,
    /// The shard's segments.
    pub shard: Arc<ShardView>,
}

/// What queries use of the resources of an index, and what it was made of.
#[derive(Debug)]
struct Compiled {
    resources: Arc<Resources>,
    configuration: Configuration,
}
impl Compiled {
    fn is_of(&self, resources: &Resources, schema: &Schema) -> bool {
        Arc::ptr_eq(&self.resources.rules, &resources.rules)
            && Arc::ptr_eq(&self.resources.synonyms, &resources.synonyms)
            && self.configuration.schema.is(schema)
    }
    /// Synonyms are analysed as settings say, whatever dictionaries there are.
    fn has_synonyms_of(&self, resources: &Resources, schema: &Schema) -> bool {
        Arc::ptr_eq(&self.resources.synonyms, &resources.synonyms)
            && Arc::ptr_eq(self.configuration.settings(), schema.settings())
    }
}

/// An index as this node holds it. Reads share it; only the machine of its group and its shard's actor change it.
#[derive(Debug)]
pub struct IndexState {
    /// Which life of which index.
    pub incarnation: Incarnation,
    /// The placement group whose log orders its writes.
    pub group: GroupId,
    /// Where the shard's files are.
    pub folder: PathBuf,
    /// The settings as of the last applied command; the view may still show older ones.
    pub settings: ArcSwap<Settings>,
    /// Synonyms and rules as of the last applied command; the view shows them from the same moment on.
    pub resources: ArcSwap<Resources>,
    /// The dictionaries of the node.
    dictionaries: SharedDictionaries,
    /// The schema that reads were shown last.
    shown: ArcSwap<Schema>,
    /// Milliseconds of the last rebuild.
    build_ms: AtomicU64,
    /// How far a rebuild has come, while one goes on.
    pub(crate) rebuild: Mutex<Option<RebuildCounts>>,
    /// Whether something that was written waits to be shown although it could be.
    pub(crate) is_deferred: AtomicBool,
    /// Whether segments are being merged, or wait for their turn.
    pub(crate) is_merging: AtomicBool,
    /// Queued, visible and durable positions of the shard.
    pub progress: Progress,
    /// Unix milliseconds.
    pub created_ms: u64,
    /// Unix milliseconds of the last applied write.
    pub updated_ms: AtomicU64,
    /// Coarse clock of the last use, for passivation.
    pub used: AtomicU64,
    view: ArcSwapOption<IndexView>,
    /// What has taken the place of this state and its files.
    successor: OnceLock<Arc<IndexState>>,
    /// Of a virtual replica: the settings last put over its primary's.
    pub(crate) virtual_configuration: ArcSwapOption<VirtualConfiguration>,
    activation: Mutex<()>,
    compiled: Mutex<Option<Compiled>>,
    durable: OnceLock<LogPlace>,
    /// Whether it has the files that it should have.
    pub(crate) kept: KeptFiles,
    pub(crate) writer: Mutex<Option<ShardHandle>>,
    /// What waits for the open writer, and how it is. Not behind the lock: who waits for the shard holds that.
    pub(crate) shard: ArcSwapOption<ShardQueue>,
}

impl IndexState {
    /// An index known from its row.
    pub(crate) fn new(
        incarnation: Incarnation,
        group: GroupId,
        folder: PathBuf,
        settings: Arc<Settings>,
        created_ms: u64,
        updated_ms: u64,
    ) -> Self {
        IndexState {
            incarnation,
            group,
            folder,
            dictionaries: SharedDictionaries::default(),
            shown: ArcSwap::from_pointee(Schema::from(settings.clone())),
            settings: ArcSwap::new(settings),
            resources: ArcSwap::default(),
            build_ms: AtomicU64::new(0),
            rebuild: Mutex::default(),
            is_deferred: AtomicBool::new(false),
            is_merging: AtomicBool::new(false),
            progress: Progress::default(),
            created_ms,
            updated_ms: AtomicU64::new(updated_ms),
            used: AtomicU64::new(0),
            view: ArcSwapOption::empty(),
            successor: OnceLock::new(),
            virtual_configuration: ArcSwapOption::empty(),
            activation: Mutex::new(()),
            compiled: Mutex::new(None),
            durable: OnceLock::new(),
            kept: KeptFiles::default(),
            writer: Mutex::new(None),
            shard: ArcSwapOption::empty(),
        }
    }
    /// The same index where these dictionaries count.
    pub(crate) fn going_by(self, dictionaries: &SharedDictionaries) -> Self {
        let dictionaries = dictionaries.clone();
        let shown = Schema::new(self.settings.load_full(), dictionaries.newest());
        IndexState { dictionaries, shown: ArcSwap::from_pointee(shown), ..self }
    }
    /// The row to keep.
    pub(crate) fn row(&self) -> IndexRow {
        IndexRow {
            settings: serde_json::to_vec(&self.settings.load().document)
                .expect("a JSON map always serialises"),
            created_ms: self.created_ms,
            updated_ms: self.updated_ms.load(Ordering::Relaxed),
            waiting: self.progress.settings_waiting(),
        }
    }
    /// The current view, opened from its files when no writer or earlier reader has it open.
    ///
    /// Cost: one atomic load when open; a few milliseconds otherwise.
    pub fn view(&self) -> Result<Arc<IndexView>> {
        if let Some(view) = self.view.load_full() {
            if self.dictionaries.are_in(&view.configuration.schema) {
                return Ok(view);
            }
            if let Some(view) = self.renewed_view() {
                return Ok(view);
            }
        }
        let one_at_a_time = self.activation.lock();
        if let Some(view) = self.view.load_full() {
            return Ok(view);
        }
        if let Some(successor) = self.successor.get() {
            drop(one_at_a_time);
            return successor.view();
        }
        let (shard, schema) = match ShardView::open_built(&self.folder) {
            Ok((shard, built)) => (shard, self.schema_for(&built)?),
            Err(IndexError::Absent { .. }) if self.kept.get() == Kept::Files => {
                return Err(Error::Gone { folder: self.folder.clone() });
            }
            Err(IndexError::Absent { .. }) => (ShardView::default(), self.schema()),
            Err(source) => return Err(self.engine(source)),
        };
        let view = Arc::new(IndexView { configuration: self.configuration(schema), shard: Arc::new(shard) });
        self.view.store(Some(view.clone()));
        Ok(view)
    }
    /// The open view with the newest dictionaries; `None` when it has been closed.
    fn renewed_view(&self) -> Option<Arc<IndexView>> {
        let _one_at_a_time = self.activation.lock();
        let view = self.view.load_full()?;
        if self.dictionaries.are_in(&view.configuration.schema) {
            return Some(view);
        }
        let configuration = self.configuration(view.configuration.schema.clone());
        let renewed = Arc::new(IndexView { configuration, shard: view.shard.clone() });
        self.view.store(Some(renewed.clone()));
        Some(renewed)
    }
    /// The settings as of the last applied command, with the newest dictionaries.
    pub(crate) fn schema(&self) -> Schema {
        Schema::new(self.settings.load_full(), self.dictionaries.newest())
    }
    /// The schema to serve files with: the newest that they were built for.
    pub(crate) fn schema_for(&self, built: &Built) -> Result<Schema> {
        self.build_ms.store(built.build_ms, Ordering::Relaxed);
        let newest = self.schema();
        let shown = self.shown.load();
        match [&newest, &**shown].into_iter().find(|schema| schema.fingerprint() == built.fingerprint) {
            Some(schema) => Ok(schema.clone()),
            None => built.schema(&self.folder, newest.dictionaries()).map_err(|e| self.engine(e)),
        }
    }
    /// Whether there are files, and they were built with a schema that asks for others than the newest does.
    pub(crate) fn files_differ(&self) -> Result<bool> {
        let built = ShardView::built(&self.folder).map_err(|e| self.engine(e))?;
        Ok(built.is_some_and(|built| built.fingerprint != self.schema().fingerprint()))
    }
    fn engine(&self, source: IndexError) -> Error {
        Error::Engine { folder: self.folder.clone(), source }
    }
    /// Shows reads other records, and the schema that their files fit.
    pub(crate) fn publish(&self, schema: Schema, shard: Arc<ShardView>, built: &Built) {
        let _one_at_a_time = self.activation.lock();
        self.build_ms.store(built.build_ms, Ordering::Relaxed);
        self.is_deferred.store(false, Ordering::Relaxed);
        self.shown.store(Arc::new(schema.clone()));
        self.view.store(Some(Arc::new(IndexView { configuration: self.configuration(schema), shard })));
    }
    /// Shows the current records with the newest schema, which needs no rebuild.
    pub(crate) fn publish_schema(&self) {
        let _one_at_a_time = self.activation.lock();
        let schema = self.schema();
        self.shown.store(Arc::new(schema.clone()));
        if let Some(view) = self.view.load_full() {
            let configuration = self.configuration(schema);
            self.view.store(Some(Arc::new(IndexView { configuration, shard: view.shard.clone() })));
        }
    }
    /// Keeps other synonyms and rules and shows them with the current records.
    pub(crate) fn publish_resources(&self, resources: Resources) {
        let _one_at_a_time = self.activation.lock();
        self.resources.store(Arc::new(resources));
        if let Some(view) = self.view.load_full() {
            let configuration = self.configuration(view.configuration.schema.clone());
            self.view.store(Some(Arc::new(IndexView { configuration, shard: view.shard.clone() })));
        }
    }
    /// What is in force with the settings of this schema, and with the newest dictionaries. Resources are compiled when they
    /// or the settings have changed, rules with the dictionaries, too.
    pub(crate) fn configuration(&self, schema: Schema) -> Configuration {
        let schema = match self.dictionaries.are_in(&schema) {
            true => schema,
            false => Schema::new(schema.settings().clone(), self.dictionaries.newest()),
        };
        let resources = self.resources.load_full();
        let mut compiled = self.compiled.lock();
        if let Some(known) = &*compiled
            && known.is_of(&resources, &schema)
        {
            let recommend_rules = resources.recommend.clone();
            return Configuration { recommend_rules, ..known.configuration.clone() };
        }
        let synonyms = || resources.synonyms.values();
        let same_synonyms = compiled.as_ref().filter(|known| known.has_synonyms_of(&resources, &schema));
        let same_synonyms = same_synonyms.map(|known| known.configuration.synonyms.clone());
        let compile = || Arc::new(SynonymSet::new(&schema, synonyms().map(|synonym| &**synonym)));
        let configuration = Configuration {
            rules: Arc::new(RuleSet::new(resources.rules.values(), synonyms(), &schema)),
            synonyms: same_synonyms.unwrap_or_else(compile),
            recommend_rules: resources.recommend.clone(),
            relevant_sort: None,
            schema,
        };
        *compiled = Some(Compiled { resources, configuration: configuration.clone() });
        configuration
    }
    /// Ends the shard's thread without keeping what is not durable: what a crash does.
    pub fn abandon_writer(&self) {
        if let Some(writer) = self.writer.lock().take() {
            writer.discard();
        }
    }
    /// Makes what was handed to the shard's thread durable, as happens by itself after a while. For tests of recovery.
    pub fn commit_writer(&self) -> Result<()> {
        self.writer.lock().as_ref().map_or(Ok(()), ShardHandle::flush)
    }
    /// Carries out operations that no log has, at the place of the log that the replica is at, as a defect would. For tests
    /// of what finds that. Errors: nothing was written to it for a while.
    pub fn plant(&self, log_index: u64, ops: Vec<RecordOp>) -> Result<()> {
        let writer = self.writer.lock();
        let writer = writer.as_ref().ok_or(Error::Stopped)?;
        writer.apply_durably(LogPlace::whole(log_index), 1, Arc::new(ops)).map(drop)
    }
    /// Lets what was written through `log_index` be shown without delay: somebody waits for it.
    pub(crate) fn publish_now(&self, log_index: u64) {
        if !self.progress.wait_for(log_index) {
            return;
        }
        // a writer that is being opened or closed publishes anyway
        if let Some(Some(writer)) = self.writer.try_lock().as_deref() {
            writer.publish_now();
        }
    }
    /// Whether closing the writer would undo work in the background.
    pub(crate) fn has_background_work(&self) -> bool {
        self.progress.awaits_rebuild() || self.is_merging.load(Ordering::Relaxed)
    }
    /// Whether a writer is open or being opened or closed.
    pub(crate) fn has_writer(&self) -> bool {
        self.writer.try_lock().is_none_or(|writer| writer.is_some())
    }
    /// How many times in a row what the shard was given has failed; it is tried again.
    pub(crate) fn failures(&self) -> u32 {
        self.shard.load().as_ref().map_or(0, |queue| queue.failures())
    }
    /// Whether what the shard was given fails, and is tried again.
    pub(crate) fn is_failing(&self) -> bool {
        self.failures() > 0
    }
    /// Whether a view is open.
    pub fn is_open(&self) -> bool {
        self.view.load().is_some()
    }
    /// The view, if one is open.
    pub(crate) fn opened_view(&self) -> Option<Arc<IndexView>> {
        self.view.load_full()
    }
    /// Whether the shard has files.
    pub(crate) fn has_files(&self, files: &dyn Files) -> Result<bool> {
        if self.writer.lock().is_some() {
            return Ok(true);
        }
        let looked = files.exists(&self.folder);
        looked.map_err(|source| Error::Io { what: format!("looking for {}", self.folder.display()), source })
    }
    /// The place through which the shard's files were durable at the first look in this process.
    pub(crate) fn durable_in_files(&self, files: &dyn Files) -> Result<LogPlace> {
        if let Some(&place) = self.durable.get() {
            return Ok(place);
        }
        let payload = durable_payload(&self.folder, files)?;
        Ok(*self.durable.get_or_init(|| LogPlace::of(payload.unwrap_or_default())))
    }
    /// Lets `replace` put other files in the place of this state's, which are those of `successor` from then on. Reads that
    /// hold this state see its view, or what takes its place.
    pub(crate) fn give_way(
        &self,
        successor: Option<&Arc<IndexState>>,
        replace: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let _one_at_a_time = self.activation.lock();
        replace()?;
        if let Some(successor) = successor {
            let _at_most_once = self.successor.set(successor.clone());
        }
        Ok(())
    }
    /// Drops the view; the next read opens it again. Readers that hold it go on.
    pub(crate) fn close_view(&self) {
        let _one_at_a_time = self.activation.lock();
        // never waits for the writer's owner: it may be waiting for this view's lock
        if self.writer.try_lock().is_some_and(|writer| writer.is_none()) {
            self.view.store(None);
        }
    }
    /// Figures of the index: from its view when that is open, otherwise from one small file, without opening it.
    pub fn stats(&self) -> Result<IndexStats> {
        let durable = || ShardView::durable_figures(&self.folder).map_err(|e| self.engine(e));
        let figures = match self.view.load_full() {
            Some(view) => view.shard.figures(),
            None => match durable()? {
                Some((figures, built)) => {
                    self.build_ms.store(built.build_ms, Ordering::Relaxed);
                    figures
                }
                None => ShardFigures::default(),
            },
        };
        Ok(IndexStats {
            records: figures.records,
            data_bytes: figures.data_bytes,
            file_bytes: figures.file_bytes,
            pending: self.progress.pending() as u64,
            created_ms: self.created_ms,
            updated_ms: self.updated_ms.load(Ordering::Relaxed),
            build_ms: self.build_ms.load(Ordering::Relaxed),
        })
    }
}
