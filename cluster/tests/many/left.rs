//! Does a node that died while it left its groups take them again, with a metadata store that was lost meanwhile?

use crate::differs::leader_of;
use crate::harness::*;
use crate::refusing::{Refused, Refusing};
use quorate_cluster::Recovery;
use quorate_store::files::{Files, RealFiles};
use quorate_store::layout::Layout;
use serde_json::json;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// Until the first node says that the second one holds all groups, or no placement group.
async fn until_it_holds(installation: &Installation, groups: usize) {
    let end = Instant::now() + PATIENCE;
    loop {
        let seen = patiently("an overview", || installation.node(0).overview()).await.expect("an overview");
        let of_placement = seen.groups.iter().filter(|group| group.id != 0);
        let held = of_placement.filter(|group| group.has_full_copy("n1")).count();
        if held == groups {
            return;
        }
        assert!(Instant::now() < end, "{held} in place of {groups}: {seen:?}");
        tokio::time::sleep(LOOK).await;
    }
}

#[actix_rt::test]
async fn what_a_node_was_leaving_when_it_died_is_no_copy_of_a_group_that_comes_back() {
    in_times(2, async {
        let disk = Refusing::new(Refused::Removal, |path| path.extension().is_some_and(|it| it == "dump"));
        let layers: [std::sync::Arc<dyn Files>; 2] = [RealFiles::shared(), disk.clone()];
        let mut installation = Installation::start_on(&layers).await;
        let all = patiently("an overview", || installation.node(0).overview()).await.expect("an overview");
        let all = all.groups.len() - 1;
        installation
            .write(0, "things", (0..40).map(|n| put(&n.to_string(), json!({"n": n}))).collect())
            .await;
        until_it_holds(&installation, all).await;
        // a stop dumps every group
        installation.restart(1, |_| {}).await;
        until_it_holds(&installation, all).await;
        let (group, _) = leader_of(&installation, "things").await;
        disk.refuse(true);
        patiently("a drain", || installation.node(0).drain_node("n1")).await.expect("it is drained");
        let end = Instant::now() + PATIENCE;
        while disk.refused() < all {
            assert!(Instant::now() < end, "{} of {all} groups are left", disk.refused());
            tokio::time::sleep(LOOK).await;
        }
        let died = installation.kill(1).await;
        disk.refuse(false);
        std::fs::remove_dir_all(died.path().join("state")).expect("removed");
        let data = Layout::new(died.path());
        assert!(data.dump(group).exists() && data.left(group).exists());
        // who recovers an installation founds no group anew where something is left of it
        let looked_at = tempfile::tempdir().expect("a temporary folder");
        copy(died.path(), looked_at.path());
        let survey = Recovery::survey(looked_at.path()).expect("a survey");
        assert!(survey.leftovers.contains(&group), "{:?}", survey.leftovers);
        patiently("its return", || installation.node(0).undrain_node("n1"))
            .await
            .expect("it may hold groups");
        installation.try_up(1, died.path()).await.expect("it starts");
        until_it_holds(&installation, all).await;
        let ids: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        let ids: Vec<(&str, &str)> = ids.iter().map(|id| ("things", id.as_str())).collect();
        let found = patiently("records", || installation.objects(1, &ids)).await.expect("records");
        assert!(found.iter().all(Option::is_some), "{found:?}");
        assert!(!Layout::new(installation.folder(1)).left(group).exists(), "the mark stays");
        installation.stop().await;
    })
    .await;
}
