//! What nodes have said of themselves, and what others know of that: it comes late, and from each node from another moment.

use super::mutant::Mutant;
use super::replica::Replica;
use super::world::{GROUPS, World, joining};
use crate::context::claims::Claim;
use crate::membership::NodeReport;
use crate::membership::leaving;
use crate::membership::overview::{Overview, assemble};
use crate::meta::MetaState;
use quorate_model::{GroupId, NodeId};
use std::collections::BTreeMap;

/// Virtual milliseconds between two moments that are kept, and how old what is acted upon may be: as long as an overview may take.
const EVERY_MS: u64 = 250;
const OLDEST_MS: u64 = 2_500;
/// For how long a node counts as one that has just joined, with a planted bug.
const JOINED_MS: u64 = 20_000;

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
        let oldest = match self.mutant {
            Some(Mutant::LeavesOnOldNews | Mutant::ActsOnOldNews) => super::ROUGH_MS,
            Some(Mutant::OverlooksWhoJustJoined) => JOINED_MS,
            _ => OLDEST_MS,
        };
        let (now, news) = (self.now, self.news_of_now());
        self.news.retain(|news| news.at + oldest > now);
        self.news.push_back(news);
    }
    fn news_of_now(&self) -> News {
        // who has just started has heard of nobody for as long as it runs
        let silent_s = |of: NodeId| {
            let since = self.nodes[&of].up_since;
            let nodes = self.nodes.iter();
            nodes.map(|(id, node)| (*id, (self.now - node.heard.max(since)) / 1_000)).collect()
        };
        let waiting = self.nodes.iter().filter(|(_, node)| node.claims && node.is_up);
        let claims: Vec<Claim> =
            waiting.map(|(id, node)| Claim { node: *id, joining: joining(&node.name) }).collect();
        let report = |id: NodeId| match self.nodes[&id].is_up {
            true => Ok(NodeReport {
                replicas: self.nodes[&id].replicas.values().filter_map(Replica::report).collect(),
                silent_s: silent_s(id),
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
        self.mixed(since.max(self.now.saturating_sub(OLDEST_MS))).1
    }
    /// Whether a node was not there yet at some moment of those that are kept.
    pub(super) fn has_just_joined(&self, id: NodeId) -> bool {
        self.news.front().is_some_and(|news| !news.meta.nodes.contains_key(&id))
    }
    /// Whether a node that runs since a moment was told once of each of the others that it holds a group without that node.
    pub(super) fn was_dispensable(&self, id: NodeId, group: GroupId, heirs: &[NodeId], since: u64) -> bool {
        heirs.iter().all(|heir| {
            let of = |news: &News| {
                let report = news.said.get(heir).and_then(|it| it.as_ref().ok());
                report.and_then(|it| it.replicas.iter().find(|it| it.group == group).cloned())
            };
            let was = |news: &News| {
                let report = of(news);
                leaving::lacking(id, 0, &[*heir], |_| report.as_ref()).is_none()
            };
            self.news.iter().filter(|news| news.at >= since).any(was)
        })
    }
    /// How the installation is, as those who are up have said since operators changed something.
    pub(super) fn overview(&mut self) -> Overview {
        let (meta, said) = self.mixed(self.proposed_at.max(self.now.saturating_sub(OLDEST_MS)));
        self.assembled(&meta, &said)
    }
    /// How it was at each moment that is kept.
    pub(super) fn old_overviews(&self) -> impl Iterator<Item = Overview> {
        self.news.iter().map(|news| self.assembled(&news.meta, &news.said))
    }
    fn assembled(&self, meta: &MetaState, said: &Said) -> Overview {
        let mut overview = assemble(meta, NodeId(0), said, &[]);
        let hides_meta = self.is(Mutant::OverlooksMeta);
        overview.groups.retain(|group| {
            let id = GroupId(group.id);
            GROUPS.contains(&id) && !(hides_meta && id == GroupId::META)
        });
        overview
    }
}
