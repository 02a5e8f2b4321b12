//! Do crates depend on each other as the table says, and on nothing that no source of theirs names?

use crate::sources;
use cargo_metadata::{Metadata, MetadataCommand};
use quorate_tests::binary::workspace_root;
use std::collections::BTreeMap;

/// Which crate may depend on which of ours, for the program and for its tests.
type Edges<'a> = [(&'a str, Vec<&'a str>)];

/// The table of crates of a document: the first cell names a crate, the last one what it uses, `–` for nothing.
fn table(document: &str) -> Vec<(&str, Vec<&str>)> {
    let rows = document.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [name, folder, _, uses] = cells[..] else { return None };
        let is_row = name.starts_with("quorate") && folder.starts_with('`');
        is_row.then(|| (name, uses.split(", ").filter(|name| *name != "–").collect()))
    });
    rows.collect()
}

fn metadata() -> Metadata {
    MetadataCommand::new().manifest_path(workspace_root().join("Cargo.toml")).no_deps().exec().unwrap()
}

/// What of the crates and their dependencies is not as a table says, and what of the table is not there.
fn outside(crates: &Edges, table: &Edges) -> Vec<String> {
    let is_there = |name: &str| crates.iter().any(|(there, _)| *there == name);
    let gone = table.iter().filter(|(name, _)| !is_there(name));
    let mut wrong: Vec<String> = gone.map(|(name, _)| format!("{name} does not exist")).collect();
    for (name, dependencies) in crates {
        let Some((_, edges)) = table.iter().find(|(known, _)| known == name) else {
            wrong.push(format!("{name} is not in the table of crates"));
            continue;
        };
        let ours = dependencies.iter().filter_map(|dependency| dependency.strip_prefix("quorate-"));
        let ours: Vec<&str> = ours.collect();
        let unknown = ours.iter().filter(|short| !edges.contains(short));
        wrong.extend(unknown.map(|short| format!("{name} -> quorate-{short}")));
        let unused = edges.iter().filter(|short| !ours.contains(short));
        wrong.extend(unused.map(|short| format!("{name} does not use quorate-{short}")));
    }
    for (at, (name, edges)) in table.iter().enumerate() {
        let is_above =
            |short: &&&str| !table[..at].iter().any(|(it, _)| it.strip_prefix("quorate-") == Some(**short));
        wrong.extend(
            edges.iter().filter(is_above).map(|short| format!("{name} stands before quorate-{short}")),
        );
    }
    wrong
}

#[test]
fn crates_depend_only_downwards() {
    let metadata = metadata();
    let crates: Vec<(&str, Vec<&str>)> = metadata
        .packages
        .iter()
        .map(|package| {
            (package.name.as_str(), package.dependencies.iter().map(|d| d.name.as_str()).collect())
        })
        .collect();
    let document = std::fs::read_to_string(workspace_root().join("ARCHITECTURE.md")).unwrap();
    let wrong = outside(&crates, &table(&document));
    assert!(
        wrong.is_empty(),
        "crates that are not as the table of ARCHITECTURE.md says:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn an_edge_outside_the_table_is_found() {
    let table =
        table("| quorate-a | `a` | what? | – |\n| quorate-b | `b` | how? | a |\n| other | b | c | a |");
    assert_eq!(table, [("quorate-a", vec![]), ("quorate-b", vec!["a"])]);
    let (a, b) = (("quorate-a", vec!["serde"]), ("quorate-b", vec!["quorate-a", "serde"]));
    assert!(outside(&[a.clone(), b.clone()], &table).is_empty());
    let up = ("quorate-a", vec!["quorate-b"]);
    assert_eq!(outside(&[up, b.clone()], &table), ["quorate-a -> quorate-b"]);
    assert_eq!(outside(std::slice::from_ref(&a), &table), ["quorate-b does not exist"]);
    let new = ("quorate-c", vec![]);
    assert_eq!(outside(&[a.clone(), b.clone(), new], &table), ["quorate-c is not in the table of crates"]);
    let without = ("quorate-b", vec!["serde"]);
    assert_eq!(outside(&[a.clone(), without], &table), ["quorate-b does not use quorate-a"]);
    let turned = [table[1].clone(), table[0].clone()];
    assert_eq!(outside(&[a, b], &turned), ["quorate-b stands before quorate-a"]);
}

/// Whether the text of a crate names a dependency as a whole word.
fn is_named(text: &str, dependency: &str) -> bool {
    let name = dependency.replace('-', "_");
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&name).any(|(at, _)| {
        let after = text[at + name.len()..].chars().next();
        !text[..at].chars().next_back().is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// A dependency that no source names is built for nothing, and read by whoever looks for what a crate uses.
#[test]
fn every_dependency_is_named_by_a_source() {
    let metadata = metadata();
    let folder = |package: &cargo_metadata::Package| {
        let folder = package.manifest_path.parent().unwrap().strip_prefix(&metadata.workspace_root).unwrap();
        format!("{folder}/")
    };
    let folders: Vec<String> = metadata.packages.iter().map(folder).collect();
    // a file belongs to the crate whose folder is the longest that it lies in
    let owner = |file: &str| {
        let around = folders.iter().filter(|folder| file.starts_with(folder.as_str()));
        around.max_by_key(|folder| folder.len()).cloned()
    };
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for file in sources() {
        if let Some(folder) = owner(&file) {
            let text = std::fs::read_to_string(workspace_root().join(&file)).unwrap();
            texts.entry(folder).or_default().push_str(&text);
        }
    }
    let mut wrong = vec![];
    for (package, folder) in metadata.packages.iter().zip(&folders) {
        let text = texts.get(folder).map(String::as_str).unwrap_or_default();
        let unnamed = package.dependencies.iter().filter(|dependency| !is_named(text, &dependency.name));
        wrong.extend(unnamed.map(|dependency| format!("{} -> {}", package.name, dependency.name)));
    }
    assert!(wrong.is_empty(), "dependencies that no source names:\n{}", wrong.join("\n"));
}

#[test]
fn a_dependency_that_no_source_names_is_found() {
    for (text, expected) in [
        ("use serde_json::Value;", true),
        ("fn f() -> serde_json::Value {", true),
        ("use serde::Serialize;", false),
        ("use my_serde_json::x;", false),
        ("let serde_json_text = 1;", false),
    ] {
        assert_eq!(is_named(text, "serde-json"), expected, "{text}");
    }
}

/// What `deny.toml` lets through is there, and ends; what it keeps out is not there.
#[test]
fn exceptions_for_dependencies_are_about_what_is_there() {
    let read = |file: &str| std::fs::read_to_string(workspace_root().join(file)).unwrap();
    let (deny, lock) = (read("deny.toml"), read("Cargo.lock"));
    let is_there = |name: &str| lock.contains(&format!("\nname = \"{name}\"\n"));
    let mut rows = [0; 2];
    for line in deny.lines().map(str::trim) {
        let member = |name: &str| {
            let (_, rest) = line.split_once(&format!("{name} = \""))?;
            rest.split_once('"').map(|(value, _)| value)
        };
        if line.starts_with("{ id = ") {
            let reason = member("reason").expect("each has a reason");
            let name = reason.split(' ').next().unwrap_or_default();
            assert!(is_there(name) && reason.contains(". Ends "), "{line}");
            rows[0] += 1;
        } else if line.starts_with("{ allow = ") {
            // there may be none
            assert!(is_there(member("crate").expect("each is for a crate")), "{line}");
        } else if line.starts_with("{ name = ") {
            assert!(!is_there(member("name").unwrap_or_default()), "{line}");
            rows[1] += 1;
        }
    }
    assert!(rows.iter().all(|count| *count > 0), "{rows:?}");
}
