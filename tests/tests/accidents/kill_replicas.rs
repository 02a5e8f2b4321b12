//! Do a primary and its replicas hold the same records after kill -9 at any moment?

use quorate_tests::accident::{Owner, settle};
use quorate_tests::chance;
use quorate_tests::client::Client;
use quorate_tests::harness::Setup;
use serde_json::{Value, json};
use std::time::Duration;

const PRIMARY: &str = "primary";
const REPLICAS: [&str; 2] = ["oldest", "newest"];

fn set(client: &Client, index: &str, settings: &Value) {
    let answer = client.put(&format!("/1/indexes/{index}/settings"), settings).unwrap();
    client.wait_task(index, answer.success().unwrap().task_id().unwrap()).unwrap();
}
/// Every record of an index, by id.
fn records(client: &Client, index: &str) -> Vec<String> {
    let mut records: Vec<String> = client
        .browse_all(index)
        .unwrap()
        .iter()
        .map(|record| format!("{} {record}", record["objectID"]))
        .collect();
    records.sort();
    records
}
/// The versions in the order of an index.
fn versions(client: &Client, index: &str) -> Vec<u64> {
    let found = client.search(index, &json!({"query": "", "hitsPerPage": 1000})).unwrap();
    found["hits"].as_array().unwrap().iter().map(|hit| hit["version"].as_u64().unwrap_or(0)).collect()
}

/// Rounds: 5, or `QUORATE_KILL_ROUNDS` for the long run.
#[test]
fn replicas_hold_what_their_primary_holds_after_kill_9() {
    let rounds: u64 =
        std::env::var("QUORATE_KILL_ROUNDS").ok().map_or(5, |text| text.parse().expect("a number of rounds"));
    let mut chance = chance::from_environment("kill_replicas");
    let dir = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(dir.path().join("data"));
    let mut owners: Vec<Owner> =
        ["a", "b", "c"].into_iter().map(|name| Owner::new(name, PRIMARY, chance.split())).collect();
    let server = setup.start().unwrap();
    let client = server.client();
    let faceted = json!({"attributesForFaceting": ["kind"], "replicas": REPLICAS});
    set(&client, PRIMARY, &faceted);
    set(&client, REPLICAS[0], &json!({"ranking": ["asc(version)"]}));
    set(&client, REPLICAS[1], &json!({"ranking": ["desc(version)"]}));
    setup = server.kill().unwrap();
    for round in 0..rounds {
        let mut server = setup.start().unwrap();
        let kill_after = Duration::from_micros(5_000 + chance.below(400_000));
        std::thread::scope(|threads| {
            for owner in &mut owners {
                let client = server.client();
                threads.spawn(move || owner.write_until_unanswered(&client).unwrap());
            }
            let client = server.client();
            threads.spawn(move || {
                // records of nobody, deleted by query until the server is gone; the last call has no answer
                for number in 0_u64.. {
                    let one = json!({"objectID": format!("kind{}", number % 3), "kind": format!("k{}", number % 3)});
                    let filters = json!({"filters": format!("kind:k{}", (number + 1) % 3)});
                    if client.put(&format!("/1/indexes/{PRIMARY}/kind{}", number % 3), &one).is_err()
                        || client.post(&format!("/1/indexes/{PRIMARY}/deleteByQuery"), &filters).is_err()
                    {
                        return;
                    }
                }
            });
            std::thread::sleep(kill_after);
            server.kill_now().unwrap();
        });
        setup = server.kill().unwrap();
        let server = setup.start().unwrap();
        let client = server.client();
        settle(&client, PRIMARY).unwrap();
        for owner in &mut owners {
            owner.check(&client).unwrap_or_else(|e| panic!("round {round}: {e}"));
        }
        let expected = records(&client, PRIMARY);
        for index in REPLICAS {
            assert_eq!(records(&client, index), expected, "round {round}: {index}");
        }
        let by_version = versions(&client, REPLICAS[1]);
        assert!(by_version.is_sorted_by(|a, b| a >= b), "round {round}: {by_version:?}");
        setup = match chance.below(2) {
            0 => server.stop().unwrap(),
            _ => server.kill().unwrap(),
        };
    }
}
