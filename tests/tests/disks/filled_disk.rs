//! Does a load that fills its own disk, with the options of everybody, end in refusals that lose nothing, and go on when there is room?

use quorate_tests::chance::Chance;
use quorate_tests::client::Client;
use quorate_tests::disk::SmallDisk;
use quorate_tests::harness::Setup;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Records of a batch, and bytes of each that are stored only.
const BATCH: (u64, usize) = (5_000, 2_000);
/// Words of a record, and records of a batch of them.
const WORDS: u64 = 600;
/// Clients that fill the disk.
const WRITERS: u64 = 2;
/// Batches of one client that are refused in a row before it gives up: a shortage of a moment passes.
const REFUSED: u32 = 5;

/// A batch; the noise of its records cannot be packed.
fn load(writer: u64, batch: u64, chance: &mut Chance) -> Value {
    let (records, bytes) = BATCH;
    let mut add = |n: u64| {
        let noise: String = (0..bytes / 16).map(|_| format!("{:016x}", chance.below(u64::MAX))).collect();
        let body = json!({"objectID": id_of(writer, batch, n), "title": format!("lamp {n}"), "n": n, "noise": noise});
        json!({"action": "addObject", "body": body})
    };
    json!({"requests": (0..records).map(&mut add).collect::<Vec<_>>()})
}
/// A batch of as many records as there are words in each, all of which are different: an index of them takes nine times their size.
fn words(writer: u64, batch: u64, chance: &mut Chance) -> Value {
    let mut add = |n: u64| {
        let words: Vec<String> =
            (0..WORDS).map(|_| format!("{:08x}", chance.below(u64::MAX) >> 32)).collect();
        json!({"action": "addObject", "body": {"objectID": id_of(writer, batch, n), "title": words.join(" ")}})
    };
    json!({"requests": (0..WORDS).map(&mut add).collect::<Vec<_>>()})
}
fn id_of(writer: u64, batch: u64, n: u64) -> String {
    format!("{writer}-{batch}-{n}")
}

/// Writes batches until the disk has no room for more; how many were answered, and the last task.
fn write_until_refused(
    client: &Client,
    writer: u64,
    load: fn(u64, u64, &mut Chance) -> Value,
) -> (u64, Option<u64>) {
    let mut chance = Chance::new(writer);
    let (mut answered, mut last, mut refused) = (0, None, 0);
    while refused < REFUSED {
        let answer = client.post("/1/indexes/full/batch", &load(writer, answered, &mut chance)).unwrap();
        match answer.status {
            200 => {
                (answered, last, refused) = (answered + 1, Some(answer.task_id().unwrap()), 0);
                assert!(answered < 1_000, "the disk does not fill up");
            }
            _ => {
                assert_eq!(answer.status, 503, "{answer:?}");
                assert!(answer.message().contains("disk is almost full"), "{answer:?}");
                refused += 1;
            }
        }
    }
    (answered, last)
}

/// Every record of so many batches of each client is there, and no other.
fn check_load(client: &Client, answered: &[u64]) {
    let records = answered.iter().sum::<u64>() * BATCH.0;
    assert_eq!(client.search("full", &json!({"query": ""})).unwrap()["nbHits"], records);
    for (writer, batches) in (0..).zip(answered) {
        for batch in 0..*batches {
            for first in (0..BATCH.0).step_by(1_000) {
                let ids = first..first + 1_000;
                let request = |n| {
                    let id = id_of(writer, batch, n);
                    json!({"indexName": "full", "objectID": id, "attributesToRetrieve": ["n"]})
                };
                let requests: Vec<Value> = ids.clone().map(request).collect();
                let found = client.post("/1/indexes/*/objects", &json!({"requests": requests})).unwrap();
                let expected = ids.map(|n| json!({"objectID": id_of(writer, batch, n), "n": n}));
                assert_eq!(found.success().unwrap().body["results"], expected.collect::<Value>());
            }
        }
    }
}

/// MiB of the disk: 420, or `QUORATE_FULL_DISK_MIB` for the long form (900, as it was found with). The reserve is that of the
/// default options, 256 MiB.
#[test]
fn a_load_that_fills_its_disk_is_refused_and_nothing_answered_is_lost() {
    let mib: u64 = std::env::var("QUORATE_FULL_DISK_MIB")
        .ok()
        .map_or(420, |text| text.parse().expect("a number of MiB"));
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), mib).unwrap() else { return };
    let setup = Setup::new(disk.path().join("data")).log_to(folder.path().join("server.log"));
    let server = setup.start().unwrap();
    let client = server.client();
    let settings = json!({"searchableAttributes": ["title"]});
    client.put("/1/indexes/full/settings", &settings).unwrap().success().unwrap();
    let written: Vec<(u64, Option<u64>)> = std::thread::scope(|threads| {
        let writers = (0..WRITERS).map(|writer| {
            let client = client.clone();
            threads.spawn(move || write_until_refused(&client, writer, load))
        });
        let writers: Vec<_> = writers.collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let mut answered: Vec<u64> = written.iter().map(|(answered, _)| *answered).collect();
    println!("{answered:?} batches answered on {mib} MiB");
    assert!(answered.iter().sum::<u64>() >= 3, "refused before there was a load: {answered:?}");
    for (_, last) in written {
        last.into_iter().for_each(|task| client.wait_task("full", task).unwrap());
    }
    check_load(&client, &answered);

    // on a disk that is as full as it was
    let server = server.kill().unwrap().start().unwrap();
    let client = server.client();
    check_load(&client, &answered);

    disk.resize(2 * mib).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let next = load(0, answered[0], &mut Chance::new(WRITERS));
    let taken = loop {
        let answer = client.post("/1/indexes/full/batch", &next).unwrap();
        if answer.status != 503 {
            break answer.success().unwrap();
        }
        assert!(Instant::now() < deadline, "writes do not come back: {answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    answered[0] += 1;
    client.wait_task("full", taken.task_id().unwrap()).unwrap();
    check_load(&client, &answered);
    let server = server.kill().unwrap().start().unwrap();
    check_load(&server.client(), &answered);
}

#[test]
fn a_load_of_different_words_leaves_room_for_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), 400).unwrap() else { return };
    let setup = Setup::new(disk.path().join("data")).log_to(folder.path().join("server.log"));
    let server = setup.start().unwrap();
    let client = server.client();
    let (answered, last) = write_until_refused(&client, 0, words);
    assert!(answered > 0, "refused before there was a load");
    client.wait_task("full", last.unwrap()).unwrap();
    let count = |client: &Client| client.search("full", &json!({"query": ""})).unwrap()["nbHits"].clone();
    assert_eq!(count(&client), answered * WORDS);
    let server = server.kill().unwrap().start().unwrap();
    assert_eq!(count(&server.client()), answered * WORDS);
}
