//! Many move the same names and link them as replicas at once: does every index that is left lie in one group?

use crate::harness::*;
use futures_util::future::join_all;
use quorate_cluster::{IndexOperation, Service};
use quorate_model::ErrorKind;
use quorate_model::chance::Chance;
use serde_json::json;
use std::time::{Duration, Instant};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const CALLERS: u64 = 4;
const CALLS: usize = 50;
const ROUNDS: u64 = 3;
/// How soon after a start everything has been replayed, and more.
const REPLAYED: Duration = Duration::from_secs(3);

/// A name becomes another one, or primary of up to two, which the catalogue may refuse.
async fn call(service: &Service, chance: &mut Chance) {
    let [first, second, third] = std::array::from_fn(|_| *chance.pick(&NAMES));
    let done = if chance.once_in(2) {
        service.operate(&name(first), &name(second), IndexOperation::Move).await
    } else {
        let links = [second.to_owned(), format!("virtual({third})")];
        let changes = object(json!({"replicas": links[..chance.index(3)]}));
        service.set_settings(&name(first), changes, false).await
    };
    if let Err(error) = done {
        // what the others have done may forbid it
        assert_ne!(error.kind, ErrorKind::Internal, "{error}");
    }
}

#[actix_rt::test]
async fn moves_and_links_of_the_same_names_leave_every_index_in_one_group() {
    in_times(3, async {
        let mut installation = Installation::start(3).await;
        for round in 0..ROUNDS {
            join_all((0..CALLERS).map(async |caller| {
                let mut chance = Chance::new(round * CALLERS + caller);
                for number in 0..CALLS {
                    call(installation.node(number + caller as usize), &mut chance).await;
                }
            }))
            .await;
            for number in 0..3 {
                installation.down(number).await;
            }
            for number in 0..3 {
                installation.up(number, |_| {}).await;
            }
            // what lacks its files is told of when the log has been replayed
            let end = Instant::now() + REPLAYED;
            while Instant::now() < end {
                let warnings = installation.nodes().flat_map(|node| node.health().warnings);
                let gone: Vec<String> = warnings.filter(|it| it.contains("are gone")).collect();
                assert!(gone.is_empty(), "{round}: {gone:?}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        installation.stop().await;
    })
    .await;
}
