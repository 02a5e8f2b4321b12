//! What a disk has changed is found, told, and taken anew from the other replicas.

use crate::differs::leader_of;
use crate::harness::*;
use crate::refusing::{Refused, Refusing};
use quorate_cluster::membership::GroupView;
use quorate_cluster::{CallerOp, CheckOptions};
use quorate_model::GroupId;
use quorate_store::files::Files;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for item in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = item.path();
        match path.is_dir() {
            true => found.extend(segments(&path)),
            false if path.extension().is_some_and(|it| it == "seg") => found.push(path),
            false => {}
        }
    }
    found
}

/// Changes a byte in the place of the old one, as a disk does it: whoever has the file open sees it.
fn damage(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes.windows(14).position(|window| window == b"precious-thing").unwrap();
    bytes[at] ^= 1;
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    std::io::Write::write_all(&mut file, &bytes).unwrap();
}

fn record(id: u64) -> CallerOp {
    put(&id.to_string(), json!({"n": id, "text": "precious-thing"}))
}

/// Writes forty records, and waits until the files of every node are durable; returns one of each.
async fn written(installation: &Installation) -> Vec<PathBuf> {
    installation.write(0, "things", (0..40).map(record).collect()).await;
    let end = Instant::now() + PATIENCE;
    loop {
        let all: Vec<Vec<PathBuf>> = (0..installation.nodes().count())
            .map(|node| segments(&installation.folder(node).join("indices")))
            .collect();
        if all.iter().all(|of_node| !of_node.is_empty()) {
            break all.into_iter().map(|of_node| of_node[0].clone()).collect();
        }
        assert!(Instant::now() < end, "the files of some node are not written: {all:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Damages what these nodes of three have of an index; it is told of each, and in the end all have everything.
async fn damaged_and_mended(damaged: &[usize]) {
    let installation = Installation::start(3).await;
    let files = written(&installation).await;
    damaged.iter().for_each(|&node| damage(&files[node]));
    let end = Instant::now() + PATIENCE;
    let told = [Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new())];
    let looks = async {
        loop {
            let overview = patiently("an overview", || installation.node(0).overview()).await.unwrap();
            let mut contents = vec![];
            for node in installation.nodes() {
                let digest = patiently("a digest", || node.digest()).await.unwrap();
                let indices = digest.groups.into_iter().flat_map(|group| group.indices);
                contents
                    .extend(indices.filter(|it| it.index.as_deref() == Some("things")).map(|it| it.digest));
            }
            let alike =
                contents.len() == 3 && contents.iter().all(|it| *it == contents[0] && it.records == 40);
            let left = overview.waits.iter().any(|it| it.contains("checksum of section"));
            let all_told = damaged.iter().all(|&node| !told[node].lock().expect("no panic").is_empty());
            if all_told && alike && !left {
                break;
            }
            assert!(Instant::now() < end, "told {told:?}, {contents:?}, {:?}", overview.waits);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let text = "checksum of section";
    tokio::select! {
        () = looks => {}
        () = installation.warnings(0, text, &told[0]) => {}
        () = installation.warnings(1, text, &told[1]) => {}
        () = installation.warnings(2, text, &told[2]) => {}
    }
    // and it goes on
    installation.write(1, "things", vec![record(40)]).await;
    assert_eq!(installation.found(1, "things", "precious").await.len(), 20);
    installation.stop().await;
}

#[actix_rt::test]
async fn a_damaged_file_is_told_and_replaced_by_what_the_others_have() {
    in_time(damaged_and_mended(&[1])).await;
}

#[actix_rt::test]
async fn two_of_three_are_mended_from_the_one_that_has_everything() {
    in_time(damaged_and_mended(&[1, 2])).await;
}

/// Whether any file of a node holds what [`damage`] has left.
fn is_damaged(installation: &Installation, node: usize) -> bool {
    segments(&installation.folder(node).join("indices")).iter().any(|path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(14).any(|window| window == b"qrecious-thing")
    })
}

#[actix_rt::test]
async fn the_only_voter_is_mended_from_who_follows_it() {
    in_time(async {
        let installation = Installation::start(2).await;
        let files = written(&installation).await;
        let (_, leader) = leader_of(&installation, "things").await;
        damage(&files[leader]);
        let end = Instant::now() + PATIENCE;
        while is_damaged(&installation, leader) {
            let warnings = installation.node(leader).health().warnings;
            assert!(Instant::now() < end, "{warnings:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        installation.write(1, "things", vec![record(40)]).await;
        assert_eq!(installation.found(leader, "things", "precious").await.len(), 20);
        installation.stop().await;
    })
    .await;
}

/// A group as a node sees it.
async fn view(installation: &Installation, number: usize, group: GroupId) -> GroupView {
    let overview =
        patiently("an overview", || installation.node(number).overview()).await.expect("an overview");
    overview.groups.into_iter().find(|view| view.id == group.0).expect("the group")
}

/// Drains one of two nodes that leads a group, and stops it when it is no member any more. Returns whether it has its files still.
async fn drained_and_stopped(installation: &Installation, group: GroupId, good: usize) -> bool {
    let (heir, name, end) = (1 - good, format!("n{good}"), Instant::now() + PATIENCE);
    patiently("a drain", || installation.node(heir).drain_node(&name)).await.expect("it is drained");
    loop {
        let view = view(installation, heir, group).await;
        if view.voters == [format!("n{heir}")] && view.learners.is_empty() && !view.is_changing {
            break;
        }
        assert!(Instant::now() < end, "{view:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    installation.down(good).await;
    !segments(&installation.folder(good).join("indices")).is_empty()
}

/// Attempts to stop a node between its removal from a group and the removal of its files, which come within a second.
const ATTEMPTS: u32 = 8;

#[actix_rt::test]
async fn who_is_left_alone_is_mended_from_a_node_that_has_left_and_has_its_files() {
    in_times(2, async {
        for attempt in 0..ATTEMPTS {
            let mut installation = Installation::start(2).await;
            written(&installation).await;
            let (group, good) = leader_of(&installation, "things").await;
            let heir = 1 - good;
            if !drained_and_stopped(&installation, group, good).await {
                assert!(attempt + 1 < ATTEMPTS, "it always removes its files first");
                installation.stop().await;
                continue;
            }
            let holds = |path: &PathBuf| {
                std::fs::read(path).is_ok_and(|it| it.windows(14).any(|window| window == b"precious-thing"))
            };
            let files = segments(&installation.folder(heir).join("indices"));
            damage(files.iter().find(|path| holds(path)).expect("a file with the records"));
            let end = Instant::now() + PATIENCE;
            let is_told = |warnings: &[String]| warnings.iter().any(|it| it.contains("checksum of section"));
            while !is_told(&installation.node(heir).health().warnings) {
                assert!(Instant::now() < end, "it is not found");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert!(!view(&installation, heir, group).await.has_full_copy(&format!("n{heir}")));
            installation.up(good, |_| {}).await;
            let end = Instant::now() + PATIENCE;
            while is_damaged(&installation, heir) {
                let kept = segments(&installation.folder(good).join("indices"));
                let is_mended = !is_damaged(&installation, heir);
                assert!(!kept.is_empty() || is_mended, "the only good files are gone");
                assert!(Instant::now() < end, "{:?}", view(&installation, heir, group).await);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            while !segments(&installation.folder(good).join("indices")).is_empty() {
                assert!(Instant::now() < end, "{:?}", view(&installation, heir, group).await);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert_eq!(installation.found(heir, "things", "precious").await.len(), 20);
            installation.stop().await;
            return;
        }
    })
    .await;
}

/// Whether a file is on its way between nodes.
fn travels(path: &Path) -> bool {
    path.iter().any(|part| part == "snapshots")
}

/// Writes that are refused in two tries: each waits for 100 ms, 200 ms and 400 ms between its own, and is given up meanwhile.
const TWO_TRIES: usize = 6;

#[actix_rt::test]
async fn a_drained_node_keeps_its_files_while_its_heir_cannot_mend_its_own() {
    in_time(async {
        let disks = [(); 2].map(|()| Refusing::new(Refused::Writing, travels));
        let layers = disks.clone().map(|disk| disk as Arc<dyn Files>);
        let (every, anew_within) = (Duration::from_secs(2), Duration::from_millis(500));
        let checks = CheckOptions { bytes_per_s: 1 << 30, every, anew_within };
        let installation = Installation::start_checked(&layers, checks).await;
        let files = written(&installation).await;
        let (group, good) = leader_of(&installation, "things").await;
        let (heir, name) = (1 - good, format!("n{good}"));
        disks[heir].refuse(true);
        damage(&files[heir]);
        let refused = || disks[heir].refused();
        let (end, mut drained_at) = (Instant::now() + PATIENCE, None);
        while drained_at.is_none_or(|before| refused() < before + 2 * TWO_TRIES) {
            if drained_at.is_none() && refused() >= TWO_TRIES {
                drained_at = Some(refused());
                patiently("a drain", || installation.node(heir).drain_node(&name))
                    .await
                    .expect("it is drained");
            }
            let view = view(&installation, 0, group).await;
            let is_full = |node: usize| view.has_full_copy(&format!("n{node}"));
            if drained_at.is_some() {
                assert!(!is_full(heir) && is_full(good), "{view:?}");
                assert_eq!(view.leader, Some(format!("n{good}")), "{view:?}");
            }
            let kept = segments(&installation.folder(good).join("indices"));
            assert!(!kept.is_empty(), "the only good files are gone: {view:?}");
            assert!(Instant::now() < end, "{} refused, {view:?}", refused());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        disks[heir].refuse(false);
        let end = Instant::now() + PATIENCE;
        while !segments(&installation.folder(good).join("indices")).is_empty() {
            let overview = patiently("an overview", || installation.node(0).overview()).await.unwrap();
            assert!(Instant::now() < end, "{overview:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(!is_damaged(&installation, heir));
        assert_eq!(installation.found(heir, "things", "precious").await.len(), 20);
        installation.stop().await;
    })
    .await;
}
