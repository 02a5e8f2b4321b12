//! What a disk has changed is found, told, and taken anew from the other replicas.

use crate::harness::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
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

/// Damages what these nodes of three have of an index; it is told of each, and in the end all have everything.
async fn damaged_and_mended(damaged: &[usize]) {
    let installation = Installation::start(3).await;
    let record = |id: u64| put(&id.to_string(), json!({"n": id, "text": "precious-thing"}));
    installation.write(0, "things", (0..40).map(record).collect()).await;
    // until the files of every node are durable
    let end = Instant::now() + PATIENCE;
    let files: Vec<PathBuf> = loop {
        let all: Vec<Vec<PathBuf>> =
            (0..3).map(|node| segments(&installation.folder(node).join("indices"))).collect();
        if all.iter().all(|of_node| !of_node.is_empty()) {
            break all.into_iter().map(|of_node| of_node[0].clone()).collect();
        }
        assert!(Instant::now() < end, "the files of some node are not written: {all:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
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
