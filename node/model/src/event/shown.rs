//! Which records does an answer show?

use crate::results::Hits;
use memchr::memchr2;

/// The objectIDs of the first hits, as they stand there: [`crate::json::unquote`] reads them. Cost: some nanoseconds a hit when its
/// objectID is its first member, otherwise one a byte before it.
pub fn id_values(hits: &Hits, max: usize) -> impl Iterator<Item = &[u8]> {
    hits.iter().take(max).filter_map(id_value)
}

/// The first hits without anything but their objectIDs: what is kept of an answer until its search counts, so that the bytes of the
/// answer are free for the next one. Cost: as [`id_values`].
pub fn with_ids_alone(hits: &Hits, max: usize) -> Hits {
    let count = hits.len().min(max);
    let mut ids = Hits { json: Vec::with_capacity(count * ID_BYTES), ends: Vec::with_capacity(count) };
    for value in id_values(hits, max) {
        ids.json.extend_from_slice(BEFORE_ID);
        ids.json.extend_from_slice(value);
        ids.json.push(b'}');
        ids.ends.push(ids.json.len() as u32);
    }
    ids
}
const BEFORE_ID: &[u8] = br#"{"objectID":"#;
/// Bytes of such a hit, about.
const ID_BYTES: usize = 32;

/// The objectID of a hit, which has no blanks between its members, as it stands there.
fn id_value(hit: &[u8]) -> Option<&[u8]> {
    if hit.starts_with(BEFORE_ID) {
        return hit.get(BEFORE_ID.len()..end_of_value(hit, BEFORE_ID.len()));
    }
    let mut at = 1;
    while hit.get(at) == Some(&b'"') {
        let name = end_of_string(hit, at);
        let value = name + 1;
        let end = end_of_value(hit, value);
        if &hit[at..name] == br#""objectID""# {
            return hit.get(value..end);
        }
        // a comma
        at = end + 1;
    }
    None
}
/// Behind the quote that ends the text that begins at `start`.
fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(next) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += next;
        if json[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    json.len()
}
/// Behind the value that begins at `start`.
fn end_of_value(json: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < json.len() {
        match json[at] {
            b'"' => {
                at = end_of_string(json, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b',' if depth == 0 => return at,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::unquote;

    #[test]
    fn ids_are_those_of_the_hits_themselves() {
        let mut hits = Hits::default();
        for hit in [
            r#"{"objectID":"first","a":1}"#,
            r#"{"a":{"objectID":"no"},"b":"\"objectID\":\"no\"","c":[{"objectID":"no"}],"n":-1.5e3,"t":true,"objectID":"la\"st","_h":{}}"#,
            r#"{"e":{},"objectID":"é"}"#,
            r#"{"objectID":"more"}"#,
        ] {
            hits.json.extend_from_slice(hit.as_bytes());
            hits.ends.push(hits.json.len() as u32);
        }
        let shown = |hits: &Hits, max| -> Vec<String> {
            id_values(hits, max).map(|value| unquote(value).into_owned()).collect()
        };
        assert_eq!(shown(&hits, 3), ["first", "la\"st", "é"]);
        let alone = with_ids_alone(&hits, 3);
        assert_eq!(shown(&alone, 9), shown(&hits, 3));
        assert!(alone.iter().all(|hit| hit.len() < 30), "nothing else");
        // what is cut off has none
        for end in 0..40 {
            let cut = &br#"{"a":{"b":[1,{"c":"\"}"}]},"objectID":"x"}"#[..end];
            let id = id_value(cut).map(unquote);
            assert!(id.is_none_or(|id| id == "x" || id.is_empty()), "{end}");
        }
    }
}
