//! How a batch of records becomes a segment, and several segments become one.

use super::column_build::ColumnsBuilder;
use super::columns::NumericColumn;
use super::container::ContainerWriter;
use super::error::{IndexError, Result};
use super::extract::{Extracted, Extractor};
use super::lists::{ReadySizes, write_lists};
use super::overlay::{Overlay, Staging};
use super::records::{RecordSource, write_records};
use super::segment::{Origin, Segment, SegmentFile, next_serial};
use super::wire::{RANK, TOKENIZER, WireDocument, WireTokenizer, schema};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tantivy::fastfield::{AliveBitSet, write_alive_bitset};
use tantivy::index::{IndexSettings, IndexSortByField, Order, SegmentId};
use tantivy::indexer::merge_filtered_segments;
use tantivy::tokenizer::{TextAnalyzer, TokenizerManager};
use tantivy::{BitSet, Index, IndexBuilder, SingleSegmentIndexWriter};

/// Extension of a segment's own file.
pub(crate) const EXTENSION: &str = "seg";

/// Makes a segment of a batch. Ids in it must be unique. `None` when it is empty.
pub(crate) fn build_segment(
    overlay: &Arc<Overlay>,
    extractor: &Extractor,
    mut batch: Vec<Extracted>,
    ready: ReadySizes,
) -> Result<Option<Arc<SegmentFile>>> {
    if batch.is_empty() {
        return Ok(None);
    }
    batch.sort_unstable_by(|a, b| a.rank.cmp(&b.rank));
    let wire_bytes: usize = batch.iter().map(|r| r.wire.len()).sum();
    let memory = (wire_bytes * 4).clamp(1 << 18, 1 << 30);
    let mut writer: SingleSegmentIndexWriter<WireDocument> =
        index_builder().single_segment_index_writer(Staging::new(overlay), memory)?;
    for record in &mut batch {
        let document = WireDocument { wire: std::mem::take(&mut record.wire), rank: record.rank.clone() };
        writer.add_document(document)?;
    }
    let index = writer.finalize()?;
    let mut columns = ColumnsBuilder::new(extractor.facet_paths());
    for record in &batch {
        for (column, value) in &record.facets {
            let id = columns.intern(usize::from(*column), value);
            columns.facet_id(usize::from(*column), id);
        }
        for (path, value) in &record.numbers {
            let column = columns.numeric_column(path);
            columns.number(column, *value);
        }
        record.points.iter().for_each(|point| columns.point(*point));
        columns.next_document();
    }
    finish_segment(overlay, &index, extractor, &Batch(&batch), columns, ready).map(Some)
}

struct Batch<'a>(&'a [Extracted]);
impl RecordSource for Batch<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn record(&self, i: usize) -> &[u8] {
        &self.0[i].record
    }
    fn object_id(&self, i: usize) -> &str {
        &self.0[i].object_id
    }
    fn rank(&self, i: usize) -> &[u8] {
        &self.0[i].rank
    }
}

/// Makes one segment of the live documents of several. `None` when there are none.
pub(crate) fn merge_segments(
    overlay: &Arc<Overlay>,
    extractor: &Extractor,
    sources: &[Segment],
    ready: ReadySizes,
) -> Result<Option<Arc<SegmentFile>>> {
    let order = merged_order(sources);
    if order.is_empty() {
        return Ok(None);
    }
    let source_index = index_builder().open_or_create(Staging::new(overlay))?;
    let mut segments = Vec::new();
    let mut alive = Vec::new();
    for source in sources.iter().filter(|s| s.alive_count() > 0) {
        let id = SegmentId::from_uuid_string(&source.file().name)
            .map_err(|e| IndexError::damaged(Path::new(&source.file().name), e.to_string()))?;
        segments.push(source_index.segment(source_index.new_segment_meta(id, source.doc_count())));
        alive.push(alive_set(source)?);
    }
    let settings = IndexSettings {
        sort_by_field: Some(IndexSortByField { field: RANK.into(), order: Order::Asc }),
        ..index_settings()
    };
    let index = merge_filtered_segments(&segments, settings, alive, Staging::new(overlay))?;
    let columns = merge_columns(extractor, sources, &order);
    finish_segment(overlay, &index, extractor, &Merged { sources, order }, columns, ready).map(Some)
}

/// (source, document) of every live document in rank order: ranks are unique, so this is tantivy's order, too.
fn merged_order(sources: &[Segment]) -> Vec<(u32, u32)> {
    let mut order: Vec<(u32, u32)> = Vec::new();
    for (i, source) in sources.iter().enumerate() {
        order.extend((0..source.doc_count()).filter(|&doc| source.is_alive(doc)).map(|doc| (i as u32, doc)));
    }
    // sources are sorted runs, which a stable sort merges in linear passes
    order.sort_by(|a, b| {
        let rank = |x: &(u32, u32)| sources[x.0 as usize].rank(x.1);
        rank(a).cmp(rank(b))
    });
    order
}

struct Merged<'a> {
    sources: &'a [Segment],
    order: Vec<(u32, u32)>,
}
impl RecordSource for Merged<'_> {
    fn len(&self) -> usize {
        self.order.len()
    }
    fn record(&self, i: usize) -> &[u8] {
        let (source, doc) = self.order[i];
        self.sources[source as usize].record(doc)
    }
    fn object_id(&self, i: usize) -> &str {
        let (source, doc) = self.order[i];
        self.sources[source as usize].object_id(doc)
    }
    fn rank(&self, i: usize) -> &[u8] {
        let (source, doc) = self.order[i];
        self.sources[source as usize].rank(doc)
    }
}

fn merge_columns(extractor: &Extractor, sources: &[Segment], order: &[(u32, u32)]) -> ColumnsBuilder {
    let paths = extractor.facet_paths();
    let mut columns = ColumnsBuilder::new(paths);
    let mut facets = Vec::new();
    let (mut numerics, mut rare) = (Vec::new(), Vec::new());
    for source in sources {
        let mut of_source = Vec::new();
        for (column, path) in paths.iter().enumerate() {
            if let Some(facet) = source.facet(path) {
                let ids: Vec<u32> =
                    (0..facet.value_count()).map(|v| columns.intern(column, facet.value(v))).collect();
                of_source.push((column, facet, ids));
            }
        }
        facets.push(of_source);
        let mut paths: Vec<&str> = source.numeric_paths().collect();
        paths.sort_unstable();
        let found =
            paths.into_iter().filter_map(|path| Some((columns.numeric_column(path), source.numeric(path)?)));
        let (listed, placed): (Vec<_>, Vec<_>) =
            found.partition(|(_, numeric)| numeric.documents().is_some());
        numerics.push(placed);
        rare.push(listed);
    }
    let geo: Vec<_> = sources.iter().map(Segment::geo).collect();
    for &(source, doc) in order {
        let source = source as usize;
        for (column, facet, ids) in &facets[source] {
            facet.ords_of(doc).for_each(|ord| columns.facet_id(*column, ids[ord as usize]));
        }
        for (column, numeric) in &numerics[source] {
            numeric.values_of(doc).iter().for_each(|&value| columns.number(*column, value));
        }
        if let Some(geo) = &geo[source] {
            geo.points_of(doc).iter().for_each(|&point| columns.point(point));
        }
        columns.next_document();
    }
    merge_rare_numbers(&mut columns, &rare, sources, order);
    columns
}

/// Adds the numbers that are listed by document, path after path: a look at every path for every document would cost
/// their product.
fn merge_rare_numbers(
    columns: &mut ColumnsBuilder,
    rare: &[Vec<(usize, NumericColumn<'_>)>],
    sources: &[Segment],
    order: &[(u32, u32)],
) {
    if rare.iter().all(Vec::is_empty) {
        return;
    }
    let mut places: Vec<Vec<Option<u32>>> =
        sources.iter().map(|source| vec![None; source.doc_count() as usize]).collect();
    for (merged, &(source, doc)) in order.iter().enumerate() {
        places[source as usize][doc as usize] = Some(merged as u32);
    }
    for (listed, places) in rare.iter().zip(&places) {
        for (column, numeric) in listed {
            for doc in numeric.documents().into_iter().flatten() {
                let Some(merged) = places[doc as usize] else { continue };
                numeric.values_of(doc).iter().for_each(|&value| columns.number_of(*column, merged, value));
            }
        }
    }
}

/// Writes the segment's own file beside the ones tantivy has made, and opens it.
fn finish_segment(
    overlay: &Arc<Overlay>,
    index: &Index,
    extractor: &Extractor,
    records: &dyn RecordSource,
    columns: ColumnsBuilder,
    ready: ReadySizes,
) -> Result<Arc<SegmentFile>> {
    let segment = index
        .searchable_segments()?
        .pop()
        .ok_or_else(|| IndexError::damaged(overlay.dir(), "the engine made no segment"))?;
    let stem = segment.id().uuid_string();
    let name = format!("{stem}.{EXTENSION}");
    let path = overlay.dir().join(&name);
    let broken = |e| IndexError::io(&path, e);
    let made = segment.meta().max_doc() as usize;
    if made != records.len() {
        return Err(IndexError::damaged(&path, format!("{made} documents instead of {}", records.len())));
    }
    let buffered = std::io::BufWriter::with_capacity(256 << 10, overlay.create(&name));
    let mut out = ContainerWriter::new(buffered).map_err(broken)?;
    write_lists(&mut out, &segment, made as u32, extractor, ready)?;
    write_records(&mut out, records).map_err(broken)?;
    columns.write(&mut out, extractor.form()).map_err(broken)?;
    let mut buffered = out.finish().map_err(broken)?;
    buffered.flush().map_err(broken)?;
    buffered.into_inner().map_err(|e| broken(e.into_error()))?.finish();
    let disk_bytes = overlay.pending(&stem).iter().map(|(_, length)| length).sum();
    let origin = Origin { serial: next_serial(), disk_bytes, place: overlay.place(&name) };
    let file = SegmentFile::open(&stem, &path, overlay.read(&name)?, origin)?;
    Ok(Arc::new(file))
}

fn index_settings() -> IndexSettings {
    IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() }
}
fn index_builder() -> IndexBuilder {
    let tokenizers = TokenizerManager::new();
    tokenizers.register(TOKENIZER, TextAnalyzer::from(WireTokenizer::default()));
    IndexBuilder::new().schema(schema()).settings(index_settings()).tokenizers(tokenizers)
}
fn alive_set(segment: &Segment) -> Result<Option<AliveBitSet>> {
    let Some(words) = segment.alive() else { return Ok(None) };
    let mut set = BitSet::with_max_value(segment.doc_count());
    for doc in 0..segment.doc_count() {
        if words[doc as usize >> 6] >> (doc & 63) & 1 == 1 {
            set.insert(doc);
        }
    }
    let mut bytes = Vec::new();
    write_alive_bitset(&set, &mut bytes).map_err(|e| IndexError::io(Path::new("alive"), e))?;
    Ok(Some(AliveBitSet::open(tantivy::directory::OwnedBytes::new(bytes))))
}
