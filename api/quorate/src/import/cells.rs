//! What do the header and the cells of a CSV file say?

use anyhow::{Result, bail};
use serde_json::{Number, Value};

/// Columns of a file.
pub const COLUMNS_MAX: usize = 10_000;

/// Whether the names of columns can be those of attributes. Errors: what is wrong with them.
pub fn check_names(names: &[String]) -> Result<()> {
    if names.len() > COLUMNS_MAX {
        bail!("line 1: {} columns, at most {COLUMNS_MAX} are taken", names.len());
    }
    if names.iter().any(String::is_empty) {
        bail!("line 1: a column has no name");
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("line 1: two columns are named {}", twice[0]);
    }
    if let [only] = names
        && let Some(other) = only.chars().find(|c| matches!(c, ';' | '\t'))
    {
        bail!("line 1: columns are separated by {other:?}, expected commas");
    }
    Ok(())
}

/// A number or boolean when the cell is written as one in JSON, else text. Ids stay text, and empty cells are left out.
pub fn cell_value(name: &str, cell: &str) -> Option<Value> {
    if cell.is_empty() {
        return None;
    }
    if name == "objectID" || !cell.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | 't' | 'f')) {
        return Some(Value::String(cell.to_owned()));
    }
    Some(match serde_json::from_str::<Value>(cell) {
        Ok(Value::Number(number)) if is_kept(&number, cell) => Value::Number(number),
        Ok(value @ Value::Bool(_)) => value,
        _ => Value::String(cell.to_owned()),
    })
}
/// The value of a cell that is an id: the text, unless its number is written just so.
pub fn id_value(value: Value, cell: &str) -> Value {
    match &value {
        Value::Number(number) if number.to_string() == cell => value,
        _ => Value::String(cell.to_owned()),
    }
}
/// Whether a number says all that its text does: article numbers and the like have more digits than fit.
fn is_kept(number: &Number, text: &str) -> bool {
    let shown = number.as_f64().map(|number| format!("{number:e}"));
    number.is_i64() || number.is_u64() || shown.is_some_and(|shown| digits(&shown) == digits(text))
}
/// The digits that count of a number as it is written, wherever its point is.
fn digits(text: &str) -> String {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_start_matches('0').trim_end_matches('0').to_owned()
}

/// The text of a cell. An empty one says nothing, but for a query: that is searched for, too.
pub fn cell_text(name: &str, cell: &str) -> Option<Value> {
    (!cell.is_empty() || name == "query").then(|| Value::String(cell.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_numbers_as_long_as_they_say_all() {
        for (cell, expected) in [
            ("12", json!(12)),
            ("-0.50", json!(-0.5)),
            ("1e3", json!(1000.0)),
            ("007", json!("007")),
            ("18446744073709551615", json!(u64::MAX)),
            ("400638133393100000123", json!("400638133393100000123")),
            ("0.12345678901234567890", json!("0.12345678901234567890")),
            ("12.500000000000000000000", json!(12.5)),
            ("100000000000000000000", json!(1e20)),
            ("9007199254740993.0", json!("9007199254740993.0")),
            ("1e-400", json!("1e-400")),
            ("true", json!(true)),
            ("True", json!("True")),
        ] {
            assert_eq!(cell_value("ean", cell), Some(expected), "{cell}");
        }
        assert_eq!((cell_value("objectID", "12"), cell_value("a", "")), (Some(json!("12")), None));
    }

    #[test]
    fn a_header_names_each_column_once_between_commas() {
        let check = |header: &str| {
            let names: Vec<String> = header.split(',').map(str::to_owned).collect();
            check_names(&names).map_err(|error| error.to_string())
        };
        for (header, expected) in [
            ("id,name,name", "two columns are named name"),
            ("id;name", "separated by ';'"),
            ("id\tname", "separated by '\\t'"),
            ("id,", "has no name"),
        ] {
            assert!(check(header).is_err_and(|said| said.contains(expected)), "{header}");
        }
        assert!(check("id,a;b").is_ok());
    }
}
