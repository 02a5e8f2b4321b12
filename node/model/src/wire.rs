//! How are the values that nodes send each other as JSON written, where JSON alone would lose something or take much room?
//!
//! Numbers keep every bit, raw JSON is one text. Members that are missing have their default and unknown ones are passed over,
//! so that nodes of two versions understand each other.

/// A number by its bits: infinities and the last digit survive.
pub(crate) mod exact {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.to_bits().serialize(to)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

/// Boxes by the bits of their corners.
pub(crate) mod exact_boxes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(boxes: &Option<Vec<[f64; 4]>>, to: S) -> Result<S::Ok, S::Error> {
        let bits = |boxes: &Vec<[f64; 4]>| -> Vec<[u64; 4]> {
            boxes.iter().map(|corners| corners.map(f64::to_bits)).collect()
        };
        boxes.as_ref().map(bits).serialize(to)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<[f64; 4]>>, D::Error> {
        let bits = Option::<Vec<[u64; 4]>>::deserialize(from)?;
        Ok(bits.map(|boxes| boxes.into_iter().map(|corners| corners.map(f64::from_bits)).collect()))
    }
}

/// Bytes that are text, as text.
pub mod text {
    use serde::{Deserialize, Deserializer, Serializer, ser};

    /// Errors: the bytes are not UTF-8.
    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(std::str::from_utf8(bytes).map_err(ser::Error::custom)?)
    }
    /// The bytes of a text.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(from).map(String::into_bytes)
    }
}

/// A list of bytes that are text.
pub mod texts {
    use super::Text;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize)]
    struct Borrowed<'a>(#[serde(with = "super::text")] &'a [u8]);

    /// Errors: some bytes are not UTF-8.
    pub fn serialize<S: Serializer>(list: &[Vec<u8>], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(list.iter().map(|bytes| Borrowed(bytes)))
    }
    /// The bytes of each text.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<u8>>, D::Error> {
        let list = Vec::<Text>::deserialize(from)?;
        Ok(list.into_iter().map(|text| text.0).collect())
    }
}

/// Raw JSON, which is sent as one text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Text(#[serde(with = "text")] pub Vec<u8>);

#[cfg(test)]
mod tests {
    use crate::params::Forced;
    use crate::resource::ResourceQuery;
    use crate::results::{ExplainedAlternative, FacetCounts, FacetStats, RuleResults};
    use crate::settings::table::{ROWS, Target};
    use crate::{FacetHits, Filter, Hits, ResourceHits, ResourceKind, SearchParams, SearchResults};
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};
    use std::fmt::Debug;
    use std::sync::Arc;

    #[track_caller]
    fn survives<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
        let bytes = serde_json::to_vec(value).unwrap();
        assert_eq!(
            &serde_json::from_slice::<T>(&bytes).unwrap(),
            value,
            "{}",
            String::from_utf8_lossy(&bytes)
        );
    }

    /// Values of members of [`SearchParams`], all of those that have a form of their own among them.
    const MEMBERS: &str = r#"{
        "attributesToRetrieve": ["a", "-b"], "restrictSearchableAttributes": ["a"], "minProximity": 3,
        "attributeCriteriaComputedByMinProximity": true, "relevancyStrictness": 70,
        "filters": "(a:b OR NOT c:\"d e\") AND price < 0.1 AND n:-1.5 TO 1e300 AND _tags:x",
        "facetFilters": ["a:b<score=5>", ["c:-d", "e:f"]], "numericFilters": ["x>=0.30000000000000004"],
        "tagFilters": "t,(u,v)", "optionalFilters": ["g:h"], "sumOrFiltersScores": true, "facets": ["*"],
        "maxValuesPerFacet": 7, "sortFacetValuesBy": "alpha", "facetingAfterDistinct": true, "maxFacetHits": 9,
        "distinct": 2, "page": 1, "hitsPerPage": 5, "offset": 4, "length": 3, "typoTolerance": "strict",
        "minWordSizefor1Typo": 5, "minWordSizefor2Typos": 9, "allowTyposOnNumericTokens": false,
        "disableTypoToleranceOnAttributes": ["a"], "decompoundQuery": false, "queryLanguages": ["de", "fr"],
        "naturalLanguages": ["en"], "ignorePlurals": ["de"], "removeStopWords": true, "query": "a \u0001 \"ü\" \\",
        "similarQuery": "s", "queryType": "prefixAll", "removeWordsIfNoResults": "lastWords", "advancedSyntax": true,
        "advancedSyntaxFeatures": ["exactPhrase"], "optionalWords": ["a b", "c"], "exactOnSingleWordQuery": "word",
        "alternativesAsExact": ["ignorePlurals"], "disableExactOnAttributes": ["a"], "synonyms": false,
        "enableRules": false, "ruleContexts": ["x"], "attributesToHighlight": ["a"],
        "attributesToSnippet": ["a:10"], "highlightPreTag": "<b>", "highlightPostTag": "</b>",
        "snippetEllipsisText": "…", "restrictHighlightAndSnippetArrays": true, "replaceSynonymsInHighlight": true,
        "aroundLatLng": "40.71,-74.0059731", "aroundRadius": "all", "minimumAroundRadius": 5,
        "aroundPrecision": [{"from": 0, "value": 25}, {"from": 2000, "value": 1000}],
        "insideBoundingBox": [[47.3165, 4.9665, 47.424, 5.0201]],
        "insidePolygon": [[47.3165, 4.9665, 47.424, 5.0201, 47.32, 4.98]], "getRankingInfo": true,
        "responseFields": ["hits"], "clickAnalytics": true, "userToken": "u",
        "renderingContent": {"facetOrdering": {"facets": {"order": ["a"]}}}, "explain": ["match.alternatives"],
        "cursor": "abc", "analytics": false, "enablePersonalization": true
    }"#;

    #[test]
    fn every_parameter_survives() {
        let Value::Object(mut body) = serde_json::from_str(MEMBERS).unwrap() else { panic!("no object") };
        for row in ROWS.iter().filter(|row| row.scope.in_query()) {
            let value = match row.target {
                Target::Flag(_) => json!(true),
                Target::Count(min, max, _) => json!(max.min(min + 1)),
                Target::Text(..) => json!("t"),
                Target::List(_) => json!(["a"]),
                Target::Languages(_) => json!(["de"]),
                Target::Query(..) => continue,
                Target::Kept(_) | Target::Index(..) | Target::IndexList(..) | Target::Dropped => continue,
                Target::IndexCount(..) | Target::IndexText(_) | Target::IndexStrings(_) => continue,
            };
            body.entry(row.name).or_insert(value);
        }
        let body = &body;
        let all = SearchParams::from_json(body).unwrap();
        let bytes = serde_json::to_value(&all).unwrap();
        for (name, value) in bytes.as_object().unwrap() {
            assert!(name == "forced" || !value.is_null(), "{name} is not in the table");
        }
        survives(&all);
        survives(&SearchParams::default());
        for (name, value) in body {
            let one = serde_json::Map::from_iter([(name.clone(), value.clone())]);
            survives(&SearchParams::from_json(&one).unwrap());
        }
        let forced = Forced { filter: all.filter.clone(), params: all.clone() };
        survives(&SearchParams { forced: Some(Arc::new(forced)), ..all });
        for radius in ["1000", "\"all\""] {
            let body = format!(
                r#"{{"aroundRadius": {radius}, "ignorePlurals": false, "removeStopWords": "de,en"}}"#
            );
            let Value::Object(body) = serde_json::from_str(&body).unwrap() else { panic!("no object") };
            survives(&SearchParams::from_json(&body).unwrap());
        }
    }

    #[test]
    fn a_node_of_another_version_is_understood() {
        let later: SearchParams = serde_json::from_value(json!({"query": "a", "not_known_yet": 1})).unwrap();
        assert_eq!(later, SearchParams { query: Some("a".into()), ..SearchParams::default() });
        let filter: Filter = serde_json::from_value(json!({})).unwrap();
        assert!(filter.is_empty());
        let earlier: SearchResults = serde_json::from_value(json!({"nb_hits": 3})).unwrap();
        assert_eq!(earlier.nb_hits, 3);
    }

    #[test]
    fn results_survive() {
        let stats = FacetStats { min: 0.1 + 0.2, max: f64::INFINITY, avg: -0.0, sum: 1e-320 };
        let counts = FacetCounts {
            attribute: "a".into(),
            values: vec![("x\u{0}\"".into(), u64::MAX)],
            complete: true,
            stats: Some(stats),
        };
        let alternative = |types: &[&'static str]| ExplainedAlternative {
            types: types.to_vec(),
            words: vec!["w".into()],
            typos: 1,
            offset: 2,
            length: 3,
        };
        let results = SearchResults {
            hits: Hits { json: r#"{"a":"\u00e9é\n"}{}"#.as_bytes().to_vec(), ends: vec![18, 20] },
            nb_hits: 3,
            page: 1,
            nb_pages: 2,
            hits_per_page: 20,
            window: Some((1, 2)),
            query: "q".into(),
            parsed_query: Some("q".into()),
            query_after_removal: Some("<em>q</em>".into()),
            facets: Some(vec![counts]),
            facets_cut: true,
            exhaustive_nb_hits: true,
            exhaustive_typo: Some(false),
            around_lat_lng: Some("1,2".into()),
            automatic_radius: Some(3),
            rules: RuleResults {
                applied: vec!["r".into()],
                user_data: vec![json!({"a": [1, null, 0.5]})],
                rendering_content: Some(std::sync::Arc::new(json!({}))),
                response_fields: Some(vec!["hits".into()]),
                click_analytics: Some(true),
                complete: Some(true),
                params: Some(serde_json::Map::from_iter([("page".to_owned(), json!(1))])),
                query: Some("p".into()),
            },
            relevant_sort: Some((4, 5)),
            alternatives: Some(crate::results::ALTERNATIVE_TYPES.map(|it| alternative(&[it])).to_vec()),
            message: Some("m".into()),
            cursor: Some(vec![0, 255, 7]),
            order: Some(5),
            settings: Some(crate::results::AnswerSettings {
                response_fields: Some(vec!["hits".into()]),
                rendering_content: Some(std::sync::Arc::new(json!({"a": 1}))),
            }),
        };
        survives(&results);
        survives(&SearchResults::default());
        survives(&FacetHits { hits: vec![("a".into(), "<em>a</em>".into(), 3)], exhaustive: true });
        survives(&ResourceHits {
            hits: vec![b"{\"a\":1}".to_vec(), vec![]],
            nb_hits: 2,
            page: 0,
            nb_pages: 1,
        });
        let broken = Hits { json: vec![0xff], ends: vec![1] };
        assert!(serde_json::to_vec(&broken).is_err(), "what is no text is refused and not changed");
    }

    #[test]
    fn searches_for_documents_survive() {
        for (kind, body) in [
            (ResourceKind::Synonyms, json!({"query": "a", "type": "synonym,altCorrection1", "page": 2})),
            (ResourceKind::Rules, json!({"anchoring": "startsWith", "context": "c", "enabled": false})),
            (ResourceKind::Rules, json!({"anchoring": "is"})),
        ] {
            survives(&ResourceQuery::parse(kind, body.as_object().unwrap()).unwrap());
        }
    }
}
