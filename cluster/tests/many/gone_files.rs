//! Does a folder of an index that is gone pass for an index without records?

use crate::harness::*;
use quorate_cluster::{ReadRights, Service, ServiceOptions};
use quorate_model::ErrorKind;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

const RECORDS: usize = 20;
/// How soon a node that has others holds everything again.
const SOON: Duration = Duration::from_secs(40);

fn options(folder: &Path) -> ServiceOptions {
    ServiceOptions { disk_reserve_bytes: 0, search_threads: 1, ..ServiceOptions::new(folder) }
}
fn records() -> Vec<quorate_cluster::CallerOp> {
    (0..RECORDS).map(|n| put(&format!("r{n}"), json!({"n": n, "text": "lamp"}))).collect()
}
async fn hits(node: &Service, index: &str) -> Result<u64, ErrorKind> {
    let found = node.search(&name(index), params(json!({"query": "lamp"})), ReadRights::default()).await;
    found.map(|found| found.nb_hits).map_err(|error| error.kind)
}
#[actix_rt::test]
async fn a_member_whose_files_are_gone_shows_no_empty_index_and_gets_them_from_the_others() {
    in_time(async {
        let mut installation = Installation::start(3).await;
        for index in ["lamps", "chairs"] {
            installation.write(0, index, records()).await;
        }
        installation.restart(1, |folder| std::fs::remove_dir_all(folder.join("indices")).unwrap()).await;
        let end = Instant::now() + SOON;
        loop {
            let mut whole = 0;
            for index in ["lamps", "chairs"] {
                match hits(installation.node(1), index).await {
                    Ok(hits) => assert_eq!(hits, RECORDS as u64, "{index} lacks some and does not say so"),
                    Err(kind) => assert!(matches!(kind, ErrorKind::Unavailable | ErrorKind::Internal)),
                }
                let id = [(index, "r7")];
                match installation.objects(1, &id).await {
                    Ok(found) => assert!(found[0].is_some(), "r7 of {index}"),
                    Err(error) => assert_ne!(error.kind, ErrorKind::NotFound),
                }
            }
            let seen = installation.node(0).overview().await.unwrap();
            for group in seen.groups.iter().filter(|group| group.id != 0) {
                whole += group.replicas.iter().filter(|it| it.node == "n1" && it.copy == "full").count();
            }
            let node = installation.node(1);
            let folders = std::fs::read_dir(installation.folder(1).join("indices"));
            let has_folders = folders.is_ok_and(|folders| folders.count() >= 2);
            let has_all = whole == 16
                && has_folders
                && node.health().warnings.iter().all(|it| !it.contains("are gone"));
            if has_all && hits(node, "lamps").await.is_ok() && hits(node, "chairs").await.is_ok() {
                break;
            }
            assert!(Instant::now() < end, "{:?}", installation.node(1).health());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        installation.stop().await;
    })
    .await;
}

#[actix_rt::test]
async fn a_node_without_others_says_which_files_are_gone_and_goes_on_without_that_index() {
    in_time(async {
        let home = tempfile::tempdir().unwrap();
        let live = home.path().join("live");
        let (service, _) = Service::open(options(&live)).await.unwrap();
        for index in ["lamps", "chairs"] {
            let receipt = service.write_records(&name(index), records()).await.unwrap();
            while !service.is_published(receipt.task_id).await.unwrap() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        service.shutdown().await;
        let first = std::fs::read_dir(live.join("indices")).unwrap().map(|it| it.unwrap().path()).min();
        let (first, aside) = (first.unwrap(), home.path().join("aside"));
        std::fs::rename(&first, &aside).unwrap();
        // and after one more start, and a write
        for write in [false, true, false] {
            let (service, _) = Service::open(options(&live)).await.unwrap();
            let end = Instant::now() + SOON;
            while !service.health().warnings.iter().any(|it| it.contains("are gone")) {
                assert!(Instant::now() < end, "{:?}", service.health());
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            if write {
                let late = put("late", json!({"n": 99, "text": "lamp"}));
                let refused = service.write_records(&name("lamps"), vec![late]).await.unwrap_err();
                assert!(refused.message.contains("lamps are gone on this node"), "{refused}");
                let copy = quorate_cluster::IndexOperation::Copy { scope: None, keys: false };
                let refused = service.operate(&name("lamps"), &name("copied"), copy).await.unwrap_err();
                assert_eq!(refused.kind, ErrorKind::Unavailable);
                service.write_records(&name("chairs"), records()).await.unwrap();
            }
            assert_eq!(hits(&service, "lamps").await, Err(ErrorKind::Unavailable));
            assert_eq!(hits(&service, "chairs").await, Ok(RECORDS as u64));
            service.shutdown().await;
        }
        // put back, everything is there
        std::fs::rename(&aside, &first).unwrap();
        let (service, _) = Service::open(options(&live)).await.unwrap();
        let end = Instant::now() + SOON;
        while hits(&service, "lamps").await != Ok(RECORDS as u64) {
            assert!(Instant::now() < end, "{:?} {:?}", hits(&service, "lamps").await, service.health());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(hits(&service, "chairs").await, Ok(RECORDS as u64));
        service.shutdown().await;
        std::fs::remove_dir_all(&first).unwrap();
        let (service, _) = Service::open(options(&live)).await.unwrap();
        service.delete_index(&name("lamps")).await.unwrap();
        service.write_records(&name("lamps"), records()).await.unwrap();
        let end = Instant::now() + SOON;
        while hits(&service, "lamps").await != Ok(RECORDS as u64) {
            assert!(Instant::now() < end, "{:?}", service.health());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        service.shutdown().await;
    })
    .await;
}

#[actix_rt::test]
async fn when_no_member_has_the_files_of_an_index_its_deletion_makes_all_copies_full_again() {
    in_time(async {
        let mut installation = Installation::start(3).await;
        installation.write(0, "lamps", records()).await;
        for number in 0..3 {
            installation.down(number).await;
        }
        for number in 0..3 {
            installation.up(number, |folder| std::fs::remove_dir_all(folder.join("indices")).unwrap()).await;
        }
        let end = Instant::now() + SOON;
        let tells = |node: &Service| node.health().warnings.iter().any(|it| it.contains("are gone"));
        // the third may have been on its way to a copy
        while installation.nodes().filter(|node| tells(node)).count() < 2 {
            let health: Vec<_> = installation.nodes().map(Service::health).collect();
            assert!(Instant::now() < end, "{health:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let deleted =
            patiently("its deletion", async || installation.node(0).delete_index(&name("lamps")).await);
        deleted.await.unwrap();
        let end = Instant::now() + SOON;
        loop {
            let seen = installation.node(0).overview().await.unwrap();
            let of_groups = seen.groups.iter().filter(|group| group.id != 0);
            let whole = of_groups.flat_map(|group| &group.replicas).filter(|it| it.copy == "full").count();
            if whole == 16 * 3 && !installation.nodes().any(tells) {
                break;
            }
            assert!(Instant::now() < end, "{whole} {:?} {:?}", installation.node(1).health(), seen.groups);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        installation.write(1, "lamps", records()).await;
        assert_eq!(hits(installation.node(1), "lamps").await, Ok(RECORDS as u64));
        installation.stop().await;
    })
    .await;
}
