//! How do all rows of events become files? Day after day and group after group, in pages that a node hands out.

use super::patiently;
use crate::client::{Client, segment};
use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::ArgMatches;
use quorate_cluster::{PlainWriter, plain_rows};
use quorate_model::analytics::Day;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is to be written.
struct Export<'a> {
    client: &'a Client,
    folder: PathBuf,
    /// In their order; empty: all.
    indices: BTreeSet<String>,
}

/// Writes the files and says how many.
pub fn run(client: &Client, given: &ArgMatches) -> Result<ExitCode> {
    let folder = PathBuf::from(given.get_one::<String>("to").expect("clap requires it"));
    let indices = given.get_many::<String>("index").unwrap_or_default().cloned().collect();
    let days = (
        given.get_one::<Day>("from").copied().unwrap_or_default(),
        given.get_one::<Day>("until").copied().unwrap_or(Day(u32::MAX)),
    );
    if days.0 > days.1 {
        bail!("--from is after --until");
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let found = patiently(|| client.get("/admin/events"))?;
    let wanted = wanted(&found, days)?;
    if let Some(unheard) = found["unreachable"].as_array().filter(|unheard| !unheard.is_empty()) {
        eprintln!("{} nodes did not answer; what other nodes have of their groups is written", unheard.len());
    }
    let export = Export { client, folder, indices };
    let (mut rows, mut files) = (0, 0);
    for (day, groups) in wanted {
        let mut of_day = 0;
        for group in groups {
            let written = export.file(day, group).with_context(|| format!("day {day} of group {group}"))?;
            files += u64::from(written > 0);
            of_day += written;
        }
        rows += of_day;
        eprintln!("{day}  {of_day} rows");
    }
    println!("{rows} rows in {files} files in {}", export.folder.display());
    let lost = lost(&found);
    for (group, files) in &lost {
        eprintln!(
            "group {group}: {files} files of events are damaged or gone, whose rows are missing here (quorate events status)"
        );
    }
    Ok(if lost.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Groups whose rows are not whole on any node, with the files that the best of them lacks.
fn lost(found: &Value) -> Vec<(u64, u64)> {
    let groups = found["groups"].as_array().into_iter().flatten();
    let of_group = |group: &Value| {
        let nodes = group["nodes"].as_array().into_iter().flatten();
        let files = nodes.map(|node| node["lostFiles"].as_u64().unwrap_or_default()).min()?;
        (files > 0).then_some((group["group"].as_u64()?, files))
    };
    groups.filter_map(of_group).collect()
}

/// Groups that have rows of each day.
fn wanted(found: &Value, days: (Day, Day)) -> Result<BTreeMap<Day, BTreeSet<u64>>> {
    let mut wanted: BTreeMap<Day, BTreeSet<u64>> = BTreeMap::new();
    for group in found["groups"].as_array().context("the node is of another version")? {
        let number = group["group"].as_u64().context("a group has no number")?;
        for day in group["days"].as_array().context("a group has no days")? {
            let day = day["day"].as_str().and_then(Day::parse).context("a day is none")?;
            if (days.0..=days.1).contains(&day) {
                wanted.entry(day).or_default().insert(number);
            }
        }
    }
    Ok(wanted)
}

impl Export<'_> {
    /// Writes the rows of a day in a group. Without any there is no file, also where an earlier export wrote one.
    fn file(&self, day: Day, group: u64) -> Result<u64> {
        let folder = self.folder.join(day.to_string());
        let path = folder.join(format!("group-{group:05}.parquet"));
        let temporary = folder.join(format!("group-{group:05}.part"));
        let written = self.write(day, group, &folder, &temporary);
        let done = written.and_then(|rows| {
            match rows {
                0 => remove(&path)?,
                _ => std::fs::rename(&temporary, &path)
                    .with_context(|| format!("cannot rename {}", temporary.display()))?,
            }
            Ok(rows)
        });
        if !matches!(done, Ok(rows) if rows > 0) {
            remove(&temporary)?;
        }
        done
    }
    fn write(&self, day: Day, group: u64, folder: &Path, temporary: &Path) -> Result<u64> {
        let mut writer: Option<PlainWriter<BufWriter<File>>> = None;
        let all = [None];
        let some: Vec<Option<&String>> = self.indices.iter().map(Some).collect();
        for index in if some.is_empty() { &all[..] } else { &some } {
            let of_index = index.map_or_else(String::new, |name| format!("&index={}", segment(name)));
            let mut after = String::new();
            loop {
                let path = format!("/admin/events/rows?group={group}&day={day}{of_index}{after}");
                let page = patiently(|| self.client.get(&path))?;
                let file = page["parquet"].as_str().context("the answer has no rows")?;
                let file = STANDARD.decode(file).context("the rows are damaged")?;
                if !file.is_empty() {
                    let out = match &mut writer {
                        Some(writer) => writer,
                        none => none.insert(create(folder, temporary)?),
                    };
                    for row in plain_rows(file).context("the rows are damaged")? {
                        out.push(row).with_context(|| cannot_write(temporary))?;
                    }
                }
                match page["next"].as_str() {
                    Some(next) => after = format!("&after={next}"),
                    None => break,
                }
            }
        }
        let Some(writer) = writer else { return Ok(0) };
        let rows = writer.rows();
        let out = writer.finish().with_context(|| cannot_write(temporary))?;
        let file =
            out.into_inner().map_err(|error| error.into_error()).with_context(|| cannot_write(temporary))?;
        file.sync_all().with_context(|| cannot_write(temporary))?;
        Ok(rows)
    }
}

fn create(folder: &Path, temporary: &Path) -> Result<PlainWriter<BufWriter<File>>> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let file = File::create(temporary).with_context(|| cannot_write(temporary))?;
    PlainWriter::new(BufWriter::new(file)).with_context(|| cannot_write(temporary))
}
fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}
fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn days_are_those_that_are_asked_for_in_any_group() {
        let of = |group: u64, days: &[&str]| {
            let days: Vec<Value> = days.iter().map(|day| json!({"day": day, "rows": 1})).collect();
            json!({"group": group, "days": days})
        };
        let found =
            json!({"groups": [of(3, &["2026-01-01", "2026-01-02"]), of(5, &["2026-01-02", "2026-01-03"])]});
        let day = |text| Day::parse(text).expect("a day");
        let wanted = wanted(&found, (day("2026-01-02"), Day(u32::MAX))).expect("read");
        let expected = [(day("2026-01-02"), [3, 5].into()), (day("2026-01-03"), [5].into())];
        assert_eq!(wanted, expected.into());
    }

    #[test]
    fn what_no_node_has_whole_is_lost() {
        let group = |number: u64, lost: &[u64]| {
            let nodes: Vec<Value> = lost.iter().map(|files| json!({"lostFiles": files})).collect();
            json!({"group": number, "nodes": nodes})
        };
        let groups = [group(1, &[0, 2]), group(2, &[3, 2]), group(3, &[1]), group(4, &[]), group(5, &[0])];
        assert_eq!(lost(&json!({"groups": groups})), [(2, 2), (3, 1)]);
        // nodes of earlier versions do not say it
        assert_eq!(lost(&json!({"groups": [{"group": 1, "nodes": [{"rows": 1}]}]})), []);
    }
}
