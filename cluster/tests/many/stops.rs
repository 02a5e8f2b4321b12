//! What a node that stops gives away first.

use super::harness::{Installation, in_time, patiently};
use quorate_cluster::Service;
use quorate_model::GroupId;
use std::time::Duration;

/// How often the leadership is taken and given away again.
const ROUNDS: usize = 9;

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
        // until then there is nobody who could lead instead
        while !installation.node(0).overview().await.expect("an overview").is_settled {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut handed_over = 0;
        for round in 0..ROUNDS {
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
            next.hand_over().await;
            handed_over += usize::from(!leads(next, &name).await);
        }
        // on a busy machine the others may be heard of late, or lose the election
        assert!(handed_over >= ROUNDS / 2, "{handed_over} of {ROUNDS} times");
        installation.stop().await;
    })
    .await;
}
