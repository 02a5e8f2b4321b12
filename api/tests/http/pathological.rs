//! Do the worst queries and settings come to an answer in bounded time?

use super::*;
use serde_json::json;
use std::time::{Duration, Instant};

/// Far more than any of them takes alone; the machine may be busy.
const TIME_MAX: Duration = Duration::from_secs(8);
/// Records of an ordinary run; `QUORATE_WORST_RECORDS` says how many others have.
const RECORDS: usize = 8_000;

/// Records of one call, so that it is not too big.
const BATCH: usize = 5_000;

/// What is asked of the index, with the number of hits where it is known.
type Ask = (&'static str, Value, Option<usize>);

/// `text` as often as 512 bytes hold it.
fn full(text: &str) -> String {
    text.repeat(512 / text.len())
}

impl Node {
    async fn add_many(&self, index: &str, count: usize, record: impl Fn(usize) -> Value) {
        let add = |n: usize| {
            let mut body = record(n);
            body["objectID"] = json!(n.to_string());
            json!({"action": "addObject", "body": body})
        };
        let all: Vec<Value> = (0..count).map(add).collect();
        for requests in all.chunks(BATCH) {
            self.write(Method::POST, &format!("/1/indexes/{index}/batch"), json!({"requests": requests}))
                .await;
        }
    }
    async fn in_time(&self, index: &str, (what, query, hits): &Ask) {
        let begun = Instant::now();
        let body = self.post(&format!("/1/indexes/{index}/query"), query.clone()).await;
        assert!(begun.elapsed() < TIME_MAX, "{what} took {:?}", begun.elapsed());
        let count = body["nbHits"].as_u64().unwrap_or_else(|| panic!("{what}: {body}"));
        assert!(hits.is_none_or(|hits| hits as u64 == count), "{what}: {count} hits");
    }
}

fn records() -> usize {
    std::env::var("QUORATE_WORST_RECORDS").ok().and_then(|value| value.parse().ok()).unwrap_or(RECORDS)
}

fn texts() -> Vec<Ask> {
    let query = |text: String| json!({"query": text});
    let wrong = "xqzwvkjy bqzwvkjx cqzwvkjz dqzwvkjw eqzwvkjv fqzwvkju gqzwvkjt hqzwvkjs iqzwvkjr jqzwvkjq";
    let all = Some(records());
    vec![
        ("one letter", query(full("a")), Some(0)),
        ("one ideograph", query(full("漢")), Some(0)),
        ("spaces", query(full(" ")), all),
        ("dashes", json!({"query": full("-"), "advancedSyntax": true}), all),
        ("quotes", json!({"query": full("\""), "advancedSyntax": true}), all),
        ("excluded letters", json!({"query": full("-a "), "advancedSyntax": true}), None),
        ("combining marks", query(format!("e{}", "\u{301}".repeat(255))), None),
        ("scripts", query(full("aжαא漢あ한ก")), None),
        ("emoji", query(full("👩‍👩‍👧‍👦")), Some(0)),
        ("apostrophes", query(full("a'")), None),
        ("separators", query(full("a.b-c_d ")), None),
        ("star", query("*".into()), all),
        ("words with typos only", query(wrong.into()), Some(0)),
        ("letters", query("a b ".repeat(100)), None),
        (
            "letters as prefixes",
            json!({"query": "a b c d e f g h i j ".repeat(20), "queryType": "prefixAll"}),
            None,
        ),
        ("prefixes of everything", json!({"query": "l l l l l l l l l l", "queryType": "prefixAll"}), all),
        (
            "letters, all optional",
            json!({"query": "l a m p n u m b e r", "queryType": "prefixAll",
            "removeWordsIfNoResults": "allOptional", "optionalWords": "l a m p n u m b e r"}),
            None,
        ),
        ("giving up words", json!({"query": wrong, "removeWordsIfNoResults": "lastWords"}), Some(0)),
        ("250 words", query(full("1 2 3 4 ")), None),
        ("170 words of nothing", query(full("zz ")), Some(0)),
        (
            "giving up some of 128 words",
            json!({"query": full("zzz "), "removeWordsIfNoResults": "lastWords"}),
            Some(0),
        ),
        ("128 exclusions", json!({"query": full("-zz "), "advancedSyntax": true}), all),
        (
            "a phrase of 256 words",
            json!({"query": format!("\"{}", full("1 ").trim_end()), "advancedSyntax": true}),
            Some(0),
        ),
        ("numbers", query("1 2 3 4 5 6 7 8 9 0".into()), None),
    ]
}

fn lists() -> Vec<Ask> {
    let words: Vec<String> = (0..100).map(|n| format!("word{n}")).collect();
    let any = (0..1_000).map(|n| format!("code:c{n}")).collect::<Vec<_>>().join(" OR ");
    let each: Vec<String> = (0..1_000).map(|n| format!("code:-c{n}")).collect();
    let deep = format!("{}code:c1{}", "(".repeat(60), ")".repeat(60));
    let scored: Vec<String> = (0..1_000).map(|n| format!("code:c{n}<score={n}>")).collect();
    let prices: Vec<Value> =
        (0..500).map(|n| json!([format!("n={n}"), format!("n>{}", n + 7_000)])).collect();
    vec![
        ("optional words", json!({"query": "lamp number word1 word2", "optionalWords": words}), None),
        ("1,000 alternatives", json!({"filters": any}), Some(1_000)),
        ("1,000 exclusions", json!({"facetFilters": each}), Some(records() - 1_000)),
        ("parentheses", json!({"filters": deep}), Some(1)),
        ("1,000 scores", json!({"optionalFilters": scored, "sumOrFiltersScores": true}), Some(records())),
        ("500 pairs of numbers", json!({"numericFilters": prices}), None),
        ("every facet value", json!({"facets": ["*"], "maxValuesPerFacet": 1_000}), Some(records())),
        (
            "a full page",
            json!({"query": "lamp", "hitsPerPage": 1_000, "attributesToHighlight": ["*"],
            "attributesToSnippet": ["*:50"], "getRankingInfo": true}),
            Some(records()),
        ),
        ("groups of one", json!({"query": "lamp", "distinct": 4, "hitsPerPage": 1_000}), Some(records())),
        ("the strictest typos", json!({"query": "lamp numbre", "typoTolerance": "min"}), None),
    ]
}

#[actix_web::test]
async fn the_worst_queries_are_answered() {
    let node = Node::start().await;
    let settings = json!({"attributesForFaceting": ["searchable(code)"], "attributeForDistinct": "code"});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let record = |n: usize| json!({"name": format!("lamp number {n}"), "code": format!("c{n}"), "n": n});
    node.add_many("i", records(), record).await;
    for ask in texts().iter().chain(&lists()) {
        node.in_time("i", ask).await;
    }
    let typed = node.post("/1/indexes/i/facets/code/query", json!({"facetQuery": "c77"})).await;
    assert_eq!(typed["facetHits"].as_array().unwrap().len(), 10);
    let many: Vec<String> = (0..1_001).map(|n| format!("code:c{n}")).collect();
    let many = json!({"facetFilters": many}).to_string();
    let refused = node.call(Method::POST, "/1/indexes/i/query", &many).await;
    refused.refused(400, "Invalid value for \"");
    let deep = json!({"filters": "(".repeat(65) + "a:b"}).to_string();
    let refused = node.call(Method::POST, "/1/indexes/i/query", &deep).await;
    refused.refused(400, "filters: parentheses are nested more than 64 levels deep");
}

#[actix_web::test]
async fn ten_thousand_synonyms_and_rules_are_answered() {
    let node = Node::start().await;
    let settings = json!({"attributesForFaceting": ["code"], "customRanking": ["desc(n)"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let record = |n: usize| {
        let name = format!("lamp w{} word{}", n % 10_000, n % 100);
        json!({"name": name, "code": format!("c{n}"), "n": n})
    };
    node.add_many("i", records() / 4, record).await;
    let begun = Instant::now();
    for part in 0..2 {
        let numbers = || part * 5_000..(part + 1) * 5_000;
        // one word that stands for everything, and words that stand for several others
        let synonym = |n: usize| match n % 2 {
            0 => {
                json!({"objectID": n.to_string(), "type": "synonym", "synonyms": ["torch", format!("w{n}")]})
            }
            _ => {
                json!({"objectID": n.to_string(), "type": "oneWaySynonym", "input": format!("word{}", n % 100),
                "synonyms": [format!("w{n}"), format!("lamp w{n}")]})
            }
        };
        let rule = |n: usize| {
            let pattern = if n.is_multiple_of(3) { format!("{{facet:code}} w{n}") } else { format!("w{n}") };
            json!({"objectID": n.to_string(), "consequence": {"params": {"optionalFilters": [format!("code:c{n}")]}},
                "conditions": [{"pattern": pattern, "anchoring": "contains", "alternatives": n.is_multiple_of(5)}]})
        };
        let synonyms: Vec<Value> = numbers().map(synonym).collect();
        node.write(Method::POST, "/1/indexes/i/synonyms/batch", json!(synonyms)).await;
        let rules: Vec<Value> = numbers().map(rule).collect();
        node.write(Method::POST, "/1/indexes/i/rules/batch", json!(rules)).await;
    }
    assert!(begun.elapsed() < 8 * TIME_MAX, "saving took {:?}", begun.elapsed());
    let optional: Vec<String> = (0..100).map(|n| format!("word{n}")).collect();
    let each: Vec<String> = (0..900).map(|n| format!("code:-c{n}")).collect();
    for (what, query, hits) in [
        ("a synonym of everything", json!({"query": "torch"}), None),
        ("a word with one", json!({"query": "nothing9999"}), Some(0)),
        ("ten such words", json!({"query": "torch ".repeat(10)}), None),
        (
            "the same misspelt",
            json!({"query": "torhc torcj tprch trch toorch torchh tirch torcg torsh tolch"}),
            None,
        ),
        ("a word without", json!({"query": "lamp"}), Some(records() / 4)),
        ("ten words of rules", json!({"query": "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10"}), None),
        (
            "ten words with many synonyms",
            json!({"query": "word1 word2 word3 word4 word5 word6 word7 word8 word9 word11"}),
            None,
        ),
        ("values and words of rules", json!({"query": "c1 w3 c2 w6 c3 w9 c4 w12 c5 w15"}), None),
        ("100 optional words", json!({"query": optional[..64].join(" "), "optionalWords": optional}), None),
    ] {
        node.in_time("i", &(what, query.clone(), hits)).await;
        // beside everything else that a query may ask for
        let mut query = query;
        let more = json!({"facetFilters": each, "facets": ["*"], "hitsPerPage": 1_000, "getRankingInfo": true,
            "attributesToSnippet": ["*:20"], "removeWordsIfNoResults": "allOptional", "ignorePlurals": true,
            "removeStopWords": true, "typoTolerance": "min", "explain": ["match.alternatives"]});
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        node.in_time("i", &(what, query, None)).await;
    }
}
