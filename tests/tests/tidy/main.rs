//! Does the repository keep to its own layout: crate edges, rooms, sizes, doors, top-level folders, no paths of a machine?

mod crates;
mod doors;
mod imports;
mod rooms;
mod sizes;

use quorate_tests::binary::workspace_root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOP_FOLDERS: [&str; 5] = ["api", "cluster", "deploy", "node", "tests"];

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

/// The level at which something began is a constant of `node/model/src/level.rs`, where it is looked for when a level is raised.
#[test]
fn levels_stand_in_one_file() {
    let mut wrong = vec![];
    for file in sources().into_iter().filter(|file| file.contains("/src/")) {
        let text = std::fs::read_to_string(workspace_root().join(&file)).unwrap();
        let constants = text.lines().filter(|line| line.contains("_LEVEL: u16 = "));
        wrong.extend(constants.map(|line| format!("{file}: {}", line.trim())));
    }
    assert!(wrong.is_empty(), "levels outside node/model/src/level.rs:\n{}", wrong.join("\n"));
}

/// What a document for newcomers names is there: paths that begin with a top-level folder.
#[test]
fn paths_that_documents_name_are_there() {
    let mut wrong = vec![];
    for document in
        ["ARCHITECTURE.md", "CONTRIBUTING.md", "cluster/README.md", "node/README.md", "tests/README.md"]
    {
        let text = std::fs::read_to_string(workspace_root().join(document)).unwrap();
        let words = text.split(|c: char| c.is_whitespace() || "`(),;|#*".contains(c));
        let paths = words.map(|word| word.trim_end_matches(['.', ':'])).filter(|word| {
            word.split_once('/').is_some_and(|(top, rest)| TOP_FOLDERS.contains(&top) && !rest.is_empty())
        });
        let gone = paths.filter(|path| !workspace_root().join(path).exists());
        wrong.extend(gone.map(|path| format!("{document}: {path}")));
    }
    assert!(wrong.is_empty(), "paths that are not there:\n{}", wrong.join("\n"));
}

/// `api/README.md` is where a stranger looks for an endpoint.
#[test]
fn every_folder_of_the_interface_is_in_its_table() {
    let text = std::fs::read_to_string(workspace_root().join("api/README.md")).unwrap();
    let folders = sources().into_iter().filter_map(|file| {
        let (folder, _) = file.strip_prefix("api/src/")?.split_once('/')?;
        Some(format!("src/{folder}"))
    });
    // the tests of a file lie in a folder of its name
    let is_named =
        |folder: &String| text.contains(&format!("`{folder}/")) || text.contains(&format!("`{folder}.rs`"));
    let missing: BTreeSet<String> = folders.filter(|folder| !is_named(folder)).collect();
    assert!(missing.is_empty(), "folders that api/README.md does not name: {missing:?}");
}

/// The signs of sections in a line that belong to no document a reader can open: neither to the contract nor to an RFC.
fn cited_of_nothing(line: &str) -> usize {
    let is_open = |before: &str| {
        let mut words = before.trim_end().rsplit(' ');
        let number = words.next().unwrap_or_default();
        before.ends_with('C')
            || !number.is_empty()
                && number.chars().all(|c| c.is_ascii_digit())
                && words.next().is_some_and(|word| word.ends_with("RFC"))
    };
    line.match_indices('§').filter(|(at, _)| !is_open(&line[..*at])).count()
}

#[test]
fn sections_are_those_of_documents_that_are_there() {
    let sign = '§';
    for (line, expected) in [
        (format!("(C{sign}7.2)"), 0),
        (format!("(RFC 9106 {sign}4, second choice)"), 0),
        (format!("(engine {sign}4)"), 1),
        (format!("({sign}4.10, C{sign}15)"), 1),
    ] {
        assert_eq!(cited_of_nothing(&line), expected, "{line}");
    }
    let is_text =
        |path: &String| [".rs", ".md", ".py", ".cfg", ".conf"].iter().any(|end| path.ends_with(end));
    let mut wrong = vec![];
    // this file has the sign in its own examples
    for file in tracked().into_iter().filter(|path| is_text(path) && path != "tests/tests/tidy/main.rs") {
        let text = std::fs::read_to_string(workspace_root().join(&file)).unwrap();
        let lines = text.lines().enumerate().filter(|(_, line)| cited_of_nothing(line) > 0);
        wrong.extend(lines.map(|(number, line)| format!("{file}:{}: {}", number + 1, line.trim())));
    }
    assert!(wrong.is_empty(), "sections of no document of the repository:\n{}", wrong.join("\n"));
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
