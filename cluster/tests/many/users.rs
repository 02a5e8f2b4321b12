//! Users of two clusters on three nodes: every node serves every user, and a move is not noticed by readers and writers.

use crate::harness::*;
use quorate_cluster::{CallerOp, ObjectRequest, ReadRights, Receipt, Service};
use quorate_model::user::owned_id;
use quorate_model::{Error, ErrorKind, Filter, IndexName, RecordOp, ResourceKind, SearchResults, UserId};
use serde_json::{Value, json};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

const CLUSTERS: [&str; 3] = ["main", "main", "west"];
const INDEX: &str = "shared";
/// How long a change of the mapping may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn user(text: &str) -> UserId {
    UserId::new(text).expect("a valid user")
}
/// The numbers of the records that a search shows, sorted.
pub fn numbers(results: &SearchResults) -> Vec<u64> {
    let number = |hit: &[u8]| serde_json::from_slice::<Value>(hit).expect("JSON")["n"].as_u64();
    let mut numbers: Vec<u64> = results.hits.iter().map(|hit| number(hit).expect("a number")).collect();
    numbers.sort_unstable();
    numbers
}

pub async fn assign(node: &Service, who: &str, cluster: &str) {
    let who = user(who);
    patiently("an assignment", || node.assign_user(who.clone(), cluster)).await.expect("assigned");
}
pub async fn write(node: &Service, who: &str, index: &str, ops: Vec<CallerOp>) -> Result<Receipt, Error> {
    let (who, index) = (user(who), name(index));
    patiently("a user's write", || node.write_records_for(&who, &index, ops.clone())).await
}
/// What a user sees of an index. The filter is the one that the interface puts in.
pub async fn search(node: &Service, who: &str, index: &str, query: &str) -> Result<Vec<u64>, Error> {
    numbers_found(node, who, index, json!({"query": query, "hitsPerPage": 1000})).await
}
/// The same of the records that pass a filter.
pub async fn search_within(node: &Service, who: &str, index: &str, filters: &str) -> Result<Vec<u64>, Error> {
    numbers_found(node, who, index, json!({"filters": filters, "hitsPerPage": 1000})).await
}
async fn numbers_found(node: &Service, who: &str, index: &str, asked: Value) -> Result<Vec<u64>, Error> {
    let (who, index) = (user(who), name(index));
    let mut asked = params(asked);
    asked.filter = asked.filter.and(Filter::seen_by(&who));
    let search = async |part: &IndexName| node.search(part, asked.clone(), ReadRights::default()).await;
    let found = patiently("a user's search", || node.read_for(&who, &index, search)).await;
    found.map(|results| numbers(&results))
}
/// The numbers of the records that one cluster has of a user.
async fn held(node: &Service, part: &IndexName, who: &str) -> Vec<u64> {
    let mut asked = params(json!({"hitsPerPage": 1000}));
    asked.filter = Filter::owned_by(&user(who));
    let found = patiently("a search", || node.search(part, asked.clone(), ReadRights::default())).await;
    numbers(&found.expect("a part"))
}
pub async fn settled(node: &Service, who: &str, cluster: &str) {
    let end = Instant::now() + PATIENCE;
    loop {
        let pending = node.pending_users().expect("enabled");
        let is_there = node.user(&user(who)).is_ok_and(|record| record.cluster == cluster);
        if is_there && pending.values().flatten().all(|pending| pending.as_str() != who) {
            return;
        }
        assert!(Instant::now() < end, "{who} is not in {cluster} in time: {pending:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[actix_rt::test]
async fn c15_every_node_serves_every_user() {
    in_time(async {
        let installation = Installation::start_in(&CLUSTERS).await;
        let count = CLUSTERS.len();
        for (number, (who, cluster)) in
            [("jane", "main"), ("roe", "west"), ("doe", "west")].iter().enumerate()
        {
            assign(installation.node(number), who, cluster).await;
            // at once, through another node than the one that assigned
            for (at, n) in (0..count).zip(10 * number as u64..) {
                let ops = vec![put(&format!("{at}"), json!({"n": n, "word": "shoe"}))];
                let written = write(installation.node(number + 1 + at), who, INDEX, ops).await;
                installation.through(at, written).await;
            }
        }
        let everyone = vec![put("all", json!({"n": 99, "word": "shoe"}))];
        let written = write(installation.node(2), "*", INDEX, everyone).await;
        installation.through(2, written).await;
        for node in installation.nodes() {
            for (who, expected) in [
                ("jane", vec![0, 1, 2, 99]),
                ("roe", vec![10, 11, 12, 99]),
                ("doe", vec![20, 21, 22, 99]),
                ("*", vec![99]),
            ] {
                assert_eq!(search(node, who, INDEX, "shoe").await.expect("an answer"), expected, "{who}");
            }
            let refused = search(node, "nobody", INDEX, "").await.expect_err("in no cluster");
            assert_eq!(refused.kind, ErrorKind::Invalid);
            let refused = write(node, "nobody", INDEX, vec![put("1", json!({}))]).await;
            assert_eq!(refused.expect_err("in no cluster").kind, ErrorKind::Invalid);
        }
        one_part_for_each_cluster(&installation).await;
        configuration_reaches_all(&installation).await;
        indices_are_one(&installation).await;
        figures_and_removal(&installation).await;
        installation.stop().await;
    })
    .await;
}

/// Users' records are in their cluster's part only, public ones in both.
async fn one_part_for_each_cluster(installation: &Installation) {
    let (main, west) = (name(INDEX), name(INDEX).partition_in(1).expect("a part"));
    let none = Vec::<u64>::new();
    for (who, in_main, in_west) in
        [("jane", vec![0, 1, 2], none.clone()), ("roe", none, vec![10, 11, 12]), ("*", vec![99], vec![99])]
    {
        let node = installation.node(0);
        assert_eq!((held(node, &main, who).await, held(node, &west, who).await), (in_main, in_west), "{who}");
    }
}

async fn configuration_reaches_all(installation: &Installation) {
    for (number, who) in [(1, "roe"), (2, "jane")] {
        installation
            .set(number, INDEX, json!({"searchableAttributes": ["word"], "customRanking": ["desc(n)"]}))
            .await;
        let synonym =
            json!({"objectID": "s", "type": "synonym", "synonyms": ["shoe", format!("boot{number}")]});
        installation.save(number, INDEX, ResourceKind::Synonyms, &[synonym]).await;
        let rule = json!({
            "objectID": "r", "conditions": [{"pattern": "hidden", "anchoring": "is"}],
            "consequence": {"params": {"query": format!("boot{number}")}}
        });
        installation.save(number, INDEX, ResourceKind::Rules, &[rule]).await;
        for reader in 0..CLUSTERS.len() {
            for query in [format!("boot{number}"), "hidden".to_owned()] {
                let found = search(installation.node(reader), who, INDEX, &query).await.expect("an answer");
                assert_eq!(found.len(), 4, "{query} of {who} at node {reader}");
            }
        }
    }
}

/// Listing, copying, moving and deleting mean all parts.
async fn indices_are_one(installation: &Installation) {
    use quorate_cluster::IndexOperation;
    let entries = async |number: usize, index: &str| {
        let infos = installation.node(number).indices(&[name(index)]).await.expect("figures");
        infos.first().map(|info| info.entries)
    };
    assert_eq!(entries(2, INDEX).await, Some(11), "nine of users, the public one in both parts");
    let operate = async |from: &str, to: &str, operation: IndexOperation| {
        let (from, to, node) = (name(from), name(to), installation.node(1));
        let done = patiently("an operation", || node.operate(&from, &to, operation.clone())).await;
        installation.through(1, done).await;
    };
    operate(INDEX, "copy", IndexOperation::Copy { scope: None, keys: false }).await;
    operate("copy", "moved", IndexOperation::Move).await;
    for (number, node) in installation.nodes().enumerate() {
        for (who, expected) in [("jane", vec![0, 1, 2, 99]), ("roe", vec![10, 11, 12, 99])] {
            assert_eq!(search(node, who, "moved", "").await.expect("an answer"), expected, "{who}");
        }
        assert_eq!((entries(number, "copy").await, entries(number, "moved").await), (None, Some(11)));
        assert_eq!(node.index_names().expect("names"), [name("moved"), name(INDEX)]);
    }
    let deleted = installation.node(2).delete_index(&name("moved")).await;
    installation.through(2, deleted).await;
    // what it is made again as has nothing of before
    let again = write(installation.node(2), "roe", "moved", vec![put("x", json!({"n": 1}))]).await;
    installation.through(2, again).await;
    for node in installation.nodes() {
        assert_eq!(search(node, "roe", "moved", "").await.expect("an answer"), [1]);
        assert!(search(node, "jane", "moved", "").await.expect("an answer").is_empty());
    }
}

async fn figures_and_removal(installation: &Installation) {
    let end = Instant::now() + PATIENCE;
    let counted = |node: &Service| node.user(&user("roe")).map(|record| record.figures.records).ok();
    while installation.nodes().any(|node| counted(node) != Some(4)) {
        assert!(Instant::now() < end, "roe is not counted in time");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let top = installation.node(0).top_users().await.expect("enabled");
    let first = |cluster: &str| top[cluster].first().map(|record| record.user.to_string());
    assert_eq!((first("main"), first("west")), (Some("jane".into()), Some("roe".into())));

    installation.node(1).remove_user(user("roe")).await.expect("accepted");
    while installation.nodes().any(|node| node.user(&user("roe")).is_ok()) {
        assert!(Instant::now() < end, "roe is not removed in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assign(installation.node(0), "roe", "main").await;
    for node in installation.nodes() {
        assert_eq!(search(node, "roe", INDEX, "").await.expect("an answer"), [99], "the records are gone");
        assert_eq!(search(node, "doe", INDEX, "").await.expect("an answer"), [20, 21, 22, 99]);
    }
}

/// Adds records and counts, one write after another, and looks after each that it is seen everywhere.
struct Writer {
    next: Cell<u64>,
    seen: Cell<u64>,
    counted: Cell<u64>,
    is_over: Cell<bool>,
}

async fn keep_writing(nodes: Vec<Service>, writer: Rc<Writer>) {
    for number in (0_usize..).take_while(|_| !writer.is_over.get()) {
        let n = writer.next.get();
        let count = json!({"count": {"_operation": "Increment", "value": 1}}).to_string().into_bytes();
        let ops = vec![
            put(&n.to_string(), json!({"n": n})),
            CallerOp::Ready(RecordOp::Partial { object_id: "counter".into(), changes: count, create: true }),
        ];
        let node = &nodes[number % nodes.len()];
        // no node is gone, so nothing is refused: a write waits while its user moves
        let written = node.write_records_for(&user("jane"), &name(INDEX), ops).await;
        let task = written.expect("a move does not fail a write").task_id;
        writer.next.set(n + 1);
        writer.counted.set(writer.counted.get() + 1);
        let other = &nodes[(number + 1) % nodes.len()];
        while !other.is_published(task).await.expect("an answer") {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        writer.seen.set(n + 1);
    }
}

async fn keep_reading(node: Service, writer: Rc<Writer>) -> usize {
    let mut reads = 0;
    while !writer.is_over.get() {
        let least = writer.seen.get();
        let who = user("jane");
        let mut asked = params(json!({"hitsPerPage": 1000, "filters": "n >= 0"}));
        asked.filter = asked.filter.and(Filter::seen_by(&who));
        let search = async |part: &IndexName| node.search(part, asked.clone(), ReadRights::default()).await;
        let found = node.read_for(&who, &name(INDEX), search).await.expect("a move does not fail a read");
        let found = numbers(&found);
        let expected: Vec<u64> = (0..found.len() as u64).collect();
        assert!(found == expected && found.len() as u64 >= least, "{found:?}, at least {least} published");
        reads += 1;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    reads
}

/// A write that comes after a removal was answered is not answered as if the user were there, whichever node it comes through.
#[actix_rt::test]
async fn c15_every_node_knows_that_a_user_was_removed() {
    in_time(async {
        let installation = Installation::start_in(&CLUSTERS).await;
        for round in 0..12 {
            let who = format!("user{round}");
            assign(installation.node(0), &who, CLUSTERS[round % 3]).await;
            let (first, second) = (installation.node(round), installation.node(round + 1 + round % 2));
            for node in [first, second] {
                let record = vec![put("before", json!({"n": 1}))];
                write(node, &who, INDEX, record).await.expect("a user's write");
            }
            first.remove_user(user(&who)).await.expect("accepted");
            let record = vec![put("after", json!({"n": 2}))];
            let refused = second.write_records_for(&user(&who), &name(INDEX), record).await;
            let refused = refused.map(|receipt| receipt.task_id).expect_err("no user");
            assert_eq!(refused.kind, ErrorKind::Invalid, "round {round}: {refused}");
        }
        installation.stop().await;
    })
    .await;
}

#[actix_rt::test]
async fn c15_a_move_is_not_noticed_by_who_reads_and_writes() {
    in_time(async {
        let installation = Installation::start_in(&CLUSTERS).await;
        assign(installation.node(0), "jane", "main").await;
        let settings = json!({"attributesForFaceting": ["n"]});
        installation.set(0, INDEX, settings).await;
        let writer = Rc::new(Writer {
            next: Cell::new(0),
            seen: Cell::new(0),
            counted: Cell::new(0),
            is_over: Cell::new(false),
        });
        let nodes: Vec<Service> = installation.nodes().cloned().collect();
        let writing = actix_rt::spawn(keep_writing(nodes.clone(), writer.clone()));
        let readers: Vec<_> =
            nodes.iter().map(|node| actix_rt::spawn(keep_reading(node.clone(), writer.clone()))).collect();
        for (number, cluster) in ["west", "main", "west", "main", "west"].into_iter().enumerate() {
            assign(installation.node(number), "jane", cluster).await;
            let again = installation.node(number).assign_user(user("jane"), CLUSTERS[number % 2]).await;
            let is_busy = again.is_err_and(|error| error.kind == ErrorKind::Invalid);
            let target = installation.node(number).user(&user("jane")).expect("assigned").cluster;
            assert!(is_busy || target == cluster, "one move at a time");
            settled(installation.node(number), "jane", cluster).await;
        }
        writer.is_over.set(true);
        writing.await.expect("the writer ends");
        for reader in readers {
            assert!(reader.await.expect("the reader ends") > 0);
        }
        let (main, west) = (name(INDEX), name(INDEX).partition_in(1).expect("a part"));
        let expected: Vec<u64> = (0..writer.next.get()).collect();
        assert!(expected.len() > 5, "too few writes to show anything: {expected:?}");
        let node = installation.node(1);
        let with_number = async |part: &IndexName| {
            let mut asked = params(json!({"hitsPerPage": 1000, "filters": "n >= 0"}));
            asked.filter = asked.filter.and(Filter::owned_by(&user("jane")));
            let found = node.search(part, asked, ReadRights::default()).await.expect("a part");
            numbers(&found)
        };
        assert_eq!((with_number(&main).await, with_number(&west).await), (vec![], expected));
        let request = ObjectRequest {
            index: west,
            object_id: owned_id(&user("jane"), "counter"),
            attributes_to_retrieve: None,
        };
        let found = node.objects(vec![request], ReadRights::default(), Filter::default()).await;
        let counter = found.expect("an answer").remove(0).expect("a counter");
        let counter: Value = serde_json::from_slice(&counter).expect("JSON");
        assert_eq!(counter["count"], writer.counted.get(), "every write counts once");
        installation.stop().await;
    })
    .await;
}
