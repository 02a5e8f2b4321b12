//! In which rows do nodes, clusters and the places of groups lie?

use super::nodes::{ClusterRow, NodeRow};
use super::rows::{Row, RowChange, StateTable, group, number};
use quorate_model::{GroupId, NodeId};
use std::collections::BTreeMap;
use std::sync::Arc;

const NODE: u8 = b'N';
const CLUSTER: u8 = b'C';
const PLACED: u8 = b'P';

impl StateTable for Arc<BTreeMap<NodeId, NodeRow>> {
    fn kinds(&self) -> &'static [u8] {
        &[NODE]
    }
    fn hashed_as(&self) -> &'static str {
        "nodes"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(self.iter().map(|(node, row)| RowChange::node(*node, row)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        Arc::make_mut(self).insert(NodeId(number(row.rest)?), row.decoded()?);
        Some(())
    }
}

impl StateTable for Arc<BTreeMap<String, ClusterRow>> {
    fn kinds(&self) -> &'static [u8] {
        &[CLUSTER]
    }
    fn hashed_as(&self) -> &'static str {
        "clusters"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(self.iter().map(|(name, row)| RowChange::cluster(name, *row)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        Arc::make_mut(self).insert(row.text()?.to_owned(), row.decoded()?);
        Some(())
    }
}

impl StateTable for Arc<BTreeMap<GroupId, Vec<NodeId>>> {
    fn kinds(&self) -> &'static [u8] {
        &[PLACED]
    }
    fn hashed_as(&self) -> &'static str {
        "placement"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(self.iter().map(|(group, nodes)| RowChange::placed(*group, nodes)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        Arc::make_mut(self).insert(group(row.rest)?, row.decoded()?);
        Some(())
    }
}

impl RowChange {
    pub(super) fn node(node: NodeId, row: &NodeRow) -> Self {
        Self::encoded(NODE, &node.0.to_be_bytes(), row)
    }
    pub(super) fn cluster(name: &str, row: ClusterRow) -> Self {
        Self::encoded(CLUSTER, name.as_bytes(), &row)
    }
    pub(super) fn placed(group: GroupId, nodes: &[NodeId]) -> Self {
        Self::encoded(PLACED, &group.0.to_be_bytes(), nodes)
    }
}
