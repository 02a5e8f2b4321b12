//! Does a node with a damaged working store start, and answer as before?

use quorate_tests::accident::settle;
use quorate_tests::client::Client;
use quorate_tests::harness::{Server, Setup};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const INDEX: &str = "damage";

fn fill(client: &Client) {
    let settings = json!({
        "searchableAttributes": ["title"],
        "attributesForFaceting": ["colour"],
        "customRanking": ["desc(rank)"],
        "hitsPerPage": 7,
    });
    client.put("/1/indexes/damage/settings", &settings).unwrap().success().unwrap();
    for part in 0..4 {
        let records: Vec<(&str, Value)> = (part * 30..part * 30 + 30)
            .map(|n| {
                let colour = ["red", "green", "blue"][n % 3];
                ("addObject", json!({"objectID": format!("r{n}"), "title": format!("lamp {colour}"), "colour": colour, "rank": n}))
            })
            .collect();
        client.batch(INDEX, &records).unwrap();
    }
    client.post("/1/indexes/other", &json!({"objectID": "x", "title": "alone"})).unwrap().success().unwrap();
    client.delete("/1/indexes/damage/r7").unwrap().success().unwrap();
    settle(client, INDEX).unwrap();
    settle(client, "other").unwrap();
}

/// Everything a caller can see, without times and what depends on them.
fn answers(client: &Client) -> Value {
    let mut search = client
        .search(INDEX, &json!({"query": "lamp", "facets": ["colour"], "filters": "colour:red"}))
        .unwrap();
    search.as_object_mut().unwrap().remove("processingTimeMS");
    let mut browsed = client.browse_all(INDEX).unwrap();
    browsed.sort_by_key(|record| record["objectID"].to_string());
    let names: Vec<Value> = {
        let list = client.get("/1/indexes").unwrap().success().unwrap().body;
        list["items"].as_array().unwrap().iter().map(|item| json!([item["name"], item["entries"]])).collect()
    };
    json!({
        "search": search,
        "records": browsed,
        "settings": client.get("/1/indexes/damage/settings").unwrap().success().unwrap().body,
        "other": client.get("/1/indexes/other/x").unwrap().success().unwrap().body,
        "indices": names,
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn each_file(folder: &Path, change: impl Fn(Vec<u8>) -> Vec<u8>) {
    for file in files(folder) {
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(file, change(bytes)).unwrap();
    }
}

#[test]
fn a_damaged_working_store_changes_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let server = Setup::new(dir.path().join("data")).start().unwrap();
    fill(&server.client());
    let expected = answers(&server.client());
    let mut setup = server.stop().unwrap();
    let state = dir.path().join("data/state");
    let accidents: [(&str, &dyn Fn()); 5] = [
        ("the folder is gone", &|| std::fs::remove_dir_all(&state).unwrap()),
        ("every file is empty", &|| each_file(&state, |_| Vec::new())),
        ("every file is cut in half", &|| each_file(&state, |bytes| bytes[..bytes.len() / 2].to_vec())),
        ("bytes are flipped", &|| {
            each_file(&state, |mut bytes| {
                for at in (11..bytes.len()).step_by(97) {
                    bytes[at] ^= 0x55;
                }
                bytes
            })
        }),
        ("the log of the store is noise", &|| std::fs::write(state.join("db/db"), [7; 5_000]).unwrap()),
    ];
    for (what, accident) in accidents {
        accident();
        let server: Server = setup.start().unwrap_or_else(|e| panic!("{what}: {e}"));
        settle(&server.client(), INDEX).unwrap();
        assert_eq!(answers(&server.client()), expected, "{what}");
        // The node works on, and what it writes now survives the next accident.
        let client = server.client();
        client
            .post("/1/indexes/damage", &json!({"objectID": "late", "title": what}))
            .unwrap()
            .success()
            .unwrap();
        settle(&client, INDEX).unwrap();
        assert_eq!(client.get("/1/indexes/damage/late").unwrap().body["title"], what);
        client.delete("/1/indexes/damage/late").unwrap().success().unwrap();
        settle(&client, INDEX).unwrap();
        setup = server.stop().unwrap();
    }
}
