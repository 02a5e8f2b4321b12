//! Which file of a crate uses which? Read from the text: imports, paths in the code, and what modules hand on.
//!
//! Tests of a file may use anything, so what is compiled for them only does not count.

use std::collections::{BTreeMap, BTreeSet};

/// A path of modules and items below the root of a crate.
type ModulePath = Vec<String>;

/// The files of a crate below its `src`, and who uses whom.
pub struct Imports {
    /// For each file the files that it uses, with the path by which it does.
    pub edges: BTreeMap<String, BTreeMap<String, String>>,
}

/// One file as it is compiled into the program.
struct Source {
    module: ModulePath,
    /// What it imports, private and handed on.
    imports: Vec<(ModulePath, Import)>,
    /// The paths in the rest of it.
    paths: Vec<ModulePath>,
    /// Modules that are there for tests only.
    test_modules: Vec<ModulePath>,
}

#[derive(Clone, Copy, PartialEq)]
enum Import {
    Private,
    HandedOn,
}

impl Imports {
    /// Reads the files of a crate: their paths below `src`, and their text.
    pub fn read(files: &BTreeMap<String, String>) -> Imports {
        let modules: BTreeMap<ModulePath, &String> =
            files.keys().map(|file| (module_of(file), file)).collect();
        let sources: BTreeMap<&String, Source> =
            files.iter().map(|(file, text)| (file, source(module_of(file), text, &modules))).collect();
        let of_tests: Vec<&ModulePath> = sources.values().flat_map(|it| &it.test_modules).collect();
        let is_named_so = |name: &String| name == "tests" || name.ends_with("_tests");
        let is_test = |module: &ModulePath| {
            of_tests.iter().any(|test| module.starts_with(test)) || module.iter().any(is_named_so)
        };
        let handed_on: BTreeMap<(&ModulePath, &str), &ModulePath> = sources
            .values()
            .flat_map(|it| it.imports.iter().map(move |(path, import)| (&it.module, path, *import)))
            .filter(|(_, _, import)| *import == Import::HandedOn)
            .filter_map(|(module, path, _)| Some(((module, path.last()?.as_str()), path)))
            .collect();
        let mut edges = BTreeMap::new();
        for (file, source) in sources.iter().filter(|(_, source)| !is_test(&source.module)) {
            let private = source.imports.iter().filter(|(_, import)| *import == Import::Private);
            let mut used = BTreeMap::new();
            for path in private.map(|(path, _)| path).chain(&source.paths) {
                let found = home_of(path, &modules, &handed_on);
                if let Some(home) = found.filter(|home| home != *file && !is_test(&module_of(home))) {
                    used.entry(home).or_insert_with(|| path.join("::"));
                }
            }
            edges.insert((*file).clone(), used);
        }
        Imports { edges }
    }

    /// The circles: sets of files each of which uses every other one, over some way. The largest first.
    pub fn circles(&self) -> Vec<BTreeSet<&String>> {
        let reach: BTreeMap<&String, BTreeSet<&String>> =
            self.edges.keys().map(|file| (file, self.reached_from(file))).collect();
        let mut circles: BTreeSet<BTreeSet<&String>> = BTreeSet::new();
        for (file, reached) in &reach {
            let back = reached.iter().filter(|other| reach.get(*other).is_some_and(|it| it.contains(file)));
            circles.insert(back.copied().collect());
        }
        let mut circles: Vec<_> = circles.into_iter().filter(|circle| circle.len() > 1).collect();
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }
    fn reached_from<'a>(&'a self, file: &'a String) -> BTreeSet<&'a String> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![file]);
        while let Some(next) = open.pop() {
            for used in self.edges.get(next).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(used) {
                    open.push(used);
                }
            }
        }
        reached
    }
}

/// The module that a file is: `a/mod.rs` and `a.rs` are `a`.
fn module_of(file: &str) -> ModulePath {
    let mut parts: ModulePath = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    parts.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    parts
}

/// The file that says what a path names: that of the longest module it begins with, or of the one that hands it on.
fn home_of(
    path: &[String],
    modules: &BTreeMap<ModulePath, &String>,
    handed_on: &BTreeMap<(&ModulePath, &str), &ModulePath>,
) -> Option<String> {
    const HANDED_ON_MOST: usize = 8;
    let mut path = path.to_vec();
    for _ in 0..HANDED_ON_MOST {
        let length = (0..=path.len()).rev().find(|&length| modules.contains_key(&path[..length]))?;
        let (module, rest) = (path[..length].to_vec(), &path[length..]);
        match rest.first().and_then(|name| handed_on.get(&(&module, name.as_str()))) {
            Some(from) => path = from.iter().chain(&rest[1..]).cloned().collect(),
            None => return modules.get(&module).map(|file| (*file).clone()),
        }
    }
    None
}

fn source(module: ModulePath, text: &str, modules: &BTreeMap<ModulePath, &String>) -> Source {
    let (code, test_modules) = without_tests(text);
    let test_modules = test_modules.into_iter().map(|name| below(&module, &name)).collect();
    let (mut imports, mut rest, mut open) = (vec![], String::new(), None);
    for line in code.lines() {
        open = match (open, import_in(line)) {
            (Some((import, tree)), _) => Some((import, tree + line)),
            (None, Some((import, tree))) => Some((import, tree.to_owned())),
            (None, None) => {
                rest.push_str(line);
                rest.push('\n');
                None
            }
        };
        if let Some((import, tree)) = open.take_if(|(_, tree)| tree.contains(';')) {
            let paths = expanded(tree.trim_end_matches(';')).into_iter();
            imports.extend(paths.filter_map(|path| Some((absolute(&module, &path, modules)?, import))));
        }
    }
    let by_name: BTreeMap<String, ModulePath> =
        imports.iter().filter_map(|(path, _)| Some((path.last()?.clone(), path.clone()))).collect();
    let paths = paths_in(&rest).into_iter().filter_map(|path| match by_name.get(&path[0]) {
        Some(imported) => Some(imported.iter().chain(&path[1..]).cloned().collect()),
        None => absolute(&module, &path, modules),
    });
    let paths = paths.collect();
    Source { module, imports, paths, test_modules }
}

/// The import that begins in a line, and its tree as far as it stands there.
fn import_in(line: &str) -> Option<(Import, &str)> {
    let line = line.trim_start();
    if let Some(tree) = line.strip_prefix("use ") {
        return Some((Import::Private, tree));
    }
    let (visibility, tree) = line.split_once(" use ")?;
    let is_one = visibility == "pub" || visibility.starts_with("pub(") && visibility.ends_with(')');
    is_one.then_some((Import::HandedOn, tree))
}

fn below(module: &[String], name: &str) -> ModulePath {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// The code without comments and without what is compiled for tests only, and the names of the modules of tests.
fn without_tests(text: &str) -> (String, Vec<String>) {
    let (mut code, mut test_modules) = (String::new(), vec![]);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            code.push_str(line.split("//").next().unwrap_or_default());
            code.push('\n');
            continue;
        }
        let mut item = lines.next().unwrap_or_default();
        while item.trim_start().starts_with("#[") {
            item = lines.next().unwrap_or_default();
        }
        let module = item.split_once("mod ").and_then(|(_, name)| name.trim_end().strip_suffix(';'));
        test_modules.extend(module.map(str::to_owned));
        // as rustfmt leaves it, an item ends where a line that is not indented deeper does
        let indent = |line: &str| line.len() - line.trim_start().len();
        let own = indent(item);
        while !item.ends_with([';', '}']) || indent(item) > own {
            let Some(next) = lines.next() else { break };
            item = next;
        }
    }
    (code, test_modules)
}

/// Every path of a tree of imports.
fn expanded(tree: &str) -> Vec<ModulePath> {
    let tree = tree.trim();
    let Some((prefix, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        let mut path: ModulePath = path.split("::").map(|part| part.trim().to_owned()).collect();
        path.pop_if(|last| last == "self" || last == "*");
        path.retain(|part| !part.is_empty());
        return if path.is_empty() { vec![] } else { vec![path] };
    };
    let prefix: Vec<&str> = prefix.split("::").map(str::trim).filter(|part| !part.is_empty()).collect();
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in inner.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("never empty").push(c);
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    let paths = parts.flat_map(|part| match part.trim() {
        "self" => vec![vec![]],
        part => expanded(part),
    });
    paths.map(|path| prefix.iter().map(|part| (*part).to_owned()).chain(path).collect()).collect()
}

/// A path from the root of the crate; `None` when it begins in another crate.
fn absolute(
    module: &[String],
    path: &[String],
    modules: &BTreeMap<ModulePath, &String>,
) -> Option<ModulePath> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some(module.iter().chain(&path[1..]).cloned().collect()),
        "super" => {
            let kept = module.len().checked_sub(ups)?;
            Some(module[..kept].iter().chain(&path[ups..]).cloned().collect())
        }
        first => {
            modules.contains_key(&below(module, first)).then(|| module.iter().chain(path).cloned().collect())
        }
    }
}

/// The paths of two and more parts in code.
fn paths_in(code: &str) -> Vec<ModulePath> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c: char| !is_part(c)).filter(|word| word.contains("::"));
    let paths = words.map(|word| word.split("::").map(str::to_owned).collect::<ModulePath>());
    paths.filter(|path| !path[0].is_empty() && !path[0].contains(':')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let imports = Imports::read(&files);
        let edges = imports.edges.iter();
        edges.flat_map(|(file, used)| used.keys().map(move |used| format!("{file}>{used}"))).collect()
    }

    #[test]
    fn an_edge_is_found_however_it_is_written() {
        let (a, b) = (("a/x.rs", ""), ("b.rs", "mod c;\npub use c::Item;"));
        for (text, expected) in [
            ("use crate::b::Thing;", vec!["a/mod.rs>b.rs"]),
            (
                "use crate::{b::{self, c::Other}, a::x};",
                vec!["a/mod.rs>a/x.rs", "a/mod.rs>b.rs", "a/mod.rs>b/c.rs"],
            ),
            ("use super::b;", vec!["a/mod.rs>b.rs"]),
            ("use crate::b::Item;", vec!["a/mod.rs>b/c.rs"]),
            ("use crate::b;\nfn f() { b::c::g() }", vec!["a/mod.rs>b.rs", "a/mod.rs>b/c.rs"]),
            ("fn f() -> crate::b::Item { loop {} }", vec!["a/mod.rs>b/c.rs"]),
            ("fn f() { x::g() }", vec!["a/mod.rs>a/x.rs"]),
            ("pub use x::Item;", vec![]),
            ("pub(crate) use crate::b::Item;", vec![]),
            ("/// crate::b::Item\nfn f() {} // crate::b", vec![]),
            ("#[cfg(test)]\nuse crate::b;\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}", vec![]),
            ("#[cfg(test)]\nmod tests {\n    use crate::b::c;\n}\nuse crate::b;", vec!["a/mod.rs>b.rs"]),
            ("use std::collections::BTreeMap;\nfn f() { BTreeMap::new(); a::<b::C>() }", vec![]),
        ] {
            let found = edges(&[a, ("a/mod.rs", text), b, ("b/c.rs", ""), ("lib.rs", "mod a;\nmod b;")]);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_tests_use_does_not_count() {
        let files =
            [("lib.rs", "mod a;\n#[cfg(test)]\nmod tests;"), ("a.rs", ""), ("tests.rs", "use crate::a;")];
        assert_eq!(edges(&files), Vec::<String>::new());
    }

    #[test]
    fn a_circle_has_all_that_lie_on_it() {
        let files = [
            ("a.rs", "use crate::b;"),
            ("b.rs", "use crate::c;"),
            ("c.rs", "use crate::a;\nuse crate::d;"),
            ("d.rs", ""),
        ];
        let files = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let imports = Imports::read(&files);
        let circles = imports.circles();
        assert_eq!(circles.len(), 1);
        assert_eq!(circles[0].iter().map(|file| file.as_str()).collect::<Vec<_>>(), ["a.rs", "b.rs", "c.rs"]);
    }
}
