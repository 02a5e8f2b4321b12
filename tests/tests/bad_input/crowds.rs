//! Do callers who work a node as hard as they can leave the others their share of it?

use super::*;
use quorate_model::limits;
use quorate_tests::client::Family;
use quorate_tests::cluster::Cluster;
use quorate_tests::greedy::{begin, credentials, in_polygons, large_polygon};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A node with places, in which a search in a large polygon takes as long as a search may.
fn start_with_places() -> (tempfile::TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    let server = Setup::new(dir.path().join("data")).option("search-threads", "2").start().unwrap();
    add_places(&server.client());
    (dir, server)
}
fn add_places(client: &Client) {
    for part in 0..20 {
        let place = |n: usize| {
            let at = json!({"lat": (n % 89) as f64 * 0.9, "lng": (n % 179) as f64 * 0.9});
            ("addObject", json!({"objectID": format!("{part}-{n}"), "name": "place", "_geoloc": at}))
        };
        client.batch("places", &(0..1_000).map(place).collect::<Vec<_>>()).unwrap();
    }
    settle(client, "places").unwrap();
}

/// Clock ticks that the process has used.
fn ticks(server: &Server) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split_whitespace().collect();
    fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
}

#[test]
fn nobody_works_for_a_caller_who_has_hung_up() {
    let (_dir, server) = start_with_places();
    check_hanging_up(&server, &[&server]);
    let many = add_many_attributes(&server.client());
    check_hanging_up_of(&server, &[&server], "/1/indexes/*/objects", &many);
}

/// The work is done on the node that has the index, and ends there, too.
#[test]
fn no_other_node_works_for_a_caller_who_has_hung_up() {
    // an index is placed in the cluster of the node that is asked to make it
    let mut cluster = Cluster::prepare(2).unwrap();
    for (node, name) in ["one", "two"].into_iter().enumerate() {
        let setup = cluster.setup_mut(node);
        *setup = setup.clone().option("cluster", name);
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    let [first, second] = [0, 1].map(|node| cluster.node(node).unwrap());
    add_places(&first.client());
    cluster.wait_count("places", 20_000).unwrap();
    check_hanging_up(second, &[first]);
    let many = add_many_attributes(&first.client());
    cluster.wait_count("attributes", 1).unwrap();
    check_hanging_up_of(second, &[first], "/1/indexes/*/objects", &many);
}

/// Adds a record of as many attributes as it may have, and returns a read of it, again and again, that names as many attributes as
/// one may: none of them is there, so all are compared.
fn add_many_attributes(client: &Client) -> Value {
    let attributes: serde_json::Map<String, Value> =
        (0..10_000).map(|n| (format!("{n:04}"), json!(0))).collect();
    let mut record = json!(attributes);
    record["objectID"] = json!("o");
    client.batch("attributes", &[("addObject", record)]).unwrap();
    settle(client, "attributes").unwrap();
    let shown: Vec<String> =
        (0..limits::MULTI_ATTRIBUTES_MAX / limits::MULTI_MAX).map(|n| format!("9999-{n}")).collect();
    let one = json!({"indexName": "attributes", "objectID": "o", "attributesToRetrieve": shown});
    json!({"requests": vec![one; limits::MULTI_MAX]})
}

/// Asks one node for a search that takes as long as one may, hangs up in the middle, and looks whether those that work stop.
fn check_hanging_up(asked: &Server, working: &[&Server]) {
    check_hanging_up_of(asked, working, "/1/indexes/places/query", &large_polygon());
}
/// The same for another call that takes long.
fn check_hanging_up_of(asked: &Server, working: &[&Server], path: &str, body: &Value) {
    // a machine that does something else too may work too little for this search to show anything, or be late
    let body = body.to_string();
    let tries: Vec<String> = (0..5).map_while(|_| hang_up(asked, working, path, &body).err()).collect();
    assert!(tries.len() < 5, "{tries:#?}");
}

fn hang_up(asked: &Server, working: &[&Server], path: &str, body: &str) -> Result<(), String> {
    let head = format!("{}Content-Length: {}\r\n", credentials(ADMIN_KEY), body.len());
    let used = || working.iter().map(|server| ticks(server)).sum::<u64>();
    let used_in = |time: Duration| {
        let before = used();
        std::thread::sleep(time);
        used() - before
    };
    let window = Duration::from_millis(500);
    let begun = Instant::now();
    let stream = begin(asked.address(), path, &head, body.as_bytes()).unwrap();
    // it is read and worked for
    std::thread::sleep(Duration::from_millis(300));
    let before = used_in(window);
    drop(stream);
    std::thread::sleep(Duration::from_millis(300));
    let after = used_in(window);
    let took = begun.elapsed();
    if before < 10 || after * 3 > before || took >= Duration::from_millis(limits::SEARCH_MS) {
        return Err(format!(
            "{before} ticks in half a second before it hung up, {after} after that; {took:?}"
        ));
    }
    Ok(())
}

/// Does something in the end, however the test ends.
struct OnDrop<F: Fn()>(F);
impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn heavy_callers_of_one_key_do_not_keep_others_waiting() {
    let (_dir, server) = start_with_places();
    let search_key = std::fs::read_to_string(server.data_dir().join("search-key")).unwrap();
    let heavy = Client::new(server.address(), Family::Algolia, APP_ID, search_key.trim());
    let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let polygon = large_polygon();
    let longest = std::thread::scope(|threads| {
        let _ends = OnDrop(|| is_over.store(true, Ordering::Relaxed));
        for _ in 0..8 {
            threads.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let answer = heavy.post("/1/indexes/places/query", &polygon).unwrap();
                    assert!([200, 503].contains(&answer.status), "{answer:?}");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(Duration::from_secs(1));
        // another key, and searches that go to the threads of the pool as well
        let asked = json!({"query": "place", "hitsPerPage": 150});
        let client = server.client();
        let longest = (0..50).map(|_| {
            let began = Instant::now();
            let answer = client.post("/1/indexes/places/query", &asked).unwrap();
            assert_eq!(
                (answer.status, &answer.body["nbHits"]),
                (200, &json!(20_000)),
                "{}",
                answer.message()
            );
            began.elapsed()
        });
        longest.max().unwrap()
    });
    assert!(answered.load(Ordering::Relaxed) >= 8, "the heavy ones are answered as well");
    // where all stood in one queue they waited for half a second and were refused
    assert!(longest < Duration::from_secs(1), "{longest:?}");
}

/// More callers than there is work done for: those that are answered are answered in full, and as many as before.
#[test]
fn more_than_a_node_can_do_is_refused_and_not_cut_short() {
    let (_dir, server) = start_with_places();
    let client = server.client();
    let asked = in_polygons(1, 1_500);
    let answered_to = |callers: usize| {
        let (answered, until) = (AtomicUsize::new(0), Instant::now() + Duration::from_secs(4));
        std::thread::scope(|threads| {
            for _ in 0..callers {
                threads.spawn(|| {
                    while Instant::now() < until {
                        let answer = client.post("/1/indexes/places/query", &asked).unwrap();
                        match answer.status {
                            503 => std::thread::sleep(Duration::from_millis(5)),
                            200 => {
                                assert_eq!(
                                    answer.body["exhaustive"]["nbHits"], true,
                                    "{}",
                                    answer.body["exhaustive"]
                                );
                                answered.fetch_add(1, Ordering::Relaxed);
                            }
                            _ => panic!("{answer:?}"),
                        }
                    }
                });
            }
        });
        answered.into_inner()
    };
    let at_ease = answered_to(4);
    let crowded = answered_to(150);
    assert!(crowded * 2 > at_ease, "{crowded} answers to a crowd, {at_ease} to a few");
}

/// Connects from another address of this machine.
#[cfg(target_os = "linux")]
pub(super) fn connect_from(from: [u8; 4], to: &str) -> std::io::Result<TcpStream> {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddr::from((from, 0)))?;
    connect(&socket, &to.parse::<SocketAddr>().unwrap())?;
    Ok(TcpStream::from(socket))
}

#[cfg(target_os = "linux")]
#[test]
fn one_address_does_not_take_every_connection() {
    let dir = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(dir.path().join("data"));
    setup.within = ["prlimit", "--nofile=1024:1024", "--"].map(str::to_owned).to_vec();
    let server = setup.start().unwrap();
    let greedy = |n: u8| connect_from([127, 0, 0, n], server.address());
    let held: Vec<TcpStream> = (0..600).map_while(|_| greedy(9).ok()).collect();
    assert_eq!(held.len(), 600, "the kernel takes them all");
    // another address gets in, and a new index can be made
    let mut stream = greedy(10).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(b"GET /1/isalive HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let client = server.client();
    let index = |number: usize| format!("i{number}");
    for number in 0..200 {
        let path = format!("/1/indexes/{}", index(number));
        client.post(&path, &json!({"name": "thing"})).unwrap().success().unwrap();
    }
    let open = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    for number in 0..200 {
        settle(&client, &index(number)).unwrap();
        let found = client.search(&index(number), &json!({"query": "thing"})).unwrap();
        assert_eq!(found["nbHits"], 1);
        // files of indices in use have a bound of their own
        assert!(open() < 900, "{} files are open", open());
    }
    // those beyond half of the connections were closed
    let is_closed = |stream: &mut TcpStream| {
        stream.set_nonblocking(true).unwrap();
        matches!(stream.read(&mut [0]), Ok(0)) || stream.take_error().unwrap().is_some()
    };
    let closed = held.into_iter().map(|mut stream| is_closed(&mut stream)).filter(|it| *it).count();
    assert!((300..=400).contains(&closed), "{closed} of 600 were closed");
}

/// Idle connections of several addresses, more than there may be files: the soft limit is raised, who comes then waits until the
/// idle ones have had their time, and nothing ends.
#[test]
fn more_idle_connections_than_files_end_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(dir.path().join("data"));
    setup.within = ["prlimit", "--nofile=256:1024", "--"].map(str::to_owned).to_vec();
    let server = setup.start().unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().nth(3), Some("1024"), "the soft limit is raised: {files}");
    let held: Vec<TcpStream> = (0..1_100)
        .map_while(|number| connect_from([127, 0, 0, 9 + (number / 400) as u8], server.address()).ok())
        .collect();
    assert!(held.len() >= 1_000, "{} connections", held.len());
    let begun = Instant::now();
    let client = server.client().within(Duration::from_secs(40));
    let made = |number: usize| {
        let path = format!("/1/indexes/i{number}");
        loop {
            match client.post(&path, &json!({"name": "thing"})) {
                Ok(answer) => break answer.success().map(drop).unwrap(),
                Err(error) => assert!(begun.elapsed() < Duration::from_secs(40), "{error:#}"),
            }
        }
    };
    (0..20).for_each(made);
    for number in 0..20 {
        settle(&client, &format!("i{number}")).unwrap();
    }
    drop(held);
}
