//! What does a search answer (C§8.7)?
//!
//! Hot path: one buffer, one pass; the hits are copied as the engine rendered them.

use crate::json::{self, Object};
use quorate_model::results::{ExplainedAlternative, FacetCounts, RuleResults};
use quorate_model::{FacetHits, Hits, SearchResults};
use serde_json::{Map, Value, json};

/// Everything a search response is made of.
#[derive(Clone, Copy, Debug)]
pub struct SearchBody<'a> {
    /// What was found.
    pub results: &'a SearchResults,
    /// The URL-encoded parameters the caller sent (C§2).
    pub params: &'a str,
    /// Milliseconds since the request was read.
    pub processing_time_ms: u64,
    /// Named in multi-index answers only (C§3.4).
    pub index: Option<&'a str>,
    /// `Some(true)` for executed queries under stopIfEnoughMatches (C§3.4).
    pub processed: Option<bool>,
    /// 32 hex digits when clickAnalytics is on.
    pub query_id: Option<&'a str>,
    /// Who searched; shown with getRankingInfo (C§7.12).
    pub server: Option<&'a str>,
    /// What the answer says where the search itself says nothing.
    pub message: Option<&'a str>,
    /// `explain.params`, when it was asked for (C§8.9).
    pub explained_params: Option<&'a Map<String, Value>>,
    /// Position for the next browse call, as text.
    pub cursor: Option<&'a str>,
    /// The members to keep; `None` = all.
    pub response_fields: Option<&'a [String]>,
    /// `renderingContent` of settings or request as JSON; `None` = `{}`.
    pub rendering_content: Option<&'a [u8]>,
}

/// Bytes around the hits, as a rule.
const AROUND_BYTES: usize = 1_024;

impl SearchBody<'_> {
    /// Appends the response to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let results = self.results;
        out.reserve(results.hits.json.len() + results.hits.len() + AROUND_BYTES);
        let mut object = Object::open(out);
        if self.keeps("hits") {
            json::list(object.member("hits"), results.hits.iter(), |out, hit| out.extend_from_slice(hit));
        }
        self.write_beside_hits(&mut object);
        object.close();
    }
    /// The response with hits that were taken out of the results, in their memory.
    pub fn around(&self, hits: Hits) -> Vec<u8> {
        let mut beside = vec![];
        let mut object = Object::open(&mut beside);
        self.write_beside_hits(&mut object);
        object.close();
        if !self.keeps("hits") {
            return beside;
        }
        let mut after = match beside.as_slice() {
            b"{}" => b"]".to_vec(),
            _ => b"],".to_vec(),
        };
        after.extend_from_slice(&beside[1..]);
        json::list_in_place(hits.json, &hits.ends, b"{\"hits\":[", &after)
    }
    fn write_beside_hits(&self, object: &mut Object<'_>) {
        let results = self.results;
        let keeps = |name: &str| self.keeps(name);
        if keeps("nbHits") {
            object.integer("nbHits", results.nb_hits);
        }
        if let Some((sorted, strictness)) = results.relevant_sort {
            for (name, value) in [("nbSortedHits", sorted), ("appliedRelevancyStrictness", strictness)] {
                if keeps(name) {
                    object.integer(name, value);
                }
            }
        }
        self.write_page(object);
        if let Some(facets) = &results.facets {
            self.write_facets(object, facets);
        }
        self.write_exhaustive(object);
        if keeps("query") {
            object.string("query", &results.query);
        }
        if let Some(removed) = results.query_after_removal.as_deref().filter(|_| keeps("queryAfterRemoval")) {
            object.string("queryAfterRemoval", removed);
        }
        if let Some(parsed) = &results.parsed_query {
            object.string("parsedQuery", parsed);
            if let Some(server) = self.server {
                object.string("serverUsed", server);
            }
            let is_cut = !results.exhaustive_nb_hits;
            object.flag("timeoutCounts", is_cut || results.facets_cut).flag("timeoutHits", is_cut);
        }
        if keeps("params") {
            object.string("params", self.params);
        }
        if let Some(index) = self.index.filter(|_| keeps("index")) {
            object.string("index", index);
        }
        self.write_rest(object);
    }

    fn keeps(&self, name: &str) -> bool {
        let fields = self.results.rules.response_fields.as_deref().or(self.response_fields);
        fields.is_none_or(|fields| fields.iter().any(|field| field == "*" || field == name))
    }

    fn write_page(&self, object: &mut Object<'_>) {
        let results = self.results;
        let members = match results.window {
            Some((offset, length)) => [("offset", offset), ("length", length), ("", 0)],
            None => [
                ("page", results.page),
                ("nbPages", results.nb_pages),
                ("hitsPerPage", results.hits_per_page),
            ],
        };
        for (name, value) in members {
            if !name.is_empty() && self.keeps(name) {
                object.integer(name, value);
            }
        }
    }

    fn write_facets(&self, object: &mut Object<'_>, facets: &[FacetCounts]) {
        if self.keeps("facets") {
            let out = object.member("facets");
            json::members(out, facets.iter().filter(|facet| !facet.values.is_empty()), |out, facet| {
                json::string(out, &facet.attribute);
                out.push(b':');
                json::members(out, &facet.values, |out, (value, count)| {
                    json::string(out, value);
                    out.push(b':');
                    json::integer(out, *count);
                });
            });
        }
        let with_stats = || facets.iter().filter_map(|facet| facet.stats.map(|stats| (facet, stats)));
        if self.keeps("facets_stats") && with_stats().next().is_some() {
            json::members(object.member("facets_stats"), with_stats(), |out, (facet, stats)| {
                json::string(out, &facet.attribute);
                out.push(b':');
                let values = [("min", stats.min), ("max", stats.max), ("avg", stats.avg), ("sum", stats.sum)];
                json::members(out, values, |out, (name, value)| {
                    json::string(out, name);
                    out.push(b':');
                    json::number(out, value);
                });
            });
        }
    }

    fn write_exhaustive(&self, object: &mut Object<'_>) {
        let results = self.results;
        let all_counted = results.exhaustive_nb_hits && !results.facets_cut;
        let facets_complete = results.facets.as_ref().map(|facets| facets.iter().all(|facet| facet.complete));
        if self.keeps("exhaustiveNbHits") {
            object.flag("exhaustiveNbHits", results.exhaustive_nb_hits);
        }
        if let Some(typo) = results.exhaustive_typo.filter(|_| self.keeps("exhaustiveTypo")) {
            object.flag("exhaustiveTypo", typo);
        }
        if facets_complete.is_some() && self.keeps("exhaustiveFacetsCount") {
            object.flag("exhaustiveFacetsCount", all_counted);
        }
        if self.keeps("exhaustive") {
            let mut inner = Object::open(object.member("exhaustive"));
            inner.flag("nbHits", results.exhaustive_nb_hits);
            if let Some(typo) = results.exhaustive_typo {
                inner.flag("typo", typo);
            }
            if let Some(complete) = results.rules.complete {
                inner.flag("rulesMatch", complete);
            }
            if let Some(complete) = facets_complete {
                inner.flag("facetsCount", all_counted).flag("facetValues", complete);
            }
            inner.close();
        }
    }

    fn write_rest(&self, object: &mut Object<'_>) {
        let results = self.results;
        if let Some(processed) = self.processed.filter(|_| self.keeps("processed")) {
            object.flag("processed", processed);
        }
        if let Some(centre) = results.around_lat_lng.as_deref().filter(|_| self.keeps("aroundLatLng")) {
            object.string("aroundLatLng", centre);
        }
        if let Some(radius) = results.automatic_radius.filter(|_| self.keeps("automaticRadius")) {
            object.string("automaticRadius", &radius.to_string());
        }
        if let Some(query_id) = self.query_id.filter(|_| self.keeps("queryID")) {
            object.string("queryID", query_id);
        }
        self.write_rules(object);
        let messages = [results.message.as_deref(), self.message];
        let message = messages.into_iter().flatten().collect::<Vec<_>>().join("; ");
        if !message.is_empty() {
            object.string("message", &message);
        }
        if let Some(cursor) = self.cursor {
            object.string("cursor", cursor);
        }
        if self.keeps("renderingContent") {
            let ruled = results.rules.rendering_content.as_ref().map(|content| content.to_string());
            let ruled = ruled.as_deref().map(str::as_bytes);
            object.raw("renderingContent", ruled.or(self.rendering_content).unwrap_or(b"{}"));
        }
        if self.keeps("processingTimeMS") {
            object.integer("processingTimeMS", self.processing_time_ms);
        }
    }
}

impl SearchBody<'_> {
    fn write_rules(&self, object: &mut Object<'_>) {
        let RuleResults { applied, user_data, .. } = &self.results.rules;
        if !user_data.is_empty() && self.keeps("userData") {
            json::list(object.member("userData"), user_data, |out, value| {
                out.extend_from_slice(value.to_string().as_bytes());
            });
        }
        if !applied.is_empty() && self.keeps("appliedRules") {
            json::list(object.member("appliedRules"), applied, |out, object_id| {
                let mut rule = Object::open(out);
                rule.string("objectID", object_id);
                rule.close();
            });
        }
        let mut explained = Map::new();
        if let Some(alternatives) = &self.results.alternatives {
            let one = |alternative: &ExplainedAlternative| {
                let ExplainedAlternative { types, words, typos, offset, length } = alternative;
                json!({"types": types, "words": words, "typos": typos, "offset": offset, "length": length})
            };
            let alternatives: Vec<Value> = alternatives.iter().map(one).collect();
            explained.insert("match".into(), json!({"alternatives": alternatives}));
        }
        if let Some(params) = self.explained_params {
            explained.insert("params".into(), Value::Object(params.clone()));
        }
        if !explained.is_empty() && self.keeps("explain") {
            object.raw("explain", Value::Object(explained).to_string().as_bytes());
        }
    }
}

/// Appends the result of a query that stopIfEnoughMatches left out (C§3.4).
pub fn write_unprocessed(out: &mut Vec<u8>, index: &str, query: &str, params: &str, hits_per_page: u64) {
    let mut object = Object::open(out);
    object
        .raw("hits", b"[]")
        .integer("nbHits", 0)
        .integer("page", 0)
        .integer("nbPages", 0)
        .integer("hitsPerPage", hits_per_page)
        .string("query", query)
        .string("params", params)
        .string("index", index)
        .flag("processed", false)
        .integer("processingTimeMS", 0);
    object.close();
}

/// Everything a facet search answer is made of (C§3.3).
#[derive(Clone, Copy, Debug)]
pub struct FacetBody<'a> {
    /// What was found.
    pub results: &'a FacetHits,
    /// Milliseconds since the request was read.
    pub processing_time_ms: u64,
    /// Named in multi-index answers only.
    pub index: Option<&'a str>,
    /// As in [`SearchBody::processed`].
    pub processed: Option<bool>,
    /// As in [`SearchBody::message`].
    pub message: Option<&'a str>,
}

impl FacetBody<'_> {
    /// Appends the response to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        let hits = object.member("facetHits");
        json::list(hits, &self.results.hits, |out, (value, highlighted, count)| {
            let mut hit = Object::open(out);
            hit.string("value", value).string("highlighted", highlighted).integer("count", *count);
            hit.close();
        });
        object.flag("exhaustiveFacetsCount", self.results.exhaustive);
        let mut inner = Object::open(object.member("exhaustive"));
        inner.flag("facetsCount", self.results.exhaustive);
        inner.close();
        if let Some(index) = self.index {
            object.string("index", index);
        }
        if let Some(processed) = self.processed {
            object.flag("processed", processed);
        }
        if let Some(message) = self.message {
            object.string("message", message);
        }
        object.integer("processingTimeMS", self.processing_time_ms);
        object.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::results::FacetStats;

    fn body(results: &SearchResults) -> SearchBody<'_> {
        SearchBody {
            results,
            params: "query=a+b",
            processing_time_ms: 1,
            index: None,
            processed: None,
            query_id: None,
            server: Some("node"),
            message: None,
            explained_params: None,
            cursor: None,
            response_fields: None,
            rendering_content: None,
        }
    }
    fn written(body: SearchBody<'_>) -> (String, Value) {
        let mut out = Vec::new();
        body.write(&mut out);
        let taken = SearchResults { hits: Hits::default(), ..body.results.clone() };
        let around = SearchBody { results: &taken, ..body }.around(body.results.hits.clone());
        assert!(around == out, "both ways write the same: {}", String::from_utf8_lossy(&around));
        let text = String::from_utf8(out).unwrap();
        let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        (text, value)
    }
    fn two_hits() -> SearchResults {
        SearchResults {
            hits: Hits { json: br#"{"objectID":"1"}{"objectID":"2"}"#.to_vec(), ends: vec![16, 32] },
            nb_hits: 2,
            nb_pages: 1,
            hits_per_page: 20,
            query: "a b".into(),
            exhaustive_nb_hits: true,
            exhaustive_typo: Some(true),
            ..SearchResults::default()
        }
    }

    #[test]
    fn plain_search_has_every_member_of_the_contract() {
        let (_, value) = written(body(&two_hits()));
        assert_eq!(
            value,
            json!({"hits":[{"objectID":"1"},{"objectID":"2"}],"nbHits":2,"page":0,"nbPages":1,"hitsPerPage":20,
                "exhaustiveNbHits":true,"exhaustiveTypo":true,"exhaustive":{"nbHits":true,"typo":true},
                "query":"a b","params":"query=a+b","renderingContent":{},"processingTimeMS":1})
        );
    }

    #[test]
    fn offset_replaces_pages_and_typo_members_vanish() {
        let results = SearchResults { window: Some((3, 4)), exhaustive_typo: None, ..two_hits() };
        let (_, value) = written(body(&results));
        assert_eq!(value["offset"], 3);
        assert_eq!(value["length"], 4);
        assert_eq!(value["exhaustive"], json!({"nbHits": true}));
        for absent in ["page", "nbPages", "hitsPerPage", "exhaustiveTypo"] {
            assert!(value.get(absent).is_none(), "{absent}");
        }
    }

    #[test]
    fn what_rules_say_is_shown() {
        let rules = RuleResults {
            applied: vec!["r\"1".into(), "r2".into()],
            user_data: vec![json!({"a": 1}), json!("b")],
            rendering_content: Some(std::sync::Arc::new(json!({"redirect": {"url": "u"}}))),
            complete: Some(false),
            ..RuleResults::default()
        };
        let results = SearchResults { rules, ..two_hits() };
        let params = json!({"rules": {"query": "x"}}).as_object().unwrap().clone();
        let (_, value) = written(SearchBody {
            rendering_content: Some(b"{}"),
            explained_params: Some(&params),
            ..body(&results)
        });
        for (member, expected) in [
            ("appliedRules", json!([{"objectID": "r\"1"}, {"objectID": "r2"}])),
            ("userData", json!([{"a": 1}, "b"])),
            ("renderingContent", json!({"redirect": {"url": "u"}})),
            ("exhaustive", json!({"nbHits": true, "typo": true, "rulesMatch": false})),
            ("explain", json!({"params": {"rules": {"query": "x"}}})),
        ] {
            assert_eq!(value[member], expected, "{member}");
        }
        let rules = RuleResults { response_fields: Some(vec!["nbHits".into()]), ..results.rules };
        let results = SearchResults { rules, ..two_hits() };
        assert_eq!(written(body(&results)).1, json!({"nbHits": 2}));
    }

    #[test]
    fn facets_keep_their_order_and_truncation_shows() {
        let facets = vec![
            FacetCounts {
                attribute: "price".into(),
                values: vec![("9".into(), 3), ("10".into(), 2)],
                complete: false,
                stats: Some(FacetStats { min: 9.0, max: 10.5, avg: 9.4, sum: 47.0 }),
            },
            FacetCounts { attribute: "empty".into(), complete: true, ..FacetCounts::default() },
        ];
        let results = SearchResults { facets: Some(facets), ..two_hits() };
        let (text, value) = written(body(&results));
        assert!(text.contains(r#""facets":{"price":{"9":3,"10":2}}"#), "{text}");
        assert!(
            text.contains(r#""facets_stats":{"price":{"min":9,"max":10.5,"avg":9.4,"sum":47}}"#),
            "{text}"
        );
        assert_eq!(value["exhaustive"]["facetValues"], false);
        assert_eq!(value["exhaustiveFacetsCount"], true);
    }

    #[test]
    fn response_fields_keep_what_cannot_be_removed() {
        let results =
            SearchResults { message: Some("m".into()), parsed_query: Some("p".into()), ..two_hits() };
        let fields = vec!["nbHits".to_owned(), "nonsense".to_owned()];
        let (_, value) =
            written(SearchBody { response_fields: Some(&fields), cursor: Some("c"), ..body(&results) });
        let expected = json!({"nbHits":2,"message":"m","parsedQuery":"p","serverUsed":"node","timeoutCounts":false,
            "timeoutHits":false,"cursor":"c"});
        assert_eq!(value, expected);
        let all = vec!["*".to_owned()];
        let (_, value) = written(SearchBody { response_fields: Some(&all), ..body(&results) });
        assert!(value.get("hits").is_some());
    }

    #[test]
    fn facet_search_and_skipped_queries() {
        let results = FacetHits { hits: vec![("a".into(), "<em>a</em>".into(), 2)], exhaustive: true };
        let mut out = Vec::new();
        FacetBody { results: &results, processing_time_ms: 1, index: None, processed: None, message: None }
            .write(&mut out);
        assert_eq!(
            serde_json::from_slice::<Value>(&out).unwrap(),
            json!({"facetHits":[{"value":"a","highlighted":"<em>a</em>","count":2}],"exhaustiveFacetsCount":true,
                "exhaustive":{"facetsCount":true},"processingTimeMS":1})
        );
        out.clear();
        write_unprocessed(&mut out, "i", "q", "", 2);
        let value: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value["processed"], false);
        assert_eq!(value["hits"], json!([]));
        assert_eq!(value["index"], "i");
    }
}
