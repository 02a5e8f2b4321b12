//! Does any node know which calls the nodes of its cluster have answered?

use crate::harness::{Installation, in_time};
use quorate_cluster::request_log::{CallFilter, CallKind, CallsAsked, LoggedCall};

fn call(time_ms: u64, kind: CallKind, index: &'static str) -> LoggedCall {
    LoggedCall {
        time_ms,
        kind,
        status: 200,
        took_us: 1,
        id: time_ms.to_string(),
        method: "POST".into(),
        index: Some(index.into()),
        url: "/".into(),
        body: vec![b'b'; 1_000].into(),
        answer: vec![b'a'; 1_000].into(),
        ..LoggedCall::default()
    }
}
fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("after 1970").as_millis() as u64
}

#[actix_rt::test]
async fn any_node_tells_the_calls_of_all_the_newest_first() {
    in_time(async {
        let mut installation = Installation::start(3).await;
        let start = now_ms();
        for number in 0..3_000 {
            let (kind, index) = match number % 2 {
                0 => (CallKind::Query, "even"),
                _ => (CallKind::Build, "odd"),
            };
            let log = installation.node(number as usize % 3).request_log().expect("a log");
            let call = call(start + number, kind, index);
            log.note(call.time_ms, |bytes| bytes.extend(call.encode()), LoggedCall::decode);
        }
        let asked =
            |filter, index: Option<&str>, most| CallsAsked { filter, index: index.map(str::to_owned), most };
        let numbers = async |installation: &Installation, node: usize, asked: CallsAsked| -> Vec<u64> {
            let calls = installation.node(node).latest_calls(&asked).await.expect("an answer");
            calls.iter().map(|call| call.time_ms - start).collect()
        };
        for node in 0..3 {
            let all = numbers(&installation, node, asked(CallFilter::All, None, 5_000)).await;
            assert_eq!(all, (0..3_000).rev().collect::<Vec<_>>(), "node {node}");
            let some = numbers(&installation, node, asked(CallFilter::Query, None, 3)).await;
            assert_eq!(some, [2_998, 2_996, 2_994]);
            let some = numbers(&installation, node, asked(CallFilter::All, Some("odd"), 2)).await;
            assert_eq!(some, [2_999, 2_997]);
        }
        // a node that stops takes its calls along and brings them back; the others go on without them
        installation.restart(2, |_| {}).await;
        let mut all = vec![];
        while all.len() < 3_000 {
            all = numbers(&installation, 0, asked(CallFilter::All, None, 5_000)).await;
            assert!(all.len() == 3_000 || all.len() == 2_000, "{}", all.len());
        }
        assert_eq!(all, (0..3_000).rev().collect::<Vec<_>>());
        installation.stop().await;
    })
    .await;
}
