//! Who may be reading now, as the leader knows it: the leases it granted, and those of leaders before it.

use super::{Grant, HELD_MS};
use crate::effects::Confirmed;
use crate::status::Membership;
use std::collections::{BTreeMap, BTreeSet};

/// Why a question is not answered with a lease; the replica asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGranted {
    /// This member does not lead, or not in the term that was confirmed.
    #[error("not the leader of this term")]
    NotLeader,
    /// Leadership is being handed over.
    #[error("leadership is being handed over")]
    HandingOver,
    /// Who asks is no member, or is about to be removed.
    #[error("not a member, or about to be removed")]
    NotMember,
    /// The leader has not applied yet what earlier leaders left in the log.
    #[error("the leader has not applied its whole log yet")]
    Behind,
}

/// Whether a replica shows an index, as far as the leader has heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// It does.
    Yes,
    /// It did not when it was asked.
    No,
    /// It did not answer.
    Unknown,
}

/// What the leader can say about an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// Every read from now on shows it.
    Yes,
    /// Some replica that may serve reads does not, or not surely, show it.
    NotYet,
    /// Another member has to be asked.
    NotLeader,
}

/// Whether a member may be removed from the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It reads no more.
    Now,
    /// Its lease may run until this time, in milliseconds of the leader's clock. It gets no other.
    After(u64),
    /// This member does not lead.
    NotLeader,
}

/// The leader's side of the leases of a group; on other members it only says that they do not lead.
#[derive(Debug)]
pub struct LeaseGranter {
    self_id: u64,
    leading: Option<Leading>,
}

#[derive(Debug)]
struct Leading {
    term: u64,
    /// Leases of leaders before this one have run out after this time.
    inherited_until: u64,
    /// Those that may be granted a lease.
    members: BTreeSet<u64>,
    /// Those that are to be removed and get no lease, with the proposals of their removal that may be in the log.
    retired: BTreeMap<u64, u32>,
    /// Until when each replica may be reading. Bounded by the members and those that left within a lease.
    held_until: BTreeMap<u64, u64>,
    /// The largest index that was answered as published.
    published: u64,
    log: OldLog,
    is_handing_over: bool,
}

/// Whether everything that earlier leaders left in the log is applied here.
#[derive(Clone, Copy, Debug)]
enum OldLog {
    Unknown,
    AppliedAt(u64),
    Applied,
}

impl LeaseGranter {
    /// A member that does not lead.
    pub fn new(self_id: u64) -> Self {
        LeaseGranter { self_id, leading: None }
    }

    /// This member leads since `now` at the latest. Each member it knows of, and it itself, may hold a lease of an earlier
    /// leader.
    pub fn became_leader(&mut self, now: u64, term: u64, membership: &Membership) {
        if self.leading.as_ref().is_some_and(|leading| leading.term >= term) {
            return;
        }
        self.leading = Some(Leading {
            term,
            inherited_until: now + HELD_MS,
            members: BTreeSet::new(),
            retired: BTreeMap::new(),
            held_until: BTreeMap::new(),
            published: 0,
            log: OldLog::Unknown,
            is_handing_over: false,
        });
        self.members_are(now, membership);
    }

    /// This member does not lead any more; everything is forgotten.
    pub fn lost_leadership(&mut self) {
        self.leading = None;
    }

    /// The members have changed. Must be called before the change shows in this member's applied index.
    ///
    /// Who leaves with a change that is half through counts as long as its lease may run, and gets no other: a later leader
    /// may not know it as a member any more.
    pub fn members_are(&mut self, now: u64, membership: &Membership) {
        let Some(leading) = &mut self.leading else { return };
        let Membership { voters, learners, leaving, is_joint: _, since: _, followers: _ } = membership;
        let known: BTreeSet<u64> = voters.iter().chain(learners).copied().chain([self.self_id]).collect();
        for member in &known {
            // Whoever appears only now was added by an earlier leader, or has not had a lease yet.
            leading.held_until.entry(*member).or_insert(leading.inherited_until);
        }
        leading.retired.retain(|member, _| known.contains(member));
        leading.held_until.retain(|member, until| known.contains(member) || *until >= now);
        leading.members = known.into_iter().filter(|member| !leaving.contains(member)).collect();
    }

    /// Grants a lease at `now` to a member that asked before the confirmation *began*. `applied` is what this member's
    /// state machine has applied.
    pub fn grant(
        &mut self,
        now: u64,
        member: u64,
        confirmed: Confirmed,
        applied: u64,
    ) -> Result<Grant, NotGranted> {
        let leading = self.leading.as_mut().filter(|leading| leading.term == confirmed.term);
        let Some(leading) = leading else { return Err(NotGranted::NotLeader) };
        if leading.is_handing_over {
            return Err(NotGranted::HandingOver);
        }
        if !leading.members.contains(&member) || leading.retired.contains_key(&member) {
            return Err(NotGranted::NotMember);
        }
        if !leading.has_applied_old_log(confirmed.log_index, applied) {
            return Err(NotGranted::Behind);
        }
        let until = leading.held_until.entry(member).or_insert(0);
        *until = (*until).max(now + HELD_MS);
        Ok(Grant { term: leading.term, through: confirmed.log_index.max(leading.published) })
    }

    /// Everyone who may be reading at `now`: this member always, the others as long as their leases may run. Empty on a
    /// member that does not lead.
    pub fn holders(&self, now: u64) -> Vec<u64> {
        let Some(leading) = &self.leading else { return vec![] };
        let is_held = |(member, until): &(&u64, &u64)| **until >= now || **member == self.self_id;
        leading.held_until.iter().filter(is_held).map(|(member, _)| *member).collect()
    }

    /// Whether every replica that may be reading shows everything up to `log_index`, which was answered to a client.
    ///
    /// `term` is the one in which this member leads by its [`crate::Status`], looked at *after* everything that `shows`
    /// knows was found out. An answer of a replica stays good: a replica that starts again needs a new lease.
    pub fn published(
        &mut self,
        now: u64,
        term: Option<u64>,
        log_index: u64,
        shows: impl Fn(u64) -> Shows,
    ) -> Published {
        let holders = self.holders(now);
        let Some(leading) = self.leading.as_mut().filter(|leading| Some(leading.term) == term) else {
            return Published::NotLeader;
        };
        if holders.into_iter().any(|member| shows(member) != Shows::Yes) {
            return Published::NotYet;
        }
        leading.published = leading.published.max(log_index);
        Published::Yes
    }

    /// Whether the removal of a member may be proposed. From this call on it gets no lease, until [`LeaseGranter::keep`].
    pub fn may_remove(&mut self, now: u64, member: u64) -> Removal {
        let Some(leading) = &mut self.leading else { return Removal::NotLeader };
        leading.retired.entry(member).or_insert(0);
        match leading.held_until.get(&member) {
            Some(until) if *until >= now => Removal::After(*until + 1),
            Some(_) | None => Removal::Now,
        }
    }

    /// The removal of a member is about to be proposed: until it is refused, it may come into force at any time.
    pub fn removal_proposed(&mut self, member: u64) {
        if let Some(leading) = &mut self.leading {
            *leading.retired.entry(member).or_insert(0) += 1;
        }
    }

    /// One proposal of a member's removal was refused. Another one, whose outcome nobody has heard, may be in the log.
    pub fn removal_refused(&mut self, member: u64) {
        if let Some(leading) = &mut self.leading
            && let Some(proposals) = leading.retired.get_mut(&member)
        {
            *proposals = proposals.saturating_sub(1);
        }
    }

    /// A member is wanted, after all or as ever: it gets leases again, unless its removal may be in the log.
    pub fn keep(&mut self, member: u64) {
        if let Some(leading) = &mut self.leading
            && leading.retired.get(&member) == Some(&0)
        {
            leading.retired.remove(&member);
        }
    }

    /// Leadership is about to be handed over: no lease is granted until [`LeaseGranter::stays_leader`].
    pub fn hands_over(&mut self) {
        if let Some(leading) = &mut self.leading {
            leading.is_handing_over = true;
        }
    }

    /// Handing over was given up.
    pub fn stays_leader(&mut self) {
        if let Some(leading) = &mut self.leading {
            leading.is_handing_over = false;
        }
    }
}

impl Leading {
    /// A confirmed index lies behind the first entry of the leader's own term, hence behind all earlier ones.
    fn has_applied_old_log(&mut self, confirmed: u64, applied: u64) -> bool {
        let end = match self.log {
            OldLog::Applied => return true,
            OldLog::Unknown => confirmed,
            OldLog::AppliedAt(end) => end.min(confirmed),
        };
        self.log = if applied >= end { OldLog::Applied } else { OldLog::AppliedAt(end) };
        applied >= end
    }
}
