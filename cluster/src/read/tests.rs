//! What do reads make of answers of older programs, and of nodes that do not answer?

use super::call::{Location, ReadCall};
use super::figures::GetFigures;
use super::{every_node, search};
use crate::command::{Joining, MetaCommand};
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::lifecycle::join;
use crate::lifecycle::running::{self, Running};
use crate::options::ServiceOptions;
use crate::write::{self, Reach};
use quorate_model::results::AnswerSettings;
use quorate_model::{GroupId, IndexName, NodeId, Result, SearchResults, level};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

async fn started(folder: &Path) -> Running {
    let options = ServiceOptions { disk_reserve_bytes: 0, search_threads: 1, ..ServiceOptions::new(folder) };
    let mut running = running::start(&options).await.expect("a node that starts");
    join::enter(&mut running, &options).await.expect("an installation");
    running
}

/// A search as older programs answer it.
#[derive(Serialize, Deserialize)]
struct Earlier;
impl ReadCall for Earlier {
    const NAME: &'static str = "Earlier";
    type Answer = SearchResults;
    type Source = ();
    async fn locate(&self, _: &NodeContext) -> Result<Location<()>> {
        Ok(Location::Local(()))
    }
    async fn read(self, _: &NodeContext, (): ()) -> Result<SearchResults> {
        Ok(SearchResults { nb_hits: 7, ..SearchResults::default() })
    }
}

#[actix_rt::test]
async fn what_an_older_program_does_not_say_of_settings_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = started(folder.path()).await;
    let (context, index) = (&running.context, IndexName::new("i").expect("valid"));
    let changes = json!({"responseFields": ["hits"], "renderingContent": {"a": 1}});
    let changes = changes.as_object().expect("an object").clone();
    write::settings(context, &index, changes, Reach::Index).await.expect("accepted");
    let expected = AnswerSettings {
        response_fields: Some(vec!["hits".into()]),
        rendering_content: Some(std::sync::Arc::new(json!({"a": 1}))),
    };
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let results = search::results(context, &index, Earlier).await;
        // applied a moment after it is accepted
        match results.map(|results| (results.nb_hits, results.settings)) {
            Ok((7, Some(settings))) if settings == expected => break,
            other => assert!(Instant::now() < until, "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.stop().await;
}

#[actix_rt::test]
async fn every_node_of_the_cluster_is_asked_and_one_that_does_not_answer_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = started(folder.path()).await;
    let context = &running.context;
    let meta = context.meta();
    let cluster = meta.nodes.get(&context.self_id()).expect("this node").cluster.clone();
    for (node, cluster) in [(7, cluster.as_str()), (8, "elsewhere")] {
        let text = format!("n{node}");
        let joining = Joining {
            peer: format!("127.0.0.1:{node}"),
            http: text.clone(),
            name: text,
            cluster: cluster.to_owned(),
            level: level::NEWEST,
        };
        let add = MetaCommand::AddNode { node: NodeId(node), joining };
        let deadline = Instant::now() + Duration::from_secs(10);
        context.proposer().propose_meta(add, Purpose::Add, deadline).await.expect("accepted");
    }
    let call = GetFigures { group: GroupId(1), incarnations: vec![5] };
    let answers = every_node::ask(context, call, Duration::from_secs(2)).await.expect("asked");
    assert_eq!(answers.len(), 2, "those of its cluster: {answers:?}");
    assert_eq!(answers[&context.self_id()].as_ref().expect("its own answer").len(), 1);
    assert_eq!(answers[&NodeId(7)], Err("it cannot be reached".into()));
    running.stop().await;
}
