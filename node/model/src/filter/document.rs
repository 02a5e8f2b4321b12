//! Does a JSON document pass a filter? Every member can be asked for: there is no index, and nothing is declared.

use super::{Atom, Filter, NumericOp};
use serde_json::Value;

/// The member that tags are in.
const TAGS: &str = "_tags";

impl Filter {
    /// Whether a document passes.
    pub fn passes(&self, document: &Value) -> bool {
        self.all.iter().all(|group| group.any.iter().any(|atom| atom.negated != holds(&atom.atom, document)))
    }
}

fn holds(atom: &Atom, document: &Value) -> bool {
    let some = |path: &str, is_it: &dyn Fn(&Value) -> bool| some_value(document, Some(path), is_it);
    let some_number =
        |path: &str, is_it: &dyn Fn(f64) -> bool| some(path, &|value| value.as_f64().is_some_and(is_it));
    match atom {
        Atom::Facet { attribute, value } => {
            let meant = value.to_lowercase();
            some(attribute, &|value| text_of(value).is_some_and(|text| text.to_lowercase() == meant))
        }
        Atom::Tag { value: meant } => some(TAGS, &|value| value.as_str() == Some(meant)),
        Atom::Numeric { attribute, op, value: meant } => match op {
            NumericOp::Eq => some_number(attribute, &|value| value == *meant),
            NumericOp::Ne => {
                some_number(attribute, &|_| true) && !some_number(attribute, &|value| value == *meant)
            }
            NumericOp::Lt => some_number(attribute, &|value| value < *meant),
            NumericOp::Le => some_number(attribute, &|value| value <= *meant),
            NumericOp::Gt => some_number(attribute, &|value| value > *meant),
            NumericOp::Ge => some_number(attribute, &|value| value >= *meant),
        },
        Atom::Range { attribute, from, to } => {
            some_number(attribute, &|value| (*from..=*to).contains(&value))
        }
    }
}

/// Whether one of the values at a path is it; lists on the way stand for what they hold.
fn some_value(value: &Value, path: Option<&str>, is_it: &dyn Fn(&Value) -> bool) -> bool {
    match (value, path) {
        (Value::Array(list), path) => list.iter().any(|inner| some_value(inner, path, is_it)),
        (Value::Object(members), Some(path)) => {
            let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
            members.get(head).is_some_and(|inner| some_value(inner, rest, is_it))
        }
        (value, None) => is_it(value),
        (_, Some(_)) => false,
    }
}

/// How a filter writes a value.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_filters;
    use serde_json::json;

    #[test]
    fn members_pass_or_not() {
        let document = json!({
            "objectID": "r/1", "enabled": true, "_tags": ["a"], "validity": [{"from": 10}, {"from": 30}],
            "conditions": [{"context": "Mobile"}, {"filters": "brand:Zorro"}], "nothing": null,
        });
        for (filters, expected) in [
            ("objectID:r/1", true),
            ("objectID:r/2", false),
            ("NOT objectID:r/2", true),
            ("conditions.context:mobile", true),
            ("conditions.context:mob", false),
            ("conditions:mobile", false),
            ("enabled:true AND a", true),
            ("A", false),
            ("enabled:false OR objectID:r/1", true),
            ("validity.from > 20", true),
            ("validity.from:11 TO 29", false),
            ("validity.from:10 TO 29", true),
            ("validity.from != 30", false),
            ("validity.from != 31", true),
            ("validity.until != 31", false),
            ("validity.from <= 9", false),
            ("validity.from >= 30", true),
            ("validity.from < 11", true),
            ("nothing:null", false),
            ("", true),
        ] {
            assert_eq!(parse_filters(filters).unwrap().passes(&document), expected, "{filters}");
        }
    }
}
