//! Does every node know from where calls may come, soon after that has changed?

use crate::harness::{Installation, in_time};
use quorate_model::{AllowedSource, ErrorKind};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How soon every node goes by a change.
const SOON: Duration = Duration::from_secs(1);

#[actix_rt::test]
async fn a_change_of_the_sources_counts_on_every_node_within_a_second_and_after_a_restart() {
    in_time(async {
        let mut installation = Installation::start(3).await;
        let office = AllowedSource::new("10.0.0.0/8", Some("office".into())).expect("a network");
        let (inside, outside): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [11, 0, 0, 1].into());
        let steps: [(usize, bool); 4] = [(1, true), (2, false), (0, true), (1, false)];
        for (number, restricts) in steps {
            let node = installation.node(number);
            match restricts {
                true => node.set_sources(vec![office.clone()]).await.expect("accepted"),
                false => node.remove_source("10.0.0.0/8").await.expect("accepted"),
            };
            let since = Instant::now();
            for node in installation.nodes() {
                while node.sources().allow(outside) == restricts {
                    assert!(since.elapsed() < SOON, "every node goes by it within a second");
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                assert!(node.sources().allow(inside));
            }
        }
        let missing = installation.node(2).remove_source("10.0.0.0/8").await.expect_err("it is not there");
        assert_eq!(missing.kind, ErrorKind::NotFound);
        installation.node(0).append_source(office.clone()).await.expect("accepted");
        installation.restart(2, |_| {}).await;
        let since = Instant::now();
        while installation.node(2).sources().list() != [office.clone()] {
            assert!(since.elapsed() < 10 * SOON, "a node that comes back knows the list");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        installation.stop().await;
    })
    .await;
}
