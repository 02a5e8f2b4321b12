//! Which settings and search parameters exist (C§4), and where does each of them act?
//!
//! The one table behind parsing, validation, defaults and error texts. A row takes one line or two, so it is long.

use crate::error::Result;
use crate::level::{self, LaterValue};
use crate::limits::{PAGINATION_LIMIT_MAX, QUERY_BYTES_MAX, TAG_BYTES_MAX};
use crate::params::SearchParams;
use crate::params::lenient;
use crate::params::members as query;
use crate::settings::IndexSettings;
use crate::settings::criterion;
use crate::settings::members as index;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Who may give a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Settings only.
    Settings,
    /// Requests only.
    Query,
    /// Both; the request overrides the setting.
    Both,
}
impl Scope {
    /// Whether settings may hold the row.
    pub fn in_settings(self) -> bool {
        matches!(self, Scope::Settings | Scope::Both)
    }
    /// Whether a request may hold the row.
    pub fn in_query(self) -> bool {
        matches!(self, Scope::Query | Scope::Both)
    }
}

/// The form of a value that no typed member holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A boolean.
    Flag,
    /// A whole number in a closed range.
    Count(u64, u64),
    /// A string of at most 512 bytes.
    Text,
    /// A list of strings.
    List,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A JSON object.
    Object,
    /// Any JSON.
    Any,
}

type At<T> = fn(&mut SearchParams) -> &mut Option<T>;
type SetQuery = fn(&mut SearchParams, &str, &Value) -> Result<()>;
type OfIndex<T> = fn(&mut IndexSettings) -> &mut T;
type SetIndex = fn(&mut IndexSettings, &str, &Value) -> Result<()>;

/// Which typed member a row fills, and from what.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A boolean of the search parameters.
    Flag(At<bool>),
    /// A whole number of the search parameters, from, to.
    Count(u64, u64, At<u64>),
    /// A string of the search parameters, of so many bytes at most.
    Text(usize, At<String>),
    /// A list of strings of the search parameters.
    List(At<Vec<String>>),
    /// A list of language codes (C§12.2) of the search parameters.
    Languages(At<Vec<String>>),
    /// Any other member of the search parameters, with the words for what is allowed.
    Query(&'static str, SetQuery),
    /// A whole number of the index settings, from, to.
    IndexCount(u64, u64, OfIndex<u64>),
    /// A string of the index settings.
    IndexText(OfIndex<String>),
    /// A list of strings of the index settings.
    IndexStrings(OfIndex<Vec<String>>),
    /// A list of strings that the index settings hold parsed.
    IndexList(&'static str, SetIndex),
    /// Any other member of the index settings, with the words for what is allowed.
    Index(&'static str, SetIndex),
    /// Accepted and kept as given in `SearchParams::other` or in the settings document.
    Kept(Form),
    /// Accepted and dropped: forms of the time before the synonym interface, and members that only answers carry.
    Dropped,
}

/// One setting or search parameter.
#[derive(Clone, Copy, Debug)]
pub struct SettingRow {
    /// The name in the interface.
    pub name: &'static str,
    /// Earlier names that are still accepted.
    pub legacy: &'static [&'static str],
    /// Who may give it.
    pub scope: Scope,
    /// What it fills.
    pub target: Target,
    /// The default as JSON; `null` when there is none.
    pub default: &'static str,
    /// Whether GET settings answers the default when nothing is set (C§4.9).
    pub shown: bool,
    /// Whether settings accept one string for a list (C§4.9).
    pub single: bool,
    /// Whether it decides what the index holds on disk.
    pub shapes_index: bool,
    /// Whether a virtual replica, which has no records of its own, refuses it and has that of its primary (C§3.2).
    pub of_primary: bool,
    /// Whether a new replica does without the value of its primary: what orders hits, and what belongs to one index alone.
    pub own: bool,
    /// What it does, in one line.
    pub doc: &'static str,
    /// The level of commands at which it began: what applying commands parses by must be known to every node.
    pub began: u16,
    /// Values that began later.
    pub later: &'static [LaterValue],
}

pub(crate) const fn row(
    name: &'static str,
    scope: Scope,
    target: Target,
    default: &'static str,
    doc: &'static str,
) -> SettingRow {
    SettingRow {
        name,
        legacy: &[],
        scope,
        target,
        default,
        shown: false,
        single: false,
        shapes_index: false,
        of_primary: false,
        own: false,
        doc,
        began: level::FIRST,
        later: &[],
    }
}
impl SettingRow {
    const fn was(self, legacy: &'static [&'static str]) -> SettingRow {
        SettingRow { legacy, ..self }
    }
    const fn shown(self) -> SettingRow {
        SettingRow { shown: true, ..self }
    }
    const fn single(self) -> SettingRow {
        SettingRow { single: true, ..self }
    }
    const fn shapes(self) -> SettingRow {
        SettingRow { shapes_index: true, ..self }
    }
    const fn of_primary(self) -> SettingRow {
        SettingRow { of_primary: true, ..self }
    }
    const fn own(self) -> SettingRow {
        SettingRow { own: true, ..self }
    }

    /// A row that came with a level.
    #[cfg_attr(not(test), expect(dead_code, reason = "no row has come since the first level"))]
    pub(crate) const fn since(self, began: u16) -> SettingRow {
        SettingRow { began, ..self }
    }
    /// A row with values that came later.
    pub(crate) const fn with_later(self, later: &'static [LaterValue]) -> SettingRow {
        SettingRow { later, ..self }
    }

    /// Whether a search may give any JSON for it, which is kept or passed on as it is.
    pub fn is_free(&self) -> bool {
        let is_free =
            matches!(self.target, Target::Kept(Form::Object | Form::Any) | Target::Query("object", _));
        is_free && self.scope.in_query()
    }

    /// The default as a value.
    pub fn default_value(&self) -> Value {
        serde_json::from_str(self.default).expect("the defaults of the table are JSON")
    }

    /// What the row accepts, in the words of the error text and the documentation.
    pub fn allowed(&self) -> String {
        match self.target {
            Target::Flag(_) => "boolean".to_owned(),
            Target::Count(min, max, _) | Target::IndexCount(min, max, _) => lenient::range(min, max),
            Target::Text(..) | Target::IndexText(_) => "string".to_owned(),
            Target::List(_) | Target::IndexStrings(_) => "array of strings".to_owned(),
            Target::Languages(_) => "array of language codes".to_owned(),
            Target::Query(words, _) | Target::IndexList(words, _) | Target::Index(words, _) => {
                words.to_owned()
            }
            Target::Kept(form) => form.words(),
            Target::Dropped => "anything; it is accepted and ignored".to_owned(),
        }
    }
}

impl Form {
    /// What the form accepts.
    pub fn words(self) -> String {
        match self {
            Form::Flag => "boolean".to_owned(),
            Form::Count(min, max) => lenient::range(min, max),
            Form::Text => "string".to_owned(),
            Form::List => "array of strings".to_owned(),
            Form::Choice(names) => format!("one of {}", quoted(names)),
            Form::Object => "object".to_owned(),
            Form::Any => "any JSON".to_owned(),
        }
    }
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
    names.join(", ")
}

/// The row of a name, current or legacy.
pub fn lookup(name: &str) -> Option<&'static SettingRow> {
    static BY_NAME: LazyLock<HashMap<&'static str, &'static SettingRow>> = LazyLock::new(|| {
        let names = |row: &'static SettingRow| {
            std::iter::once(row.name).chain(row.legacy.iter().copied()).map(move |name| (name, row))
        };
        ROWS.iter().flat_map(names).collect()
    });
    BY_NAME.get(name).copied()
}

/// The table as Markdown, in table order.
pub fn markdown() -> String {
    let mut text = String::from("| Name | Where | Accepts | Default | Meaning |\n|---|---|---|---|---|\n");
    for row in ROWS {
        let scope = match row.scope {
            Scope::Settings => "settings",
            Scope::Query => "query",
            Scope::Both => "settings, query",
        };
        let mut name = format!("`{}`", row.name);
        if !row.legacy.is_empty() {
            name.push_str(&format!(" (formerly `{}`)", row.legacy.join("`, `")));
        }
        let line = format!("| {name} | {scope} | {} | `{}` | {} |\n", row.allowed(), row.default, row.doc);
        text.push_str(&line);
    }
    text
}

use Form::{Any, Choice, Object};
use Scope::{Both, Query, Settings};
use Target::{
    Count, Dropped, Flag, Index, IndexCount, IndexList, IndexStrings, IndexText, Kept, Languages, List, Text,
};

const ANY_COUNT: u64 = u64::MAX;
/// Tags of more bytes than they could have at first.
const LONG_TAGS: &[LaterValue] = &[LaterValue {
    level: level::LONG_TAGS,
    is_it: |tag| lenient::text_up_to("", tag, TAG_BYTES_MAX).is_ok() && lenient::text("", tag).is_err(),
}];
const DROPPED_DOC: &str = "Accepted for old clients, without effect.";

/// Every row, in the order of C§4.
#[rustfmt::skip]
pub static ROWS: &[SettingRow] = &[
    // attributes
    row("searchableAttributes", Settings, IndexList("array of attribute names, ordered(name) or unordered(name)", index::searchable_attributes), "[]", "Attributes that are searched, in order of priority; empty means all.").was(&["attributesToIndex"]).shapes().of_primary(),
    row("attributesForFaceting", Settings, IndexList("array of attribute names, searchable(name), filterOnly(name) or afterDistinct(name)", index::attributes_for_faceting), "[]", "Attributes that facets and filters use.").single().shapes().of_primary(),
    row("unretrievableAttributes", Settings, IndexStrings(|s| &mut s.unretrievable_attributes), "[]", "Attributes that answers never show without the right to see them.").single(),
    row("attributesToRetrieve", Both, List(|p| &mut p.attributes_to_retrieve), r#"["*"]"#, "Attributes that hits show; `-name` leaves one out.").was(&["attributes"]).single(),
    row("restrictSearchableAttributes", Query, List(|p| &mut p.restrict_searchable_attributes), "[]", "Searches only these of the searchable attributes."),
    // ranking
    row("ranking", Settings, IndexList(criterion::ENTRIES, index::ranking), r#"["typo","geo","words","proximity","attribute","exact","custom"]"#, "Criteria that order hits, first to last.").with_later(criterion::LATER).single().shown().shapes().of_primary().own(),
    row("customRanking", Settings, IndexList("array of asc(name) or desc(name)", index::custom_ranking), "[]", "Attributes that order hits under the custom criterion.").single().shapes().own(),
    row("replicas", Settings, IndexList("array of index names or virtual(name)", index::replicas), "[]", "Indices that follow this one with their own order.").was(&["slaves"]).of_primary().own(),
    row("relevancyStrictness", Both, Count(0, 100, |p| &mut p.relevancy_strictness), "100", "How close to the best a hit of a virtual replica must be.").own(),
    row("attributeCriteriaComputedByMinProximity", Both, Flag(|p| &mut p.attribute_criteria_computed_by_min_proximity), "false", "The best attribute is the one with the closest words."),
    row("minProximity", Both, Target::Query("integer between 1 and 8", query::min_proximity), "1", "Word distances below it count as it; 8 turns proximity off."),
    row("enableReRanking", Both, Kept(Form::Flag), "true", "Kept, without effect.").own(),
    row("reRankingApplyFilter", Both, Kept(Any), "null", "Kept, without effect.").single(),
    row("mode", Both, Kept(Choice(&["neuralSearch", "keywordSearch"])), "\"keywordSearch\"", "Kept; every search is a keyword search.").own(),
    row("semanticSearch", Both, Kept(Object), "{}", "Kept, without effect."),
    // filtering and faceting
    row("filters", Query, Target::Query("filter expression", query::filters), "\"\"", "Which records count, as an expression."),
    row("facetFilters", Query, Target::Query("string or nested array of strings of the form \"attribute:value\"", query::facet_filters), "[]", "Which records count, by facet values."),
    row("numericFilters", Query, Target::Query("string or nested array of strings of the form \"attribute>10\"", query::numeric_filters), "[]", "Which records count, by numbers."),
    row("tagFilters", Query, Target::Query("string or nested array of tags", query::tag_filters), "[]", "Which records count, by tags."),
    row("optionalFilters", Query, Target::Query("string or nested array of strings of the form \"attribute:value\"", query::optional_filters), "[]", "Which records rank higher, by facet values."),
    row("sumOrFiltersScores", Query, Flag(|p| &mut p.sum_or_filters_scores), "false", "Alternatives of a filter add their scores instead of taking the highest."),
    row("facets", Query, List(|p| &mut p.facets), "[]", "Facets whose values are counted; `*` means all."),
    row("maxValuesPerFacet", Both, Target::Query("integer greater than or equal to 0", query::max_values_per_facet), "100", "Values shown of each facet, at most 1000.").shown(),
    row("sortFacetValuesBy", Both, Target::Query("one of \"count\", \"alpha\"", query::sort_facet_values_by), "\"count\"", "Order of facet values."),
    row("facetingAfterDistinct", Query, Flag(|p| &mut p.faceting_after_distinct), "false", "Counts what distinct keeps instead of all records."),
    row("maxFacetHits", Both, Count(1, 100, |p| &mut p.max_facet_hits), "10", "Values that a facet search shows."),
    row("attributeForDistinct", Settings, Index("string", index::attribute_for_distinct), "null", "Attribute whose equal values form a group.").shapes().of_primary(),
    row("distinct", Both, Target::Query("boolean or integer between 0 and 4", query::distinct), "0", "Records shown of each group; 0 does not group."),
    // pagination
    row("page", Query, Count(0, ANY_COUNT, |p| &mut p.page), "0", "Page of hits, from zero."),
    row("hitsPerPage", Both, Count(0, 1000, |p| &mut p.hits_per_page), "20", "Hits of a page.").shown(),
    row("offset", Query, Count(0, ANY_COUNT, |p| &mut p.offset), "null", "First hit, instead of a page."),
    row("length", Query, Count(0, 1000, |p| &mut p.length), "null", "Hits from the offset on."),
    row("paginationLimitedTo", Settings, IndexCount(0, PAGINATION_LIMIT_MAX, |s| &mut s.pagination_limited_to), "1000", "Hits that pages can reach.").shown(),
    // typos and tokens
    row("typoTolerance", Both, Target::Query("boolean or one of \"min\", \"strict\"", query::typo_tolerance), "true", "Whether words may match with typing errors."),
    row("minWordSizefor1Typo", Both, Count(0, ANY_COUNT, |p| &mut p.min_word_size_for_1_typo), "4", "Characters from which a word may have one typing error.").shown(),
    row("minWordSizefor2Typos", Both, Count(0, ANY_COUNT, |p| &mut p.min_word_size_for_2_typos), "8", "Characters from which a word may have two typing errors.").shown(),
    row("allowTyposOnNumericTokens", Both, Flag(|p| &mut p.allow_typos_on_numeric_tokens), "true", "Whether numbers may match with typing errors."),
    row("disableTypoToleranceOnAttributes", Both, List(|p| &mut p.disable_typo_tolerance_on_attributes), "[]", "Attributes that need exact spelling.").of_primary(),
    row("disableTypoToleranceOnWords", Settings, IndexStrings(|s| &mut s.disable_typo_tolerance_on_words), "[]", "Words that need exact spelling.").was(&["disableTypoToleranceOn"]),
    row("separatorsToIndex", Settings, IndexText(|s| &mut s.separators_to_index), "\"\"", "Punctuation that is searched as a word.").shown().shapes().of_primary(),
    row("camelCaseAttributes", Settings, IndexStrings(|s| &mut s.camel_case_attributes), "[]", "Attributes whose camelCase words are also indexed in parts.").shapes().of_primary(),
    row("keepDiacriticsOnCharacters", Settings, IndexText(|s| &mut s.keep_diacritics_on_characters), "\"\"", "Characters that keep their accents.").shapes().of_primary(),
    row("customNormalization", Settings, Index("object of at most 10 replacements of one character each", index::custom_normalization), "{}", "Characters replaced before anything else.").shapes().of_primary(),
    row("decompoundedAttributes", Settings, Index("object of lists of attribute names under de, nl, fi, da, sv or no", index::decompounded_attributes), "{}", "Attributes whose compound words are indexed in parts, by language.").shapes().of_primary(),
    row("decompoundQuery", Both, Flag(|p| &mut p.decompound_query), "true", "Whether compound words of the query are split."),
    row("attributesToTransliterate", Settings, Kept(Form::List), "null", "Kept, without effect.").of_primary(),
    row("indexLanguages", Settings, IndexList("array of language codes", index::index_languages), "[]", "Languages for indexing; `zh` and `ja` have words found by dictionary.").shapes().of_primary(),
    row("queryLanguages", Both, Languages(|p| &mut p.query_languages), "[]", "Languages for queries."),
    row("naturalLanguages", Query, Languages(|p| &mut p.natural_languages), "[]", "Languages of queries that are spoken sentences."),
    row("ignorePlurals", Both, Target::Query("boolean or array of language codes", query::ignore_plurals), "false", "Whether singular and plural are the same, or for which languages."),
    row("removeStopWords", Both, Target::Query("boolean or array of language codes", query::remove_stop_words), "false", "Whether frequent words are left out, or for which languages."),
    // query strategy
    row("query", Query, Text(QUERY_BYTES_MAX, |p| &mut p.query), "\"\"", "What is searched; empty means every record."),
    row("similarQuery", Query, Text(QUERY_BYTES_MAX, |p| &mut p.similar_query), "\"\"", "A text whose words are all optional."),
    row("queryType", Both, Target::Query("one of \"prefixLast\", \"prefixAll\", \"prefixNone\"", query::query_type), "\"prefixLast\"", "Which words may match as prefixes.").single().shown(),
    row("disablePrefixOnAttributes", Settings, IndexStrings(|s| &mut s.disable_prefix_on_attributes), "[]", "Attributes that need whole words.").of_primary(),
    row("removeWordsIfNoResults", Both, Target::Query("one of \"none\", \"lastWords\", \"firstWords\", \"allOptional\"", query::remove_words_if_no_results), "\"none\"", "Which words become optional when nothing is found.").single().shown(),
    row("advancedSyntax", Both, Flag(|p| &mut p.advanced_syntax), "false", "Whether quotes and minus signs have a meaning."),
    row("advancedSyntaxFeatures", Both, Target::Query("array of strings among \"exactPhrase\", \"excludeWords\"", query::advanced_syntax_features), r#"["exactPhrase","excludeWords"]"#, "Which parts of the advanced syntax are on."),
    row("optionalWords", Both, List(|p| &mut p.optional_words), "[]", "Words that need not match.").single(),
    row("exactOnSingleWordQuery", Both, Target::Query("one of \"attribute\", \"none\", \"word\"", query::exact_on_single_word_query), "\"attribute\"", "When a query of one word matches exactly.").was(&["useQueryEqualsOneAttributeInRanking", "enableExactOnSingleWordQuery"]).shown(),
    row("alternativesAsExact", Both, Target::Query("array of strings among \"ignorePlurals\", \"singleWordSynonym\", \"multiWordsSynonym\", \"ignoreConjugations\"", query::alternatives_as_exact), r#"["ignorePlurals","singleWordSynonym"]"#, "Alternatives that count as exact matches.").shown(),
    row("disableExactOnAttributes", Both, List(|p| &mut p.disable_exact_on_attributes), "[]", "Attributes whose matches never count as exact."),
    row("synonyms", Query, Flag(|p| &mut p.synonyms), "true", "Whether synonyms are used."),
    row("enableRules", Both, Flag(|p| &mut p.enable_rules), "true", "Whether rules are used."),
    row("ruleContexts", Query, Target::Query("array of at most 10 strings", query::rule_contexts), "[]", "Contexts that rules may ask for."),
    // highlighting
    row("attributesToHighlight", Both, List(|p| &mut p.attributes_to_highlight), "null", "Attributes that are highlighted; by default the searchable ones.").single(),
    row("attributesToSnippet", Both, List(|p| &mut p.attributes_to_snippet), "[]", "Attributes that are shortened, as `name:words`.").single(),
    row("highlightPreTag", Both, Text(TAG_BYTES_MAX, |p| &mut p.highlight_pre_tag), "\"<em>\"", "Text before a match.").with_later(LONG_TAGS).shown(),
    row("highlightPostTag", Both, Text(TAG_BYTES_MAX, |p| &mut p.highlight_post_tag), "\"</em>\"", "Text after a match.").with_later(LONG_TAGS).shown(),
    row("snippetEllipsisText", Both, Text(QUERY_BYTES_MAX, |p| &mut p.snippet_ellipsis_text), "\"…\"", "Text where a snippet is cut."),
    row("restrictHighlightAndSnippetArrays", Both, Flag(|p| &mut p.restrict_highlight_and_snippet_arrays), "false", "Shows only the matching entries of highlighted lists."),
    row("replaceSynonymsInHighlight", Both, Flag(|p| &mut p.replace_synonyms_in_highlight), "false", "Shows the word of the query instead of its synonym."),
    // geo
    row("aroundLatLng", Query, Target::Query("\"lat,lng\"", query::around_lat_lng), "\"\"", "Centre of a search around a point."),
    row("aroundLatLngViaIP", Query, Kept(Form::Flag), "false", "Takes the caller's place as the centre."),
    row("aroundRadius", Query, Target::Query("integer greater than or equal to 1, or \"all\"", query::around_radius), "null", "Metres from the centre."),
    row("minimumAroundRadius", Query, Count(1, ANY_COUNT, |p| &mut p.minimum_around_radius), "null", "Least metres of an automatic radius."),
    row("aroundPrecision", Query, Target::Query("integer greater than or equal to 0, or array of {from, value}", query::around_precision), "10", "Metres within which distances are equal."),
    row("insideBoundingBox", Query, Target::Query("array of arrays of four numbers", query::inside_bounding_box), "null", "Rectangles in which records lie."),
    row("insidePolygon", Query, Target::Query("array of arrays of 6 to 20000 numbers", query::inside_polygon), "null", "Polygons in which records lie."),
    // answers and analytics
    row("getRankingInfo", Query, Flag(|p| &mut p.get_ranking_info), "false", "Shows how hits were ranked."),
    row("responseFields", Both, List(|p| &mut p.response_fields), r#"["*"]"#, "Members that the answer shows."),
    row("clickAnalytics", Query, Flag(|p| &mut p.click_analytics), "false", "Adds an id that clicks can name."),
    row("analytics", Query, Kept(Form::Flag), "true", "Whether the search is counted."),
    row("analyticsTags", Query, Target::Query("array of strings of at most 100 characters", query::analytics_tags), "[]", "Tags under which the search is counted."),
    row("percentileComputation", Query, Kept(Form::Flag), "true", "Whether its time is counted."),
    row("enableABTest", Query, Kept(Form::Flag), "true", "Whether it may take part in a test."),
    row("userToken", Query, Text(QUERY_BYTES_MAX, |p| &mut p.user_token), "null", "Who searches."),
    row("enablePersonalization", Both, Kept(Form::Flag), "false", "Kept, without effect."),
    row("personalizationImpact", Query, Kept(Form::Count(0, 100)), "100", "Kept, without effect."),
    row("userData", Settings, Index("JSON of at most 32768 bytes", index::user_data), "{}", "Any JSON; stored and returned."),
    row("renderingContent", Both, Target::Query("object", query::rendering_content), "null", "How to show the results; returned with each answer."),
    row("numericAttributesForFiltering", Settings, IndexList("array of attribute names or equalOnly(name)", index::numeric_attributes_for_filtering), "null", "Numbers that filters can use; by default all.").was(&["numericAttributesToIndex"]).shapes().of_primary(),
    row("allowCompressionOfIntegerArray", Settings, Kept(Form::Flag), "false", "Kept, without effect.").of_primary(),
    row("explain", Query, List(|p| &mut p.explain), "[]", "Which explanations the answer adds."),
    // members of browse, multi-query and facet search calls
    row("cursor", Query, Target::Query("string", query::cursor), "null", "Position that an earlier browse answer gave."),
    row("type", Query, Kept(Choice(&["default", "facet"])), "\"default\"", "Kind of a query among several."),
    row("facet", Query, Kept(Form::Text), "null", "Facet whose values are searched."),
    row("facetQuery", Query, Kept(Form::Text), "\"\"", "What is searched among facet values."),
    row("extensions", Query, Kept(Object), "null", "Kept, without effect."),
    // accepted without effect
    row("primary", Settings, Dropped, "null", "The index that a replica follows; only answers carry it."),
    row("version", Settings, Dropped, "null", "Number in settings that other services export."),
    row("attributeCriteriaComputedBy", Settings, Dropped, "null", DROPPED_DOC).single(),
    row("placeholders", Settings, Dropped, "null", DROPPED_DOC),
    row("altCorrections", Settings, Dropped, "null", DROPPED_DOC),
];
