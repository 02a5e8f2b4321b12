//! Which files are imported, and what are their rows? JSON lines, CSV and Parquet, row by row with the place of each.

use crate::import::source::{Form, Source};
use anyhow::{Context, Result, bail};
use quorate_cluster::foreign_rows;
use serde_json::{Map, Value};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Names that a file of a folder may end with.
const ENDINGS: [&str; 8] =
    [".parquet", ".jsonl", ".ndjson", ".json", ".csv", ".jsonl.gz", ".ndjson.gz", ".csv.gz"];
/// Files of one import.
const FILES_MAX: usize = 100_000;
/// Folders within folders.
const DEPTH_MAX: usize = 16;

/// A row, and where it stood.
pub struct Found {
    /// Its members; what is null is left out.
    pub members: Map<String, Value>,
    /// `line 5` or `row 5`.
    pub place: String,
}

/// Reads the rows of a file.
pub enum Rows {
    /// Text.
    Text(Source),
    /// Parquet.
    Parquet(Box<dyn Iterator<Item = std::io::Result<Map<String, Value>>> + Send>, u64),
}

impl Rows {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Rows> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if name.ends_with(".parquet") {
            let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
            return Ok(Rows::Parquet(Box::new(foreign_rows(file)?), 0));
        }
        let is_csv = name.ends_with(".csv") || name.ends_with(".csv.gz");
        Ok(Rows::Text(Source::open(path, is_csv.then_some(Form::CsvText))?))
    }
    /// The next row, `None` at the end. Errors name the place.
    pub fn next_row(&mut self) -> Result<Option<Found>> {
        match self {
            Rows::Text(source) => {
                let Some(found) = source.next_record()? else { return Ok(None) };
                let place = format!("line {}", found.line);
                let members: Map<String, Value> =
                    serde_json::from_str(&found.json).with_context(|| place.clone())?;
                Ok(Some(Found { members: without_nulls(members), place }))
            }
            Rows::Parquet(rows, number) => {
                *number += 1;
                let place = format!("row {number}");
                let Some(members) = rows.next() else { return Ok(None) };
                Ok(Some(Found { members: members.with_context(|| place.clone())?, place }))
            }
        }
    }
}

fn without_nulls(members: Map<String, Value>) -> Map<String, Value> {
    members.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// The files that are meant, of folders in the order of their names. Errors: there is nothing.
pub fn meant<'a>(given: impl Iterator<Item = &'a String>) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    for given in given {
        let path = Path::new(given);
        let before = files.len();
        match path.is_dir() {
            true => add_folder(path, 0, &mut files)?,
            false => files.push(path.to_owned()),
        }
        if files.len() == before {
            bail!("{} has no file that ends with {}", path.display(), ENDINGS.join(", "));
        }
    }
    Ok(files)
}
fn add_folder(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let cannot = || format!("cannot read {}", folder.display());
    let entries = std::fs::read_dir(folder).with_context(cannot)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| Ok(entry.with_context(cannot)?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if depth >= DEPTH_MAX {
                bail!("{} is more than {DEPTH_MAX} folders deep", path.display());
            }
            add_folder(&path, depth + 1, files)?;
        } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            bail!("there are more than {FILES_MAX} files: name fewer at a time");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_folders_every_file_is_taken_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("b/c")).unwrap();
        for name in ["z.csv", "b/group.part", "b/c/1.parquet", "a.JSONL", "notes.txt", ".hidden.csv"] {
            std::fs::write(at(name), "").unwrap();
        }
        let text = folder.path().to_string_lossy().into_owned();
        let single = at("notes.txt").to_string_lossy().into_owned();
        let found = meant([text, single].iter()).unwrap();
        assert_eq!(found, ["a.JSONL", "b/c/1.parquet", "z.csv", "notes.txt"].map(at));
        std::fs::create_dir(at("empty")).unwrap();
        let empty = at("empty").to_string_lossy().into_owned();
        assert!(meant([empty].iter()).unwrap_err().to_string().contains("has no file that ends with"));
    }

    #[test]
    fn cells_of_csv_stay_as_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "user,position,event\n007,1,\n").unwrap();
        let row = Rows::open(&path).unwrap().next_row().unwrap().unwrap();
        assert_eq!(Value::Object(row.members), serde_json::json!({"user": "007", "position": "1"}));
        assert_eq!(row.place, "line 2");
        for end in ["\n", "\r\n"] {
            let lines = ["user,query,event", "u,,", "\"v\",\"a\nb\",e", "w,\"\",", ""].join(end);
            std::fs::write(&path, lines).unwrap();
            let mut rows = Rows::open(&path).unwrap();
            for (place, query) in [("line 2", ""), ("line 3", "a\nb"), ("line 5", "")] {
                let row = rows.next_row().unwrap().unwrap();
                assert_eq!(
                    (row.place.as_str(), &row.members["query"]),
                    (place, &Value::from(query)),
                    "{end:?}"
                );
            }
        }
    }
}
