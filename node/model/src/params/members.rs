//! How do the search parameters with a form of their own become typed members (C§4)?

use super::lenient::{self, choice, count, loose_flag, shapes, whole};
use super::{
    AlternativesAsExact, AroundRadius, ExactOnSingleWord, FacetSort, ForLanguages, QueryType, RemoveWords,
    SearchParams, SyntaxFeatures, TypoTolerance,
};
use crate::error::{Error, Result};
use crate::filter::{Filter, Items, parse_filters, parse_items};
use crate::languages;
use crate::limits::{
    ANALYTICS_TAG_CHARS_MAX, CURSOR_BYTES_MAX, FACET_VALUES_MAX, GEO_SHAPES_MAX, POLYGON_POINTS_MAX,
    POLYGONS_POINTS_MAX, PRECISION_STEPS_MAX,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Contexts of one query (C§4.6).
const RULE_CONTEXTS_MAX: usize = 10;
/// Distances within which records count as equally far at the finest (C§7.3).
const PRECISION_METRES_MIN: u64 = 10;

pub(crate) fn min_proximity(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    params.min_proximity = Some(count(name, value, 1, 8)? as u8);
    Ok(())
}

pub(crate) fn max_values_per_facet(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    params.max_values_per_facet = Some(count(name, value, 0, u64::MAX)?.min(FACET_VALUES_MAX));
    Ok(())
}

pub(crate) fn filters(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let text = value.as_str().ok_or_else(|| Error::parameter(name, "string"))?;
    restrict(params, parse_filters(text)?);
    Ok(())
}

pub(crate) fn facet_filters(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    restrict(params, parse_items(name, Items::Facets, value)?);
    Ok(())
}

pub(crate) fn numeric_filters(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    restrict(params, parse_items(name, Items::Numbers, value)?);
    Ok(())
}

pub(crate) fn tag_filters(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    restrict(params, parse_items(name, Items::Tags, value)?);
    Ok(())
}

fn restrict(params: &mut SearchParams, filter: Filter) {
    params.filter = std::mem::take(&mut params.filter).and(filter);
}

pub(crate) fn optional_filters(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    params.optional_filter = parse_items(name, Items::Facets, value)?;
    Ok(())
}

pub(crate) fn sort_facet_values_by(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let order = choice(name, value, &[("count", FacetSort::Count), ("alpha", FacetSort::Alpha)])?;
    params.sort_facet_values_by = Some(order);
    Ok(())
}

pub(crate) fn distinct(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let level = match whole(value) {
        Some(level @ 0..=4) => Some(level as u8),
        Some(_) => None,
        None => loose_flag(value).map(u8::from),
    };
    params.distinct =
        Some(level.ok_or_else(|| Error::parameter(name, "boolean or integer between 0 and 4"))?);
    Ok(())
}

pub(crate) fn typo_tolerance(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    params.typo_tolerance = Some(match loose_flag(value) {
        Some(true) => TypoTolerance::On,
        Some(false) => TypoTolerance::Off,
        None => match value.as_str() {
            Some("min") => TypoTolerance::Min,
            Some("strict") => TypoTolerance::Strict,
            _ => return Err(Error::parameter(name, "one of \"true\", \"false\", \"min\", \"strict\"")),
        },
    });
    Ok(())
}

pub(crate) fn query_type(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    params.query_type = Some(choice(
        name,
        value,
        &[
            ("prefixLast", QueryType::PrefixLast),
            ("prefixAll", QueryType::PrefixAll),
            ("prefixNone", QueryType::PrefixNone),
        ],
    )?);
    Ok(())
}

pub(crate) fn remove_words_if_no_results(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let known = [
        ("none", RemoveWords::None),
        ("lastWords", RemoveWords::LastWords),
        ("firstWords", RemoveWords::FirstWords),
        ("allOptional", RemoveWords::AllOptional),
    ];
    // Very old clients write the two with a capital (C§4.8).
    params.remove_words_if_no_results = Some(match value.as_str() {
        Some("LastWords") => RemoveWords::LastWords,
        Some("FirstWords") => RemoveWords::FirstWords,
        _ => choice(name, value, &known)?,
    });
    Ok(())
}

pub(crate) fn exact_on_single_word_query(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    // The legacy names of this parameter are booleans (C§4.6).
    params.exact_on_single_word_query = Some(match loose_flag(value) {
        Some(true) => ExactOnSingleWord::Attribute,
        Some(false) => ExactOnSingleWord::None,
        None => choice(
            name,
            value,
            &[
                ("attribute", ExactOnSingleWord::Attribute),
                ("none", ExactOnSingleWord::None),
                ("word", ExactOnSingleWord::Word),
            ],
        )?,
    });
    Ok(())
}

pub(crate) fn ignore_plurals(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    params.ignore_plurals = Some(for_languages(name, value)?);
    Ok(())
}

pub(crate) fn remove_stop_words(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    params.remove_stop_words = Some(for_languages(name, value)?);
    Ok(())
}

fn for_languages(name: &str, value: &Value) -> Result<ForLanguages> {
    Ok(match loose_flag(value) {
        Some(true) => ForLanguages::Query,
        Some(false) => ForLanguages::None,
        None => match lenient::list(name, value) {
            Ok(listed) if listed.is_empty() => ForLanguages::None,
            Ok(listed) => {
                languages::check(name, &listed)?;
                ForLanguages::Listed(listed)
            }
            Err(_) => return Err(Error::parameter(name, "boolean or array of language codes")),
        },
    })
}

pub(crate) fn advanced_syntax_features(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let [exact_phrase, exclude_words] = subset(name, value, ["exactPhrase", "excludeWords"])?;
    params.advanced_syntax_features = Some(SyntaxFeatures { exact_phrase, exclude_words });
    Ok(())
}

pub(crate) fn alternatives_as_exact(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let names = ["ignorePlurals", "singleWordSynonym", "multiWordsSynonym", "ignoreConjugations"];
    let [plurals, single_word_synonyms, multi_word_synonyms, conjugations] = subset(name, value, names)?;
    params.alternatives_as_exact =
        Some(AlternativesAsExact { plurals, single_word_synonyms, multi_word_synonyms, conjugations });
    Ok(())
}

/// Which of the names a list holds; nothing else may be in it.
fn subset<const N: usize>(name: &str, value: &Value, names: [&str; N]) -> Result<[bool; N]> {
    let wrong = || {
        let quoted: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
        Error::parameter(name, &format!("array of strings among {}", quoted.join(", ")))
    };
    let listed = lenient::list(name, value).map_err(|_| wrong())?;
    if listed.iter().any(|entry| !names.contains(&entry.as_str())) {
        return Err(wrong());
    }
    Ok(names.map(|name| listed.iter().any(|entry| entry == name)))
}

pub(crate) fn rule_contexts(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let contexts = lenient::list(name, value)?;
    if contexts.len() > RULE_CONTEXTS_MAX {
        return Err(Error::parameter(name, "array of at most 10 strings"));
    }
    params.rule_contexts = Some(contexts);
    Ok(())
}

pub(crate) fn analytics_tags(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let tags = lenient::list(name, value)?;
    if tags.iter().any(|tag| tag.chars().count() > ANALYTICS_TAG_CHARS_MAX) {
        return Err(Error::parameter(name, "array of strings of at most 100 characters"));
    }
    params.other.insert("analyticsTags".to_owned(), Value::from(tags));
    Ok(())
}

/// What callers may not give any more, although programs of level 1 took it and logs and folders have it: shortened to what
/// they may give. `None` when there is nothing of that.
pub(crate) fn as_taken_before(params: &Map<String, Value>) -> Option<Map<String, Value>> {
    let shortened = [
        ("analyticsTags", params.get("analyticsTags").and_then(short_tags)),
        ("aroundPrecision", params.get("aroundPrecision").and_then(first_steps)),
    ];
    let shortened: Vec<_> = shortened.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    (!shortened.is_empty()).then(|| {
        let mut params = params.clone();
        params.extend(shortened.into_iter().map(|(name, value)| (name.to_owned(), value)));
        params
    })
}
/// Tags of which some were too long, cut; `None` when none is.
fn short_tags(tags: &Value) -> Option<Value> {
    let is_long = |tag: &Value| tag.as_str().is_some_and(|tag| tag.chars().count() > ANALYTICS_TAG_CHARS_MAX);
    let is_it = is_long(tags) || tags.as_array().is_some_and(|tags| tags.iter().any(is_long));
    let short = |tag: &Value| match tag.as_str() {
        Some(tag) => Value::from(tag.chars().take(ANALYTICS_TAG_CHARS_MAX).collect::<String>()),
        None => tag.clone(),
    };
    is_it.then(|| match tags {
        Value::Array(tags) => tags.iter().map(short).collect(),
        tag => short(tag),
    })
}
/// The nearest steps of too many; `None` when there are not.
fn first_steps(steps: &Value) -> Option<Value> {
    let steps = steps.as_array().filter(|steps| steps.len() > PRECISION_STEPS_MAX)?;
    let mut steps = steps.clone();
    steps.sort_by_key(|step| step.get("from").and_then(whole));
    steps.truncate(PRECISION_STEPS_MAX);
    Some(Value::Array(steps))
}

pub(crate) fn around_lat_lng(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    params.around_lat_lng = lenient::point(name, value)?;
    Ok(())
}

pub(crate) fn around_radius(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let metres = whole(value).filter(|&metres| metres >= 1);
    params.around_radius = Some(match (metres, value.as_str()) {
        (Some(metres), _) => AroundRadius::Metres(metres),
        (None, Some("all")) => AroundRadius::All,
        _ => return Err(Error::parameter(name, "integer greater than or equal to 1, or \"all\"")),
    });
    Ok(())
}

pub(crate) fn around_precision(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let wrong = || {
        Error::parameter(name, "positive integer or array of up to 20 objects with integers from and value")
    };
    let steps = match lenient::json(value) {
        Value::Array(steps) if steps.len() <= PRECISION_STEPS_MAX => {
            let step = |step: &Value| {
                let precision = whole(step.get("value")?)?;
                Some((whole(step.get("from")?)?, precision.max(PRECISION_METRES_MIN)))
            };
            let mut steps = steps.iter().map(step).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
            steps.sort_by_key(|&(from, _)| from);
            if steps.first().is_none_or(|&(from, _)| from > 0) {
                steps.insert(0, (0, PRECISION_METRES_MIN));
            }
            steps
        }
        single => vec![(0, whole(&single).ok_or_else(wrong)?.max(PRECISION_METRES_MIN))],
    };
    params.around_precision = Some(steps);
    Ok(())
}

pub(crate) fn inside_bounding_box(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let boxes = shapes(value, Some(2)).filter(|boxes| boxes.iter().all(|corners| corners.len() == 2));
    let boxes =
        boxes.ok_or_else(|| Error::parameter(name, "array of arrays of four numbers lat,lng,lat,lng"))?;
    check_count(name, "boxes", boxes.len())?;
    let corners = boxes.iter().map(|b| [b[0].lat, b[0].lng, b[1].lat, b[1].lng]);
    params.inside_bounding_box = (!boxes.is_empty()).then(|| corners.collect());
    Ok(())
}

pub(crate) fn inside_polygon(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let fits = |polygon: &Vec<_>| (3..=POLYGON_POINTS_MAX).contains(&polygon.len());
    let no_points = |polygons: &Vec<Vec<_>>| polygons.len() == 1 && polygons[0].is_empty();
    let polygons =
        shapes(value, None).map(|polygons| if no_points(&polygons) { Vec::new() } else { polygons });
    let points = |polygons: &Vec<Vec<_>>| polygons.iter().map(Vec::len).sum::<usize>();
    let polygons = polygons.filter(|polygons| polygons.iter().all(fits));
    let polygons =
        polygons.ok_or_else(|| Error::parameter(name, "array of arrays of 6 to 20000 numbers lat,lng,…"))?;
    check_count(name, "polygons", polygons.len())?;
    if points(&polygons) > POLYGONS_POINTS_MAX {
        return Err(Error::parameter(name, "polygons of at most 50000 points together"));
    }
    params.inside_polygon = (!polygons.is_empty()).then_some(polygons);
    Ok(())
}

fn check_count(name: &str, shapes: &str, count: usize) -> Result<()> {
    match count <= GEO_SHAPES_MAX {
        true => Ok(()),
        false => Err(Error::parameter(name, &format!("at most {GEO_SHAPES_MAX} {shapes}"))),
    }
}

pub(crate) fn rendering_content(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    let content = lenient::json(value);
    if !content.is_object() {
        return Err(Error::parameter(name, "object"));
    }
    params.rendering_content = Some(Arc::new(content));
    Ok(())
}

pub(crate) fn cursor(params: &mut SearchParams, name: &str, value: &Value) -> Result<()> {
    params.cursor = Some(lenient::text_up_to(name, value, CURSOR_BYTES_MAX)?);
    Ok(())
}
