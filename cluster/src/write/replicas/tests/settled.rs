//! Do answered changes of a name's configuration hold when it comes to stand for something else?

use super::*;
use crate::read::index_config;
use crate::write::replicas::settled;
use crate::write::resource_changes::{self, ResourceChange};
use quorate_model::ResourceKind;
use quorate_node::ops::RawResource;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Lets `p` have these replicas, of which some are ready.
async fn link_as(running: &Running, replicas: [Link; 2], prepared: &Prepared) -> u64 {
    let as_wanted = |Link { name, kind }: Link| WantedReplica { prepared: prepared.of(&name), name, kind };
    let incarnation = running.context.meta().catalogue.get(&name("p")).expect("an index").incarnation;
    let replicas = replicas.into_iter().map(as_wanted).collect();
    let command = MetaCommand::SetReplicas { name: name("p"), incarnation, replicas };
    let linked = running.context.proposer().propose_meta(command, Purpose::Add, write_deadline()).await;
    linked.expect("accepted").task_id.log_index()
}

/// Changes the settings of an index, and with that reach those of its replicas.
pub(super) async fn set(
    context: &NodeContext,
    index: &str,
    reach: write::Reach,
    changes: serde_json::Value,
) -> quorate_model::Result<()> {
    let changes = changes.as_object().expect("an object").clone();
    write::settings(context, &name(index), changes, reach).await.map(drop)
}
/// Saves a rule for an index, or for its replicas as well.
pub(super) async fn save_rule(
    context: &NodeContext,
    index: &str,
    reach: write::Reach,
) -> quorate_model::Result<()> {
    let document = br#"{"objectID":"one","consequence":{"params":{"page":1}}}"#.to_vec();
    let save = ResourceChange::Save(vec![RawResource { object_id: "one".into(), document }]);
    resource_changes::change(context, &name(index), ResourceKind::Rules, save, reach).await.map(drop)
}
/// Settings, a rule and synonyms of another index, each by a caller of their own, for `index`.
fn changed(context: &Arc<NodeContext>, index: &'static str) -> Vec<JoinHandle<quorate_model::Result<()>>> {
    let (first, second, third) = (context.clone(), context.clone(), context.clone());
    let settings =
        tokio::spawn(async move { set(&first, index, write::Reach::Index, json!({"hitsPerPage": 7})).await });
    let rule = tokio::spawn(async move { save_rule(&second, index, write::Reach::Index).await });
    let synonym = tokio::spawn(async move {
        let scope = ["synonyms".to_owned()];
        write::operate::copy_pieces(&third, &name("words"), &name(index), &scope).await.map(drop)
    });
    vec![settings, rule, synonym]
}
async fn save_words(context: &NodeContext) {
    let document = br#"{"objectID":"two","type":"synonym","synonyms":["a","b"]}"#.to_vec();
    let save = ResourceChange::Save(vec![RawResource { object_id: "two".into(), document }]);
    let synonyms = ResourceKind::Synonyms;
    let saved = resource_changes::change(context, &name("words"), synonyms, save, write::Reach::Index).await;
    saved.expect("accepted");
}
/// Which of [`changed`] an index has.
pub(super) async fn found(context: &NodeContext, index: &str) -> Vec<&'static str> {
    let row = context.meta().catalogue.get(&name(index)).cloned().expect("an index");
    let kinds = [ResourceKind::Rules, ResourceKind::Synonyms];
    let config = index_config::now(context, &row, &kinds, write_deadline()).await.expect("an answer");
    let hits = config.settings.document.get("hitsPerPage") == Some(&json!(7));
    let resources = config.resources.iter().map(|(kind, found)| (kind.scope(), !found.is_empty()));
    let all = [("settings", hits)].into_iter().chain(resources);
    all.filter_map(|(what, is_there)| is_there.then_some(what)).collect()
}
/// Changes what a name stands for now, as one does who looked before anything was reserved for it; returns which one that was.
async fn change_directly(context: &NodeContext, index: &str) -> Incarnation {
    let row = context.meta().catalogue.get(&name(index)).cloned().expect("an index");
    let changes = br#"{"hitsPerPage":7}"#.to_vec();
    let change = IndexCommand::Settings { index: row.incarnation, changes, replace: false };
    let changed = context.proposer().propose_index(row.group, change, Purpose::Add, write_deadline());
    changed.await.expect("accepted");
    row.incarnation
}
/// How a name that others configure comes to stand for what was made ready.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    Moved,
    Linked,
    GivenUp,
}

#[actix_rt::test]
async fn who_configures_a_name_is_answered_when_what_is_made_ready_for_it_has_the_change() {
    for ends in [Ends::Moved, Ends::Linked, Ends::GivenUp] {
        let dir = tempfile::tempdir().expect("a folder");
        let (running, wanted) = before_a_move(dir.path()).await;
        let context = &running.context;
        put(&running, "taken", &["own"]).await;
        save_words(context).await;
        let taken = Link { name: name("taken"), kind: ReplicaKind::Standard };
        let (index, prepared) = match ends {
            Ends::Moved | Ends::GivenUp => {
                ("r", prepare_filled(context, &name("tmp"), &[&wanted], write_deadline()).await)
            }
            Ends::Linked => ("taken", prepare(context, &name("p"), &[&taken], write_deadline()).await),
        };
        let prepared = prepared.expect("prepared");
        let before = context.meta().catalogue.get(&name(index)).map(|row| row.incarnation);
        let changes = changed(context, index);
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!changes.iter().any(JoinHandle::is_finished), "{ends:?}: answered too early");
        match ends {
            Ends::Moved => drop(move_over(&running, &prepared).await),
            Ends::Linked => drop(link_as(&running, [wanted, taken], &prepared).await),
            Ends::GivenUp => abandon_unused(context, &prepared).await,
        }
        for change in changes {
            change.await.expect("it ends").expect("accepted");
        }
        let now = context.meta().catalogue.get(&name(index)).map(|row| row.incarnation);
        assert_eq!(now == before, ends == Ends::GivenUp, "{ends:?}");
        assert_eq!(found(context, index).await, ["settings", "rules", "synonyms"], "{ends:?}");
        running.stop().await;
    }
}

#[actix_rt::test]
async fn what_is_forwarded_to_a_replica_moves_with_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, wanted) = before_a_move(dir.path()).await;
    let context = running.context.clone();
    let prepared = prepare_filled(&context, &name("tmp"), &[&wanted], write_deadline()).await;
    let forwarded = {
        let context = context.clone();
        tokio::spawn(async move { save_rule(&context, "p", write::Reach::Replicas).await })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!forwarded.is_finished(), "answered too early");
    move_over(&running, &prepared.expect("prepared")).await;
    forwarded.await.expect("it ends").expect("accepted");
    for index in ["p", "r"] {
        assert_eq!(found(&context, index).await, ["rules"], "{index}");
    }
    running.stop().await;
}

#[actix_rt::test]
async fn settings_that_come_while_a_replica_is_filled_move_with_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, wanted) = before_a_move(dir.path()).await;
    let context = &running.context;
    let mut prepared = prepare(context, &name("tmp"), &[&wanted], write_deadline()).await.expect("prepared");
    change_directly(context, "r").await;
    fill(context, &mut prepared, write_deadline()).await.expect("filled");
    move_over(&running, &prepared).await;
    let row = context.meta().catalogue.get(&name("r")).cloned().expect("a replica");
    assert_eq!(Some(row.incarnation), prepared.of(&name("r")));
    assert_eq!(found(context, "r").await, ["settings"]);
    running.stop().await;
}

#[actix_rt::test]
async fn a_change_that_came_too_late_for_what_is_made_ready_does_not_count() {
    for ends in [Ends::Moved, Ends::GivenUp] {
        let dir = tempfile::tempdir().expect("a folder");
        let (running, wanted) = before_a_move(dir.path()).await;
        let context = running.context.clone();
        let prepared = prepare_filled(&context, &name("tmp"), &[&wanted], write_deadline()).await;
        let changed = change_directly(&context, "r").await;
        let kept = {
            let context = context.clone();
            let look = async move {
                let replica = name("r");
                settled::is_kept(&context, (&replica, write::Reach::Index), changed, write_deadline()).await
            };
            tokio::spawn(look)
        };
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!kept.is_finished(), "{ends:?}: it cannot be known yet");
        match (ends, prepared.expect("prepared")) {
            (Ends::Moved, prepared) => drop(move_over(&running, &prepared).await),
            (_, prepared) => abandon_unused(&context, &prepared).await,
        }
        assert_eq!(kept.await.expect("it ends").expect("known"), ends == Ends::GivenUp, "{ends:?}");
        running.stop().await;
    }
}

#[actix_rt::test]
async fn who_waits_gives_up_what_nobody_is_making_ready_any_more() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, wanted) = before_a_move(dir.path()).await;
    let context = &running.context;
    // as a node that died leaves it
    prepare_filled(context, &name("tmp"), &[&wanted], write_deadline()).await.expect("prepared");
    let before = write_deadline();
    set(context, "r", write::Reach::Index, json!({"hitsPerPage": 7})).await.expect("accepted");
    assert!(before > std::time::Instant::now(), "it takes no longer than a write may");
    assert_eq!((found(context, "r").await, context.meta().reserved.len()), (vec!["settings"], 0));
    running.stop().await;
}

/// What a virtual replica has taken over, and will be seen once it is a standard one.
#[actix_rt::test]
async fn what_was_taken_over_from_the_primary_moves_with_a_virtual_replica() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, _) = before_a_move(dir.path()).await;
    let context = &running.context;
    let changes = json!({"replicas": ["virtual(r)"], "searchableAttributes": ["t"]});
    set(context, "p", write::Reach::Index, changes).await.expect("accepted");
    let wanted = [Link { name: name("r"), kind: ReplicaKind::Standard }];
    let taken = take_over_from_primary(context, &name("p"), &wanted, &Map::new(), write_deadline()).await;
    taken.expect("taken over");
    let before = context.meta().catalogue.get(&name("r")).map(|row| row.incarnation);
    write::operate::move_index(context, &name("tmp"), &name("p")).await.expect("moved");
    let row = context.meta().catalogue.get(&name("r")).cloned().expect("a replica");
    assert!(Some(row.incarnation) != before, "it stands for another one");
    let config = index_config::now(context, &row, &[], write_deadline()).await.expect("an answer");
    assert_eq!(config.settings.document.get("searchableAttributes"), Some(&json!(["t"])));
    running.stop().await;
}

#[actix_rt::test]
async fn a_change_goes_along_with_what_is_renamed() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, _) = before_a_move(dir.path()).await;
    let context = &running.context;
    let changed = change_directly(context, "tmp").await;
    let (from, to) = (name("tmp"), name("p"));
    write::operate::move_index(context, &from, &to).await.expect("moved");
    // another index has the name by now
    put(&running, "tmp", &["new"]).await;
    let kept = settled::is_kept(context, (&from, write::Reach::Index), changed, write_deadline()).await;
    assert!(kept.expect("known"));
    assert_eq!((found(context, "p").await, found(context, "tmp").await), (vec!["settings"], vec![]));
    running.stop().await;
}

/// A name that is made ready as a replica stands for another index before that is linked.
#[actix_rt::test]
async fn what_was_made_ready_of_another_index_is_not_linked() {
    let dir = tempfile::tempdir().expect("a folder");
    let (running, wanted) = before_a_move(dir.path()).await;
    let context = &running.context;
    put(&running, "taken", &["own"]).await;
    let taken = Link { name: name("taken"), kind: ReplicaKind::Standard };
    let prepared = prepare(context, &name("p"), &[&taken], write_deadline()).await.expect("prepared");
    change_directly(context, "tmp").await;
    write::operate::move_index(context, &name("tmp"), &name("taken")).await.expect("moved");
    link_as(&running, [wanted.clone(), taken.clone()], &prepared).await;
    let primary_of =
        |index: &str| context.meta().catalogue.get(&name(index)).map(|row| row.primary().is_some());
    assert_eq!((primary_of("taken"), primary_of("r")), (Some(false), Some(true)));
    // who links tries again
    set(context, "p", write::Reach::Index, json!({"replicas": ["r", "taken"]})).await.expect("accepted");
    assert_eq!(primary_of("taken"), Some(true));
    assert_eq!(found(context, "taken").await, ["settings"]);
    running.stop().await;
}
