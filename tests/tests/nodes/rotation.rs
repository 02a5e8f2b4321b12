//! Does a load that rotates over many indices, with writes, reads, settings and deletions, end a node or lose a write?

use quorate_tests::chance;
use quorate_tests::client::Client;
use quorate_tests::cluster::Cluster;
use quorate_tests::harness::Setup;
use quorate_tests::load::{Load, Writer};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const WRITERS: usize = 4;
const READERS: usize = 6;

/// How much of it: seconds and indices. `QUORATE_ROTATION_SECONDS` for the long run, which has 1,000 indices.
fn scale() -> (Duration, usize) {
    match std::env::var("QUORATE_ROTATION_SECONDS") {
        Ok(text) => (Duration::from_secs(text.parse().expect("a number of seconds")), 1_000),
        Err(_) => (Duration::from_secs(8), 80),
    }
}

/// Runs the load over these clients; what each writer knows then.
fn run(name: &str, clients: &[Client], mut still_runs: impl FnMut() -> bool) -> (Load, Vec<Writer>) {
    let mut chance = chance::from_environment(name);
    let (time, indices) = scale();
    let load = Load::over(indices);
    let client = |number: usize| move |_| Some(clients[number % clients.len()].clone());
    let writers = std::thread::scope(|threads| {
        let load = &load;
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let mut writer = Writer::new(number, chance.split());
                threads.spawn(move || {
                    load.write(&mut writer, client(number));
                    writer
                })
            })
            .collect();
        for number in 0..READERS {
            threads.spawn(move || load.read(number, client(number), |_, _| {}));
        }
        let mut chance = chance.split();
        threads.spawn(move || load.change(&mut chance, client(0)));
        let until = Instant::now() + time;
        while Instant::now() < until && still_runs() {
            std::thread::sleep(Duration::from_millis(50));
        }
        load.is_over.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().expect("a writer")).collect()
    });
    let [writes, refused, reads, changes] =
        [&load.writes, &load.refused, &load.reads, &load.changes].map(Load::count);
    println!(
        "{name}: {writes} writes ({refused} without an answer), {reads} reads, {changes} changes on {indices} indices in {time:?}",
    );
    assert!(still_runs(), "a node ended");
    assert!(writes > 100 && reads > 100 && changes > 10);
    (load, writers)
}

/// Every record is what its writer was told.
fn check(client: &Client, writers: &[Writer]) {
    writers.iter().for_each(|writer| writer.check(client).unwrap());
}

/// No thread has panicked and no group stands still.
fn check_health(client: &Client) {
    let text = client.get("/metrics").unwrap().body;
    let text = text.as_str().expect("a text");
    let panics = text.lines().find_map(|line| line.strip_prefix("quorate_panics_total "));
    assert_eq!(panics, Some("0"), "panics");
    let overview = client.get("/admin/cluster").unwrap().body;
    assert!(!overview.to_string().contains("stands still"), "{overview}");
}

#[test]
fn a_load_that_rotates_over_many_indices_ends_no_node() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Setup::new(dir.path().join("data")).option("log-level", "warn").start().unwrap();
    let client = server.client();
    let (load, writers) = run("rotation", std::slice::from_ref(&client), || server.is_running());
    check_health(&client);
    load.settle(&client).unwrap();
    check(&client, &writers);
    assert!(!server.log().contains("panicked"), "{}", server.log());
    // and once more from what is on the disk
    let server = server.kill().unwrap().start().unwrap();
    check(&server.client(), &writers);
}

#[test]
fn a_load_that_rotates_over_three_nodes_ends_none_of_them() {
    let mut cluster = Cluster::start(3).unwrap();
    let clients: Vec<Client> = cluster.clients();
    let (load, writers) = run("rotation on three", &clients, || cluster.all_run());
    load.settle(&clients[0]).unwrap();
    for client in &clients {
        check_health(client);
        check(client, &writers);
    }
}
