//! The effects, in the order of the table.

use super::{Case, See};
use serde_json::{Value, json};

fn case(row: &'static str, settings: Value, query: Value, given: Value, see: See) -> Case {
    let knows = [Value::Null, Value::Null];
    Case { row, records: vec![], knows, settings, query, given, see, without: Value::Null, with: Value::Null }
}
fn hits(
    row: &'static str,
    settings: Value,
    query: Value,
    given: Value,
    without: &'static str,
    with: &'static str,
) -> Case {
    case(row, settings, query, given, See::Hits).turns(json!(without), json!(with))
}
impl Case {
    fn turns(self, without: Value, with: Value) -> Case {
        Case { without, with, ..self }
    }
    /// Records with nothing but a name.
    fn over(self, names: &[(&'static str, &'static str)]) -> Case {
        Case { records: names.iter().map(|&(id, name)| (id, json!({"name": name}))).collect(), ..self }
    }
    /// With a synonym of "lamp" and a rule that hides a record, asked for by a context.
    fn knowing(self) -> Case {
        let synonyms = json!([{"objectID": "s", "type": "synonym", "synonyms": ["lamp", "luminaire"]}]);
        let hide = |id: &str| json!({"hide": [{"objectID": id}]});
        let rules = json!([
            {"objectID": "r1", "conditions": [{"pattern": "green", "anchoring": "is"}], "consequence": hide("c")},
            {"objectID": "r2", "conditions": [{"context": "web"}], "consequence": hide("e")}
        ]);
        Case { knows: [synonyms, rules], ..self }
    }
    fn on(self, records: Vec<(&'static str, Value)>) -> Case {
        Case { records, ..self }
    }
}

/// A case of each row that has an effect.
pub fn all() -> Vec<Case> {
    [
        attributes(),
        ranking(),
        filters(),
        facets(),
        pages(),
        typos(),
        languages(),
        strategy(),
        knowledge(),
        exactness(),
        shown(),
        geo(),
        answers(),
    ]
    .concat()
}

const SPELLED: &str = "typoTolerance";

fn attributes() -> Vec<Case> {
    vec![
        hits("searchableAttributes", json!({}), json!({"query": "acme"}), json!(["name"]), "b a", ""),
        case(
            "attributesForFaceting",
            json!({}),
            json!({"facets": "*"}),
            json!(["brand"]),
            See::At("/facets"),
        )
        .turns(json!({}), json!({"brand": {"Acme": 2, "Zeta": 2, "acorn": 1}})),
        case("unretrievableAttributes", json!({}), json!({}), json!(["price"]), See::At("/hits/0/price"))
            .turns(json!(20), Value::Null),
        case(
            "attributesToRetrieve",
            json!({}),
            json!({"query": "blue", "attributesToHighlight": []}),
            json!(["name"]),
            See::Names("/hits/0"),
        )
        .turns(json!("_geoloc brand color group name objectID price"), json!("name objectID")),
        hits(
            "restrictSearchableAttributes",
            json!({"searchableAttributes": ["name", "brand"]}),
            json!({"query": "acme"}),
            json!(["name"]),
            "b a",
            "",
        ),
        hits(
            "restrictSearchableAttributes",
            json!({"searchableAttributes": ["name,brand"]}),
            json!({"query": "acme"}),
            json!(["name"]),
            "b a",
            "",
        ),
    ]
}

fn ranking() -> Vec<Case> {
    let two = || {
        vec![
            ("a", json!({"name": "red big wide lamp", "text": "red lamp"})),
            ("b", json!({"name": "blue", "text": "red lamp"})),
        ]
    };
    let attribute_first =
        json!({"searchableAttributes": ["name", "text"], "ranking": ["attribute", "proximity", "custom"]});
    vec![
        hits("ranking", json!({}), json!({"query": "lamp"}), json!(["desc(price)"]), "d b a", "b a d"),
        hits("customRanking", json!({}), json!({}), json!(["desc(price)"]), "e d c b a", "c e b a d"),
        hits("customRanking", json!({}), json!({}), json!("asc(color)"), "e d c b a", "b c e a d"),
        hits(
            "attributeCriteriaComputedByMinProximity",
            attribute_first,
            json!({"query": "red lamp"}),
            json!(true),
            "a b",
            "b a",
        )
        .on(two()),
        hits("minProximity", json!({}), json!({"query": "red lamp"}), json!(2), "a b", "b a")
            .over(&[("a", "red lamp"), ("b", "red big lamp")]),
    ]
}

fn filters() -> Vec<Case> {
    let faceted = || json!({"attributesForFaceting": ["brand", "color"]});
    let scored = "brand:Acme<score=2> OR color:red<score=3> OR brand:Zeta<score=4>";
    vec![
        hits("filters", faceted(), json!({}), json!("brand:Acme AND price > 10"), "e d c b a", "b"),
        hits(
            "facetFilters",
            faceted(),
            json!({}),
            json!([["brand:Acme", "brand:acorn"], "color:-blue"]),
            "e d c b a",
            "e a",
        ),
        hits(
            "numericFilters",
            faceted(),
            json!({}),
            json!(["price>=20", "price:5 TO 20"]),
            "e d c b a",
            "e b",
        ),
        hits("tagFilters", faceted(), json!({}), json!("sale"), "e d c b a", "a"),
        hits("optionalFilters", faceted(), json!({}), json!("brand:Acme"), "e d c b a", "b a e d c"),
        hits(
            "sumOrFiltersScores",
            faceted(),
            json!({"filters": scored}),
            json!(true),
            "d c e a b",
            "a d c e b",
        ),
        hits(
            "numericAttributesForFiltering",
            json!({}),
            json!({"numericFilters": "price>=20"}),
            json!(["equalOnly(price)"]),
            "e c b",
            "",
        ),
        hits(
            "numericAttributesForFiltering",
            json!({}),
            json!({"numericFilters": "price=20"}),
            json!([]),
            "e b",
            "",
        ),
    ]
}

fn facets() -> Vec<Case> {
    let colors = || json!({"attributesForFaceting": ["searchable(color)", "brand"]});
    let grouped = || json!({"attributeForDistinct": "group", "attributesForFaceting": ["brand"]});
    let shown = |query: Value, row, given: Value| case(row, colors(), query, given, See::At("/facets/color"));
    let red = json!({"red": 2});
    vec![
        shown(json!({}), "facets", json!("color"))
            .turns(Value::Null, json!({"red": 2, "blue": 1, "green": 1})),
        shown(json!({"facets": ["color"]}), "maxValuesPerFacet", json!(1))
            .turns(json!({"red": 2, "blue": 1, "green": 1}), red.clone()),
        shown(json!({"facets": ["color"], "maxValuesPerFacet": 1}), "sortFacetValuesBy", json!("alpha"))
            .turns(red, json!({"blue": 1})),
        case(
            "facetingAfterDistinct",
            grouped(),
            json!({"facets": ["brand"], "distinct": true}),
            json!(true),
            See::At("/facets/brand"),
        )
        .turns(json!({"Acme": 2, "Zeta": 2, "acorn": 1}), json!({"Acme": 1, "Zeta": 1, "acorn": 1})),
        case("maxFacetHits", colors(), json!({}), json!(1), See::FacetHits("color"))
            .turns(json!("red blue green"), json!("red")),
        hits("attributeForDistinct", json!({}), json!({"distinct": 1}), json!("group"), "e d c b a", "e d b"),
        hits("distinct", grouped(), json!({}), json!(true), "e d c b a", "e d b"),
    ]
}

fn pages() -> Vec<Case> {
    vec![
        hits("page", json!({}), json!({"hitsPerPage": 2}), json!(1), "e d", "c b"),
        hits("hitsPerPage", json!({}), json!({}), json!(2), "e d c b a", "e d"),
        hits("offset", json!({}), json!({}), json!(3), "e d c b a", "b a"),
        hits("length", json!({}), json!({}), json!(2), "e d c b a", "e d"),
        hits("paginationLimitedTo", json!({}), json!({}), json!(2), "e d c b a", "e d"),
    ]
}

fn typos() -> Vec<Case> {
    let named = || json!({"searchableAttributes": ["name"]});
    let wrong = || json!({"query": "chiar"});
    vec![
        hits("typoTolerance", json!({}), wrong(), json!(false), "e c", ""),
        hits("typoTolerance", json!({}), json!({"query": "lamps"}), json!("min"), "d b a", "d"),
        hits("minWordSizefor1Typo", json!({}), wrong(), json!(6), "e c", ""),
        hits("minWordSizefor2Typos", json!({}), json!({"query": "woodxx"}), json!(6), "", "e"),
        hits("allowTyposOnNumericTokens", json!({}), json!({"query": "12354"}), json!(false), "a", "")
            .over(&[("a", "model 12345")]),
        hits("disableTypoToleranceOnAttributes", named(), wrong(), json!(["name"]), "e c", ""),
        hits("disableTypoToleranceOnWords", json!({}), wrong(), json!(["chiar"]), "e c", ""),
        hits("separatorsToIndex", json!({}), json!({"query": "disney+"}), json!("+"), "b a", "a")
            .over(&[("a", "disney+"), ("b", "disney")]),
        hits(
            "camelCaseAttributes",
            json!({SPELLED: false}),
            json!({"query": "case"}),
            json!(["name"]),
            "",
            "a",
        )
        .over(&[("a", "camelCaseWord")]),
        hits(
            "keepDiacriticsOnCharacters",
            json!({SPELLED: false}),
            json!({"query": "eclair"}),
            json!("é"),
            "a",
            "",
        )
        .over(&[("a", "éclair")]),
        hits(
            "customNormalization",
            json!({SPELLED: false}),
            json!({"query": "baer"}),
            json!({"default": {"ä": "ae"}}),
            "",
            "a",
        )
        .over(&[("a", "bär")]),
    ]
}

fn languages() -> Vec<Case> {
    let exact = || json!({SPELLED: false});
    vec![
        hits("decompoundedAttributes", exact(), json!({"query": "suppe"}), json!({"de": ["name"]}), "", "a")
            .over(&[("a", "Gemüsesuppe")]),
        hits(
            "decompoundQuery",
            json!({SPELLED: false, "decompoundedAttributes": {"de": ["name"]}, "queryLanguages": ["de"]}),
            json!({"query": "gemüsesuppe"}),
            json!(false),
            "a",
            "",
        )
        .over(&[("a", "Suppe mit Gemüse")]),
        hits(
            "indexLanguages",
            exact(),
            json!({"query": "\"研究\"", "advancedSyntax": true}),
            json!(["zh"]),
            "b a",
            "b",
        )
        .over(&[("a", "研 究"), ("b", "研究")]),
        hits(
            "queryLanguages",
            exact(),
            json!({"query": "cheval", "ignorePlurals": true}),
            json!(["en"]),
            "a",
            "",
        )
        .over(&[("a", "chevaux")]),
        hits("naturalLanguages", exact(), json!({"query": "the mice"}), json!(["en"]), "", "a")
            .over(&[("a", "mouse")]),
        hits("ignorePlurals", exact(), json!({"query": "mice"}), json!(["en"]), "", "a")
            .over(&[("a", "mouse")]),
        hits("removeStopWords", json!({}), json!({"query": "the lamp"}), json!(["en"]), "", "d b a"),
    ]
}

fn strategy() -> Vec<Case> {
    let named = || json!({"searchableAttributes": ["name"]});
    let exact = || json!({SPELLED: false});
    vec![
        hits("query", json!({}), json!({}), json!("chair"), "e d c b a", "e c"),
        hits("similarQuery", exact(), json!({}), json!("the blue red lamp"), "e d c b a", "b a e"),
        hits("queryType", json!({}), json!({"query": "lam"}), json!("prefixNone"), "d b a", ""),
        hits("queryType", json!({}), json!({"query": "woo cha"}), json!("prefixAll"), "", "e"),
        hits("disablePrefixOnAttributes", named(), json!({"query": "lam"}), json!(["name"]), "d b a", ""),
        hits(
            "removeWordsIfNoResults",
            exact(),
            json!({"query": "lamp xyzzyq"}),
            json!("lastWords"),
            "",
            "b a",
        ),
        hits("advancedSyntax", exact(), json!({"query": "-blue lamp"}), json!(true), "b", "d a"),
        hits(
            "advancedSyntaxFeatures",
            json!({SPELLED: false, "advancedSyntax": true}),
            json!({"query": "-blue lamp"}),
            json!(["exactPhrase"]),
            "d a",
            "b",
        ),
        hits("optionalWords", exact(), json!({"query": "xyzzyq chair"}), json!(["xyzzyq"]), "", "e c"),
    ]
}

fn knowledge() -> Vec<Case> {
    let other = json!({"query": "luminaire"});
    let highlighted = See::At("/hits/0/_highlightResult/name/value");
    vec![
        hits("synonyms", json!({SPELLED: false}), other.clone(), json!(false), "d b a", "").knowing(),
        hits("enableRules", json!({}), json!({"query": "green"}), json!(false), "", "c").knowing(),
        hits("ruleContexts", json!({}), json!({"query": "chair"}), json!(["web"]), "e c", "c").knowing(),
        case(
            "replaceSynonymsInHighlight",
            json!({SPELLED: false}),
            json!({"query": "luminaire red"}),
            json!(true),
            highlighted,
        )
        .knowing()
        .turns(json!("<em>Red</em> <em>lamp</em>"), json!("<em>Red</em> <em>luminaire</em>")),
    ]
}

fn exactness() -> Vec<Case> {
    let lamps = [("a", "lamp"), ("b", "lamp shade")];
    let mice = [("a", "mice run"), ("b", "mouse run")];
    vec![
        hits("exactOnSingleWordQuery", json!({}), json!({"query": "lamp"}), json!("none"), "a b", "b a")
            .over(&lamps),
        case(
            "exactOnSingleWordQuery",
            json!({}),
            json!({"query": "lam"}),
            json!("word"),
            See::At("/hits/0/_highlightResult/name/value"),
        )
        .over(&lamps)
        .turns(json!("<em>lam</em>p shade"), json!("lamp shade")),
        hits(
            "alternativesAsExact",
            json!({SPELLED: false, "ignorePlurals": ["en"]}),
            json!({"query": "mice run"}),
            json!([]),
            "b a",
            "a b",
        )
        .over(&mice),
        hits(
            "disableExactOnAttributes",
            json!({"searchableAttributes": ["unordered(name)"]}),
            json!({"query": "lamp"}),
            json!(["name"]),
            "a b",
            "b a",
        )
        .over(&lamps),
    ]
}

fn shown() -> Vec<Case> {
    let blue = |more: Value| {
        let mut query = json!({"query": "blue"});
        query.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        query
    };
    let name = See::At("/hits/0/_highlightResult/name/value");
    let snippet = See::At("/hits/0/_snippetResult/text/value");
    let small = || json!({"query": "small", "attributesToSnippet": ["text:2"]});
    let list = vec![("a", json!({"list": ["red lamp", "blue lamp"]}))];
    vec![
        case(
            "attributesToHighlight",
            json!({}),
            blue(json!({})),
            json!(["name"]),
            See::Names("/hits/0/_highlightResult"),
        )
        .turns(json!("brand color group name price"), json!("name")),
        case("attributesToSnippet", json!({}), json!({"query": "small"}), json!(["text:2"]), snippet)
            .turns(Value::Null, json!("…<em>small</em> room…")),
        case("highlightPreTag", json!({}), blue(json!({})), json!("<b>"), name)
            .turns(json!("<em>Blue</em> lamp"), json!("<b>Blue</em> lamp")),
        case("highlightPostTag", json!({}), blue(json!({})), json!("</b>"), name)
            .turns(json!("<em>Blue</em> lamp"), json!("<em>Blue</b> lamp")),
        case("snippetEllipsisText", json!({}), small(), json!("[cut]"), snippet)
            .turns(json!("…<em>small</em> room…"), json!("[cut]<em>small</em> room[cut]")),
        case(
            "restrictHighlightAndSnippetArrays",
            json!({}),
            json!({"query": "red"}),
            json!(true),
            See::At("/hits/0/_highlightResult/list/1/value"),
        )
        .on(list)
        .turns(json!("blue lamp"), Value::Null),
    ]
}

fn geo() -> Vec<Case> {
    let near = |more: Value| {
        let mut query = json!({"aroundLatLng": "48.85,2.35"});
        query.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        query
    };
    let all = || near(json!({"aroundRadius": "all"}));
    vec![
        hits(
            "aroundLatLng",
            json!({}),
            json!({"aroundRadius": 5_000}),
            json!("48.85,2.35"),
            "e d c b a",
            "a b",
        ),
        hits("aroundRadius", json!({}), near(json!({})), json!(1_000), "a b c", "a"),
        case(
            "minimumAroundRadius",
            json!({}),
            near(json!({})),
            json!(9_000_000),
            See::At("/automaticRadius"),
        )
        .turns(json!("391490"), json!("9000000")),
        hits("aroundPrecision", json!({}), all(), json!(10_000_000), "a b c", "c b a"),
        hits("aroundPrecision", json!({}), all(), json!([{"from": 0, "value": 10_000}]), "a b c", "b a c"),
        hits("insideBoundingBox", json!({}), json!({}), json!([[49, 2, 48.855, 3]]), "e d c b a", "b"),
        hits("insidePolygon", json!({}), json!({}), json!([[45, 4, 47, 4, 47, 6, 45, 6]]), "e d c b a", "c"),
    ]
}

fn answers() -> Vec<Case> {
    let content = json!({"redirect": {"url": "https://example.org"}});
    vec![
        case(
            "getRankingInfo",
            json!({}),
            json!({"query": "lamp"}),
            json!(true),
            See::At("/hits/0/_rankingInfo/nbTypos"),
        )
        .turns(Value::Null, json!(0)),
        case(
            "getRankingInfo",
            json!({}),
            json!({"query": "lamp", "responseFields": ["nbHits"]}),
            json!(true),
            See::Names(""),
        )
        .turns(json!("nbHits"), json!("nbHits parsedQuery serverUsed timeoutCounts timeoutHits")),
        case(
            "responseFields",
            json!({}),
            json!({"hitsPerPage": 0}),
            json!(["nbHits", "query"]),
            See::Names(""),
        )
        .turns(
            json!(
                "exhaustive exhaustiveNbHits exhaustiveTypo hits hitsPerPage nbHits nbPages page params \
                    processingTimeMS query renderingContent"
            ),
            json!("nbHits query"),
        ),
        case(
            "clickAnalytics",
            json!({}),
            json!({"responseFields": ["queryID"]}),
            json!(true),
            See::Names(""),
        )
        .turns(json!(""), json!("queryID")),
        case(
            "explain",
            json!({}),
            json!({"query": "lamp"}),
            json!(["match.alternatives"]),
            See::At("/explain/match/alternatives/0/words"),
        )
        .turns(Value::Null, json!(["lamp"])),
        case("userData", json!({}), json!({}), json!({"any": [1, "two"]}), See::Setting("userData"))
            .turns(Value::Null, json!({"any": [1, "two"]})),
        case("renderingContent", json!({}), json!({}), content.clone(), See::At("/renderingContent"))
            .turns(json!({}), content),
    ]
}
