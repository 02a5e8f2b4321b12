//! Which value does a caller mean when the form is not the exact one (C§2)?

use super::LatLng;
use crate::error::{Error, Result};
use crate::limits::{LIST_ENTRIES_MAX, POLYGON_POINTS_MAX, QUERY_BYTES_MAX};
use serde_json::Value;

/// A boolean, or `"true"`, `"false"`, `1`, `0`.
pub(crate) fn flag(name: &str, value: &Value) -> Result<bool> {
    loose_flag(value).ok_or_else(|| Error::parameter(name, "boolean"))
}

pub(crate) fn loose_flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) => match text.trim() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        Value::Number(_) => match whole(value) {
            Some(1) => Some(true),
            Some(0) => Some(false),
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A whole number from `min` to `max`, or its decimal text.
pub(crate) fn count(name: &str, value: &Value, min: u64, max: u64) -> Result<u64> {
    whole(value)
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| Error::parameter(name, &range(min, max)))
}

/// The words for a whole number from `min` to `max`.
pub(crate) fn range(min: u64, max: u64) -> String {
    if max == u64::MAX {
        format!("integer greater than or equal to {min}")
    } else {
        format!("integer between {min} and {max}")
    }
}

/// A non-negative whole number in any notation that keeps it exact.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            (float.fract() == 0.0 && (0.0..=EXACT).contains(&float)).then_some(float as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A finite number or its decimal text.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
    .filter(|number: &f64| number.is_finite())
}

/// A text of at most 512 bytes; a number is taken by its text.
pub(crate) fn text(name: &str, value: &Value) -> Result<String> {
    text_up_to(name, value, QUERY_BYTES_MAX)
}

/// A text of at most `bytes_max` bytes; a number is taken by its text.
pub(crate) fn text_up_to(name: &str, value: &Value, bytes_max: usize) -> Result<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            return Err(Error::parameter(name, "string"));
        }
    };
    if text.len() > bytes_max {
        return Err(Error::parameter(name, &format!("string shorter than {bytes_max} bytes")));
    }
    Ok(text)
}

/// A list of texts: an array, its JSON text, a comma-separated text or one entry. Empty entries are dropped.
pub(crate) fn list(name: &str, value: &Value) -> Result<Vec<String>> {
    let wrong = || Error::parameter(name, "array of strings");
    let entries = match value {
        Value::String(text) if text.trim_start().starts_with('[') => {
            strings(&serde_json::from_str::<Vec<Value>>(text).map_err(|_| wrong())?).ok_or_else(wrong)?
        }
        Value::String(text) => {
            text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
        }
        Value::Array(entries) => strings(entries).ok_or_else(wrong)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(wrong()),
    };
    if entries.len() > LIST_ENTRIES_MAX {
        return Err(Error::parameter(name, &format!("at most {LIST_ENTRIES_MAX} strings")));
    }
    if entries.iter().any(|entry| entry.len() > QUERY_BYTES_MAX) {
        return Err(Error::parameter(name, &format!("strings shorter than {QUERY_BYTES_MAX} bytes")));
    }
    Ok(entries)
}

fn strings(entries: &[Value]) -> Option<Vec<String>> {
    let texts: Option<Vec<&str>> = entries.iter().map(Value::as_str).collect();
    Some(texts?.into_iter().filter(|entry| !entry.is_empty()).map(str::to_owned).collect())
}

/// One of `names`, by its place in them.
pub(crate) fn choice<T: Copy>(name: &str, value: &Value, names: &[(&str, T)]) -> Result<T> {
    #[cfg(test)]
    crate::level::vocabulary::note(name, &names.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let found = value.as_str().and_then(|text| names.iter().find(|(known, _)| *known == text));
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let known: Vec<_> = names.iter().map(|(known, _)| format!("\"{known}\"")).collect();
        Error::parameter(name, &format!("one of {}", known.join(", ")))
    })
}

/// `lat,lng`; an empty text is no point.
pub(crate) fn point(name: &str, value: &Value) -> Result<Option<LatLng>> {
    let wrong =
        || Error::parameter(name, "\"lat,lng\" with a latitude in -90..90 and a longitude in -180..180");
    let text = value.as_str().ok_or_else(wrong)?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let (lat, lng) = text.split_once(',').ok_or_else(wrong)?;
    let point = lat.trim().parse().ok().zip(lng.trim().parse().ok()).map(|(lat, lng)| LatLng { lat, lng });
    point.filter(is_on_earth).map(Some).ok_or_else(wrong)
}

fn is_on_earth(point: &LatLng) -> bool {
    (-90.0..=90.0).contains(&point.lat) && (-180.0..=180.0).contains(&point.lng)
}

/// Shapes of `lat,lng` pairs: a list of lists, a flat list, or the text of one of them.
///
/// A flat list is cut into shapes of `flat_points` points, or is one shape when that is `None`.
pub(crate) fn shapes(value: &Value, flat_points: Option<usize>) -> Option<Vec<Vec<LatLng>>> {
    let parsed;
    let list = match value {
        Value::Array(list) => list,
        Value::String(text) if text.trim().is_empty() => return Some(Vec::new()),
        Value::String(text) => {
            let text = text.trim();
            let json = if text.starts_with('[') { text.to_owned() } else { format!("[{text}]") };
            parsed = serde_json::from_str::<Vec<Value>>(&json).ok()?;
            &parsed
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    if list.iter().any(Value::is_array) {
        return list.iter().map(|shape| points(shape.as_array()?)).collect();
    }
    let points = points(list)?;
    let Some(flat_points) = flat_points else {
        return Some(vec![points]);
    };
    points
        .len()
        .is_multiple_of(flat_points)
        .then(|| points.chunks(flat_points).map(<[LatLng]>::to_vec).collect())
}

fn points(numbers: &[Value]) -> Option<Vec<LatLng>> {
    if !numbers.len().is_multiple_of(2) || numbers.len() > 2 * POLYGON_POINTS_MAX {
        return None;
    }
    let numbers = numbers.iter().map(number).collect::<Option<Vec<f64>>>()?;
    let points = numbers.chunks_exact(2).map(|pair| LatLng { lat: pair[0], lng: pair[1] });
    points.map(|point| is_on_earth(&point).then_some(point)).collect()
}

/// The value itself, or what its text holds when that is JSON.
pub(crate) fn json(value: &Value) -> Value {
    match value {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| value.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.clone(),
    }
}
