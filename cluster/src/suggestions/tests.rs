//! Do the steps of a build come to what is expected, of sources that are made up?

use super::build::{External, FoundRecords, How, Sources, suggestions};
use super::indices::Indices;
use super::is_due;
use super::log::{self, BuildLog};
use crate::clock::{unix_ms, write_deadline};
use crate::disk::Purpose;
use crate::lifecycle::{join, running};
use crate::meta::{Built, SuggestionsRow};
use crate::options::ServiceOptions;
use crate::write::{self, Reach};
use quorate_model::event::{CountedSearch, TextList};
use quorate_model::suggestions::SuggestionSource;
use quorate_model::{Error, IndexName, Result, SuggestionConfig};
use quorate_node::SharedDictionaries;
use quorate_node::ops::IndexCommand;
use quorate_node::suggestions::FilteredBy;
use serde_json::{Value, json};
use std::sync::Arc;

/// An index of texts: a query finds those with all its words.
struct Shop {
    texts: Vec<&'static str>,
    popular: Vec<(&'static str, u64)>,
}

impl Sources for Shop {
    fn counted(&self, source: &SuggestionSource) -> Vec<IndexName> {
        let replica = IndexName::new(&format!("{}_replica", source.index_name)).unwrap();
        [source.index_name.clone()].into_iter().chain(source.replicas.then_some(replica)).collect()
    }
    async fn popular(&self, _: &IndexName, _: &[String]) -> Result<Vec<(String, u64)>> {
        Ok(self.popular.iter().map(|(query, users)| ((*query).to_owned(), *users)).collect())
    }
    async fn filtered(&self, source: &SuggestionSource) -> Result<Vec<FilteredBy>> {
        let by = |query: &str, attribute: &str, value: &str, count| {
            let text = str::to_owned;
            FilteredBy { query: text(query), attribute: text(attribute), value: text(value), count }
        };
        match source.index_name.as_str() {
            "older" => Err(Error::unavailable("an older node")),
            _ => Ok(vec![
                by("lamp", "color", "blue", 2),
                by("Lamp", "color", "red", 1),
                by(" LAMP", "color", "red", 2),
                by("red lamp", "kind", "lamp", 2),
            ]),
        }
    }
    async fn external(&self, index: &IndexName) -> Result<Vec<External>> {
        match index.as_str() {
            "external" => Ok(vec![Ok(("Red Lamp".into(), 40)), Err("x: count is not a number".into())]),
            name => Err(Error::no_index(name)),
        }
    }
    async fn find(
        &self,
        index: &IndexName,
        query: &str,
        how: How,
        facets: &[(String, u32)],
    ) -> Result<FoundRecords> {
        if index.as_str() == "missing" {
            return Err(Error::no_index("missing"));
        }
        let is_word = |word: &str, of: &str, is_last: bool| match how {
            How::Exact => word == of,
            How::AsPrefix => word == of || is_last && of.starts_with(word),
            How::Corrected => {
                word == of
                    || word.len() == of.len()
                        && word.bytes().filter(|b| !of.as_bytes().contains(b)).count() <= 1
            }
        };
        let words: Vec<&str> = query.split(' ').filter(|word| !word.is_empty()).collect();
        let matches = |text: &&&str| {
            let mut asked = words.iter().enumerate();
            asked.all(|(at, word)| text.split(' ').any(|of| is_word(word, of, at + 1 == words.len())))
        };
        let found: Vec<&&str> = self.texts.iter().filter(matches).collect();
        // the first word of a text is its color, the last one its kind
        let value = |attribute: &str, text: &str| match attribute {
            "color" => text.split(' ').next().map(str::to_owned),
            "kind" => text.split(' ').next_back().map(str::to_owned),
            _ => None,
        };
        let counts = |attribute: &str, most: u32| {
            let mut counts = std::collections::BTreeMap::<String, u64>::new();
            for text in &found {
                if let Some(value) = value(attribute, text) {
                    *counts.entry(value).or_default() += 1;
                }
            }
            let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            counts.truncate(most as usize);
            counts
        };
        let facets = facets.iter().map(|(name, most)| (name.clone(), counts(name, *most))).collect();
        Ok(FoundRecords { hits: found.len() as u64, facets })
    }
}

async fn built(shop: &Shop, config: Value) -> (Vec<Value>, Vec<Value>) {
    let config = SuggestionConfig::read(config.as_object().unwrap(), None).unwrap();
    let mut log = BuildLog::new(|| 0);
    let made = suggestions(shop, &Arc::new(config), SharedDictionaries::default(), &mut log).await.unwrap();
    let records = made.iter().map(|it| serde_json::from_slice(&it.record()).unwrap()).collect();
    let lines = String::from_utf8(log::open(&log.close()).unwrap()).unwrap();
    (records, lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}
fn messages(log: &[Value], level: &str) -> Vec<String> {
    let of_level = log.iter().filter(|line| line["level"] == level);
    of_level.map(|line| line["message"].as_str().unwrap().to_owned()).collect()
}
fn shown(records: &[Value]) -> Vec<(&str, u64)> {
    records.iter().map(|it| (it["query"].as_str().unwrap(), it["popularity"].as_u64().unwrap())).collect()
}

#[tokio::test]
async fn queries_are_counted_folded_and_said_more_of() {
    let shop = Shop {
        texts: vec!["red lamp", "red lamp", "blue lamp", "red shoe", "red shoes", "blue shoes"],
        popular: vec![
            ("red lamp", 5),
            ("RED  lamp", 2),
            ("lam", 3),
            ("lanp", 1),
            ("lamp", 4),
            ("shoes", 3),
            ("shoe", 2),
            ("unicorn", 9),
            ("bad lamp", 9),
            ("r", 9),
            ("50%", 9),
        ],
    };
    let config = json!({
        "indexName": "s", "languages": ["en"], "exclude": ["bad"],
        "sourceIndices": [
            {"indexName": "missing"},
            {"indexName": "shop", "minHits": 1, "minLetters": 2, "facets": [{"attribute": "color", "amount": 1}],
                "external": ["external", "nowhere"]}]});
    let (records, log) = built(&shop, config).await;
    assert_eq!(shown(&records), [("red lamp", 47), ("lamp", 8), ("shoes", 5)]);
    let of_shop = json!({"exact_nb_hits": 3, "facets": {
        "exact_matches": {"color": [{"value": "red", "count": 2}]}, "analytics": {"color": [
            {"attribute": "color", "operator": ":", "value": "red", "count": 3}]}}});
    assert_eq!((&records[1]["shop"], &records[1]["color"]), (&of_shop, &json!(["red"])));
    assert_eq!(
        messages(&log, "SKIP"),
        [
            "skipping query \"bad lamp\": excluded by bad",
            "skipping query \"r\": not enough letters, got 1, expected 2",
            "skipping query \"50%\": it has special characters",
            "skipping a record of external: x: count is not a number",
            "skipping query \"unicorn\": not enough search results, got 0, expected 1",
            "skipping query \"lam\": completed to \"lamp\"",
            "skipping query \"lanp\": corrected to \"lamp\"",
            "skipping query \"shoe\": another form of \"shoes\"",
        ]
    );
    let errors = messages(&log, "ERROR");
    assert_eq!(
        errors,
        ["missing: Index missing does not exist", "external index nowhere: Index nowhere does not exist"]
    );
    let deeper = log.iter().filter(|line| line["contextLevel"].as_u64() > Some(0)).count();
    assert!(deeper > 0 && log[0]["contextLevel"] == 0, "{log:?}");
}

#[tokio::test]
async fn what_is_named_twice_counts_once_and_the_rest_of_its_source_too() {
    let shop =
        Shop { texts: vec!["red lamp", "blue lamp", "red shoe", "red shoe"], popular: vec![("lamp", 3)] };
    let source = |name: &str, more: Value| {
        let mut source = json!({"indexName": name, "minHits": 1});
        source.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        source
    };
    let (first, external) =
        (json!({"analyticsTags": ["a", "b"]}), json!({"external": ["external", "external"]}));
    let sources = json!([
        source("shop", first),
        source(
            "shop",
            json!({"analyticsTags": ["b", "a", "b"], "external": ["external"], "generate": [["kind"]]})
        ),
        source("shop", external),
        source("shop", json!({"replicas": true})),
        source("shop_replica", json!({})),
        source("shop", json!({"facets": [{"attribute": "color", "amount": 1}]})),
    ]);
    let (records, log) = built(&shop, json!({"indexName": "s", "sourceIndices": sources})).await;
    // with tags, without, and in the replica
    assert_eq!(shown(&records), [("red lamp", 40), ("lamp", 9), ("shoe", 0)]);
    let skipped = messages(&log, "SKIP");
    let users = |it: &&String| it.starts_with("the users of shop");
    assert_eq!(skipped.iter().filter(users).count(), 4, "{skipped:?}");
    assert_eq!(skipped.iter().filter(|it| it.starts_with("the external index")).count(), 2, "{skipped:?}");
}

#[tokio::test]
async fn values_of_facets_are_put_together() {
    let shop =
        Shop { texts: vec!["red lamp", "blue lamp", "red shoe", "red shoe"], popular: vec![("red shoe", 3)] };
    let source =
        json!({"indexName": "shop", "minHits": 1, "generate": [["color", "kind"], ["kind"], ["none"]]});
    let (records, log) = built(&shop, json!({"indexName": "s", "sourceIndices": [source]})).await;
    let mut texts: Vec<(&str, u64)> = shown(&records);
    texts.sort_unstable();
    assert_eq!(texts, [("blue lamp", 0), ("lamp", 0), ("red lamp", 0), ("red shoe", 3), ("shoe", 0)]);
    assert_eq!(
        messages(&log, "SKIP"),
        ["skipping query \"blue shoe\": not enough search results, got 0, expected 1"]
    );
    assert!(messages(&log, "INFO").iter().any(|it| it.starts_with("none has no values in shop")), "{log:?}");
    let none = json!({"indexName": "s", "sourceIndices": [{"indexName": "shop", "minHits": 9}, {"indexName": "shop"}]});
    assert_eq!(built(&shop, none).await.0, [] as [Value; 0]);
    // whoever cannot say what was filtered by
    let older = json!({"indexName": "older", "minHits": 1, "facets": [{"attribute": "kind", "amount": 1}]});
    let (records, log) = built(&shop, json!({"indexName": "s", "sourceIndices": [older]})).await;
    let analytics = &records[0]["older"]["facets"]["analytics"];
    assert_eq!((&records[0]["kind"], analytics), (&json!(["shoe"]), &json!({"kind": []})));
    let said = "no values that searches filtered by: an older node".to_owned();
    assert!(messages(&log, "INFO").contains(&said), "{log:?}");
}

#[test]
fn an_index_is_built_when_it_is_asked_for_and_every_day() {
    let config = json!({"indexName": "s", "sourceIndices": [{"indexName": "shop"}]});
    let config = Arc::new(SuggestionConfig::read(config.as_object().unwrap(), None).unwrap());
    let new = SuggestionsRow { config, created: 5, asked: 5, begun: None, built: None };
    assert!(is_due(&new, 0, 0));
    let after = |is_success| {
        let built =
            Built { ended_ms: 1_000, begun_at: 6, is_success, last_success: None, log: Arc::default() };
        SuggestionsRow { built: Some(built), ..new.clone() }
    };
    const DAY: u64 = 86_400_000;
    for (is_success, now_ms, expected) in [
        (true, 0, false),
        (true, DAY, false),
        (true, DAY + 1_000, true),
        (false, 600_999, false),
        (false, 601_000, true),
    ] {
        assert_eq!(is_due(&after(is_success), now_ms, 0), expected, "{is_success} {now_ms}");
    }
    assert!(is_due(&SuggestionsRow { asked: 7, ..after(true) }, 0, 0));
    // what was built before a user was forgotten, or just when that was
    for (forgot_ms, now_ms, expected) in [
        (2_000, 600_999, false),
        (2_000, 601_000, true),
        (700_000, 701_999, false),
        (700_000, 702_000, true),
        (1, DAY, true),
    ] {
        assert_eq!(is_due(&after(true), now_ms, forgot_ms), expected, "{forgot_ms} {now_ms}");
    }
    for (begun_ms, expected) in [(3_999, true), (4_000, false)] {
        let last_success = Some((90_000, 90_000 - begun_ms));
        let later = Built { ended_ms: 90_000, last_success, ..after(true).built.expect("built") };
        let row = SuggestionsRow { built: Some(later), ..new.clone() };
        assert_eq!(is_due(&row, DAY, 2_000), expected, "begun at {begun_ms}");
    }
}

#[actix_rt::test]
async fn queries_are_counted_where_they_were_asked() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        ServiceOptions { disk_reserve_bytes: 0, search_threads: 1, ..ServiceOptions::new(folder.path()) };
    let mut running = running::start(&options).await.unwrap();
    join::enter(&mut running, &options).await.unwrap();
    let context = running.context.clone();
    let search = |index: &str, user: &str, query: &str, tag: &str| CountedSearch {
        index: IndexName::new(index).unwrap(),
        user: user.into(),
        time_ms: unix_ms(),
        query: query.into(),
        hits: 1,
        shown: TextList::default(),
        tags: [tag].iter().collect(),
        filters: TextList::default(),
        country: None,
        query_ids: vec![],
        stands: false,
    };
    let settings = json!({"replicas": ["twin"]});
    let shop = IndexName::new("shop").unwrap();
    write::settings(&context, &shop, settings.as_object().unwrap().clone(), Reach::Index).await.unwrap();
    for (index, users) in [("shop", ["ann", "bob"]), ("twin", ["eve", "ann"])] {
        let group = context.group_for(&IndexName::new(index).unwrap()).unwrap();
        let old = CountedSearch { time_ms: 1_000, ..search(index, "old", "old lamp", "web") };
        let mut searches = vec![old];
        searches.extend(users.map(|user| search(index, user, "red lamp", "web")));
        searches.push(search(index, "kim", "desk", "app"));
        let command = IndexCommand::Searches { searches };
        let deadline = write_deadline();
        let accepted =
            context.proposer().propose_index(group, command, Purpose::Add, deadline).await.unwrap();
        context.group(group).unwrap().wait_applied(accepted.task_id.log_index(), deadline).await.unwrap();
    }
    let popular = async |source: Value| {
        let config = json!({"indexName": "s", "sourceIndices": [source]});
        let config = SuggestionConfig::read(config.as_object().unwrap(), None).unwrap();
        let (indices, source) = (Indices::new(&context), &config.source_indices[0]);
        let mut found = vec![];
        for index in indices.counted(source) {
            let popular = indices.popular(&index, &source.analytics_tags).await.unwrap();
            found.extend(popular.into_iter().map(|(query, users)| format!("{index}: {query} {users}")));
        }
        found.sort();
        found
    };
    assert_eq!(popular(json!({"indexName": "shop"})).await, ["shop: desk 1", "shop: red lamp 2"]);
    let both = json!({"indexName": "shop", "replicas": true, "analyticsTags": ["web"]});
    assert_eq!(popular(both).await, ["shop: red lamp 2", "twin: red lamp 2"]);
    running.stop().await;
}
