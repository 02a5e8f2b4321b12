//! Whether a write is published: every reader sees it (C§1.6). The leader of its group knows.

use crate::clock::steady_ms;
use crate::context::NodeContext;
use crate::groups::Group;
use crate::read::call::ask_by;
use crate::read::published::ShowsRecords;
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use futures_util::future::join_all;
use quorate_model::{Error, GroupId, NodeId, Result, TaskId};
use quorate_raft::Role;
use quorate_raft::lease::{Published, Shows};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a leader may take to answer; without an answer the task is not published, and the client asks again.
const ANSWER: Duration = Duration::from_secs(3);
/// How many nodes are asked that may be the leader.
const ATTEMPTS: usize = 3;
/// How long a replica may take to say what it shows.
const PROBE: Duration = Duration::from_secs(1);

/// How soon it is asked again whether all nodes know the catalogue; each time after twice as long.
const KNOWN_INTERVAL: Duration = Duration::from_millis(1);
/// At the end after so long.
const KNOWN_INTERVAL_MAX: Duration = Duration::from_millis(64);
/// How soon it is looked again for what a copy shows; each time after twice as long.
const SHOWN_INTERVAL: Duration = Duration::from_millis(2);
/// At the end after so long.
const SHOWN_INTERVAL_MAX: Duration = Duration::from_millis(64);

/// Whether every reader sees the write.
///
/// An id beyond the last one issued is not published; one from before is, whatever became of its index.
pub async fn is_published(context: &NodeContext, task: TaskId) -> bool {
    match task.group() {
        GroupId::DICTIONARIES => are_dictionaries_published(context, task.log_index()).await,
        group => ask_leader(context, group, Question::IsPublished(task.log_index())).await,
    }
}

/// Waits until every node that may go by what it knows of the catalogue knows all that this one does. Who is answered before
/// that and calls another node would have a write put into the index that a name stood for before.
///
/// Cost: a round trip to the leader of the meta group, and one to every holder of a lease; the length of a lease when one of them hangs.
/// Errors: `Unavailable` at the deadline; what was decided stays so.
pub async fn until_known(context: &NodeContext, deadline: Instant) -> Result<()> {
    let known = *context.groups().meta()?.applied.borrow();
    match until_published(context, TaskId::new(GroupId::META, known), deadline).await {
        true => Ok(()),
        false => Err(Error::unavailable("it is done, but not every node has heard of it in time")),
    }
}

/// Waits until a task is published. Returns whether it is, at the deadline at the latest.
pub async fn until_published(context: &NodeContext, task: TaskId, deadline: Instant) -> bool {
    let mut pause = KNOWN_INTERVAL;
    while !is_published(context, task).await {
        if Instant::now() >= deadline {
            return false;
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(KNOWN_INTERVAL_MAX);
    }
    true
}

/// Waits until reads see what a command did; settings that take longer than `patience` to come into force are waited for no
/// longer than until its records are seen. Returns the task when its settings are still to come.
///
/// Errors: `Unavailable` at the deadline.
pub async fn until_shown(
    context: &NodeContext,
    task: TaskId,
    patience: Duration,
    deadline: Instant,
) -> Result<Option<TaskId>> {
    let begun = Instant::now();
    let mut pause = SHOWN_INTERVAL;
    while !is_published(context, task).await {
        if begun.elapsed() >= patience && shows_records(context, task, deadline).await {
            return Ok(Some(task));
        }
        if Instant::now() >= deadline {
            return Err(Error::unavailable("the copy is not finished in time"));
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(SHOWN_INTERVAL_MAX);
    }
    Ok(None)
}

/// Whether reads of a replica see the records that a command wrote.
async fn shows_records(context: &NodeContext, task: TaskId, deadline: Instant) -> bool {
    let (group, log_index) = (task.group(), task.log_index());
    // without an answer it is looked for again
    ask_by(context, ShowsRecords { group, log_index }, deadline).await.unwrap_or_default()
}

/// Whether the meta group has decided on a change of dictionaries and every placement group has it in force.
async fn are_dictionaries_published(context: &NodeContext, revision: u64) -> bool {
    if !ask_leader(context, GroupId::META, Question::IsPublished(revision)).await {
        return false;
    }
    let meta = context.meta();
    let question = Question::GoesByDictionaries(revision);
    let asked = meta.placement.keys().map(|&group| ask_leader(context, group, question));
    join_all(asked).await.into_iter().all(|goes_by| goes_by)
}

/// What only the leader of a group knows.
#[derive(Clone, Copy, Debug)]
pub enum Question {
    /// Whether every reader sees the command at this log index.
    IsPublished(u64),
    /// Whether every reader goes by dictionaries of this revision or later ones.
    GoesByDictionaries(u64),
}

impl Question {
    fn request(self, group: GroupId) -> PeerRequest {
        match self {
            Question::IsPublished(log_index) => {
                PeerRequest::IsPublished { task: TaskId::new(group, log_index) }
            }
            Question::GoesByDictionaries(revision) => PeerRequest::GoesByDictionaries { group, revision },
        }
    }
    /// The answer on the leader of the group; false on other nodes.
    pub async fn answer_here(self, context: &NodeContext, group: &Group) -> bool {
        let log_index = match self {
            Question::IsPublished(log_index) => Some(log_index),
            Question::GoesByDictionaries(revision) => {
                let told = context.node().dictionaries().told(group.id);
                told.filter(|told| told.revision >= revision).map(|told| told.log_index)
            }
        };
        match log_index {
            Some(log_index) => is_published_here(context, group, log_index).await,
            None => false,
        }
    }
}

/// Asks the leader of a group, which may be this node.
async fn ask_leader(context: &NodeContext, id: GroupId, question: Question) -> bool {
    let deadline = Instant::now() + ANSWER;
    for attempt in 0..ATTEMPTS {
        let Some(leader) = context.proposer().leader(id, attempt) else { return false };
        if leader == context.self_id() {
            return match context.groups().get(id) {
                Some(group) => question.answer_here(context, &group).await,
                None => false,
            };
        }
        match context.peers().ask(leader, &question.request(id), deadline).await {
            Ok(PeerAnswer::Truth(is_published)) => return is_published,
            Ok(PeerAnswer::NotLeader { leader: next }) => context.proposer().led_by_another(id, next),
            Ok(_) => return false,
            Err(_) => context.proposer().led_by_another(id, None),
        }
    }
    false
}

/// Whether every reader sees the command, on the leader of the group; false on other nodes.
async fn is_published_here(context: &NodeContext, group: &Group, log_index: u64) -> bool {
    if !is_visible(context, group, log_index) {
        return false;
    }
    let holders = group.leases.granter().lock().holders(steady_ms());
    let others = holders.into_iter().filter(|&holder| holder != context.self_id().0);
    let probes = others.map(async |holder| {
        let request = PeerRequest::IsVisible { group: group.id, log_index };
        let answer = context.peers().ask(NodeId(holder), &request, Instant::now() + PROBE).await;
        let shows = match answer {
            Ok(PeerAnswer::Truth(true)) => Shows::Yes,
            Ok(PeerAnswer::Truth(false)) => Shows::No,
            Ok(_) | Err(_) => Shows::Unknown,
        };
        (holder, shows)
    });
    let mut shown: BTreeMap<u64, Shows> = join_all(probes).await.into_iter().collect();
    shown.insert(context.self_id().0, Shows::Yes);
    // after all that was found out
    let status = group.status();
    let term = (status.role == Role::Leader).then_some(status.term);
    let shows = |holder: u64| shown.get(&holder).copied().unwrap_or(Shows::Unknown);
    group.leases.granter().lock().published(steady_ms(), term, log_index, shows) == Published::Yes
}

/// Whether reads of this replica see the command. Of the meta group: whether everything that is under way here goes by it.
pub fn is_visible(context: &NodeContext, group: &Group, log_index: u64) -> bool {
    if log_index > *group.applied.borrow() {
        return false;
    }
    match group.id {
        GroupId::META => !context.users().writes.hold_up(&context.shared_meta().load()),
        id => context.node().is_visible(id, log_index),
    }
}
