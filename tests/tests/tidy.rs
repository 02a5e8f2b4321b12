//! Does the repository keep to its own layout: crate edges, doors, top-level folders, no paths of a machine?

use quorate_tests::binary::workspace_root;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which crate may depend on which of ours, for the program and for its tests.
const EDGES: &[(&str, &[&str])] = &[
    ("quorate-model", &[]),
    // The index layer writes its files through the store's file layer, so that a test can cut the power.
    ("quorate-engine", &["model", "store"]),
    ("quorate-store", &["model"]),
    ("quorate-node", &["model", "engine", "store"]),
    ("quorate-raft", &["model", "store"]),
    ("quorate-cluster", &["model", "store", "node", "raft"]),
    ("quorate-wire", &["model"]),
    ("quorate-api", &["model", "wire", "cluster"]),
    ("quorate", &["api", "model", "cluster"]),
    ("quorate-tests", &["model"]),
];

/// Foreign engines and the places that may name them. A word counts where it starts a path: `word::`.
const DOORS: &[(&str, &[&str])] = &[
    ("tantivy", &["node/engine/src/index/", "node/engine/benches/"]),
    ("sled", &["node/store/src/kv.rs"]),
    ("bincode", &["node/store/src/codec.rs"]),
    ("raft_engine", &["cluster/raft/"]),
    ("raft", &["cluster/raft/"]),
    ("actix_web", &["api/src/", "api/tests/", "api/benches/"]),
    (
        "actix",
        &[
            "node/src/shard/",
            "cluster/src/apply/",
            "cluster/src/groups/mod.rs",
            "cluster/src/groups/start.rs",
            "cluster/raft/src/",
            "cluster/tests/apply/",
        ],
    ),
    ("ureq", &["api/quorate/", "tests/"]),
    ("tokio_rustls", &["cluster/src/peer/"]),
    ("rcgen", &["cluster/src/peer/"]),
];

const TOP_FOLDERS: [&str; 5] = ["api", "cluster", "deploy", "node", "tests"];

#[test]
fn crates_depend_only_downwards() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(workspace_root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
    let allowed: BTreeMap<&str, &[&str]> = EDGES.iter().copied().collect();
    let is_there = |name: &str| metadata.packages.iter().any(|package| package.name.as_str() == name);
    let mut wrong: Vec<String> =
        allowed.keys().filter(|name| !is_there(name)).map(|name| format!("{name} does not exist")).collect();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let Some(edges) = allowed.get(name) else {
            wrong.push(format!("{name} is not in the table of crates"));
            continue;
        };
        for dependency in &package.dependencies {
            if let Some(short) = dependency.name.strip_prefix("quorate-")
                && !edges.contains(&short)
            {
                wrong.push(format!("{name} -> {}", dependency.name));
            }
        }
    }
    assert!(wrong.is_empty(), "edges outside the table:\n{}", wrong.join("\n"));
}

/// A dependency that no source names is built for nothing, and read by whoever looks for what a crate uses.
#[test]
fn every_dependency_is_named_by_a_source() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(workspace_root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
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
    let is_named = |text: &str, name: &str| {
        let name = name.replace('-', "_");
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        text.match_indices(&name).any(|(at, _)| {
            let after = text[at + name.len()..].chars().next();
            !text[..at].chars().next_back().is_some_and(is_part) && !after.is_some_and(is_part)
        })
    };
    let mut wrong = vec![];
    for (package, folder) in metadata.packages.iter().zip(&folders) {
        let text = texts.get(folder).map(String::as_str).unwrap_or_default();
        for dependency in &package.dependencies {
            if !is_named(text, &dependency.name) {
                wrong.push(format!("{} -> {}", package.name, dependency.name));
            }
        }
    }
    assert!(wrong.is_empty(), "dependencies that no source names:\n{}", wrong.join("\n"));
}

#[test]
fn foreign_engines_are_named_behind_their_doors_only() {
    let mut wrong = Vec::new();
    // This file has the names in its own examples.
    for file in sources().into_iter().filter(|file| file != "tests/tests/tidy.rs") {
        let text = std::fs::read_to_string(workspace_root().join(&file)).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for (engine, places) in DOORS {
                let is_inside = places.iter().any(|place| file.starts_with(place));
                if !is_inside && names(code, engine) {
                    wrong.push(format!("{file}:{}: {engine}", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "engines named elsewhere:\n{}", wrong.join("\n"));
}

/// Whether a line of code uses the crate: `name::` not preceded by a letter, `::` or a word of ours.
fn names(code: &str, engine: &str) -> bool {
    let code = code.trim_start();
    if let Some(rest) = code.strip_prefix("use ")
        && (rest.starts_with(&format!("{engine}::")) || rest.starts_with(&format!("{engine};")))
    {
        return true;
    }
    // `crate::raft::…` and `self::raft::…` are modules of ours.
    code.match_indices(&format!("{engine}::")).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') && !code.starts_with("use ")
    })
}

#[test]
fn a_use_of_an_engine_is_recognised() {
    for (code, expected) in [
        ("use sled::Db;", true),
        ("    let x = sled::open(p);", true),
        ("use crate::sled::x;", false),
        ("let assled::x;", false),
        ("use quorate_raft::core;", false),
        ("fn f(x: &raft::Config)", true),
    ] {
        let engine = if code.contains("raft") { "raft" } else { "sled" };
        assert_eq!(names(code, engine), expected, "{code}");
    }
}

#[test]
fn the_top_level_is_as_described() {
    let folders: BTreeSet<String> = tracked()
        .iter()
        .filter_map(|path| path.split_once('/').map(|(top, _)| top.to_string()))
        .filter(|top| !top.starts_with('.'))
        .collect();
    let expected: BTreeSet<String> = TOP_FOLDERS.iter().map(|name| name.to_string()).collect();
    assert_eq!(folders, expected, "top-level folders");
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    let home = ["/ro", "ot/"].concat();
    let work = ["/wo", "rk/"].concat();
    let users = ["/Us", "ers/"].concat();
    let mut wrong = Vec::new();
    for file in tracked() {
        let Ok(text) = std::fs::read_to_string(workspace_root().join(&file)) else { continue };
        for (number, line) in text.lines().enumerate() {
            // Images are built in folders of that name in their own world.
            let is_image = file.starts_with("deploy/") && line.trim_start().starts_with(['W', 'C']);
            if !is_image && [&home, &work, &users].iter().any(|path| starts_a_path(line, path)) {
                wrong.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "paths of a machine:\n{}", wrong.join("\n"));
}

/// Whether the line has `path` where a path begins, not inside a longer one such as a URL that ends alike.
fn starts_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/~*{}$%)".contains(c))
    })
}

#[test]
fn source_files_say_what_they_answer() {
    let mut wrong = Vec::new();
    for file in sources() {
        let text = std::fs::read_to_string(workspace_root().join(&file)).unwrap();
        if !text.starts_with("//! ") {
            wrong.push(file);
        }
    }
    assert!(
        wrong.is_empty(),
        "files without a first line that says what they are for:\n{}",
        wrong.join("\n")
    );
}

/// `C§7.2` in a comment means a section of `api/contract.md`.
#[test]
fn what_comments_cite_of_the_contract_is_there() {
    let read = |file: &str| std::fs::read_to_string(workspace_root().join(file)).unwrap();
    let number = |text: &str| {
        let number: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        number.trim_end_matches('.').to_owned()
    };
    let contract = read("api/contract.md");
    let headings: BTreeSet<String> = contract
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| number(line.trim_start_matches(['#', ' '])))
        .collect();
    let mut wrong = vec![];
    for file in tracked().into_iter().filter(|path| path.ends_with(".rs") || path.ends_with(".md")) {
        let text = read(&file);
        let cited = text.split("C§").skip(1).map(number).filter(|cited| !cited.is_empty());
        wrong.extend(
            cited.filter(|cited| !headings.contains(cited)).map(|cited| format!("{file}: C§{cited}")),
        );
    }
    assert!(wrong.is_empty(), "sections that the contract does not have:\n{}", wrong.join("\n"));
}

/// Rust files of the repository.
fn sources() -> Vec<String> {
    tracked().into_iter().filter(|path| path.ends_with(".rs")).collect()
}

/// Every file git knows, or, outside a clone, every file that is not built.
fn tracked() -> Vec<String> {
    let root = workspace_root();
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(&root).output();
    let mut files: Vec<String> = match listed {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            let text = String::from_utf8(output.stdout).expect("names in the repository are UTF-8");
            text.split('\0').filter(|name| !name.is_empty()).map(str::to_string).collect()
        }
        _ => {
            let mut found = Vec::new();
            walk(&root, &root, &mut found);
            found
        }
    };
    // A file may be on its way out.
    files.retain(|name| root.join(name).is_file());
    files
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !["target", "node_modules", ".git"].contains(&name) {
                walk(root, &path, found);
            }
        } else {
            found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
        }
    }
}
