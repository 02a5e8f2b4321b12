//! Do calls stay what programs of other versions know, and does a read go backwards when another node served the last one?

use super::*;
use crate::lifecycle::join;
use crate::lifecycle::running::{self, Running};
use crate::options::ServiceOptions;
use crate::request_log::{CallFilter, CallsAsked};
use crate::rpc::calls::decode_answer;
use crate::rpc::calls::encode_call;
use crate::types::{CallerOp, ObjectRequest, ReadRights, Whose};
use crate::write;
use quorate_model::analytics::{By, Day, Order, ReportQuery as Figures};
use quorate_model::resource::ResourceQuery;
use quorate_model::wire::Text;
use quorate_model::{
    Candidates, Filter, GroupId, IndexName, NodeId, RecommendModel, Recommendation, ResourceKind,
    SearchParams, UserId, filter,
};
use quorate_node::{ModelKey, Payer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Debug;

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
fn model() -> ModelKey {
    ModelKey { index: index(), model: RecommendModel::BoughtTogether }
}
fn call() -> GetObjects {
    let request = ObjectRequest { index: index(), object_id: "a".into(), attributes_to_retrieve: None };
    GetObjects { requests: vec![request], rights: ReadRights::default(), filter: Filter::default() }
}
fn asked<C: ReadCall>(call: &C, read: Option<ReadOf>) -> Vec<u8> {
    let payer = Payer { key: u64::MAX, address: 7 };
    encode_call(&CallEnvelope { meta: 0, read, payer, call: BTreeMap::from([(C::NAME, call)]) })
        .expect("a call")
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
    let mut deferred = 0;
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
        deferred += u32::from(context.node().records_visible_through(group) < second);
        let shown = if round % 2 == 0 {
            // another node asks, whose clients have seen it
            let read = Some(ReadOf { group, seen: second });
            let answer = serve(&context, &asked(&call(), read)).await;
            let Some(Answered::DoneAt { applied, answer }) = decode_answer::<Vec<Option<Text>>>(&answer)
            else {
                panic!("no answer that says how far this node is");
            };
            assert!(applied >= second, "{applied} of {second}");
            version(&answer)
        } else {
            // this node serves again what another one has shown
            context.seen().note(group, NodeId(77), second);
            let Location::Local(views) = call().locate(&context).await.expect("an index") else {
                panic!("it is here");
            };
            version(&call().read(&context, views).await.expect("a record"))
        };
        assert_eq!(shown, 2 * round + 1, "round {round}");
        context.node().set_leads(group, true);
    }
    assert!(deferred >= 5, "{deferred} were deferred: this shows nothing");
    running.stop().await;
}

/// What stands between nodes for a call, which is the call again on the other side.
#[track_caller]
fn sent<C: ReadCall + PartialEq + Debug>(call: C) -> Value {
    let bytes = asked(&call, None);
    let back: CallEnvelope<Named<'_>> = serde_json::from_slice(&bytes).expect("own bytes");
    let (name, body) = back.call.first_key_value().expect("a call");
    assert_eq!(*name, C::NAME);
    assert_eq!(serde_json::from_str::<C>(body.get()).expect("own call"), call);
    serde_json::from_slice::<Value>(&bytes).expect("JSON")["call"].clone()
}

fn figures() -> Figures {
    Figures {
        days: (Day(1), Day(2)),
        tags: Some("t".into()),
        by: By::FilterOf("f".into()),
        order: Order::ClickThroughRate,
        limit: 3,
        ..Figures::default()
    }
}
fn shown_figures() -> Value {
    json!({"days": [1, 2], "tags": "t", "search": null, "by": {"FilterOf": "f"},
        "with_events": false, "order": "ClickThroughRate", "ascending": false, "offset": 0, "limit": 3})
}

#[test]
fn calls_are_what_other_versions_know() {
    let index = IndexName::new("ä \"1\"").expect("valid");
    let rights = ReadRights { sees_unretrievable: true, max_hits_per_query: 7, bytes_max: 9 };
    let shown_rights = json!({"sees_unretrievable": true, "max_hits_per_query": 7, "bytes_max": 9});
    let body = json!({"query": "a", "filters": "p > 0.1 OR p: 1 TO 2", "aroundLatLng": "1.5,-2.25"});
    let params = Box::new(SearchParams::from_json(body.as_object().expect("an object")).expect("valid"));
    let shown_params = serde_json::to_value(&params).expect("JSON");
    let filter = filter::parse_filters("a:b AND NOT n <= 0.3").expect("valid");
    let shown_filter = serde_json::to_value(&filter).expect("JSON");
    let requests = vec![ObjectRequest {
        index: index.clone(),
        object_id: "\u{7f}\n".into(),
        attributes_to_retrieve: Some(vec!["a".into()]),
    }];
    let shown_requests = json!([{"index": index, "object_id": "\u{7f}\n", "attributes_to_retrieve": ["a"]}]);
    let (group, incarnation, kind) = (GroupId(3), u64::MAX, ResourceKind::Rules);
    let query = ResourceQuery::default();
    let shown_query = serde_json::to_value(&query).expect("JSON");
    let whose = Whose { owner: UserId::new("u").expect("valid"), ids: None };
    let recommendation = Recommendation {
        model: RecommendModel::RelatedProducts,
        object_id: Some("o".into()),
        facet_name: None,
        facet_value: None,
        threshold: 5,
        most: 3,
        params: params.clone(),
        fallback: Some(params.clone()),
        user: Some(UserId::new("u").expect("valid")),
        candidates: Candidates { users: 2, list: vec![("p".into(), 10_000)] },
    };
    let cases = [
        (
            sent(Search { index: index.clone(), params: params.clone(), rights, at_once: false }),
            json!({"Search": {"index": index, "params": shown_params, "rights": shown_rights}}),
        ),
        (
            sent(Browse { index: index.clone(), params: params.clone(), after: Some(vec![0, 255]), rights }),
            json!({"Browse": {"index": index, "params": shown_params, "after": [0, 255], "rights": shown_rights}}),
        ),
        (
            sent(SearchFacet {
                index: index.clone(),
                facet: "f".into(),
                facet_query: "q".into(),
                params,
                rights,
            }),
            json!({"SearchFacet": {
                "index": index, "facet": "f", "facet_query": "q", "params": shown_params, "rights": shown_rights
            }}),
        ),
        (
            sent(GetObjects { requests, rights, filter }),
            json!({"Objects": {"requests": shown_requests, "rights": shown_rights, "filter": shown_filter}}),
        ),
        (sent(GetSettings { index: index.clone() }), json!({"Settings": {"index": index}})),
        (
            sent(GetResource { index: index.clone(), kind, object_id: "r".into() }),
            json!({"Document": {"index": index, "kind": kind, "object_id": "r"}}),
        ),
        (
            sent(SearchResources { index: index.clone(), kind, asked: query }),
            json!({"SearchDocuments": {"index": index, "kind": kind, "asked": shown_query}}),
        ),
        (
            sent(GetFigures { group, incarnations: vec![incarnation, 0] }),
            json!({"Figures": {"group": 3, "incarnations": [incarnation, 0]}}),
        ),
        (
            sent(GetIndexConfig { group, incarnation, kinds: vec![kind], within_ms: 5 }),
            json!({"Parts": {"group": 3, "incarnation": incarnation, "kinds": [kind], "within_ms": 5}}),
        ),
        (
            sent(CountResources { group, incarnation, kind, ids: vec!["a".into()] }),
            json!({"Count": {"group": 3, "incarnation": incarnation, "kind": kind, "ids": ["a"]}}),
        ),
        (
            sent(ShowsRecords { group, log_index: 1 << 40 }),
            json!({"ShowsRecords": {"group": 3, "log_index": 1_u64 << 40}}),
        ),
        (
            sent(GetOwned { group, incarnation, whose, within_ms: 5 }),
            json!({"Owned": {
                "group": 3, "incarnation": incarnation, "whose": {"owner": "u", "ids": null}, "within_ms": 5
            }}),
        ),
        (
            sent(GetStored { group, incarnation, ids: vec!["a".into()], within_ms: 5 }),
            json!({"Stored": {"group": 3, "incarnation": incarnation, "ids": ["a"], "within_ms": 5}}),
        ),
        (sent(GetOwners { group, incarnation }), json!({"Owners": {"group": 3, "incarnation": incarnation}})),
        (
            sent(Recommend { index: index.clone(), asked: recommendation, rights }),
            json!({"Recommend": {"index": index, "rights": shown_rights, "asked": {
                "model": "RelatedProducts", "object_id": "o", "facet_name": null, "facet_value": null,
                "threshold": 5, "most": 3, "params": shown_params, "fallback": shown_params, "user": "u",
                "candidates": {"users": 2, "list": [["p", 10_000]]}
            }}}),
        ),
        (
            sent(GetCalls(CallsAsked { filter: CallFilter::Error, index: Some("a".into()), most: 9 })),
            json!({"Calls": {"filter": "Error", "index": "a", "most": 9}}),
        ),
        (
            sent(GetCandidates { group, key: model(), object_id: "a".into() }),
            json!({"Candidates": {"group": 3, "key": {"index": "i", "model": "BoughtTogether"}, "object_id": "a"}}),
        ),
        (
            sent(PopularQueries {
                group,
                index: IndexName::new("i").expect("valid"),
                tags: vec!["t".into()],
                times_ms: 1..2,
                most: 9,
            }),
            json!({"PopularQueries": {"group": 3, "index": "i", "tags": ["t"], "times_ms": {"start": 1, "end": 2},
                "most": 9}}),
        ),
        (
            sent(FilteredQueries {
                group,
                index: IndexName::new("i").expect("valid"),
                tags: vec!["t".into()],
                times_ms: 1..2,
                attributes: vec!["color".into()],
            }),
            json!({"FilteredQueries": {"group": 3, "index": "i", "tags": ["t"], "times_ms": {"start": 1, "end": 2},
                "attributes": ["color"]}}),
        ),
        (
            sent(AskForBuild { group, key: model() }),
            json!({"AskForBuild": {"group": 3, "key": {"index": "i", "model": "BoughtTogether"}}}),
        ),
        (
            sent(PutModel { group, key: model(), file: "AA==".into() }),
            json!({"PutModel": {"group": 3, "key": {"index": "i", "model": "BoughtTogether"}, "file": "AA=="}}),
        ),
        (sent(GetModels { group }), json!({"Models": {"group": 3}})),
        (
            sent(GetReport { group, index: index.clone(), asked: figures(), within_ms: 5 }),
            json!({"Report": {"group": 3, "index": index, "asked": shown_figures(), "within_ms": 5}}),
        ),
        (sent(GetEvents {}), json!({"Events": {}})),
        (
            sent(GetEventRows { group, day: Day(2), index: Some("i".into()), after: None, within_ms: 5 }),
            json!({"EventRows": {"group": 3, "day": 2, "index": "i", "after": null, "within_ms": 5}}),
        ),
        (sent(GetTrends { group, index: model().index }), json!({"Trends": {"group": 3, "index": "i"}})),
    ];
    let mut names = BTreeSet::new();
    for (sent, expected) in cases {
        names.extend(expected.as_object().expect("an object").keys().cloned());
        assert_eq!(sent, expected);
    }
    assert_eq!(names, NAMES.iter().map(|name| (*name).to_owned()).collect(), "every call of the list");
}

#[actix_rt::test]
async fn a_call_that_nobody_knows_here_is_left_to_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let options =
        ServiceOptions { disk_reserve_bytes: 0, search_threads: 1, ..ServiceOptions::new(folder.path()) };
    let mut running = running::start(&options).await.expect("a node that starts");
    join::enter(&mut running, &options).await.expect("an installation");
    for call in [
        r#"{"meta":0,"call":{"Later":{"a":1}}}"#,
        r#"{"meta":0,"call":{"Settings":{"name":"i"}}}"#,
        r#"{"meta":0,"call":{}}"#,
        r#"{"meta":0,"call":"Settings"}"#,
        "",
    ] {
        let answer = serve(&running.context, call.as_bytes()).await;
        assert_eq!(decode_answer::<()>(&answer), Some(Answered::NotHere), "{call}");
    }
    // and one of a program that says nothing of who pays or what it has seen
    let known = serve(&running.context, br#"{"meta":0,"call":{"Settings":{"index":"missing"}}}"#).await;
    assert!(matches!(decode_answer::<Value>(&known), Some(Answered::Failed(_))));
    running.stop().await;
}
