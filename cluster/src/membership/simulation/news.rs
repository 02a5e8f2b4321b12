//! What nodes have said of themselves, and what others know of that: it comes late, and from each node from another moment.

use super::mutant::Mutant;
use super::replica::Replica;
use super::world::{GROUPS, World, joining};
use crate::context::claims::Claim;
use crate::membership::NodeReport;
use crate::membership::overview::{Overview, assemble};
use crate::meta::MetaState;
use quorate_model::{GroupId, NodeId};
use std::collections::BTreeMap;

/// Virtual milliseconds between two moments that are kept, and how old what is acted upon may be: as long as an overview may take.
const EVERY_MS: u64 = 250;
const OLDEST_MS: u64 = 2_500;
/// How old it may be with a planted bug.
const TOO_OLD_MS: u64 = 20_000;

pub type Said = BTreeMap<NodeId, Result<NodeReport, String>>;

/// What all nodes said at one moment.
pub struct News {
    at: u64,
    meta: MetaState,
    said: Said,
}

impl World {
    /// Lets all nodes say how they are.
    pub(super) fn take_news(&mut self) {
        if !self.now.is_multiple_of(EVERY_MS) {
            return;
        }
        let is_planted = self.is(Mutant::LeavesOnOldNews) || self.is(Mutant::ActsOnOldNews);
        let oldest = if is_planted { TOO_OLD_MS } else { OLDEST_MS };
        let (now, news) = (self.now, self.news_of_now());
        self.news.retain(|news| news.at + oldest > now);
        self.news.push_back(news);
    }
    fn news_of_now(&self) -> News {
        let silent_s: BTreeMap<NodeId, u64> =
            self.nodes.iter().map(|(id, node)| (*id, (self.now - node.heard) / 1_000)).collect();
        let waiting = self.nodes.iter().filter(|(_, node)| node.claims && node.is_up);
        let claims: Vec<Claim> =
            waiting.map(|(id, node)| Claim { node: *id, joining: joining(&node.name) }).collect();
        let report = |id: NodeId| match self.nodes[&id].is_up {
            true => Ok(NodeReport {
                replicas: self.nodes[&id].replicas.values().filter_map(Replica::report).collect(),
                silent_s: silent_s.clone(),
                claims: claims.clone(),
                ..NodeReport::default()
            }),
            false => Err("it cannot be reached".to_owned()),
        };
        let present = self.meta.present_nodes().into_iter();
        let said = present.map(|(id, _)| (id, report(id))).collect();
        News { at: self.now, meta: self.meta.clone(), said }
    }
    /// What each node said at some moment since `since`, each at another one, and what was decided by the first of them.
    fn mixed(&mut self, since: u64) -> (MetaState, Said) {
        let now = self.news_of_now();
        let first = self.news.partition_point(|news| news.at < since);
        let kept = (self.news.len() - first) as u64;
        // nothing is late when all faults have ended, and half of the time otherwise
        if !self.is_rough || kept == 0 || self.chance.per_mille(500) {
            return (now.meta, now.said);
        }
        let begun = first + self.chance.below(kept) as usize;
        let meta = self.news[begun].meta.clone();
        let mut said = Said::new();
        for id in self.news[begun].said.keys().copied().collect::<Vec<_>>() {
            let at = begun + self.chance.below((self.news.len() - begun) as u64 + 1) as usize;
            let of = self.news.get(at).unwrap_or(&now).said.get(&id).cloned();
            said.insert(id, of.unwrap_or_else(|| Err("it was removed".to_owned())));
        }
        (meta, said)
    }
    /// What a node that runs since a moment has been told of the others.
    pub(super) fn said(&mut self, since: u64) -> Said {
        let is_planted = self.is(Mutant::LeavesOnOldNews);
        let oldest = if is_planted { TOO_OLD_MS } else { OLDEST_MS };
        self.mixed(since.max(self.now.saturating_sub(oldest))).1
    }
    /// How the installation is, as those who are up have said.
    pub(super) fn overview(&mut self) -> Overview {
        let oldest = if self.is(Mutant::ActsOnOldNews) { TOO_OLD_MS } else { OLDEST_MS };
        let (meta, said) = self.mixed(self.now.saturating_sub(oldest));
        let mut overview = assemble(&meta, NodeId(0), &said, &[]);
        let hides_meta = self.is(Mutant::OverlooksMeta);
        overview.groups.retain(|group| {
            let id = GroupId(group.id);
            GROUPS.contains(&id) && !(hides_meta && id == GroupId::META)
        });
        overview
    }
}
