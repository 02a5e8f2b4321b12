//! How do searches that nodes have served get into logs?
//!
//! What was typed at this node is held here until nothing has been typed for five seconds; then the searches that count are proposed
//! to the group that their index name belongs to, every second and several at a time. A node that dies loses those seconds.
//!
//! Whoever is forgotten is forgotten here, too, before anything is proposed. What was on its way by then, or is proposed by a node that
//! has not heard of it yet, comes into the log behind: a node that hears of it within ten seconds, and keeps the group, has it forget
//! the user once more.

use crate::clock::{unix_ms, write_deadline};
use crate::context::NodeContext;
use crate::context::searches::{Noted, Notes, Searcher, ServedSearch};
use crate::disk::Purpose;
use crate::metrics;
use futures_util::future::join_all;
use hmac::{Hmac, Mac};
use quorate_model::event::CountedSearch;
use quorate_model::event::search::IDS_MAX;
use quorate_model::json::unquote;
use quorate_model::level::{self, Needs};
use quorate_model::limits::USER_TOKEN_BYTES_MAX;
use quorate_model::{GroupId, IndexName};
use quorate_node::chains::{Chains, Counted, Typed, normalized};
use quorate_node::ops::IndexCommand;
use quorate_node::rows::{SearchRow, Text};
use quorate_node::{Forgets, ForgottenUsers};
use rustc_hash::FxHashMap;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::MissedTickBehavior;

/// Between two looks at what was served.
const LOOK: Duration = Duration::from_millis(200);
/// Between two proposals.
const PROPOSE: Duration = Duration::from_secs(1);
/// Searches of an entry at most, and about how many bytes.
const ENTRY_SEARCHES_MAX: usize = 1_000;
const ENTRY_BYTES_MAX: usize = 1 << 20;
/// How long a node that stops tries to have its last searches counted.
const LAST: Duration = Duration::from_secs(2);

/// Makes searches that count of what was served, for as long as the node runs.
pub async fn gather(context: Arc<NodeContext>) {
    let mut ticks = tokio::time::interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut notes = Notes::default();
    loop {
        ticks.tick().await;
        notes = taken(&context, notes).await;
    }
}
/// Proposes what counts, for as long as the node runs.
pub async fn propose(context: Arc<NodeContext>) {
    let mut ticks = tokio::time::interval(PROPOSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut notes = Notes::default();
    loop {
        ticks.tick().await;
        // whoever is forgotten by now is in none of it
        notes = taken(&context, notes).await;
        propose_counted(&context, write_deadline()).await;
        forget_late(&context).await;
    }
}
/// Takes what was served into account; `notes` are those of the time before, for their memory.
async fn taken(context: &Arc<NodeContext>, mut notes: Notes) -> Notes {
    let context = context.clone();
    let take = move || {
        take_served(&context, unix_ms(), &mut notes);
        notes
    };
    tokio::task::spawn_blocking(take).await.unwrap_or_else(|_| {
        tracing::error!("searches that were served could not be counted");
        Notes::default()
    })
}
/// Has what is being typed counted as it is: the node stops.
pub async fn finish(context: &NodeContext) {
    take_served(context, u64::MAX, &mut Notes::default());
    let until = Instant::now() + LAST;
    let last = async {
        propose_counted(context, until).await;
        forget_late(context).await;
    };
    if tokio::time::timeout(LAST, last).await.is_err() {
        tracing::info!("the last searches are not counted");
    }
}

/// Takes what was served into account as of a moment (Unix milliseconds). `notes` are those of the time before, for their memory.
fn take_served(context: &NodeContext, now_ms: u64, notes: &mut Notes) {
    let searches = &context.insights().searches;
    // one at a time, so that what waits is taken in its order, and who is forgotten is so before the next proposal
    let mut held = searches.held();
    // first, so that what they typed before that is among what waits
    let forgotten = context.node().take_forgotten(Forgets::Searches);
    searches.take_waiting(notes);
    if !matches!(&forgotten, ForgottenUsers::These(users) if users.is_empty()) {
        // they are in no list that is computed from here on
        context.insights().trends.clear();
    }
    let meta = context.meta();
    let secret = meta.installation.as_ref().map(|installation| installation.admin_key);
    let Some(secret) = secret else { return };
    held.forget_users(&forgotten);
    // what somebody types after being forgotten counts; which came first within a millisecond is not known
    let is_gone = |user: &str, time_ms: u64| match &forgotten {
        ForgottenUsers::These(tokens) => tokens.get(user).is_some_and(|told_ms| time_ms <= *told_ms),
        ForgottenUsers::TooMany => true,
    };
    let mut complete = vec![];
    // before and after what waits: which of the two came first is not known
    let named = context.node().take_named();
    let name = |chains: &mut Chains| {
        named.iter().for_each(|of| chains.named(of.index.as_str(), &of.user, of.id));
    };
    name(&mut held.chains);
    // whoever has no token searches several times as a rule, and a digest takes some microseconds
    let mut names = Names::default();
    for noted in notes.iter() {
        match noted {
            Noted::Search(search) => {
                let user = names.of(search.user, &secret);
                if is_gone(user, search.time_ms) {
                    continue;
                }
                let mut take = |counted| complete.push(counted);
                held.chains.take(search.index, user, typed(&search), &mut take);
            }
            Noted::Event { index, user, id } => held.chains.named(index, user, id),
        }
    }
    name(&mut held.chains);
    held.chains.end_quiet(now_ms, &mut |counted| complete.push(counted));
    held.count(complete);
}

fn typed(search: &ServedSearch<'_>) -> Typed {
    let row = SearchRow {
        query: normalized(search.query).into(),
        hits: search.nb_hits,
        shown: search.shown.iter().map(|id| unquote(id)).collect(),
        tags: search.tags.iter().collect(),
        country: search.country.map(Text::from),
        query_ids: search.query_id.into_iter().collect(),
        filters: search.filters.iter().collect(),
        stands: false,
    };
    Typed::at(search.time_ms, row)
}

/// What users are called. Of an address only a digest with the secret of the installation is ever kept.
#[derive(Default)]
struct Names(FxHashMap<IpAddr, String>);

impl Names {
    fn of<'a>(&'a mut self, user: Searcher<'a>, secret: &[u8]) -> &'a str {
        match user {
            Searcher::Token(token) => &token[..token.floor_char_boundary(USER_TOKEN_BYTES_MAX)],
            Searcher::Address(address) => self.0.entry(address).or_insert_with(|| anonymous(address, secret)),
            Searcher::Unknown => "anonymous",
        }
    }
}
fn anonymous(address: IpAddr, secret: &[u8]) -> String {
    let mut digest = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length will do");
    match address.to_canonical() {
        IpAddr::V4(address) => digest.update(&address.octets()),
        IpAddr::V6(address) => digest.update(&address.octets()),
    }
    let digest = digest.finalize().into_bytes();
    let digits: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("anonymous-{digits}")
}

async fn propose_counted(context: &NodeContext, deadline: Instant) {
    // until every node knows such entries the searches wait: a node may only have begun to hear of the others
    let is_known = context.proposer().check_level(&Needs::level(level::RECOMMEND)).is_ok();
    // and while the disk fills up: what is left of it is for records
    if !is_known || context.disk().admit_observed().is_err() {
        return;
    }
    let counted = context.insights().searches.held().take_counted();
    let mut of_groups: BTreeMap<GroupId, Vec<Counted>> = BTreeMap::new();
    let mut failed = vec![];
    for counted in counted {
        let group = IndexName::new(&counted.index).and_then(|name| context.group_for(&name));
        match group {
            Ok(group) => of_groups.entry(group).or_default().push(counted),
            Err(_) => failed.push(counted),
        }
    }
    let proposals = of_groups.into_iter().flat_map(|(group, counted)| {
        entries(counted).into_iter().map(move |of_entry| async move {
            let searches: Vec<CountedSearch> = of_entry.iter().filter_map(in_log).collect();
            let command = IndexCommand::Searches { searches };
            let proposed = context.proposer().propose_index(group, command, Purpose::Add, deadline).await;
            match proposed {
                Ok(accepted) => {
                    metrics::searches_counted(of_entry.len());
                    let searches = of_entry.iter().map(|it| (&*it.user, it.typed.time_ms));
                    context.node().counted((group, accepted.task_id.log_index()), searches);
                    vec![]
                }
                Err(error) => {
                    tracing::debug!(group = group.0, %error, "searches wait to be counted");
                    of_entry
                }
            }
        })
    });
    failed.extend(join_all(proposals).await.into_iter().flatten());
    // what may be in the log already counts once
    context.insights().searches.held().count_again(failed);
}

/// Has groups forget users whose searches came into their logs too late: each once, whatever becomes of it. A repeat that nobody answers
/// may be in the log, and one that comes much later would take what the user does until then.
async fn forget_late(context: &NodeContext) {
    let until = Instant::now() + LAST;
    let repeats = context.node().take_late().into_iter().map(|(group, token)| async move {
        let command = IndexCommand::ForgetUser { token };
        if let Err(error) = context.proposer().propose_index(group, command, Purpose::Remove, until).await {
            tracing::warn!(group = group.0, %error, "late searches of a forgotten user may stay");
        }
    });
    join_all(repeats).await;
}

/// Cuts searches into the contents of entries.
fn entries(counted: Vec<Counted>) -> Vec<Vec<Counted>> {
    let mut all: Vec<Vec<Counted>> = vec![];
    let mut bytes = 0;
    for search in counted {
        let more = bytes_in_log(&search);
        match all.last_mut() {
            Some(last) if last.len() < ENTRY_SEARCHES_MAX && bytes + more <= ENTRY_BYTES_MAX => {
                last.push(search);
                bytes += more;
            }
            _ => {
                all.push(vec![search]);
                bytes = more;
            }
        }
    }
    all
}

/// What `CountedSearch::bytes` says of it, without its texts being copied for that.
fn bytes_in_log(counted: &Counted) -> usize {
    let SearchRow { query, shown, tags, filters, query_ids, .. } = &counted.typed.search;
    let lists = [shown, tags, filters].into_iter();
    let texts: usize = lists.map(|texts| texts.bytes() + 8 * texts.len()).sum();
    64 + counted.index.len() + counted.user.len() + query.len() + texts + 16 * query_ids.len()
}
fn in_log(counted: &Counted) -> Option<CountedSearch> {
    let SearchRow { query, hits, shown, tags, country, query_ids, filters, stands } = &counted.typed.search;
    Some(CountedSearch {
        index: IndexName::new(&counted.index).ok()?,
        user: counted.user.to_string(),
        time_ms: counted.typed.time_ms,
        query: query.to_string(),
        hits: *hits,
        shown: shown.clone(),
        tags: tags.clone(),
        filters: filters.clone(),
        country: country.as_ref().map(ToString::to_string),
        query_ids: query_ids.iter().copied().take(IDS_MAX).collect(),
        stands: *stands,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_becomes_a_token_that_says_nothing_of_it() {
        let of = |address: &str, secret: &[u8]| anonymous(address.parse().expect("an address"), secret);
        let one = of("10.1.2.3", b"secret");
        assert!(quorate_model::event::is_user_token(&one), "{one}");
        assert_eq!(one, of("::ffff:10.1.2.3", b"secret"), "the same address");
        assert_ne!(one, of("10.1.2.4", b"secret"));
        assert_ne!(one, of("10.1.2.3", b"other"));
    }

    #[test]
    fn entries_are_bounded_and_lose_nothing() {
        let search = |at: u64, bytes: usize| Counted {
            index: "i".into(),
            user: "u".into(),
            typed: Typed::at(at, SearchRow { query: "q".repeat(bytes).into(), ..SearchRow::default() }),
        };
        for (count, bytes, expected) in [(0, 1, 0), (1_000, 1, 1), (1_001, 1, 2), (10, 300 << 10, 4)] {
            let all = entries((0..count).map(|at| search(at, bytes)).collect());
            assert_eq!(all.len(), expected, "{count} of {bytes}");
            let times: Vec<u64> = all.iter().flatten().map(|counted| counted.typed.time_ms).collect();
            assert_eq!(times, (0..count).collect::<Vec<_>>());
        }
    }
}
