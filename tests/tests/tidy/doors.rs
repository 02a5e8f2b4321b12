//! Is each foreign engine named behind its door only?

use crate::sources;
use quorate_tests::binary::workspace_root;

/// Foreign engines and the places that may name them. A word counts where it starts a path: `word::`.
const DOORS: &[(&str, &[&str])] = &[
    ("tantivy", &["node/engine/src/index/", "node/engine/benches/"]),
    ("sled", &["node/store/src/kv.rs", "node/store/src/kv/"]),
    ("bincode", &["node/store/src/codec.rs"]),
    ("raft_engine", &["cluster/raft/"]),
    ("raft", &["cluster/raft/"]),
    ("actix_web", &["api/src/", "api/tests/", "api/benches/"]),
    (
        "actix_http",
        &["api/src/connection.rs", "api/src/http2.rs", "api/src/server.rs", "api/quorate/src/logging.rs"],
    ),
    ("actix_server", &["api/src/http2.rs", "api/src/server.rs", "api/quorate/src/logging.rs"]),
    ("h2", &["api/src/http2.rs", "api/tests/http/encrypted.rs"]),
    (
        "actix",
        &[
            "node/src/shard/",
            "cluster/src/apply/",
            "cluster/src/groups/mod.rs",
            "cluster/src/groups/start.rs",
            "cluster/src/users/actor",
            "cluster/raft/src/",
            "cluster/tests/apply/",
        ],
    ),
    ("ureq", &["api/quorate/", "tests/"]),
    (
        "tokio_rustls",
        &["cluster/src/peer/", "api/src/server.rs", "api/src/stream.rs", "api/tests/http/encrypted.rs"],
    ),
    (
        "rcgen",
        &[
            "cluster/src/peer/",
            "api/src/tls_tests.rs",
            "api/tests/http/encrypted.rs",
            "api/quorate/src/sink_tests.rs",
            "api/quorate/tests/cli.rs",
        ],
    ),
];

/// Where a file names engines that it is not a door of.
fn named_elsewhere(file: &str, text: &str) -> Vec<String> {
    let mut wrong = vec![];
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        let outside = DOORS.iter().filter(|(_, places)| !places.iter().any(|place| file.starts_with(place)));
        let named = outside.filter(|(engine, _)| names(code, engine));
        wrong.extend(named.map(|(engine, _)| format!("{file}:{}: {engine}", number + 1)));
    }
    wrong
}

#[test]
fn foreign_engines_are_named_behind_their_doors_only() {
    // This file has the names in its own examples.
    let files = sources().into_iter().filter(|file| file != "tests/tests/tidy/doors.rs");
    let read = |file: &str| std::fs::read_to_string(workspace_root().join(file)).unwrap();
    let wrong: Vec<String> = files.flat_map(|file| named_elsewhere(&file, &read(&file))).collect();
    assert!(wrong.is_empty(), "engines named elsewhere:\n{}", wrong.join("\n"));
}

#[test]
fn an_engine_outside_its_door_is_found() {
    for (file, text, expected) in [
        ("node/src/shard/actor.rs", "use actix::Actor;", &[][..]),
        ("node/src/index.rs", "//! What?\nuse actix::Actor;", &["node/src/index.rs:2: actix"]),
        (
            "cluster/src/service/mod.rs",
            "fn f(a: actix::Addr<A>) {}",
            &["cluster/src/service/mod.rs:1: actix"],
        ),
        ("node/src/index.rs", "// actix::Actor", &[]),
        ("cluster/src/read/mod.rs", "use actix_web::web;", &["cluster/src/read/mod.rs:1: actix_web"]),
        ("node/src/machine.rs", "    sled::open(p)", &["node/src/machine.rs:1: sled"]),
    ] {
        assert_eq!(named_elsewhere(file, text), expected, "{file}: {text}");
    }
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
