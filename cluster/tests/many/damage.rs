//! A node whose log is damaged says so and does not start; its operator has two ways on, and each says what it costs.

use crate::harness::*;
use quorate_cluster::{ClusterOptions, ReadRights, Service, ServiceOptions, damage};
use quorate_model::Error;
use serde_json::json;
use std::path::{Path, PathBuf};

const RECORDS: usize = 30;

/// Changes a bit inside the text, where the log has it; returns the file.
fn damage_log(folder: &Path, text: &str) -> PathBuf {
    for item in std::fs::read_dir(folder.join("raft")).unwrap() {
        let path = item.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(text.len()).position(|window| window == text.as_bytes()) {
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            return path;
        }
    }
    panic!("no file of the log has {text}");
}

fn options(folder: &Path) -> ServiceOptions {
    ServiceOptions { disk_reserve_bytes: 0, search_threads: 1, ..ServiceOptions::new(folder) }
}

async fn refused(options: ServiceOptions) -> Error {
    match Service::open(options).await {
        Ok((service, _)) => {
            service.shutdown().await;
            panic!("a node with a damaged log has started")
        }
        Err(error) => error,
    }
}

#[actix_rt::test]
async fn a_node_that_is_alone_goes_on_without_what_its_log_lost_once_that_is_accepted() {
    in_time(async {
        let home = tempfile::tempdir().unwrap();
        let (live, left) = (home.path().join("live"), home.path().join("left"));
        let (service, started) = Service::open(options(&live)).await.unwrap();
        let things = name("things");
        for id in 0..RECORDS {
            let record = put(&format!("thing-{id}"), json!({"text": format!("number-{id}-of-many")}));
            let receipt = service.write_records(&things, vec![record]).await.unwrap();
            while !service.is_published(receipt.task_id).await.unwrap() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        }
        // what a kill leaves
        copy(&live, &left);
        service.shutdown().await;
        let file = damage_log(&left, "number-17-of-many");
        let damaged = std::fs::read(&file).unwrap();
        let text = refused(options(&left)).await.to_string();
        for part in [&file.display().to_string(), "lacks entries", "log inspect", "log accept-loss"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), damaged, "nothing was changed");
        let anew = damage::start_anew(&left, Some(&started.app_id)).unwrap_err();
        assert!(anew.message.contains("no other node"), "{anew}");
        let unsaid = damage::accept_loss(&left, None).unwrap_err();
        assert!(unsaid.message.contains(&format!("--confirm {}", started.app_id)), "{unsaid}");
        let report = damage::accept_loss(&left, Some(&started.app_id)).unwrap();
        let lost: u64 =
            report.damage.iter().flat_map(|it| it.lost.values()).map(|it| it.end - it.start).sum();
        assert_eq!(lost, 1, "{report}");
        for _ in 0..2 {
            let (service, _) = Service::open(options(&left)).await.unwrap();
            let asked = params(json!({"query": "", "hitsPerPage": 100}));
            let found = service.search(&things, asked, ReadRights::default()).await.unwrap();
            let has = |id: usize| {
                let id = format!("\"thing-{id}\"");
                found.hits.iter().any(|hit| String::from_utf8_lossy(hit).contains(&id))
            };
            for id in (0..RECORDS).filter(|&id| id != 17) {
                assert!(has(id), "thing-{id} is gone, which was not damaged");
            }
            let record = put("thing-17", json!({"text": "written again"}));
            service.write_records(&things, vec![record]).await.unwrap();
            service.shutdown().await;
        }
    })
    .await;
}

#[actix_rt::test]
async fn a_member_of_several_sets_its_files_aside_and_comes_back_with_another_number() {
    in_time(async {
        let installation = Installation::start(2).await;
        let record = put("a", json!({"text": "something to be found in the log"}));
        installation.write(0, "things", vec![record]).await;
        let left = tempfile::tempdir().unwrap();
        copy(installation.folder(1), left.path());
        let app_id = installation.node(0).app_id().to_owned();
        installation.stop().await;
        let number = std::fs::read(left.path().join("node-id")).unwrap();
        let file = damage_log(left.path(), "hard_state");
        let report = damage::inspect(left.path()).unwrap();
        assert!(report.to_string().contains(&file.display().to_string()), "{report}");
        let cluster = ClusterOptions {
            peer_listen: Some(([127, 0, 0, 1], 0).into()),
            join_token: Some("qj1-ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4CBgoOpP7iV".into()),
            join: vec!["127.0.0.1:1".into()],
            ..ClusterOptions::default()
        };
        let error = refused(ServiceOptions { cluster, ..options(left.path()) }).await;
        assert!(error.message.contains("log start-anew"), "{error}");
        let lossy = damage::accept_loss(left.path(), Some(&app_id)).unwrap_err();
        assert!(lossy.message.contains("other nodes"), "{lossy}");
        let aside = damage::start_anew(left.path(), Some(&app_id)).unwrap();
        assert_eq!(std::fs::read(aside.join("node-id")).unwrap(), number, "nothing is deleted");
        assert!(aside.join("raft").exists() && aside.join("indices").exists());
        for gone in ["node-id", "raft", "indices", "state", "dumps"] {
            assert!(!left.path().join(gone).exists(), "{gone}");
        }
        assert!(left.path().join("join-token").exists());
    })
    .await;
}
