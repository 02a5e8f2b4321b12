//! Do a user's records follow the user between two clusters, whatever dies meanwhile, none lost and none doubled?
//!
//! Both clusters are on one node: its groups are started for the second one as well.

use super::actor::mailbox::Change;
use super::core::{Core, What, Work};
use super::records::{Clusters, Deleting, Mirroring, fence};
use super::write::records;
use super::*;
use crate::command::{Joining, MetaCommand, NodeState, UserStep};
use crate::context::actors::ActorReport;
use crate::groups::start::Founding;
use crate::lifecycle::crash_copy::copy_folder;
use crate::lifecycle::join;
use crate::lifecycle::running::{self, Running};
use crate::meta::Link;
use crate::options::ServiceOptions;
use crate::types::CallerOp;
use crate::write::env::seen;
use crate::write::replicas;
use quorate_model::{IndexName, NodeId, RecordOp, level};
use quorate_node::ops::ReplicaKind;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn index() -> IndexName {
    IndexName::new("i").expect("valid")
}
fn user(text: &str) -> UserId {
    UserId::new(text).expect("valid")
}
fn options(folder: &Path) -> ServiceOptions {
    let mut options =
        ServiceOptions { disk_reserve_bytes: 0, search_threads: 2, ..ServiceOptions::new(folder) };
    options.cluster.multi_cluster = true;
    options
}
/// A node of the cluster `main` that has the groups of `west`, too; nothing moves users yet.
async fn started(folder: &Path) -> Running {
    let options = options(folder);
    let mut running = running::start(&options).await.expect("a node that starts");
    join::enter(&mut running, &options).await.expect("an installation");
    let context = &*running.context;
    if !context.meta().clusters.contains_key("west") {
        let west = || "west".to_owned();
        let level = level::NEWEST;
        let joining = Joining { name: west(), cluster: west(), peer: west(), http: west(), level };
        let node = NodeId(7);
        for command in [
            MetaCommand::AddNode { node, joining },
            MetaCommand::SetNodeState { node, state: NodeState::Removed },
        ] {
            context.proposer().propose_meta(command, Purpose::Add, write_deadline()).await.expect("accepted");
        }
    }
    let west = context.meta().groups_of("west");
    for &group in &west {
        running.starter.start_group(group, Founding::Founder).expect("a group that starts");
        // whoever looks after the groups may have seen node 7 before it was removed
        let place = MetaCommand::Place { group, nodes: vec![context.self_id()] };
        context.proposer().propose_meta(place, Purpose::Add, write_deadline()).await.expect("accepted");
    }
    let end = Instant::now() + Duration::from_secs(60);
    while !west.iter().all(|&group| crate::read::is_readable(context, group)) {
        assert!(Instant::now() < end, "the groups of the second cluster are not alone here in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.catch_up().await.expect("groups with leaders");
    running
}
async fn put(running: &Running, who: &str, ids: &[String]) -> Result<crate::types::Receipt> {
    let op = |id: &String| {
        let record = format!(r#"{{"objectID":"{id}"}}"#).into_bytes();
        CallerOp::Ready(RecordOp::Put { object_id: id.clone(), record })
    };
    records(&running.context, &user(who), &index(), ids.iter().map(op).collect()).await
}
fn numbered(from: usize, to: usize) -> Vec<String> {
    (from..to).map(|number| number.to_string()).collect()
}
/// The ids that a partition shows of a user.
fn held(context: &NodeContext, partition: &IndexName, who: &str) -> BTreeSet<String> {
    let meta = context.meta();
    let Some(row) = meta.catalogue.get(partition) else { return BTreeSet::new() };
    let view = context.node().view(row.incarnation).expect("a partition that opens");
    let seen = |id: String| quorate_model::user::owner_of(&id).1.to_owned();
    view.owned(who, None).into_keys().map(seen).collect()
}
fn partitions(running: &Running) -> [IndexName; 2] {
    let meta = running.context.meta();
    [0, 1].map(|cluster| meta.partition_of(&index(), cluster).expect("a name"))
}
async fn begin_move(running: &Running, who: &str, to: &str) -> Result<u64> {
    assign(&running.context, user(who), to).await
}
async fn settled(running: &Running, who: &str) {
    for _ in 0..2_000 {
        if running.context.meta().users.map.get(&user(who)).is_none_or(|row| row.is_settled()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the move of {who} did not end: {:?}", running.context.meta().users.map.get(&user(who)));
}

/// Carries out the work of a move up to and without the given number of steps, as a leader that dies then.
async fn go_to(running: &Running, steps: usize, copies_more: bool) {
    let context = &*running.context;
    let mut core = Core::default();
    core.lead(true);
    let deadline = Instant::now() + Duration::from_secs(20);
    for number in 0..=steps {
        let Some(Work { user, epoch, what, tries: _ }) = core.next(&context.meta(), Duration::ZERO).pop()
        else {
            return;
        };
        if number == steps && !copies_more {
            return;
        }
        match what {
            What::Copy { from, to } | What::CopyRest { from, to } => {
                Mirroring::new(context, (&user, epoch), (from, to), deadline).look().await.expect("copied");
            }
            What::Land { to } => fence(context, &user, epoch, to, deadline).await.expect("told"),
            What::Clean { cluster } => {
                let whom = (&user, epoch);
                let mut deleting = Deleting::new(context, whom, Clusters::Only(cluster), deadline);
                deleting.begin().await.expect("told");
                deleting.look().await.expect("deleted");
            }
            What::Delete | What::Step(_) => panic!("not a move"),
        }
        if number == steps {
            return;
        }
        let step = MetaCommand::StepUser { user: user.clone(), epoch, step: what.leads_to() };
        context.proposer().propose_meta(step, Purpose::Add, write_deadline()).await.expect("accepted");
        core = Core::default();
        core.lead(true);
    }
}

#[actix_rt::test]
async fn a_move_ends_although_the_node_died_in_any_step() {
    for steps in 0..4 {
        for copies_more in [false, true] {
            let dir = tempfile::tempdir().expect("a folder");
            let (before, after) = (dir.path().join("before"), dir.path().join("after"));
            let running = started(&before).await;
            assign_many(&running.context, vec![user("jane"), user("roe")], "main").await.expect("assigned");
            put(&running, "jane", &numbered(0, 20)).await.expect("written");
            put(&running, "roe", &numbered(0, 3)).await.expect("written");
            begin_move(&running, "jane", "west").await.expect("a move");
            go_to(&running, steps, copies_more).await;
            copy_folder(&before, &after);
            running.stop().await;

            let mut running = started(&after).await;
            running.start_janitor().expect("threads");
            settled(&running, "jane").await;
            let [main, west] = partitions(&running);
            let held = |partition: &IndexName, who: &str| held(&running.context, partition, who).len();
            let found = [held(&main, "jane"), held(&west, "jane"), held(&main, "roe"), held(&west, "roe")];
            assert_eq!(found, [0, 20, 3, 0], "died after {steps} steps, {copies_more}");
            running.stop().await;
        }
    }
}

/// Only the catalogue has heard of the link, or the group of the home as well.
#[actix_rt::test]
async fn replicas_of_all_parts_are_filled_although_the_node_died() {
    for home_was_told in [false, true] {
        let dir = tempfile::tempdir().expect("a folder");
        let (before, after) = (dir.path().join("before"), dir.path().join("after"));
        let running = started(&before).await;
        assign_many(&running.context, vec![user("jane")], "main").await.expect("assigned");
        assign_many(&running.context, vec![user("roe")], "west").await.expect("assigned");
        put(&running, "jane", &numbered(0, 20)).await.expect("written");
        put(&running, "roe", &numbered(0, 3)).await.expect("written");
        let context = &*running.context;
        let wanted = [Link { name: IndexName::new("r").expect("valid"), kind: ReplicaKind::Standard }];
        let linked = replicas::link(context, &index(), &wanted, write_deadline()).await.expect("linked");
        if home_was_told {
            let told = linked.told;
            let told = context
                .proposer()
                .propose_index(told.group, told.command, Purpose::Add, write_deadline())
                .await;
            told.expect("accepted");
        }
        copy_folder(&before, &after);
        running.stop().await;

        let mut running = started(&after).await;
        running.start_janitor().expect("threads");
        put(&running, "jane", &numbered(20, 21)).await.expect("written");
        put(&running, "roe", &numbered(3, 4)).await.expect("written");
        let [main, west] = [0, 1]
            .map(|cluster| running.context.meta().partition_of(&wanted[0].name, cluster).expect("a name"));
        let held = |partition: &IndexName, who: &str| {
            let row = running.context.meta().catalogue.get(partition).cloned().expect("a replica");
            let view = running.context.node().view(row.incarnation).ok()?;
            Some(view.owned(who, None).len())
        };
        let mut found = [None; 4];
        for _ in 0..1_000 {
            found = [held(&main, "jane"), held(&west, "jane"), held(&main, "roe"), held(&west, "roe")];
            if found == [21, 0, 0, 4].map(Some) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(found, [21, 0, 0, 4].map(Some), "the home was told: {home_was_told}");
        running.stop().await;
    }
}

#[actix_rt::test]
async fn no_record_is_absent_or_doubled_while_a_user_moves() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut running = started(dir.path()).await;
    running.start_janitor().expect("threads");
    assign_many(&running.context, vec![user("jane")], "main").await.expect("assigned");
    put(&running, "*", &["p".to_owned()]).await.expect("written");
    let first = put(&running, "jane", &numbered(0, 50)).await.expect("written");
    seen(&*running.context, first.task_id, write_deadline()).await.expect("seen");
    let running = Arc::new(running);
    let ended = Arc::new(AtomicBool::new(false));
    let writer = {
        let (running, ended) = (running.clone(), ended.clone());
        tokio::spawn(async move {
            let mut written = 50;
            while !ended.load(Ordering::Relaxed) {
                put(&running, "jane", &numbered(written, written + 3)).await.expect("written");
                written += 3;
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
            written
        })
    };
    let reader = {
        let (running, ended) = (running.clone(), ended.clone());
        actix_rt::spawn(async move {
            let (mut reads, mut most) = (0, 50);
            while !ended.load(Ordering::Relaxed) {
                let jane = user("jane");
                let look = async |cluster| {
                    let partition = routing::partition_for_read(&*running.context, &index(), cluster).await?;
                    Ok(held(&running.context, &partition, "jane").len())
                };
                let seen = routing::read(&*running.context, &jane, look).await.expect("assigned");
                assert!(seen >= most, "{seen} of at least {most} records");
                most = seen;
                reads += 1;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            reads
        })
    };
    for to in ["west", "main", "west"] {
        begin_move(&running, "jane", to).await.expect("a move");
        let second = begin_move(&running, "jane", if to == "west" { "main" } else { "west" }).await;
        assert!(second.is_err() || running.context.meta().users.pending.is_empty(), "one move at a time");
        settled(&running, "jane").await;
    }
    ended.store(true, Ordering::Relaxed);
    let (written, reads) = (writer.await.expect("no panic"), reader.await.expect("no panic"));
    assert!(reads > 0);
    let accepted = put(&running, "jane", &["last".to_owned()]).await.expect("written");
    let shown = seen(&*running.context, accepted.task_id, write_deadline()).await;
    shown.expect("seen");
    let [main, west] = partitions(&running);
    let held = |partition: &IndexName, who: &str| held(&running.context, partition, who);
    assert_eq!((held(&main, "jane").len(), held(&west, "jane").len()), (0, written + 1));
    assert_eq!((held(&main, "*").len(), held(&west, "*").len()), (1, 1), "public records are in both");
    let row = running.context.meta().users.map.get(&user("jane")).copied().expect("assigned");
    assert_eq!((row.cluster, row.state), (1, UserState::Assigned));
    let late = MetaCommand::StepUser { user: user("jane"), epoch: 2, step: UserStep::Freeze };
    running.context.proposer().propose_meta(late, Purpose::Add, write_deadline()).await.expect("accepted");
    assert_eq!(
        running.context.meta().users.map.get(&user("jane")),
        Some(&row),
        "an old leader changes nothing"
    );
    Arc::into_inner(running).expect("nobody else").stop().await;
}

/// Until this is true of the actor of the mapping, which is returned as it is then.
async fn until(running: &Running, is_so: impl Fn(&ActorReport) -> bool) -> ActorReport {
    for _ in 0..2_000 {
        if let Some(report) = running.context.users().mapping.left().filter(&is_so) {
            return report;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the user mapping is {:?}", running.context.users().mapping.left());
}

#[actix_rt::test]
async fn users_are_changed_by_messages_and_the_actor_says_how_it_is() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut running = started(dir.path()).await;
    let change = async |running: &Running, change: Change| running.users.change(change).await;
    let assign =
        |who: &str, cluster: &str| Change::Assign { users: vec![user(who)], cluster: cluster.into() };
    let early = change(&running, assign("jane", "main")).await.expect_err("nobody is there");
    assert_eq!(early.kind, ErrorKind::Unavailable);
    running.start_janitor().expect("threads");
    let idle = until(&running, |report| report.waits_for != "the leadership of the meta group").await;
    assert_eq!((idle.queued, idle.waits_for.as_str()), (0, "changes of users"));
    change(&running, assign("jane", "main")).await.expect("assigned");
    let wrong = change(&running, assign("roe", "north")).await.expect_err("no such cluster");
    assert_eq!(wrong.kind, ErrorKind::Invalid);
    put(&running, "jane", &numbered(0, 20)).await.expect("written");
    change(&running, Change::Move { user: user("jane"), cluster: "west".into() }).await.expect("a move");
    settled(&running, "jane").await;
    let row = running.context.meta().users.map.get(&user("jane")).copied().expect("assigned");
    assert_eq!(row.cluster, 1);
    let [main, west] = partitions(&running);
    let held = |partition: &IndexName| held(&running.context, partition, "jane").len();
    assert_eq!((held(&main), held(&west)), (0, 20));
    change(&running, Change::Remove { user: user("jane") }).await.expect("a removal");
    settled(&running, "jane").await;
    until(&running, |report| report.queued == 0).await;
    assert_eq!(held(&west), 0);
    let unknown = change(&running, Change::Remove { user: user("jane") }).await.expect_err("it is gone");
    assert_eq!(unknown.kind, ErrorKind::NotFound);
    let users = running.users.clone();
    running.stop().await;
    let late = users.change(Change::Remove { user: user("jane") }).await.expect_err("it has stopped");
    assert_eq!(late.kind, ErrorKind::Unavailable);
}
