//! Does a sink of events get all of them, in order, whoever leads and however often it refuses them, and nothing of forgotten users?

use quorate_tests::cluster::{AnyNode, Cluster};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Names of indices, which belong to several groups. There are no such indices.
const NAMES: usize = 12;
/// Events of a batch.
const BATCH: usize = 24;
const TOKEN: &str = "token-of-the-sink";

/// A server that takes lines, or refuses them with a status.
struct Sink {
    address: SocketAddr,
    status: AtomicU16,
    taken: Mutex<Vec<Value>>,
    refused: Mutex<usize>,
}

impl Sink {
    fn start() -> Arc<Sink> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (status, taken, refused) = (AtomicU16::new(200), Mutex::default(), Mutex::default());
        let sink = Arc::new(Sink { address, status, taken, refused });
        let of_thread = sink.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let sink = of_thread.clone();
                std::thread::spawn(move || sink.answer(&stream.unwrap()));
            }
        });
        sink
    }
    /// A client that went away is none.
    fn answer(&self, stream: &TcpStream) -> Option<()> {
        let (mut reader, mut length, mut token) = (BufReader::new(stream), 0, None);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let Some((name, value)) = line.trim().split_once(": ") else {
                if line.trim().is_empty() { break } else { continue }
            };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok()?,
                "authorization" => token = Some(value.to_owned()),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let mut taken = self.taken.lock().unwrap();
        let status = match token == Some(format!("Bearer {TOKEN}")) {
            true => self.status.load(Ordering::Relaxed),
            false => 401,
        };
        match status {
            200 => {
                let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                taken
                    .extend(lines.map(|line| serde_json::from_slice::<Value>(line).expect("a line is JSON")));
            }
            _ => *self.refused.lock().unwrap() += 1,
        }
        let location = if status == 302 { "Location: http://127.0.0.1:1/\r\n" } else { "" };
        let answer =
            format!("HTTP/1.1 {status} S\r\n{location}Content-Length: 0\r\nConnection: close\r\n\r\n");
        (&mut &*stream).write_all(answer.as_bytes()).ok()
    }
    fn refused(&self) -> usize {
        *self.refused.lock().unwrap()
    }
    /// The events that were taken, by user.
    fn objects(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut objects: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for row in self.taken.lock().unwrap().iter() {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            objects.entry(text("user")).or_default().insert(text("object"));
        }
        objects
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}
/// Sends events of a user, each about another record, until they are answered.
fn send(nodes: &mut AnyNode, user: &str, step: usize) {
    let event = |n: usize| {
        json!({"eventName": "Seen", "eventType": "view", "index": format!("events{}", n % NAMES), "userToken": user,
            "objectIDs": [format!("{step}-{n}")]})
    };
    let batch = json!({"events": (0..BATCH).map(event).collect::<Vec<_>>()});
    until("events are taken", || {
        nodes.turn();
        nodes.post("/1/events", &batch).is_ok_and(|answer| answer.status == 200)
    });
}

#[test]
fn a_sink_gets_every_event_in_order_whoever_dies_or_refuses() {
    let sink = Sink::start();
    let mut cluster = Cluster::prepare(3).unwrap();
    for node in 0..3 {
        let setup = cluster.setup_mut(node);
        *setup = setup
            .clone()
            .option("events-sink-url", &format!("http://{}/rows?a=b", sink.address))
            .variable("QUORATE_EVENTS_SINK_TOKEN", TOKEN);
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    let mut any = cluster.any();
    (0..5).for_each(|step| send(&mut any, "ann", step));
    until("the sink has what was sent", || sink.objects().get("ann").map_or(0, BTreeSet::len) == 5 * BATCH);
    // it refuses, and somebody is forgotten meanwhile
    sink.status.store(503, Ordering::Relaxed);
    send(&mut any, "gone", 0);
    (5..8).for_each(|step| send(&mut any, "ann", step));
    until("the sink refuses", || sink.refused() >= 3);
    sink.status.store(302, Ordering::Relaxed);
    let answer = cluster.clients()[1].delete("/1/usertokens/gone").unwrap();
    assert_eq!(answer.status, 204, "{}", answer.body);
    let before = sink.refused();
    until("the sink redirects", || sink.refused() >= before + 3);
    // who leads some of the groups dies before what it has is sent
    cluster.kill(0).unwrap();
    sink.status.store(200, Ordering::Relaxed);
    let mut any = cluster.without(0);
    (8..10).for_each(|step| send(&mut any, "ann", step));
    until("the sink has everything", || sink.objects().get("ann").map_or(0, BTreeSet::len) == 10 * BATCH);
    assert!(!sink.objects().contains_key("gone"), "a forgotten user's rows are not sent");
    let (mut seen, mut last): (BTreeSet<String>, BTreeMap<String, u64>) = Default::default();
    for row in sink.taken.lock().unwrap().iter() {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        if seen.insert(format!("{} {}", text("user_hash"), text("fingerprint"))) {
            let log_index = row["log_index"].as_u64().unwrap();
            let before = last.insert(text("index"), log_index).unwrap_or_default();
            assert!(before <= log_index, "{row} comes after entry {before}");
        }
    }
    assert_eq!(seen.len(), 10 * BATCH);
    let log = cluster.node(1).unwrap().log();
    let changes = log.matches("the sink of events takes nothing").count();
    assert!((1..=2).contains(&changes), "a change is logged once: {changes}");
    assert!(!log.contains(TOKEN));
}
