//! What a node that stops gives away first.

use super::harness::{Installation, in_time, patiently};
use quorate_cluster::Service;
use quorate_model::GroupId;

/// How often a node hands over: together less than the time until a new leader knows of the others if it did not wait.
const TRIES: usize = 3;

/// Whether a node leads the meta group, by its own account.
async fn leads(service: &Service, name: &str) -> bool {
    let overview = service.overview().await.expect("an overview");
    let meta = overview.groups.iter().find(|group| group.id == GroupId::META.0).expect("the meta group");
    meta.replicas.iter().any(|replica| replica.node == name && replica.role == "leader")
}

#[actix_rt::test]
async fn who_has_led_for_a_moment_only_hands_over_as_well() {
    in_time(async {
        let installation = Installation::start(3).await;
        for round in 0..9 {
            let next = installation.node(round % 3);
            let name = next.overview().await.expect("an overview").answered_by;
            patiently("a new leader", || next.transfer_leader(GroupId::META, &name))
                .await
                .expect("handed over");
            let mut looks = 0;
            while !leads(next, &name).await {
                looks += 1;
                assert!(looks < 5_000, "{name} does not lead");
            }
            // on a busy machine the others may be heard of late
            let mut tries = 0;
            while tries < TRIES && leads(next, &name).await {
                next.hand_over().await;
                tries += 1;
            }
            assert!(!leads(next, &name).await, "{name} still leads");
        }
        installation.stop().await;
    })
    .await;
}
