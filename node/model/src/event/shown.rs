//! Which records does an answer show?

use crate::json::unquote;
use crate::results::Hits;

/// The objectIDs of the first hits. Cost: some nanoseconds a hit when its objectID is its first member, otherwise one a byte before it.
pub fn shown_ids(hits: &Hits, max: usize) -> Vec<String> {
    hits.iter().take(max).filter_map(object_id).collect()
}

/// The objectID of a hit, which has no blanks between its members.
fn object_id(hit: &[u8]) -> Option<String> {
    let mut at = 1;
    while hit.get(at) == Some(&b'"') {
        let name = end_of_string(hit, at);
        let value = name + 1;
        let end = end_of_value(hit, value);
        if &hit[at..name] == br#""objectID""# {
            return Some(unquote(hit.get(value..end)?).into_owned());
        }
        // a comma
        at = end + 1;
    }
    None
}
/// Behind the quote that ends the text that begins at `start`.
fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < json.len() {
        match json[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
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
        assert_eq!(shown_ids(&hits, 3), ["first", "la\"st", "é"]);
        // what is cut off has none
        for end in 0..40 {
            let cut = &br#"{"a":{"b":[1,{"c":"\"}"}]},"objectID":"x"}"#[..end];
            assert!(object_id(cut).is_none_or(|id| id == "x" || id.is_empty()), "{end}");
        }
    }
}
