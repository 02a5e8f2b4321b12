//! What does an index find? `quorate search INDEX QUERY`.

use crate::client::{Client, Credentials, Encoding, segment};
use crate::config::Values;
use crate::output;
use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::process::ExitCode;

/// Marks around matches in the answer; control characters do not occur in text that people read.
const PRE: char = '\u{2}';
const POST: char = '\u{3}';
/// Attributes shown for each hit.
const ATTRIBUTES_SHOWN: usize = 6;
/// Characters shown of one attribute.
const CHARS_SHOWN: usize = 160;

/// How matches are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    Terminal,
    None,
}

/// The command line of `search`.
pub fn command() -> Command {
    Command::new("search")
        .about("Search an index; matches are highlighted on a terminal")
        .arg(Arg::new("index").value_name("INDEX").required(true).help("Name of the index"))
        .arg(
            Arg::new("query")
                .value_name("QUERY")
                .num_args(0..)
                .help("Words to look for; none shows every record"),
        )
        .arg(
            Arg::new("hits")
                .long("hits")
                .value_name("N")
                .default_value("10")
                .value_parser(value_parser!(u64).range(0..=1000))
                .help("Hits to show"),
        )
        .arg(
            Arg::new("page")
                .long("page")
                .value_name("N")
                .default_value("0")
                .value_parser(value_parser!(u64))
                .help("Page to show, from 0"),
        )
        .arg(
            Arg::new("filters")
                .long("filters")
                .value_name("FILTERS")
                .help("Filter, for example 'price < 20 AND brand:Alder'"),
        )
        .arg(
            Arg::new("facet")
                .long("facet")
                .value_name("ATTRIBUTE")
                .action(ArgAction::Append)
                .help("Count the values of an attribute"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print the answer of the node as it is"),
        )
}

/// Runs one query and prints its hits.
pub fn run(values: &Values, given: &ArgMatches) -> Result<ExitCode> {
    let client = Client::find(values, Credentials::Required)?;
    let index: &String = given.get_one("index").expect("clap requires it");
    let words: Vec<&str> =
        given.get_many::<String>("query").unwrap_or_default().map(String::as_str).collect();
    let mut body = json!({
        "query": words.join(" "),
        "hitsPerPage": given.get_one::<u64>("hits"),
        "page": given.get_one::<u64>("page"),
    });
    if let Some(filters) = given.get_one::<String>("filters") {
        body["filters"] = json!(filters);
    }
    if let Some(facets) = given.get_many::<String>("facet") {
        body["facets"] = facets.map(String::as_str).collect();
    }
    let plain = given.get_flag("json");
    if !plain {
        body["highlightPreTag"] = json!(PRE);
        body["highlightPostTag"] = json!(POST);
    }
    let path = format!("/1/indexes/{}/query", segment(index));
    let mut answer = client.post(&path, body.to_string().as_bytes(), Encoding::Plain)?;
    let text = std::mem::take(&mut answer.text);
    let answer = answer.ok()?;
    if plain {
        // numbers as they are written
        println!("{text}");
    } else {
        let marks = if output::takes_colours(&std::io::stdout()) { Marks::Terminal } else { Marks::None };
        print!("{}", render(&answer, marks));
    }
    Ok(ExitCode::SUCCESS)
}

fn render(answer: &Value, marks: Marks) -> String {
    let mut out = String::new();
    let number = |name: &str| answer.get(name).and_then(Value::as_u64).unwrap_or(0);
    let first = number("page") * number("hitsPerPage");
    for (i, hit) in answer.get("hits").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let id = hit.get("objectID").and_then(Value::as_str).unwrap_or("?");
        writeln!(out, "{:>3}. {id}", first + i as u64 + 1).expect("writing to a string");
        if let Some(members) = hit.as_object() {
            hit_lines(&mut out, members, marks);
        }
    }
    for (attribute, counts) in answer.get("facets").and_then(Value::as_object).into_iter().flatten() {
        let counts: Vec<String> = counts
            .as_object()
            .into_iter()
            .flatten()
            .map(|(value, count)| format!("{} {count}", printable(value)))
            .collect();
        writeln!(out, "{attribute}: {}", counts.join(", ")).expect("writing to a string");
    }
    let (hits, ms) = (number("nbHits"), number("processingTimeMS"));
    let noun = if hits == 1 { "hit" } else { "hits" };
    writeln!(out, "{hits} {noun} in {ms} ms").expect("writing to a string");
    if let Some(message) = answer.get("message").and_then(Value::as_str) {
        writeln!(out, "{}", printable(message)).expect("writing to a string");
    }
    out
}

fn hit_lines(out: &mut String, members: &Map<String, Value>, marks: Marks) {
    let highlights = members.get("_highlightResult");
    let is_matched = |name: &str| highlights.and_then(|all| all.get(name)).is_some_and(has_match);
    let mut shown: Vec<(&String, &Value)> = members
        .iter()
        .filter(|(name, value)| {
            !name.starts_with('_') && *name != "objectID" && !matches!(value, Value::Object(_) | Value::Null)
        })
        .collect();
    // What matched comes first, then texts, because names say more than figures.
    shown.sort_by_key(|(name, value)| (!is_matched(name), !value.is_string()));
    for (name, value) in shown.into_iter().take(ATTRIBUTES_SHOWN) {
        let text = match highlights.and_then(|all| all.get(name)).map(marked) {
            Some(text) if !text.is_empty() => text,
            _ => plain_text(value),
        };
        writeln!(out, "     {name}: {}", paint(&shorten(&text), marks)).expect("writing to a string");
    }
}

/// Whether any value of an attribute holds a mark.
fn has_match(highlight: &Value) -> bool {
    marked(highlight).contains(PRE)
}

/// The highlighted form of an attribute: one value or several.
fn marked(highlight: &Value) -> String {
    match highlight {
        Value::Array(items) => items.iter().map(marked).collect::<Vec<_>>().join(", "),
        other => other.get("value").and_then(Value::as_str).unwrap_or_default().to_owned(),
    }
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain_text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Cuts a long text so that its first match stays in view.
fn shorten(text: &str) -> String {
    let total = text.chars().count();
    if total <= CHARS_SHOWN {
        return text.to_owned();
    }
    let first_match = text.chars().position(|c| c == PRE).unwrap_or(0);
    let start = if first_match + 40 < CHARS_SHOWN { 0 } else { first_match - 40 };
    let mut cut: String = text.chars().skip(start).take(CHARS_SHOWN).collect();
    if cut.chars().filter(|c| *c == PRE).count() > cut.chars().filter(|c| *c == POST).count() {
        cut.push(POST);
    }
    format!("{}{cut}{}", if start > 0 { "…" } else { "" }, if start + CHARS_SHOWN < total { "…" } else { "" })
}

fn paint(text: &str, marks: Marks) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match (c, marks) {
            (PRE, Marks::Terminal) => out.push_str("\u{1b}[1;33m"),
            (POST, Marks::Terminal) => out.push_str("\u{1b}[0m"),
            (c, _) if c.is_control() => {
                if c == '\n' || c == '\t' {
                    out.push(' ');
                }
            }
            (c, _) => out.push(c),
        }
    }
    out
}

/// Without characters that would steer the terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_shown_with_and_without_marks() {
        let answer = json!({
            "hits": [{
                "objectID": "7", "name": "Red lamp", "price": 12.5, "tags": ["a", "b"],
                "_highlightResult": {"name": {"value": "Red \u{2}lam\u{3}p", "matchLevel": "full"}}
            }],
            "nbHits": 1, "page": 0, "hitsPerPage": 10, "processingTimeMS": 2,
            "facets": {"color": {"red": 3}}
        });
        let plain = render(&answer, Marks::None);
        for line in [
            "  1. 7\n",
            "     name: Red lamp\n",
            "     price: 12.5\n",
            "     tags: a, b\n",
            "color: red 3\n",
            "1 hit in 2 ms\n",
        ] {
            assert!(plain.contains(line), "{plain:?} lacks {line:?}");
        }
        let beyond =
            json!({"hits": [], "nbHits": 3, "message": "you can only fetch\u{1b}[31m the 1000 hits"});
        assert!(
            render(&beyond, Marks::None).ends_with("3 hits in 0 ms\nyou can only fetch[31m the 1000 hits\n")
        );
        assert!(render(&answer, Marks::Terminal).contains("Red \u{1b}[1;33mlam\u{1b}[0mp"));
    }

    #[test]
    fn control_characters_of_records_never_reach_the_terminal() {
        let check = |text: &str, expected: &str| assert_eq!(paint(text, Marks::None), expected);
        check("a\u{1b}[31mb", "a[31mb");
        check("two\nlines", "two lines");
    }

    #[test]
    fn long_texts_keep_the_first_match() {
        let text = format!("{}{PRE}match{POST}{}", "x".repeat(500), "y".repeat(500));
        let short = shorten(&text);
        assert!(short.contains("match") && short.chars().count() <= CHARS_SHOWN + 3, "{short}");
    }
}
