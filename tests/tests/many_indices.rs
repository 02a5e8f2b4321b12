//! Do ten thousand small indices on one node exhaust its files, its threads or its memory?

use quorate_tests::harness::Setup;
use quorate_tests::used::Used;
use serde_json::json;

/// Indices: 200, more than the writers a node keeps open, or `QUORATE_MANY_INDICES` for the long run of 10,000.
#[test]
fn many_small_indices_keep_files_threads_and_memory_bounded() {
    let count: usize = std::env::var("QUORATE_MANY_INDICES")
        .ok()
        .map_or(200, |text| text.parse().expect("a number of indices"));
    let dir = tempfile::tempdir().unwrap();
    let setup = Setup::new(dir.path().join("data"));
    let server = setup.start().unwrap();
    let client = server.client();
    let name = |n: usize| format!("many_{n:05}");
    // a multi-index batch: one entry and one task for each index
    let mut last_tasks = Vec::new();
    for first in (0..count).step_by(100) {
        let requests: Vec<_> = (first..count.min(first + 100))
            .map(|n| {
                let body = json!({"objectID": "r", "text": format!("record of index {n}")});
                json!({"action": "addObject", "indexName": name(n), "body": body})
            })
            .collect();
        let answer =
            client.post("/1/indexes/*/batch", &json!({"requests": requests})).unwrap().success().unwrap();
        let tasks = answer.body["taskID"].as_object().unwrap().clone();
        last_tasks = tasks.into_iter().map(|(index, task)| (index, task.as_u64().unwrap())).collect();
    }
    for (index, task) in last_tasks {
        client.wait_task(&index, task).unwrap();
    }
    for n in (0..count).step_by((count / 200).max(1)) {
        let found =
            client.post(&format!("/1/indexes/{}/query", name(n)), &json!({"query": "record"})).unwrap();
        assert_eq!(found.success().unwrap().body["nbHits"], 1, "{}", name(n));
    }
    let used = Used::of(server.pid()).unwrap();
    println!("{count} indices: {used:?}");
    // writers and views that are open are bounded, whatever the number of indices
    assert!(used.files < 900, "{used:?}");
    assert!(used.threads < 120, "{used:?}");
    assert!(used.maps < 20_000, "{used:?}");
    assert!(used.anonymous_mib < 600 + count as u64 / 20, "{used:?}");

    let setup = server.stop().unwrap();
    let server = setup.start().unwrap();
    let client = server.client();
    let listed = client.get("/1/indexes?page=0&hitsPerPage=100").unwrap().success().unwrap().body;
    assert_eq!(listed["nbPages"], count.div_ceil(100));
    // the list is read from small files and opens no index
    let before = Used::of(server.pid()).unwrap();
    let all = client.get("/1/indexes").unwrap().success().unwrap().body;
    let items = all["items"].as_array().unwrap();
    assert_eq!(items.len(), count);
    assert!(items.iter().all(|item| item["entries"] == 1 && item["fileSize"].as_u64() > Some(0)), "{all}");
    let after = Used::of(server.pid()).unwrap();
    assert!(after.maps < before.maps + 50, "{before:?} {after:?}");
    let last = client.post(&format!("/1/indexes/{}/query", name(count - 1)), &json!({})).unwrap();
    assert_eq!(last.success().unwrap().body["nbHits"], 1);
}
