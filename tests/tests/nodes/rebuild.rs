//! Does a change of settings lose, double or hide a write while the index is rebuilt for it, and does kill -9 end that?

use quorate_tests::accident::{Owner, settle};
use quorate_tests::chance;
use quorate_tests::client::Client;
use quorate_tests::harness::Setup;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const INDEX: &str = "rebuilt";
/// More records than are rebuilt while writes wait.
const BASE: u64 = 4_000;
const ROUNDS: u64 = 6;

fn base_record(n: u64) -> Value {
    json!({"objectID": format!("base{n}"), "title": format!("lamp number {n}"), "kind": format!("k{}", n % 7)})
}
/// Settings that need other files than those of the round before.
fn settings(round: u64) -> Value {
    match round % 2 {
        0 => json!({"attributesForFaceting": ["kind"], "customRanking": ["asc(kind)"]}),
        _ => json!({"attributesForFaceting": ["owner"], "customRanking": ["desc(kind)"]}),
    }
}
fn change(client: &Client, round: u64) -> u64 {
    let answer = client.put(&format!("/1/indexes/{INDEX}/settings"), &settings(round)).unwrap();
    answer.success().unwrap().task_id().unwrap()
}
fn is_published(client: &Client, task: u64) -> bool {
    let answer = client.get(&format!("/1/indexes/{INDEX}/task/{task}")).unwrap().success().unwrap();
    answer.body["status"] == "published"
}
/// Every record of the base is found, and the facets are those of one state of settings: all values or none.
fn check_base(client: &Client) -> anyhow::Result<()> {
    let params = json!({"query": "lamp", "typoTolerance": false, "facets": ["kind"], "hitsPerPage": 1,
        "maxValuesPerFacet": 100});
    let found = client.search(INDEX, &params)?;
    anyhow::ensure!(found["nbHits"] == BASE, "{} of {BASE}", found["nbHits"]);
    let kinds: u64 = found["facets"]["kind"]
        .as_object()
        .map_or(0, |values| values.values().filter_map(Value::as_u64).sum());
    anyhow::ensure!(kinds == 0 || kinds == BASE, "{kinds} of {BASE} in the facet");
    Ok(())
}

#[test]
fn writes_and_searches_go_on_while_an_index_is_rebuilt_and_survive_kill_9() {
    let mut chance = chance::from_environment("rebuild");
    let dir = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(dir.path().join("data"));
    let server = setup.start().unwrap();
    let client = server.client();
    for from in (0..BASE).step_by(1_000) {
        let adds: Vec<_> = (from..from + 1_000).map(|n| ("addObject", base_record(n))).collect();
        client.batch(INDEX, &adds).unwrap();
    }
    settle(&client, INDEX).unwrap();
    setup = server.stop().unwrap();
    let mut owners: Vec<Owner> =
        ["a", "b"].into_iter().map(|name| Owner::new(name, INDEX, chance.split())).collect();
    for round in 0..ROUNDS {
        let mut server = setup.start().unwrap();
        let client = server.client();
        let ended = AtomicBool::new(false);
        let task = std::thread::scope(|threads| {
            for owner in &mut owners {
                let client = server.client();
                threads.spawn(move || owner.write_until_unanswered(&client).unwrap());
            }
            let (searcher, ended) = (server.client(), &ended);
            let searches = threads.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    check_base(&searcher)?;
                }
                anyhow::Ok(())
            });
            let task = change(&client, round);
            std::thread::sleep(Duration::from_micros(chance.below(1_500_000)));
            ended.store(true, Ordering::Relaxed);
            let searched = searches.join();
            server.kill_now().unwrap();
            searched.unwrap().unwrap_or_else(|e| panic!("round {round}: {e}"));
            task
        });
        setup = server.kill().unwrap();
        let server = setup.start().unwrap();
        let client = server.client();
        // nothing is written: the rebuild begins again of itself
        client.wait_task(INDEX, task).unwrap();
        check_base(&client).unwrap();
        let found = client.search(INDEX, &json!({"query": "number", "facets": ["kind"]})).unwrap();
        assert_eq!(found["facets"]["kind"].is_object(), round % 2 == 0, "round {round}: {}", found["facets"]);
        settle(&client, INDEX).unwrap();
        for owner in &mut owners {
            owner.check(&client).unwrap_or_else(|e| panic!("round {round}: {e}"));
        }
        let owned: u64 = owners.iter().map(|owner| owner.records().len() as u64).sum();
        let all = client.search(INDEX, &json!({"query": "", "hitsPerPage": 0})).unwrap();
        assert_eq!(all["nbHits"], BASE + owned, "round {round}");
        setup = server.stop().unwrap();
    }
}

#[test]
fn later_writes_are_published_before_the_settings_that_need_a_rebuild() {
    let dir = tempfile::tempdir().unwrap();
    let server = Setup::new(dir.path().join("data")).start().unwrap();
    let client = server.client();
    for from in (0..BASE).step_by(1_000) {
        let adds: Vec<_> = (from..from + 1_000).map(|n| ("addObject", base_record(n))).collect();
        client.batch(INDEX, &adds).unwrap();
    }
    settle(&client, INDEX).unwrap();
    let task = change(&client, 0);
    let write = client.batch(INDEX, &[("addObject", json!({"objectID": "late", "title": "torch"}))]).unwrap();
    client.wait_task(INDEX, write).unwrap();
    assert!(!is_published(&client, task), "the rebuild took no time");
    assert_eq!(client.search(INDEX, &json!({"query": "torch"})).unwrap()["nbHits"], 1);
    client.wait_task(INDEX, task).unwrap();
    let found = client.search(INDEX, &json!({"query": "torch", "facets": ["kind"]})).unwrap();
    assert_eq!(found["nbHits"], 1);
    check_base(&client).unwrap();
    let list = client.get("/1/indexes").unwrap().success().unwrap().body;
    assert!(list["items"][0]["lastBuildTimeS"].as_u64().unwrap() >= 1, "{list}");
    assert_eq!(list["items"][0]["pendingTask"], false);
}
