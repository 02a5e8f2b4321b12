//! Do the same rules apply, in the same order, as an obvious look at every condition of every rule says?

mod shard;

use proptest::prelude::*;
use quorate_engine::index::ReadySizes;
use quorate_engine::{RuleSet, Scratch, SearchLimits, search};
use quorate_model::{Rule, SearchParams, Settings};
use serde_json::{Value, json};
use shard::{Shard, WordLists};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Values of the facet; some begin with others.
const BRANDS: &[&str] = &["a", "a b", "c", "b c d"];
const WORDS: &[&str] = &["a", "b", "c", "d", "e"];
const ANCHORINGS: &[&str] = &["is", "startsWith", "endsWith", "contains"];
const NOW_S: u64 = 50;

static SHARD: LazyLock<Shard> = LazyLock::new(|| {
    let settings = json!({"attributesForFaceting": ["brand"]});
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    let record = |(i, brand): (usize, &&str)| json!({"objectID": i.to_string(), "brand": brand});
    let records: Vec<Value> = BRANDS.iter().enumerate().map(record).collect();
    Shard::new(settings, &records, &[2, 2], &WordLists::default(), ReadySizes::default())
});

/// A condition as the obvious matcher sees it; `*` in the pattern is any brand.
#[derive(Clone, Debug)]
struct Plain {
    pattern: Option<(usize, Vec<String>)>,
    context: Option<String>,
    filter: Option<String>,
}
#[derive(Clone, Debug)]
struct PlainRule {
    conditions: Vec<Plain>,
    period: Option<(u64, u64)>,
    enabled: bool,
}
#[derive(Clone, Debug)]
struct RuleRequest {
    words: Vec<String>,
    context: Option<String>,
    filter: Option<String>,
}

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(WORDS).prop_map(str::to_owned)
}
fn pattern() -> impl Strategy<Value = (usize, Vec<String>)> {
    let piece = prop_oneof![3 => word(), 1 => Just("*".to_owned())];
    (0..ANCHORINGS.len(), prop::collection::vec(piece, 1..4))
}
fn condition() -> impl Strategy<Value = Plain> {
    let context = prop::option::weighted(0.3, word());
    let filter = prop::option::weighted(0.3, word());
    let parts = (prop::option::weighted(0.8, pattern()), context, filter);
    parts.prop_filter_map("a condition says something", |(pattern, context, filter)| {
        let says = pattern.is_some() || context.is_some() || filter.is_some();
        says.then_some(Plain { pattern, context, filter })
    })
}
fn rule() -> impl Strategy<Value = PlainRule> {
    let period = prop::option::weighted(0.3, (0u64..100, 0u64..100).prop_map(|(a, b)| (a.min(b), a.max(b))));
    (prop::collection::vec(condition(), 0..3), period, prop::bool::weighted(0.9))
        .prop_map(|(conditions, period, enabled)| PlainRule { conditions, period, enabled })
}
fn asked() -> impl Strategy<Value = RuleRequest> {
    let parts = (prop::collection::vec(word(), 0..6), prop::option::of(word()), prop::option::of(word()));
    parts.prop_map(|(words, context, filter)| RuleRequest { words, context, filter })
}

impl PlainRule {
    fn document(&self) -> Value {
        let condition = |plain: &Plain| {
            let mut document = json!({});
            if let Some((anchoring, pattern)) = &plain.pattern {
                document["anchoring"] = json!(ANCHORINGS[*anchoring]);
                document["pattern"] = json!(pattern.join(" ").replace('*', "{facet:brand}"));
            }
            if let Some(context) = &plain.context {
                document["context"] = json!(context);
            }
            if let Some(filter) = &plain.filter {
                document["filters"] = json!(format!("brand:{filter}"));
            }
            document
        };
        let conditions: Vec<Value> = self.conditions.iter().map(condition).collect();
        let mut document =
            json!({"conditions": conditions, "consequence": {"userData": 1}, "enabled": self.enabled});
        if let Some((from, until)) = self.period {
            document["validity"] = json!([{"from": from, "until": until}]);
        }
        document
    }
    /// Where the rule stands among those that apply: all of C§10.3 but the id, smaller first.
    fn place(&self, asked: &RuleRequest) -> Option<[usize; 7]> {
        let valid = self.period.is_none_or(|(from, until)| from <= NOW_S && NOW_S <= until);
        if !self.enabled || !valid {
            return None;
        }
        let permanent = usize::from(self.period.is_none());
        if self.conditions.is_empty() {
            return Some([usize::MAX, usize::MAX, usize::MAX, 1, 1, 0, permanent]);
        }
        self.conditions.iter().filter_map(|condition| condition.place(asked, permanent)).min()
    }
}
impl Plain {
    fn place(&self, asked: &RuleRequest, permanent: usize) -> Option<[usize; 7]> {
        let is_asked = |wanted: &Option<String>, given: &Option<String>| wanted.is_none() || wanted == given;
        if !is_asked(&self.context, &asked.context) || !is_asked(&self.filter, &asked.filter) {
            return None;
        }
        let filters = usize::from(self.filter.is_some());
        let no_filters = 1 - filters;
        let no_context = usize::from(self.context.is_none());
        let Some((anchoring, pattern)) = &self.pattern else {
            return Some([
                usize::MAX,
                usize::MAX - filters,
                usize::MAX,
                no_context,
                no_filters,
                0,
                permanent,
            ]);
        };
        let placeholder = usize::from(pattern.iter().any(|piece| piece == "*"));
        let (first, length) = stretch(*anchoring, pattern, &asked.words)?;
        Some([
            first,
            usize::MAX - length - filters,
            *anchoring,
            no_context,
            no_filters,
            placeholder,
            permanent,
        ])
    }
}
/// The first stretch of words that the pattern is, with the longest values where there are several.
fn stretch(anchoring: usize, pattern: &[String], words: &[String]) -> Option<(usize, usize)> {
    let mut texts: Vec<Vec<&str>> = vec![vec![]];
    for piece in pattern {
        // longer values first, for the earlier placeholder first
        let mut choices: Vec<Vec<&str>> = match piece.as_str() {
            "*" => BRANDS.iter().map(|brand| brand.split(' ').collect()).collect(),
            word => vec![vec![word]],
        };
        choices.sort_by_key(|choice| std::cmp::Reverse(choice.len()));
        let longer = texts.iter().flat_map(|text| choices.iter().map(|choice| [&text[..], choice].concat()));
        texts = longer.collect();
    }
    let fits = |text: &[&str], first: usize| {
        let end = first + text.len();
        let there = end <= words.len() && words[first..end].iter().eq(text.iter());
        there
            && match ANCHORINGS[anchoring] {
                "is" => first == 0 && end == words.len(),
                "startsWith" => first == 0,
                "endsWith" => end == words.len(),
                _ => true,
            }
    };
    let all = (0..words.len()).flat_map(|first| texts.iter().map(move |text| (text, first)));
    all.into_iter().find(|(text, first)| fits(text, *first)).map(|(text, first)| (first, text.len()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn rules_apply_as_the_obvious_matcher_says(
        rules in prop::collection::vec(rule(), 0..12),
        asked in prop::collection::vec(asked(), 1..6),
    ) {
        let compiled: Vec<Arc<Rule>> = rules.iter().enumerate().map(|(i, rule)| {
            Arc::new(Rule::parse_body(rule.document().to_string().as_bytes(), &format!("r{i:02}")).unwrap())
        }).collect();
        let mut configuration = SHARD.configuration.clone();
        configuration.rules = Arc::new(RuleSet::new(&compiled, &[], &configuration.schema));
        for asked in &asked {
            let mut request = json!({"query": asked.words.join(" "), "getRankingInfo": true});
            if let Some(context) = &asked.context {
                request["ruleContexts"] = json!([context]);
            }
            if let Some(filter) = &asked.filter {
                request["filters"] = json!(format!("brand:{filter}"));
            }
            let request = SearchParams::from_json(request.as_object().unwrap()).unwrap();
            let deadline = Instant::now() + Duration::from_secs(60);
            let limits = SearchLimits { deadline: deadline.into(), now_s: NOW_S, sees_unretrievable: false, max_hits_per_query: 0, bytes_max: usize::MAX };
            let results = search(&SHARD.view, &configuration, &request, &limits, &mut Scratch::new()).unwrap();
            let mut expected: Vec<([usize; 7], String)> = rules.iter().enumerate()
                .filter_map(|(i, rule)| Some((rule.place(asked)?, format!("r{i:02}")))).collect();
            expected.sort();
            let expected: Vec<String> = expected.into_iter().map(|(_, id)| id).collect();
            prop_assert_eq!(results.rules.applied, expected, "{:?} with {:?}", asked, rules);
        }
    }
}
