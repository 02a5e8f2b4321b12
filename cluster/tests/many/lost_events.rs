//! Files of events that are damaged or gone when a node starts stop nothing: their loss is told, and they are taken from who has them.

use crate::harness::*;
use quorate_cluster::{EventReplica, Service, damage};
use quorate_model::event::{Event, EventKind, EventObject, EventTarget};
use quorate_node::plant_events;
use quorate_store::files::RealFiles;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Events of one call.
const EVENTS: u64 = 30;

/// Files of events below a folder with names that end like this.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files(&path, end)),
            false if path.to_string_lossy().ends_with(end) => found.push(path),
            false => {}
        }
    }
    found
}
fn cut(path: &Path) {
    let length = std::fs::metadata(path).expect("there").len();
    std::fs::File::options().write(true).open(path).expect("there").set_len(length - 9).expect("cut");
}
/// Goes on without the rows of one call, as an operator lets a stopped node do.
fn accept_loss(folder: &Path) {
    let refused = damage::accept_lost_events(folder, None).expect_err("it is asked").message;
    assert!(refused.contains(&format!("{EVENTS} rows: ")), "{refused}");
    let app_id = refused.rsplit(' ').next();
    assert_eq!(damage::accept_lost_events(folder, app_id).expect("done").len(), 1);
    assert!(damage::accept_lost_events(folder, app_id).is_err(), "there is nothing more");
}
fn event(number: u64, round: u64) -> Event {
    Event {
        kind: EventKind::Click,
        name: "clicked".into(),
        index: name("things"),
        user: format!("user{number}"),
        authenticated: None,
        time_ms: None,
        query_id: None,
        target: EventTarget::Objects(vec![EventObject {
            object_id: format!("{round}"),
            ..EventObject::default()
        }]),
        value: None,
        currency: None,
    }
}
async fn keep(node: &Service, round: u64) {
    let events: Vec<Event> = (0..EVENTS).map(|number| event(number, round)).collect();
    patiently("events", || node.keep_events(events.clone())).await.expect("kept");
}
/// What the nodes have of the events of the only group that has some.
async fn replicas(node: &Service) -> Vec<EventReplica> {
    let found = patiently("events", || node.events_found()).await.expect("an answer");
    let has_some = |replica: &EventReplica| replica.rows + replica.waiting_rows + replica.lost_files > 0;
    let groups = found.groups.into_iter().map(|group| group.replicas);
    groups.filter(|replicas| replicas.iter().any(has_some)).flatten().collect()
}
/// Waits until all nodes have applied so many rows.
async fn all_have(installation: &Installation, rows: u64) {
    loop {
        let found = replicas(installation.node(0)).await;
        if found.len() == 3 && found.iter().all(|it| it.rows + it.waiting_rows == rows) {
            return;
        }
        pause().await;
    }
}
async fn pause() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

#[actix_rt::test]
async fn a_node_that_is_alone_serves_without_the_rows_that_it_lost_and_says_so() {
    in_time(async {
        let mut installation = Installation::start(1).await;
        installation.write(0, "things", vec![put("a", json!({"text": "found"}))]).await;
        keep(installation.node(0), 1).await;
        while replicas(installation.node(0)).await.is_empty() {
            pause().await;
        }
        let mut harmed = String::new();
        installation
            .restart(0, |folder| {
                let found = files(&folder.join("events"), ".parquet");
                assert_eq!(found.len(), 1, "{found:?}");
                cut(&found[0]);
                harmed = found[0].display().to_string();
            })
            .await;
        // of records nothing is missing, and events are taken as before
        assert_eq!(installation.found(0, "things", "found").await, ["a"]);
        installation.write(0, "things", vec![put("b", json!({"text": "found"}))]).await;
        keep(installation.node(0), 2).await;
        let told = |warnings: &[String]| {
            let loss = format!("events, {EVENTS} rows: ");
            warnings
                .iter()
                .any(|it| it.contains(&loss) && it.contains(&harmed) && it.contains("no other node"))
        };
        while !told(&installation.node(0).health().warnings) {
            pause().await;
        }
        for _ in 0..2 {
            loop {
                let found = replicas(installation.node(0)).await;
                let [replica] = &found[..] else { panic!("{found:?}") };
                assert_eq!((replica.lost_files, replica.lost_rows), (1, EVENTS));
                if replica.rows + replica.waiting_rows == EVENTS {
                    break;
                }
                pause().await;
            }
            // also when it starts again
            installation.restart(0, |_| {}).await;
        }
        // others may join when the operator has accepted that
        installation.restart(0, accept_loss).await;
        let found = replicas(installation.node(0)).await;
        assert!(found.iter().all(|it| (it.lost_files, it.rows) == (0, EVENTS)), "{found:?}");
        // neither manifest nor copy
        installation
            .restart(0, |folder| {
                let manifests = [files(folder, "manifest"), files(folder, "manifest-copy")].concat();
                let of_events: Vec<_> =
                    manifests.iter().filter(|it| it.starts_with(folder.join("events"))).collect();
                assert_eq!(of_events.len(), 2);
                of_events.into_iter().for_each(|path| cut(path));
            })
            .await;
        assert_eq!(installation.found(0, "things", "found").await.len(), 2);
        let unknown =
            |warnings: &[String]| warnings.iter().any(|it| it.contains("rows that nobody has counted"));
        while !unknown(&installation.node(0).health().warnings) {
            pause().await;
        }
        keep(installation.node(0), 3).await;
        installation.stop().await;
    })
    .await;
}

#[actix_rt::test]
async fn a_node_that_is_alone_says_that_its_folder_of_events_is_gone() {
    in_time(async {
        let mut installation = Installation::start(1).await;
        keep(installation.node(0), 3).await;
        let has = || async {
            let found = replicas(installation.node(0)).await;
            found.iter().map(|it| it.rows + it.waiting_rows).sum::<u64>()
        };
        while has().await < EVENTS {
            pause().await;
        }
        installation
            .restart(0, |folder| std::fs::remove_dir_all(folder.join("events")).expect("removed"))
            .await;
        let gone = |warnings: &[String]| {
            let what = |it: &&String| it.contains(&format!("events, {EVENTS} rows: ")) && it.contains("gone");
            warnings.iter().filter(what).count() == 1
        };
        for round in 4..6 {
            while !gone(&installation.node(0).health().warnings) {
                pause().await;
            }
            keep(installation.node(0), round).await;
            installation.restart(0, |_| {}).await;
        }
        installation.restart(0, accept_loss).await;
        let found = replicas(installation.node(0)).await;
        let [replica] = &found[..] else { panic!("{found:?}") };
        assert_eq!((replica.lost_files, replica.rows), (0, 2 * EVENTS));
        installation.stop().await;
    })
    .await;
}

#[actix_rt::test]
async fn one_of_three_that_has_other_events_than_the_others_is_told_and_mended() {
    in_time(async {
        let mut installation = Installation::start(3).await;
        while !installation.node(0).overview().await.expect("an overview").is_settled {
            pause().await;
        }
        let earlier = tempfile::tempdir().expect("a folder");
        keep(installation.node(0), 1).await;
        all_have(&installation, EVENTS).await;
        installation.restart(1, |folder| copy(&folder.join("events"), &earlier.path().join("events"))).await;
        keep(installation.node(0), 2).await;
        all_have(&installation, 2 * EVENTS).await;
        // whole files through the same entry, which nothing tells from those that should be there
        installation
            .restart(1, |folder| {
                let found = files(&folder.join("events"), ".parquet");
                let of_group = found[0].ancestors().nth(2).expect("a day is in the folder of a group");
                let earlier = earlier.path().join("events");
                let copied = earlier.join(of_group.file_name().expect("a number"));
                plant_events(RealFiles::shared(), of_group, &copied, &[event(EVENTS, 1)]).expect("planted");
                std::fs::remove_dir_all(folder.join("events")).expect("removed");
                copy(&earlier, &folder.join("events"));
            })
            .await;
        let (told, end) = (Mutex::new(BTreeSet::new()), Instant::now() + Duration::from_secs(60));
        let mended = async {
            loop {
                let found = replicas(installation.node(0)).await;
                let is_whole = |it: &EventReplica| it.rows + it.waiting_rows == 2 * EVENTS;
                if !told.lock().expect("no panic").is_empty() && found.iter().all(is_whole) {
                    break;
                }
                let warnings = installation.node(1).health().warnings;
                assert!(Instant::now() < end, "{told:?} {found:?} {warnings:?}");
                pause().await;
            }
        };
        let text = format!("({} rows here, {} there)", EVENTS + 1, 2 * EVENTS);
        tokio::select! {
            () = mended => {}
            () = installation.warnings(1, &text, &told) => {}
        }
        installation.stop().await;
    })
    .await;
}

#[actix_rt::test]
async fn one_of_three_takes_what_it_lost_from_the_others() {
    in_time(async {
        let mut installation = Installation::start(3).await;
        while !installation.node(0).overview().await.expect("an overview").is_settled {
            pause().await;
        }
        let harms: [&dyn Fn(&Path); 4] = [
            &|events| files(events, ".parquet").iter().for_each(|path| cut(path)),
            &|events| {
                files(events, ".parquet").iter().for_each(|path| std::fs::remove_file(path).expect("gone"))
            },
            &|events| {
                files(events, "manifest").iter().for_each(|path| cut(path));
                files(events, "manifest-copy").iter().for_each(|path| cut(path));
            },
            &|events| std::fs::remove_dir_all(events).expect("gone"),
        ];
        for (round, harm) in (1..).zip(harms) {
            keep(installation.node(0), round).await;
            all_have(&installation, round * EVENTS).await;
            let node = round as usize % 3;
            installation
                .restart(node, |folder| {
                    assert!(!files(&folder.join("events"), ".parquet").is_empty());
                    harm(&folder.join("events"));
                })
                .await;
            let told = Mutex::new(BTreeSet::new());
            let mended = async {
                loop {
                    let found = replicas(installation.node(node + 1)).await;
                    let is_whole =
                        |it: &EventReplica| it.lost_files == 0 && it.rows + it.waiting_rows == round * EVENTS;
                    let is_told = !told.lock().expect("no panic").is_empty();
                    if is_told && found.len() == 3 && found.iter().all(is_whole) {
                        break;
                    }
                    pause().await;
                }
            };
            tokio::select! {
                () = mended => {}
                () = installation.warnings(node, "events, ", &told) => {}
            }
            while !installation.node(node).health().warnings.iter().all(|it| !it.contains("events, ")) {
                pause().await;
            }
        }
        installation.stop().await;
    })
    .await;
}
