//! How does a model that was made elsewhere become a file? Lists of neighbours as JSON lines, checked line by line.
//!
//! The first line says the version and how many lines follow: `{"version":1,"items":2}`. Each other line is a list:
//! `{"objectID":"a","neighbours":[{"objectID":"b","score":0.5}]}`. Scores are positive, and those of a list tell only against each other.

use super::lists::NEIGHBOURS_MAX;
use super::names::Names;
use super::parameters::Choice;
use super::report::Report;
use super::writer::{ModelWriter, SCORE_BEST};
use quorate_model::limits::OBJECT_ID_BYTES_MAX;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// The version of the format that is read.
const VERSION: u32 = 1;
/// Users that an item is taken to have had when its line does not say: so many that its list is not filled from elsewhere.
const USERS: u32 = 1_000;

#[derive(Deserialize)]
struct Head {
    version: u32,
    items: u64,
}
#[derive(Deserialize)]
struct Line<'l> {
    #[serde(rename = "objectID", borrow)]
    object_id: Cow<'l, str>,
    #[serde(borrow)]
    neighbours: Vec<Entry<'l>>,
    #[serde(default)]
    users: Option<u32>,
}
#[derive(Deserialize)]
struct Entry<'l> {
    #[serde(rename = "objectID", borrow)]
    object_id: Cow<'l, str>,
    score: f64,
}
/// A list: users, and numbers of items with the hundredths of their scores, the best first.
type List = (u32, Vec<(u32, u16)>);

/// Makes the file of a model of JSON lines. Errors: what is wrong, with the line. Cost: some microseconds a neighbour; about as much
/// memory as the lines take.
pub fn uploaded(body: &[u8]) -> Result<Vec<u8>, String> {
    let mut lines =
        body.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    let first = lines.next().ok_or("the body is empty: expected JSON lines")?;
    let head: Head = read(first)?;
    if head.version != VERSION {
        return Err(format!("version {} is not known: expected {VERSION}", head.version));
    }
    let (mut names, mut lists) = (Names::default(), BTreeMap::<u32, List>::new());
    let mut count = 0;
    for (at, text) in lines {
        let line: Line<'_> = read((at, text))?;
        let wrong = |what: String| format!("line {}: {what}", at + 1);
        let source = number(&mut names, &line.object_id).map_err(wrong)?;
        let list = list_of(&mut names, source, &line.neighbours).map_err(wrong)?;
        if lists.insert(source, (line.users.unwrap_or(USERS), list)).is_some() {
            return Err(wrong("the objectID has had a line already".to_owned()));
        }
        count += 1;
    }
    if count != head.items {
        return Err(format!("{count} lists have come, the first line says {}", head.items));
    }
    let neighbours: u64 = lists.values().map(|(_, list)| list.len() as u64).sum();
    if neighbours == 0 {
        return Err("there are no neighbours".to_owned());
    }
    write(names, lists, neighbours).map_err(|error| error.to_string())
}

fn read<'l, T: Deserialize<'l>>((at, line): (usize, &'l [u8])) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| {
        let text = error.to_string();
        format!(
            "line {}, column {}: {}",
            at + 1,
            error.column(),
            text.split(" at line ").next().unwrap_or("not JSON")
        )
    })
}

fn number(names: &mut Names, id: &str) -> Result<u32, String> {
    if !(1..=OBJECT_ID_BYTES_MAX).contains(&id.len()) {
        return Err(format!("an objectID must have 1 to {OBJECT_ID_BYTES_MAX} bytes"));
    }
    names.place(id).map_err(|error| error.to_string())
}

fn list_of(names: &mut Names, source: u32, entries: &[Entry<'_>]) -> Result<Vec<(u32, u16)>, String> {
    if entries.len() > NEIGHBOURS_MAX {
        return Err(format!("{} neighbours: at most {NEIGHBOURS_MAX} are taken", entries.len()));
    }
    let mut scored = Vec::with_capacity(entries.len());
    for entry in entries {
        let item = number(names, &entry.object_id)?;
        if item == source {
            return Err("an item is its own neighbour".to_owned());
        }
        if scored.iter().any(|(other, _)| *other == item) {
            return Err("a neighbour is there twice".to_owned());
        }
        if !(entry.score.is_finite() && entry.score > 0.0) {
            return Err(format!("score {}: expected a number above 0", entry.score));
        }
        scored.push((item, entry.score));
    }
    // of equal ones the one that came first
    scored.sort_by(|a, b| b.1.total_cmp(&a.1));
    let best = scored.first().map_or(1.0, |(_, score)| *score);
    let hundredths = |score: f64| (score / best * f64::from(SCORE_BEST)).round().max(1.0) as u16;
    Ok(scored.into_iter().map(|(item, score)| (item, hundredths(score))).collect())
}

fn write(names: Names, lists: BTreeMap<u32, List>, neighbours: u64) -> super::Result<Vec<u8>> {
    let (names, numbers) = names.sorted(&AtomicBool::new(false))?;
    let mut in_order: Vec<Option<List>> = vec![None; names.len()];
    for (place, list) in lists {
        in_order[numbers[place as usize] as usize] = Some(list);
    }
    let mut writer = ModelWriter::new(vec![])?;
    for list in in_order {
        // who is a neighbour alone has no list
        let (users, list) = list.unwrap_or_default();
        writer.list(users, list.into_iter().map(|(place, score)| (numbers[place as usize], score)))?;
    }
    let report = Report {
        rows: 0,
        robots: 0,
        users: 0,
        baskets: None,
        items: names.len() as u32,
        interactions: 0,
        neighbours,
        parameters: Choice::DEFAULT.parameters(),
        held_out: None,
        is_uploaded: true,
    };
    writer.finish((0..names.len() as u32).map(|number| names.id(number)), &report)
}

#[cfg(test)]
mod tests {
    use super::super::Model;
    use super::*;

    #[test]
    fn lists_become_a_model_that_is_whole() {
        let body = concat!(
            "{\"version\":1,\"items\":2}\n",
            "{\"objectID\":\"z\",\"neighbours\":[{\"objectID\":\"b\",\"score\":1},{\"objectID\":\"a\",\"score\":4}],\"users\":7}\r\n",
            "\n{\"objectID\":\"a\\u00e9\",\"neighbours\":[{\"objectID\":\"z\",\"score\":1e-3}]}"
        );
        let file = uploaded(body.as_bytes()).expect("a model");
        let model = Model::open(&file).expect("a file");
        model.check().expect("whole");
        let of = |id: &str| -> Vec<(String, u16)> {
            let found = model.lookup(id).expect("read").expect("known");
            found.list.iter().map(|it| (it.item.to_owned(), it.hundredths)).collect()
        };
        assert_eq!(of("z"), [("a".to_owned(), 10_000), ("b".to_owned(), 2_500)]);
        assert_eq!(of("aé"), [("z".to_owned(), 10_000)]);
        assert_eq!(of("b"), []);
        assert_eq!(model.lookup("z").expect("read").expect("known").users, 7);
        let report = model.report().expect("a report");
        assert!(report.is_uploaded);
        assert_eq!((report.items, report.neighbours), (4, 3));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let list = |text: &str| format!("{{\"version\":1,\"items\":1}}\n{text}");
        let many =
            (0..101).map(|at| format!(r#"{{"objectID":"o{at}","score":1}}"#)).collect::<Vec<_>>().join(",");
        for (body, expected) in [
            (String::new(), "the body is empty"),
            ("{\"items\":1}".to_owned(), "missing field `version`"),
            ("{\"version\":2,\"items\":0}".to_owned(), "version 2 is not known: expected 1"),
            ("{\"version\":1,\"items\":3}\n".to_owned(), "0 lists have come, the first line says 3"),
            ("{\"version\":1,\"items\":0}".to_owned(), "there are no neighbours"),
            (list("[]"), "line 2"),
            (list("{\"objectID\":\"a\"}"), "missing field `neighbours`"),
            (list("{\"objectID\":\"\",\"neighbours\":[]}"), "line 2: an objectID must have 1 to 512 bytes"),
            (
                list("{\"objectID\":\"a\",\"neighbours\":[{\"objectID\":\"a\",\"score\":1}]}"),
                "its own neighbour",
            ),
            (
                list("{\"objectID\":\"a\",\"neighbours\":[{\"objectID\":\"b\",\"score\":0}]}"),
                "expected a number above 0",
            ),
            (
                list("{\"objectID\":\"a\",\"neighbours\":[{\"objectID\":\"b\",\"score\":\"x\"}]}"),
                "invalid type",
            ),
            (
                list(
                    "{\"objectID\":\"a\",\"neighbours\":[{\"objectID\":\"b\",\"score\":1},{\"objectID\":\"b\",\"score\":1}]}",
                ),
                "line 2: a neighbour is there twice",
            ),
            (
                list(&format!("{{\"objectID\":\"a\",\"neighbours\":[{many}]}}")),
                "line 2: 101 neighbours: at most 100",
            ),
            (
                list("{\"objectID\":\"a\",\"neighbours\":[]}\n{\"objectID\":\"a\",\"neighbours\":[]}"),
                "line 3: the objectID has had a line",
            ),
        ] {
            let wrong = uploaded(body.as_bytes()).expect_err("wrong");
            assert!(wrong.contains(expected), "{wrong} for {expected}");
        }
    }
}
