//! What the interface calls: every write and read of the service, wherever it is carried out. What it calls for users is in
//! `users.rs`, for keys in `keys.rs`, what operators call in `operators.rs`.

mod dictionaries;
mod events;
#[cfg(test)]
mod halted;
mod keys;
mod models;
mod operators;
mod recommend;
mod request_log;
mod sources;
mod suggestions;
mod users;

use crate::clock::write_deadline;
use crate::context::NodeContext;
use crate::context::abreast;
use crate::context::traffic::Traffic;
use crate::controllers::reconciler;
use crate::lifecycle::installation;
use crate::lifecycle::join;
use crate::lifecycle::running::{self, Running};
use crate::membership;
use crate::options::ServiceOptions;
use crate::options::Started;
use crate::read::call::ask;
use crate::read::figures;
use crate::read::health::{self, Health};
use crate::read::objects;
use crate::read::resources::{GetResource, SearchResources};
use crate::read::search::{self, Browse, Search, SearchFacet};
use crate::read::settings::{GetSettings, ShownSettings};
use crate::types::{CallerOp, IndexInfo, IndexOperation, ObjectRequest, ReadRights, Receipt};
use crate::users::{UserDirectory, partitions};
use crate::write::operate;
use crate::write::replicas::listed;
use crate::write::resource_changes::{self, ResourceChange};
use crate::write::tasks;
use crate::write::{self, Reach, searches};
use parking_lot::Mutex;
use quorate_model::resource::ResourceQuery;
use quorate_model::wire::Text;
use quorate_model::{
    Error, FacetHits, Filter, IndexName, RecordOp, ResourceHits, ResourceKind, Result, SearchParams,
    SearchResults, Settings, TaskId,
};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a node that stops looks for others to lead its groups.
const HAND_OVER: Duration = Duration::from_secs(2);

/// The service of one node. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

struct Inner {
    context: Arc<NodeContext>,
    users: Arc<UserDirectory>,
    app_id: String,
    stopping: AtomicBool,
    running: Mutex<Option<Running>>,
    /// Held by the operator whose change of nodes is being made.
    changes_nodes: tokio::sync::Mutex<()>,
}

impl Service {
    /// Opens the data folder and starts the node: returns when its groups have leaders and the log is applied.
    ///
    /// Must run inside an actix system. Errors: the folder is in use, of a newer format, of another application id, or
    /// damaged beyond what the log can rebuild.
    pub async fn open(options: ServiceOptions) -> Result<(Service, Started)> {
        installation::check(&options)?;
        let mut running = running::start(&options).await?;
        let started = match join::enter(&mut running, &options).await {
            Ok(started) => started,
            Err(error) => {
                running.stop().await;
                return Err(error);
            }
        };
        if let Err(error) = running.start_janitor() {
            running.stop().await;
            return Err(error);
        }
        running.start_checks(options.checks);
        if let Some(sink) = options.events_sink.clone() {
            running.start_sink(sink);
        }
        let inner = Inner {
            context: running.context.clone(),
            users: running.users.clone(),
            app_id: started.app_id.clone(),
            stopping: AtomicBool::new(false),
            running: Mutex::new(Some(running)),
            changes_nodes: tokio::sync::Mutex::default(),
        };
        Ok((Service { inner: Arc::new(inner) }, started))
    }
    /// Stops the node: dumps the metadata store, makes every shard durable, closes every file. Later calls answer 503.
    pub async fn shutdown(&self) {
        self.inner.stopping.store(true, Ordering::Release);
        let running = self.inner.running.lock().take();
        if let Some(running) = running {
            searches::finish(&self.inner.context).await;
            self.hand_over().await;
            running.stop().await;
        }
    }

    /// Gives the node another admin key, as a start with it would: it counts once the installation has it. Returns whether it is
    /// another one than it was given before. Errors: `Invalid`, a key that no start would take.
    pub fn give_admin_key(&self, key: &str) -> Result<bool> {
        installation::check_admin_key(key)?;
        Ok(self.inner.running.lock().as_ref().is_some_and(|running| running.admin_keys.give(key)))
    }

    /// Gives the groups that this node leads to other nodes, so that writes need not wait for an election when it stops.
    pub async fn hand_over(&self) {
        reconciler::hand_over(&self.inner.context, Instant::now() + HAND_OVER).await;
    }

    fn open_context(&self) -> Result<&Arc<NodeContext>> {
        match self.inner.stopping.load(Ordering::Acquire) {
            true => Err(Error::unavailable("the node is stopping")),
            false => Ok(&self.inner.context),
        }
    }

    /// Applies `ops` to one index in order, atomically; creates the index when it is missing. `DeleteIndex` is allowed
    /// anywhere.
    pub async fn write_records(&self, index: &IndexName, ops: Vec<CallerOp>) -> Result<Receipt> {
        write::records(self.open_context()?, index, ops).await
    }
    /// Same for several indices, one entry and one task each, ids in the order of the operations.
    pub async fn write_many(&self, ops: Vec<(IndexName, CallerOp)>) -> Result<write::ManyReceipt> {
        write::many(self.open_context()?, ops).await
    }
    /// Changes settings: members of `changes` replace, `null` resets. Already validated by `Settings::merge`.
    ///
    /// With `forward_to_replicas` its replicas get the same changes, but for `replicas` itself. Errors: `Invalid` when
    /// `replicas` lists what cannot be one, `Forbidden` for what a virtual replica does not take (C§3.2).
    pub async fn set_settings(
        &self,
        index: &IndexName,
        changes: Map<String, Value>,
        forward_to_replicas: bool,
    ) -> Result<Receipt> {
        let reach = Reach::forwarded(forward_to_replicas);
        let context = self.open_context()?.clone();
        let index = index.clone();
        // on its own: a caller that goes away must not leave replicas half linked
        let work = tokio::spawn(async move {
            partitions::check_replicas(&context.meta(), &changes)?;
            let linked = context.meta().catalogue.get(&index).map_or(vec![], |row| row.replicas().to_vec());
            let links = listed(&changes)?.is_some_and(|wanted| wanted != linked);
            let receipt = write::settings(&context, &index, changes, reach).await?;
            let reach = if links { Reach::Replicas } else { reach };
            partitions::spread(&context, &index, reach, write_deadline()).await?;
            Ok(receipt)
        });
        work.await.map_err(|_| Error::internal("the change of settings ended unexpectedly"))?
    }
    /// Removes an index; a missing one is no error. Errors: `Forbidden` for a linked replica.
    pub async fn delete_index(&self, index: &IndexName) -> Result<Receipt> {
        let context = self.open_context()?;
        let accepted = write::delete(context, index).await?;
        Ok(write::receipt(accepted, vec![]))
    }
    /// Copies or moves (C§3.2).
    pub async fn operate(
        &self,
        source: &IndexName,
        destination: &IndexName,
        operation: IndexOperation,
    ) -> Result<Receipt> {
        let context = self.open_context()?.clone();
        let (source, destination) = (source.clone(), destination.clone());
        // on its own: a caller that goes away must not leave a copy half done
        let work = tokio::spawn(async move {
            match operation {
                IndexOperation::Move => {
                    let moved = operate::move_index(&context, &source, &destination).await?;
                    partitions::spread(&context, &destination, Reach::Index, write_deadline()).await?;
                    Ok(moved)
                }
                IndexOperation::Copy { scope: None, keys } => {
                    operate::copy_index(&context, (&source, &destination), keys).await
                }
                IndexOperation::Copy { scope: Some(scope), .. } => {
                    let copied = operate::copy_pieces(&context, &source, &destination, &scope).await?;
                    partitions::spread(&context, &destination, Reach::Index, write_deadline()).await?;
                    Ok(copied)
                }
            }
        });
        let accepted = work.await.map_err(|_| Error::internal("the operation ended unexpectedly"))??;
        Ok(write::receipt(accepted, vec![]))
    }
    /// The settings of an index, with its replicas or its primary. Errors: `NotFound`.
    pub async fn settings(&self, index: &IndexName) -> Result<Arc<Settings>> {
        let context = self.open_context()?;
        let ShownSettings(settings) = ask(context, GetSettings { index: index.clone() }).await?;
        Ok(settings)
    }
    /// Changes the synonyms or the rules of an index. Already validated by the model's types.
    ///
    /// Errors: `Invalid` when there would be too many of them.
    pub async fn change_resources(
        &self,
        index: &IndexName,
        kind: ResourceKind,
        change: ResourceChange,
        reach: Reach,
    ) -> Result<Receipt> {
        let context = self.open_context()?;
        let receipt = resource_changes::change(context, index, kind, change, reach).await?;
        partitions::spread(context, index, reach, write_deadline()).await?;
        Ok(receipt)
    }
    /// A synonym or a rule as it was saved. Errors: `NotFound`.
    pub async fn document(&self, index: &IndexName, kind: ResourceKind, object_id: &str) -> Result<Vec<u8>> {
        let context = self.open_context()?;
        let (index, object_id) = (index.clone(), object_id.to_owned());
        let Text(document) = ask(context, GetResource { index, kind, object_id }).await?;
        Ok(document)
    }
    /// A page of the synonyms or rules that match, by objectID, the last one first. Errors: `NotFound`; `Invalid`
    /// when it is too big.
    pub async fn search_resources(
        &self,
        index: &IndexName,
        kind: ResourceKind,
        asked: ResourceQuery,
    ) -> Result<ResourceHits> {
        ask(self.open_context()?, SearchResources { index: index.clone(), kind, asked }).await
    }
    /// The name of this node, as operators see it.
    pub fn node_name(&self) -> String {
        let context = &self.inner.context;
        membership::name_of(&context.meta(), context.self_id())
    }
    /// Whether all nodes know what began at a command level.
    pub fn is_level(&self, level: u16) -> bool {
        self.inner.context.meta().level() >= level
    }
    /// The names of all indices, in order. Cost: memory only.
    pub fn index_names(&self) -> Result<Vec<IndexName>> {
        Ok(figures::names(self.open_context()?))
    }
    /// Whether there is an index of this name. Cost: memory only.
    pub fn has_index(&self, index: &IndexName) -> Result<bool> {
        Ok(self.open_context()?.meta().catalogue.get(index).is_some())
    }
    /// The named indices that are there, with their figures. Cost: one small file for each that is not open.
    pub async fn indices(&self, names: &[IndexName]) -> Result<Vec<IndexInfo>> {
        figures::indices(self.open_context()?, names).await
    }
    /// Runs one query. Errors: `NotFound`, `Invalid`, `Unavailable` when the search queue is full.
    pub async fn search(
        &self,
        index: &IndexName,
        params: impl Into<Box<SearchParams>>,
        rights: ReadRights,
    ) -> Result<SearchResults> {
        let (context, params) = (self.open_context()?, params.into());
        let call = Search { index: index.clone(), params, rights, at_once: true };
        search::results(context, index, call).await
    }
    /// One page of a browse; the next position is in `cursor` (C§8.8).
    pub async fn browse(
        &self,
        index: &IndexName,
        params: impl Into<Box<SearchParams>>,
        after: Option<Vec<u8>>,
        rights: ReadRights,
    ) -> Result<SearchResults> {
        let (context, params) = (self.open_context()?, params.into());
        let call = Browse { index: index.clone(), params, after, rights };
        search::results(context, index, call).await
    }
    /// Values of a facet that match `facet_query` among the records `params` selects.
    pub async fn search_facet(
        &self,
        index: &IndexName,
        facet: &str,
        facet_query: &str,
        params: impl Into<Box<SearchParams>>,
        rights: ReadRights,
    ) -> Result<FacetHits> {
        let (facet, facet_query) = (facet.to_owned(), facet_query.to_owned());
        let (index, params) = (index.clone(), params.into());
        ask(self.open_context()?, SearchFacet { index, facet, facet_query, params, rights }).await
    }
    /// Records by id, in request order, as raw JSON; `None` where there is none, or none that passes `filter`.
    ///
    /// Errors: `NotFound` for a missing index.
    pub async fn objects(
        &self,
        requests: Vec<ObjectRequest>,
        rights: ReadRights,
        filter: Filter,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        objects::objects(self.open_context()?, requests, rights, filter).await
    }
    /// Whether every reader sees the write (C§1.6: an id beyond the last issued one is not published).
    pub async fn is_published(&self, task: TaskId) -> Result<bool> {
        Ok(tasks::is_published(self.open_context()?, task).await)
    }
    /// Carries out operations on this node's replica of an index alone, as a defect would. For tests of what finds that.
    ///
    /// Errors: there is no such index here; nothing was written to it for a while.
    #[doc(hidden)]
    pub fn plant(&self, index: &IndexName, ops: Vec<RecordOp>) -> Result<()> {
        let context = self.open_context()?;
        let row = context.meta().catalogue.get(index).cloned();
        let state = row.and_then(|row| context.node().index(row.incarnation));
        let state = state.ok_or_else(|| Error::not_found("Index does not exist"))?;
        Ok(state.plant(context.node().applied(state.group), ops)?)
    }
    /// Counts of the searches this node was asked for.
    pub fn traffic(&self) -> &Traffic {
        &self.inner.context.calls().traffic
    }
    /// Before keys or names are looked up: waits until this node knows them as they were when it was asked, at most a second. On a
    /// node without a lease of the meta group that nobody answers, what it knew last has to do. Cost with a lease: one lock.
    ///
    /// Errors: `Unavailable` when it is told of something that it cannot apply, as with a full disk.
    pub async fn keep_abreast(&self) -> Result<()> {
        abreast::keep_abreast(&self.inner.context).await
    }
    /// Searches that one caller may have under way on this node; the others wait.
    pub fn search_threads(&self) -> usize {
        self.inner.context.node().pool().threads()
    }
    /// The application id of the installation.
    pub fn app_id(&self) -> &str {
        &self.inner.app_id
    }
    /// Whether this node can serve.
    pub fn health(&self) -> Health {
        let mut health = Health::default();
        if self.inner.stopping.load(Ordering::Acquire) {
            health.reads.push("the node is stopping".into());
            health.writes.push("the node is stopping".into());
            return health;
        }
        health = health::of(&self.inner.context);
        if let Some(running) = &*self.inner.running.lock()
            && let Some(reason) = running.starter.log_stalled()
        {
            health.writes.push(format!("the log cannot be written: {reason}"));
        }
        health
    }
}
