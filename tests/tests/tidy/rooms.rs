//! Do the arrows between the rooms of a crate only go down, and is no circle of files large?

use crate::imports::Imports;
use crate::sources;
use quorate_tests::binary::workspace_root;
use std::collections::{BTreeMap, BTreeSet};

/// A crate whose rooms have an order.
struct House {
    /// Where its files are.
    folder: &'static str,
    /// The rooms, files and folders below that, from the bottom up; those of a row may use each other. A room uses what
    /// stands before it.
    rooms: &'static [&'static [&'static str]],
}

const HOUSES: &[House] = &[
    House {
        folder: "cluster/src/",
        rooms: &[
            &["clock", "ids", "metrics", "panics", "beside"],
            &["command"],
            &["meta"],
            &["disk"],
            &["peer"],
            &["snapshot"],
            &["request_log"],
            &["rate_limit"],
            &["types", "options"],
            &["apply"],
            &["rpc"],
            &["groups"],
            &["context"],
            &["read"],
            &["write"],
            &["suggestions"],
            &["users"],
            &["membership"],
            &["controllers"],
            &["lifecycle"],
            &["service"],
            &["lib"],
        ],
    },
    House {
        folder: "node/engine/src/",
        rooms: &[
            &["bits"],
            &["clock"],
            &["prefetch"],
            &["terms"],
            &["text"],
            &["limits"],
            &["page"],
            &["scratch"],
            &["language"],
            &["analysis"],
            &["resources"],
            &["index"],
            &["owners"],
            &["term_matches"],
            &["filter"],
            &["ranking"],
            &["query"],
            &["matching"],
            &["response"],
            &["rules"],
            &["facet"],
            &["configuration"],
            &["search"],
            &["browse"],
            &["recommend"],
            &["lib"],
        ],
    },
];

/// Files that may lie on one circle.
const CIRCLE_MAX: usize = 5;

/// Larger circles that are there: a file of each, how many files lie on it, and why. The list only shrinks.
const CIRCLES: &[(&str, usize, &str)] = &[];

/// Who uses whom in the crate below a folder.
fn imports(folder: &str) -> Imports {
    let files: BTreeMap<String, String> = sources()
        .into_iter()
        .filter_map(|file| Some((file.strip_prefix(folder)?.to_owned(), file)))
        .map(|(below, file)| (below, std::fs::read_to_string(workspace_root().join(file)).unwrap()))
        .collect();
    Imports::read(&files)
}

/// The room that a file lies in.
fn room_of(file: &str) -> &str {
    file.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

/// What of the imports goes up.
fn arrows_up(imports: &Imports, rooms: &[&[&str]]) -> Vec<String> {
    let floor = |file: &str| rooms.iter().position(|row| row.contains(&room_of(file)));
    let mut wrong = vec![];
    for (file, used) in &imports.edges {
        let Some(own) = floor(file) else {
            wrong.push(format!("{file} lies in no room of the table"));
            continue;
        };
        let up = used.iter().filter(|(other, _)| floor(other).is_none_or(|floor| floor > own));
        wrong.extend(up.map(|(other, path)| format!("{file} -> {other} ({path})")));
    }
    wrong
}

#[test]
fn arrows_between_rooms_go_down() {
    let mut wrong = vec![];
    for House { folder, rooms } in HOUSES {
        wrong
            .extend(arrows_up(&imports(folder), rooms).into_iter().map(|arrow| format!("{folder}: {arrow}")));
    }
    assert!(wrong.is_empty(), "what goes up:\n{}", wrong.join("\n"));
}

#[test]
fn an_arrow_up_is_found() {
    let files =
        [("a/mod.rs", "use crate::b::x;"), ("b/mod.rs", ""), ("b/x.rs", "use crate::a;"), ("c.rs", "")];
    let files = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    let imports = Imports::read(&files);
    let up = |rooms: &[&[&str]]| arrows_up(&imports, rooms).len();
    assert_eq!(up(&[&["a"], &["b"], &["c"]]), 1);
    assert_eq!(up(&[&["a", "b"], &["c"]]), 0);
    assert_eq!(up(&[&["a", "b"]]), 1, "a file in no room");
}

/// What is wrong with the circles of some crates, given those that are known to be large.
fn large_circles(circles: &[Vec<String>], known: &[(&str, usize, &str)]) -> Vec<String> {
    let mut wrong = vec![];
    for files in circles.iter().filter(|files| files.len() > CIRCLE_MAX) {
        match known.iter().find(|(file, ..)| files.iter().any(|it| it == file)) {
            Some((_, count, _)) if files.len() == *count => {}
            Some((file, count, _)) if files.len() < *count => {
                wrong.push(format!(
                    "{file} lies on a circle of {} by now, not of {count}: say so",
                    files.len()
                ));
            }
            Some(_) | None => wrong.push(format!("{} files: {}", files.len(), files.join(" "))),
        }
    }
    let is_large = |file: &str| {
        circles.iter().any(|files| files.len() > CIRCLE_MAX && files.iter().any(|other| other == file))
    };
    let gone = known.iter().filter(|(file, ..)| !is_large(file));
    wrong.extend(gone.map(|(file, ..)| format!("{file} lies on no large circle: take it off the list")));
    wrong
}

#[test]
fn circles_of_files_are_small() {
    let sources = sources();
    let folders: BTreeSet<String> =
        sources.iter().filter_map(|file| Some(format!("{}/src/", file.split_once("/src/")?.0))).collect();
    let is_crate = |folder: &String| {
        ["lib.rs", "main.rs"].iter().any(|root| sources.contains(&format!("{folder}{root}")))
    };
    let mut circles: Vec<Vec<String>> = vec![];
    for folder in folders.iter().filter(|folder| is_crate(folder)) {
        let imports = imports(folder);
        let of_crate = imports.circles();
        circles.extend(of_crate.iter().map(|it| it.iter().map(|file| format!("{folder}{file}")).collect()));
    }
    let wrong = large_circles(&circles, CIRCLES);
    assert!(wrong.is_empty(), "circles of more than {CIRCLE_MAX} files:\n{}", wrong.join("\n"));
}

#[test]
fn a_large_circle_is_found() {
    let circle = |files: usize| vec![(0..files).map(|file| file.to_string()).collect::<Vec<_>>()];
    let why = "a reason";
    for (files, known, wrong) in [
        (5, &[][..], 0),
        (6, &[], 1),
        (6, &[("0", 6, why)], 0),
        (7, &[("0", 6, why)], 1),
        (6, &[("0", 7, why)], 1),
        (6, &[("another", 6, why)], 2),
        (5, &[("0", 6, why)], 1),
    ] {
        let found = large_circles(&circle(files), known);
        assert_eq!(found.len(), wrong, "{files} {known:?}: {found:?}");
    }
}
