//! The list of indices with their figures.

use super::call::{Location, ReadCall, ask, in_group};
use super::virtual_primary;
use crate::clock::rfc3339;
use crate::context::NodeContext;
use crate::context::silence;
use crate::meta::{IndexRow, Link};
use crate::types::IndexInfo;
use futures_util::{StreamExt, TryStreamExt, stream};
use quorate_model::{Error, GroupId, IndexName, Result};
use quorate_node::IndexStats;
use quorate_node::ops::Incarnation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Groups asked at the same time for one list: all at once, those of a node with thousands of indices would wait for its search threads until
/// that wait is refused, for nobody but each other.
const AT_ONCE: usize = 2;

/// The figures of indices of a group, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetFigures {
    /// The group.
    pub group: GroupId,
    /// The indices.
    pub incarnations: Vec<Incarnation>,
}

impl ReadCall for GetFigures {
    const NAME: &'static str = "Figures";
    type Answer = Vec<IndexStats>;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Vec<IndexStats>> {
        let known = context.node().clone();
        let of = move |incarnation: &Incarnation| {
            known.stats(*incarnation).unwrap_or_else(|error| {
                // one damaged index must not hide the others
                tracing::warn!(incarnation, %error, "cannot read the figures of an index");
                IndexStats::default()
            })
        };
        context.node().pool().run(move |_| Ok(self.incarnations.iter().map(of).collect())).await
    }
}

/// The names of all indices, in order.
pub fn names(context: &NodeContext) -> Vec<IndexName> {
    let mut names: Vec<IndexName> = context.meta().catalogue.named();
    names.sort();
    names
}

/// The named indices with their figures, without those that are not there any more. Those of a group come from a node that
/// has it; what another cluster has that is down is left out of the figures.
pub async fn indices(context: &NodeContext, names: &[IndexName]) -> Result<Vec<IndexInfo>> {
    let meta = context.meta();
    let row = |name: &IndexName| {
        let row = meta.catalogue.get(name)?.clone();
        let shown = |row: &IndexRow| {
            virtual_primary(row).and_then(|primary| meta.catalogue.get(primary)).map(|it| it.incarnation)
        };
        let others = meta.other_partitions(name).into_iter().filter_map(|partition| {
            let row = meta.catalogue.get(&partition)?.clone();
            let shown = shown(&row);
            Some((row, shown))
        });
        let shown = shown(&row);
        Some((name.clone(), row, shown, others.collect()))
    };
    type Row = (IndexName, IndexRow, Option<Incarnation>, Vec<(IndexRow, Option<Incarnation>)>);
    let rows: Vec<Row> = names.iter().filter_map(row).collect();
    let mut wanted = BTreeMap::<GroupId, Vec<Incarnation>>::new();
    for (_, row, shown, others) in &rows {
        wanted.entry(row.group).or_default().extend([row.incarnation].into_iter().chain(*shown));
        for (other, shown) in others {
            wanted.entry(other.group).or_default().extend([other.incarnation].into_iter().chain(*shown));
        }
    }
    let own = meta.nodes.get(&context.self_id()).map(|row| row.cluster.as_str());
    let is_down = |group: GroupId| meta.cluster_of(group) != own && silence::is_out_of_reach(context, group);
    wanted.retain(|group, _| !is_down(*group));
    let asked = wanted.into_iter().map(async |(group, incarnations)| {
        let figures = ask(context, GetFigures { group, incarnations: incarnations.clone() }).await?;
        Ok::<_, Error>(incarnations.into_iter().zip(figures))
    });
    let answers: Vec<_> = stream::iter(asked).buffer_unordered(AT_ONCE).try_collect().await?;
    let figures: BTreeMap<Incarnation, IndexStats> = answers.into_iter().flatten().collect();
    let info = |(name, row, shown, others): Row| {
        let of = |incarnation: Incarnation| figures.get(&incarnation).copied().unwrap_or_default();
        let updated_ms = others.iter().map(|(other, _)| of(other.incarnation).updated_ms).max();
        let mut info = index_info(&figures, name, &row, shown);
        // texts of one length, in the order of their times
        info.updated_at = info.updated_at.max(updated_ms.map(rfc3339).unwrap_or_default());
        for (other, shown) in &others {
            let stats = of(other.incarnation);
            info.entries += records(&figures, &stats, *shown);
            info.data_size += stats.data_bytes;
            info.file_size += stats.file_bytes;
        }
        info
    };
    Ok(rows.into_iter().map(info).collect())
}

/// How many records an index with these figures shows; a virtual replica has those of `shown`, its primary.
fn records(figures: &BTreeMap<Incarnation, IndexStats>, own: &IndexStats, shown: Option<Incarnation>) -> u64 {
    shown.map_or(own.records, |shown| figures.get(&shown).map_or(0, |stats| stats.records))
}

/// A row of the list; a virtual replica counts the records of `shown`, its primary, and holds no bytes.
fn index_info(
    figures: &BTreeMap<Incarnation, IndexStats>,
    name: IndexName,
    row: &IndexRow,
    shown: Option<Incarnation>,
) -> IndexInfo {
    let stats = figures.get(&row.incarnation).copied().unwrap_or_default();
    IndexInfo {
        name,
        created_at: rfc3339(row.created_ms),
        updated_at: rfc3339(stats.updated_ms.max(row.created_ms)),
        entries: records(figures, &stats, shown),
        data_size: stats.data_bytes,
        file_size: stats.file_bytes,
        last_build_time_s: stats.build_ms.div_ceil(1_000),
        pending_tasks: stats.pending,
        primary: row.primary().map(|link| link.name.clone()),
        replicas: row.replicas().iter().map(Link::shown).collect(),
        is_virtual: virtual_primary(row).is_some(),
    }
}
