//! Does a read go backwards for clients when another node served the last one?

use super::*;
use crate::lifecycle::join;
use crate::lifecycle::running::{self, Running};
use crate::options::ServiceOptions;
use crate::rpc::calls::decode_answer;
use crate::types::{CallerOp, ObjectRequest, ReadRights};
use crate::write;
use quorate_model::{Filter, IndexName, NodeId};
use quorate_node::Payer;

fn index() -> IndexName {
    IndexName::new("i").expect("valid")
}
async fn put(running: &Running, version: u64) -> (GroupId, u64) {
    let record = format!(r#"{{"objectID":"a","v":{version}}}"#).into_bytes();
    let op = CallerOp::Put { object_id: Some("a".into()), record };
    let receipt = write::records(&running.context, &index(), vec![op]).await;
    let task = receipt.expect("accepted").task_id;
    (task.group(), task.log_index())
}
fn call() -> ServiceCall {
    let request = ObjectRequest { index: index(), object_id: "a".into(), attributes_to_retrieve: None };
    let (requests, rights) = (vec![request], ReadRights::default());
    ServiceCall::Objects { requests, rights, filter: Filter::default() }
}
fn version(records: &[Option<Text>]) -> u64 {
    let record = records[0].as_ref().expect("a record");
    let value: serde_json::Value = serde_json::from_slice(&record.0).expect("an object");
    value["v"].as_u64().expect("a number")
}

#[actix_rt::test]
async fn what_clients_have_seen_elsewhere_is_shown_before_a_read_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let options =
        ServiceOptions { disk_reserve_bytes: 0, search_threads: 2, ..ServiceOptions::new(folder.path()) };
    let mut running = running::start(&options).await.expect("a node that starts");
    join::enter(&mut running, &options).await.expect("an installation");
    let context = running.context.clone();
    let mut put_off = 0;
    for round in 0..20 {
        let (group, first) = put(&running, 2 * round).await;
        while !context.node().is_visible(group, first) {
            tokio::time::sleep(SHOWN_LOOK).await;
        }
        // as one that another node leads: it shows in groups
        context.node().set_leads(group, false);
        let (_, second) = put(&running, 2 * round + 1).await;
        while context.node().applied(group) < second {
            tokio::time::sleep(SHOWN_LOOK).await;
        }
        put_off += u32::from(context.node().visible_through(group) < second);
        let shown = if round % 2 == 0 {
            // another node asks, whose clients have seen it
            let read = Some(ReadOf { group, seen: second });
            let asked = Asked { meta: 0, read, payer: Payer::default(), call: call() };
            let answer = serve(&context, &crate::rpc::calls::encode_call(&asked).expect("a call")).await;
            let Some(Answered::DoneAt { applied, answer }) = decode_answer::<Vec<Option<Text>>>(&answer)
            else {
                panic!("no answer that says how far this node is");
            };
            assert!(applied >= second, "{applied} of {second}");
            version(&answer)
        } else {
            // this node serves again what another one has shown
            context.seen().note(group, NodeId(77), second);
            let Way::Here(found) = read::objects_here(
                &context,
                match call() {
                    ServiceCall::Objects { requests, .. } => requests,
                    _ => unreachable!("made above"),
                },
                ReadRights::default(),
                Filter::default(),
            )
            .await
            .expect("a record") else {
                panic!("it is here");
            };
            let texts: Vec<_> = found.into_iter().map(|it| it.map(Text)).collect();
            version(&texts)
        };
        assert_eq!(shown, 2 * round + 1, "round {round}");
        context.node().set_leads(group, true);
    }
    assert!(put_off >= 5, "{put_off} were put off: this shows nothing");
    running.stop().await;
}
