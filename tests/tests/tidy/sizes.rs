//! Is every file, and every function, short enough to be read at once, or does it say why not?

use crate::sources;
use quorate_tests::binary::workspace_root;
use std::cmp::Ordering;

/// Lines of a file.
const FILE_LINES_MAX: usize = 400;
/// Lines of a function.
const FUNCTION_LINES_MAX: usize = 70;

const CASES: &str = "a table of cases, which is read row by row";
const WORLD: &str = "one simulated world, whose parts share its state";
const STEPS: &str = "one state machine, whose steps share its fields";
const SCRIPTS: &str = "scripts of one kind with what they are checked by";
const LOOP: &str = "the inner loop of searches: what it keeps in registers stays together";
const FORMAT: &str = "one format on disk or on the wire: who writes it stands beside who reads it";
const FIELDS: &str = "one line for each of many fields, in their order";
const OPENING: &str = "what is opened one after another, with what is done when one of it fails";

/// Files that are longer, and why.
const FILES: &[(&str, &str)] = &[
    ("api/quorate/src/options.rs", CASES),
    ("api/src/table.rs", CASES),
    ("api/tests/http/attacks.rs", SCRIPTS),
    ("api/tests/http/dictionaries.rs", SCRIPTS),
    ("api/tests/http/parameters/cases.rs", CASES),
    ("api/tests/http/parameters/wrong.rs", CASES),
    ("api/wire/src/search.rs", FORMAT),
    ("cluster/raft/src/core.rs", STEPS),
    ("cluster/raft/src/group_log.rs", FORMAT),
    ("cluster/raft/src/log_inspect.rs", FORMAT),
    ("cluster/raft/tests/node.rs", SCRIPTS),
    ("cluster/raft/tests/simulation/world.rs", WORLD),
    ("cluster/src/command/tests.rs", CASES),
    ("cluster/src/membership/overview.rs", FIELDS),
    ("cluster/src/membership/simulation/world.rs", WORLD),
    ("cluster/src/meta/tests.rs", SCRIPTS),
    ("cluster/src/snapshot/fetch.rs", STEPS),
    ("cluster/src/users/simulation/indices.rs", WORLD),
    ("cluster/src/users/simulation/seat.rs", WORLD),
    ("cluster/src/users/simulation/world.rs", WORLD),
    ("cluster/tests/apply/fetches.rs", SCRIPTS),
    ("node/engine/src/index/columns.rs", FORMAT),
    ("node/engine/src/index/trie.rs", FORMAT),
    ("node/engine/src/index/writer.rs", STEPS),
    ("node/engine/src/matching/collect.rs", LOOP),
    ("node/engine/src/matching/typo.rs", LOOP),
    ("node/engine/tests/alternatives.rs", CASES),
    ("node/engine/tests/criteria.rs", CASES),
    ("node/engine/tests/rules/main.rs", CASES),
    ("node/src/machine.rs", STEPS),
    ("node/store/src/recorder.rs", WORLD),
    ("node/tests/machine/main.rs", SCRIPTS),
    ("tests/src/linear.rs", WORLD),
    ("tests/src/renames.rs", SCRIPTS),
];

/// Functions that are longer, and why.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("api/quorate/src/cluster/mod.rs", "command", CASES),
    ("api/tests/http/dictionaries.rs", "c19_bad_calls_say_why_and_change_nothing", CASES),
    ("api/tests/http/limits/installation.rs", "keys", CASES),
    ("api/tests/http/limits/kept.rs", "rules", CASES),
    ("api/tests/http/limits/rows.rs", "bodies", CASES),
    ("api/tests/http/limits/rows.rs", "texts", CASES),
    ("api/tests/http/limits/searches.rs", "geo", CASES),
    ("api/tests/http/limits/searches.rs", "pages", CASES),
    ("api/tests/http/managed_keys.rs", "what_is_wrong_is_named_and_changes_nothing", CASES),
    ("api/tests/http/parameters/wrong.rs", "own", CASES),
    ("cluster/raft/src/core.rs", "new", FIELDS),
    ("cluster/src/command/tests.rs", "the_bytes_of_every_command_stay_what_they_are", CASES),
    ("cluster/src/meta/tests.rs", "step", CASES),
    ("cluster/src/peer/connection.rs", "run", OPENING),
    ("cluster/src/read/serve/tests.rs", "calls_are_what_other_versions_know", CASES),
    ("node/engine/src/index/segment.rs", "open", OPENING),
    ("node/engine/tests/alternatives.rs", "synonyms_stand_for_words", CASES),
    ("node/engine/tests/comparison/queries.rs", "query", CASES),
    ("node/engine/tests/criteria.rs", "each_criterion_orders_hits", CASES),
    ("node/engine/tests/rules/main.rs", "c10_2_conditions_hold_or_not", CASES),
    ("node/engine/tests/rules/promoted.rs", "c10_5_records_are_promoted_and_hidden", CASES),
    ("node/model/src/dictionary/tests.rs", "c19_wrong_members_are_named", CASES),
    ("node/model/src/event/body/tests.rs", "every_member_is_checked", CASES),
    ("node/model/src/rule/recommend/tests.rs", "c19_wrong_rules_name_the_member", CASES),
    ("node/model/src/rule/tests.rs", "c19_wrong_rules_name_the_member", CASES),
    ("tests/src/disturb.rs", "strike", CASES),
    ("tests/tests/bad_input/bytes.rs", "random_bodies_never_break_the_server", SCRIPTS),
    ("tests/tests/bad_input/main.rs", "wrong_settings_name_themselves", CASES),
    ("tests/tests/bad_input/parameters.rs", "wrong_parameters_name_themselves", CASES),
    ("tests/tests/nodes/recover.rs", "two_nodes_go_on_together_when_three_are_lost_for_good", SCRIPTS),
    (
        "tests/tests/nodes/upgrade.rs",
        "newer_commands_wait_for_the_last_node_and_a_node_that_goes_back_stands_still",
        SCRIPTS,
    ),
];

/// Files and functions that have grown over it for no reason, with their lines. The list only shrinks: whoever adds to one takes
/// something out of it first.
const GROWN: &[(&str, usize)] = &[("node/engine/src/search.rs search", 103)];

/// The functions of a file with their lines, from the first to the closing brace. The text is as rustfmt leaves it: a function
/// ends with the first brace that stands where it begins.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = vec![];
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = name_of(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let is_end = |line: &&str| line.strip_prefix(indent).is_some_and(|rest| rest == "}");
        let is_next = |line: &&str| name_of(line).is_some() && line.starts_with(indent);
        let body = &lines[at + 1..];
        let end = body.iter().position(is_end);
        // one that is declared, or stands in a line, has no brace of its own before the next one begins
        let is_one_line = line.ends_with('}') || line.ends_with(';');
        let other = body.iter().position(|line| is_next(line) && !line.starts_with(&format!("{indent} ")));
        match end {
            Some(end) if !is_one_line && other.is_none_or(|other| end < other) => found.push((name, end + 2)),
            Some(_) | None => {}
        }
    }
    found
}

/// The name of the function that begins in a line.
fn name_of(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let is_before = |word: &&str| ["const", "async", "unsafe"].contains(word) || word.starts_with("pub");
    let word = words.by_ref().find(|word| !is_before(word))?;
    (word == "fn").then_some(())?;
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(name[..end].to_owned())
}

/// What is too long, as the table names it, with its lines: files by their path, functions by path and name.
fn too_long(file: &str, text: &str) -> Vec<(String, usize)> {
    let lines = text.lines().count();
    let long = functions(text).into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES_MAX);
    let file_too = (lines > FILE_LINES_MAX).then(|| (file.to_owned(), lines));
    file_too.into_iter().chain(long.map(|(name, lines)| (format!("{file} {name}"), lines))).collect()
}

/// What is too long without a reason, and what has one that it does not need.
fn without_reason(long: &[(String, usize)], reasons: &[String]) -> Vec<String> {
    let unknown = long.iter().filter(|(what, _)| !reasons.contains(what));
    let mut wrong: Vec<String> = unknown.map(|(what, lines)| format!("{what}: {lines} lines")).collect();
    let gone = reasons.iter().filter(|what| !long.iter().any(|(long, _)| long == *what));
    wrong.extend(gone.map(|what| format!("{what} is short by now: take it off the list")));
    wrong
}

/// What of the list of grown files and functions has other lines than it says.
fn of_another_size(long: &[(String, usize)], grown: &[(&str, usize)]) -> Vec<String> {
    let sizes = grown.iter().filter_map(|(what, known)| {
        let (_, lines) = long.iter().find(|(long, _)| long == what)?;
        match lines.cmp(known) {
            Ordering::Equal => None,
            Ordering::Less => Some(format!("{what} has {lines} lines by now, not {known}: say so")),
            Ordering::Greater => Some(format!("{what} has grown from {known} to {lines} lines")),
        }
    });
    sizes.collect()
}

#[test]
fn files_and_functions_are_short_or_say_why_not() {
    let read = |file: &String| std::fs::read_to_string(workspace_root().join(file)).unwrap();
    let long: Vec<(String, usize)> = sources().iter().flat_map(|file| too_long(file, &read(file))).collect();
    let functions = FUNCTIONS.iter().map(|(file, name, _)| format!("{file} {name}"));
    let files = FILES.iter().map(|(file, _)| *file).chain(GROWN.iter().map(|(what, _)| *what));
    let reasons: Vec<String> = files.map(str::to_owned).chain(functions).collect();
    let mut wrong = without_reason(&long, &reasons);
    wrong.extend(of_another_size(&long, GROWN));
    assert!(
        wrong.is_empty(),
        "files above {FILE_LINES_MAX} lines and functions above {FUNCTION_LINES_MAX} need a reason in this file:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn what_is_too_long_is_found() {
    let function = |lines: usize| format!("fn a() {{\n{}}}\n", "    b();\n".repeat(lines - 2));
    assert_eq!(too_long("x.rs", &function(70)), []);
    assert_eq!(too_long("x.rs", &function(71)), [("x.rs a".to_owned(), 71)]);
    assert_eq!(too_long("x.rs", &"\n".repeat(400)), []);
    let long = too_long("x.rs", &"\n".repeat(401));
    assert_eq!(long, [("x.rs".to_owned(), 401)]);
    assert_eq!(without_reason(&long, &[]).len(), 1);
    assert!(without_reason(&long, &["x.rs".to_owned()]).is_empty());
    assert_eq!(without_reason(&[], &["x.rs".to_owned()]).len(), 1, "a reason that nothing needs");
    for (known, wrong) in [(401, 0), (400, 1), (402, 1)] {
        assert_eq!(of_another_size(&long, &[("x.rs", known)]).len(), wrong, "{known}");
    }
}

#[test]
fn the_lines_of_a_function_are_counted() {
    let body = "    let x = 1;\n".repeat(3);
    for (text, expected) in [
        (format!("fn a() {{\n{body}}}\n"), vec![("a", 5)]),
        (format!("pub(super) async fn a(\n    x: u64,\n) -> u64 {{\n{body}}}\n"), vec![("a", 7)]),
        (
            "impl A {\n    pub fn a(&self) {\n        {\n        }\n    }\n    fn b() {}\n}\n".to_owned(),
            vec![("a", 4)],
        ),
        ("trait A {\n    fn a(&self);\n    fn b(&self) {\n    }\n}\n".to_owned(), vec![("b", 2)]),
        ("// fn a() {\nlet fnord = 1;\n".to_owned(), vec![]),
    ] {
        let expected: Vec<(String, usize)> =
            expected.into_iter().map(|(name, lines)| (name.to_owned(), lines)).collect();
        assert_eq!(functions(&text), expected, "{text}");
    }
}
