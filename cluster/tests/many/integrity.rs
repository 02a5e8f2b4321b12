//! What a disk has changed is found, told, and taken anew from the other replicas.

use crate::harness::*;
use serde_json::json;
use std::path::{Path, PathBuf};
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

#[actix_rt::test]
async fn a_damaged_file_is_told_and_replaced_by_what_the_others_have() {
    in_time(async {
        let installation = Installation::start(3).await;
        let record = |id: u64| put(&id.to_string(), json!({"n": id, "text": "precious-thing"}));
        installation.write(0, "things", (0..40).map(record).collect()).await;
        // until the files of every node are durable
        let end = Instant::now() + PATIENCE;
        let damaged = loop {
            let all: Vec<Vec<PathBuf>> =
                (0..3).map(|node| segments(&installation.folder(node).join("indices"))).collect();
            if all.iter().all(|of_node| !of_node.is_empty()) {
                break all[1][0].clone();
            }
            assert!(Instant::now() < end, "the files of some node are not written: {all:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let mut bytes = std::fs::read(&damaged).unwrap();
        let at = bytes.windows(14).position(|window| window == b"precious-thing").unwrap();
        bytes[at] ^= 1;
        // in the place of the old bytes, as a disk does it: whoever has it open sees it
        let mut file = std::fs::File::options().write(true).open(&damaged).unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
        let end = Instant::now() + PATIENCE;
        let mut told = false;
        loop {
            let overview = patiently("an overview", || installation.node(0).overview()).await.unwrap();
            told |= overview.waits.iter().any(|it| it.contains("n1") && it.contains("checksum of section"));
            let mut contents = vec![];
            for node in installation.nodes() {
                let digest = node.digest().await.unwrap();
                let indices = digest.groups.into_iter().flat_map(|group| group.indices);
                contents
                    .extend(indices.filter(|it| it.index.as_deref() == Some("things")).map(|it| it.digest));
            }
            let alike = contents.len() == 3 && contents.iter().all(|it| *it == contents[0]);
            let left = overview.waits.iter().any(|it| it.contains("checksum of section"));
            if told && alike && !left {
                break;
            }
            assert!(Instant::now() < end, "told {told}, {contents:?}, {:?}", overview.waits);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // and it goes on
        installation.write(1, "things", vec![record(40)]).await;
        assert_eq!(installation.found(1, "things", "precious").await.len(), 20);
        installation.stop().await;
    })
    .await;
}
