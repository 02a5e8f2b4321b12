//! Reads of every kind are answered alike by every node, whether it has a replica or not.

use crate::harness::*;
use quorate_cluster::{ObjectRequest, ReadRights};
use quorate_model::resource::ResourceQuery;
use quorate_model::{Error, ErrorKind, Filter, ResourceKind, SearchResults};
use serde_json::{Value, json};

/// Four nodes and three replicas: one node lacks each group once the replicas are where they are wanted.
const NODES: usize = 4;
const INDICES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const RECORDS: usize = 12;

async fn fill(installation: &Installation, number: usize, index: &str) {
    let kinds = ["red", "green", "blue"];
    let record = |id: usize| {
        let attributes = json!({"title": format!("thing {id} of {index}"), "kind": kinds[id % 3], "n": id});
        put(&id.to_string(), attributes)
    };
    let settings = json!({
        "searchableAttributes": ["title"], "attributesForFaceting": ["searchable(kind)"], "hitsPerPage": 5
    });
    installation.set(number, index, settings).await;
    installation.write(number + 1, index, (0..RECORDS).map(record).collect()).await;
    let synonym = json!({"objectID": "s", "type": "synonym", "synonyms": ["thing", "object"]});
    installation.save(number + 2, index, ResourceKind::Synonyms, &[synonym]).await;
    let rule = json!({
        "objectID": "r", "conditions": [{"pattern": "promoted", "anchoring": "is"}],
        "consequence": {"promote": [{"objectID": "7", "position": 0}], "userData": {"a": 0.1}}
    });
    installation.save(number + 3, index, ResourceKind::Rules, &[rule]).await;
}

/// Everything that a caller can read of an index through one node.
async fn read(
    installation: &Installation,
    number: usize,
    index: &str,
) -> Vec<(String, Result<Value, Error>)> {
    let (node, index_name, rights) = (installation.node(number), name(index), ReadRights::default());
    let mut read = vec![];
    for asked in [
        json!({}),
        json!({"query": "object 3", "getRankingInfo": true}),
        json!({"query": "promoted", "facets": ["*"], "page": 1}),
        json!({"filters": "n > 3 AND NOT kind:red", "attributesToRetrieve": ["n"]}),
        json!({"filters": "n:0.5 TO 4.5", "aroundLatLng": "1.5,2.5", "explain": ["*"]}),
    ] {
        let results = installation.search(number, index, asked.clone()).await;
        read.push((format!("search {asked}"), results.map(|results| shown(&results))));
    }
    let mut after = None;
    for page in 0.. {
        let asked = params(json!({"hitsPerPage": 5}));
        let browsed =
            patiently("a browse", || node.browse(&index_name, asked.clone(), after.clone(), rights)).await;
        read.push((format!("browse {page}"), browsed.clone().map(|results| shown(&results))));
        match browsed.ok().and_then(|results| results.cursor) {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let facets =
        patiently("a facet", || node.search_facet(&index_name, "kind", "re", params(json!({})), rights))
            .await;
    let facets = facets.map(|facets| json!({"hits": facets.hits, "exhaustive": facets.exhaustive}));
    read.push(("facet".into(), facets));
    let no_facet =
        patiently("a facet", || node.search_facet(&index_name, "n", "1", params(json!({})), rights)).await;
    read.push(("no facet".into(), no_facet.map(|facets| json!(facets.hits))));
    let objects = installation.objects(number, &[(index, "1"), (index, "none"), (index, "2")]).await;
    read.push(("objects".into(), objects.map(|objects| json!(objects))));
    let settings = installation.settings(number, index).await;
    read.push(("settings".into(), settings.map(|settings| json!(settings.document))));
    for (kind, id) in [(ResourceKind::Synonyms, "s"), (ResourceKind::Rules, "r"), (ResourceKind::Rules, "no")]
    {
        let document = patiently("a document", || node.document(&index_name, kind, id)).await;
        let parsed = document.map(|document| serde_json::from_slice(&document).expect("JSON"));
        read.push((format!("{} {id}", kind.name()), parsed));
        let asked = ResourceQuery::parse(kind, &object(json!({"query": ""}))).expect("a query");
        let found = patiently("documents", || node.search_resources(&index_name, kind, asked.clone())).await;
        let texts = found.map(|found| {
            let hits: Vec<Value> =
                found.hits.iter().map(|hit| serde_json::from_slice(hit).expect("JSON")).collect();
            json!({"hits": hits, "nbHits": found.nb_hits, "pages": found.nb_pages})
        });
        read.push((format!("list of {}", kind.name()), texts));
    }
    let names = [index_name.clone()];
    let infos = patiently("figures", || node.indices(&names)).await;
    let infos = infos.map(|infos| {
        let info =
            |info: &quorate_cluster::IndexInfo| json!([info.name.as_str(), info.entries, info.created_at]);
        json!(infos.iter().map(info).collect::<Vec<_>>())
    });
    read.push(("figures".into(), infos));
    read
}

fn shown(results: &SearchResults) -> Value {
    let hits: Vec<Value> =
        results.hits.iter().map(|hit| serde_json::from_slice(hit).expect("JSON")).collect();
    let counts = |facets: &Vec<quorate_model::results::FacetCounts>| {
        facets.iter().map(|facet| json!([facet.attribute, facet.values, facet.complete])).collect::<Vec<_>>()
    };
    json!({
        "hits": hits, "nbHits": results.nb_hits, "page": results.page, "query": results.query,
        "parsed": results.parsed_query, "facets": results.facets.as_ref().map(counts),
        "rules": results.rules.user_data, "applied": results.rules.params, "pages": results.nb_pages,
        "alternatives": results.alternatives.as_ref().map(Vec::len), "more": results.cursor.is_some(),
    })
}

#[actix_rt::test]
async fn every_node_answers_alike() {
    in_time(async {
        let installation = Installation::start(NODES).await;
        for (number, index) in INDICES.iter().enumerate() {
            fill(&installation, number, index).await;
        }
        for index in INDICES {
            let expected = read(&installation, 0, index).await;
            let failed: Vec<_> =
                expected.iter().filter(|(_, answer)| answer.is_err()).map(|(what, _)| what).collect();
            assert_eq!(failed, ["no facet", "rules no"], "{expected:?}");
            for number in 1..NODES {
                for ((what, expected), (_, got)) in
                    expected.iter().zip(read(&installation, number, index).await)
                {
                    assert_eq!(&got, expected, "{what} of {index} through node {number}");
                }
            }
        }
        let wanted: Vec<(&str, &str)> =
            ["3", "none", "5"].iter().flat_map(|id| INDICES.map(|index| (index, *id))).collect();
        for number in 0..NODES {
            let found = installation.objects(number, &wanted).await.expect("records");
            for ((index, id), record) in wanted.iter().zip(found) {
                let title = record.map(|record| record["title"].clone());
                let expected = (*id != "none").then(|| json!(format!("thing {id} of {index}")));
                assert_eq!(title, expected, "{index} {id} through node {number}");
            }
        }
        missing(&installation).await;
        installation.stop().await;
    })
    .await;
}

async fn missing(installation: &Installation) {
    let (none, rights) = (name("none"), ReadRights::default());
    for node in installation.nodes() {
        let request =
            ObjectRequest { index: none.clone(), object_id: "1".into(), attributes_to_retrieve: None };
        let known = ObjectRequest { index: name("a"), ..request.clone() };
        let errors = [
            node.search(&none, params(json!({})), rights).await.err(),
            node.browse(&none, params(json!({})), None, rights).await.err(),
            node.search_facet(&none, "kind", "", params(json!({})), rights).await.err(),
            node.objects(vec![known, request], rights, Filter::default()).await.err(),
            node.settings(&none).await.err(),
            node.document(&none, ResourceKind::Rules, "r").await.err(),
            node.search_resources(&none, ResourceKind::Rules, ResourceQuery::default()).await.err(),
        ];
        for error in errors {
            let error = error.expect("an error");
            assert_eq!(
                (error.kind, error.message.as_str()),
                (ErrorKind::NotFound, "Index none does not exist")
            );
        }
        assert!(node.indices(std::slice::from_ref(&none)).await.expect("no figures").is_empty());
    }
}
