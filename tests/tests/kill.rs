//! Does an answered write survive kill -9 at any moment, once?

use quorate_tests::accident::{Owner, check_search, settle};
use quorate_tests::chance;
use quorate_tests::client::Family;
use quorate_tests::harness::Setup;
use std::time::Duration;

const OWNERS: usize = 4;
const INDEX: &str = "kill";

/// Rounds: 20, or `QUORATE_KILL_ROUNDS` for the long run.
#[test]
fn every_answered_write_survives_kill_9_once() {
    let rounds: u64 = std::env::var("QUORATE_KILL_ROUNDS")
        .ok()
        .map_or(20, |text| text.parse().expect("a number of rounds"));
    let mut chance = chance::from_environment("kill");
    let dir = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(dir.path().join("data"));
    let mut owners: Vec<Owner> = (0..OWNERS)
        .map(|number| Owner::new(&char::from(b'a' + number as u8).to_string(), INDEX, chance.split()))
        .collect();
    let server = setup.start().unwrap();
    let settings = serde_json::json!({"searchableAttributes": ["word"]});
    let task = server.client().put("/1/indexes/kill/settings", &settings).unwrap().success().unwrap();
    server.client().wait_task(INDEX, task.task_id().unwrap()).unwrap();
    setup = server.stop().unwrap();
    let mut answered = 0;
    for round in 0..rounds {
        let mut server = setup.start().unwrap();
        let clients = [Family::Service, Family::Algolia].map(|family| server.client_of(family));
        let kill_after = Duration::from_micros(5_000 + chance.below(400_000));
        std::thread::scope(|threads| {
            for (number, owner) in owners.iter_mut().enumerate() {
                let client = &clients[number % 2];
                threads.spawn(move || owner.write_until_unanswered(client).unwrap());
            }
            std::thread::sleep(kill_after);
            server.kill_now().unwrap();
        });
        setup = server.kill().unwrap();
        let server = setup.start().unwrap();
        let client = server.client();
        settle(&client, INDEX).unwrap();
        for owner in &mut owners {
            owner.check(&client).unwrap_or_else(|e| panic!("round {round}: {e}"));
            for task in owner.tasks.drain(..).rev().take(20) {
                client.wait_task(INDEX, task).unwrap();
                answered += 1;
            }
        }
        check_search(&client, INDEX, &owners, &mut chance).unwrap_or_else(|e| panic!("round {round}: {e}"));
        setup = match chance.below(3) {
            0 => server.stop().unwrap(),
            _ => server.kill().unwrap(),
        };
    }
    println!("{rounds} rounds, {answered} tasks asked for");
    assert!(answered > rounds, "too few writes were answered to show anything");
}
