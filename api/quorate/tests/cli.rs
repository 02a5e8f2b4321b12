//! Does the program do what its users type? Real processes on ephemeral ports and temporary folders.

mod node;

use node::{Node, START, STOP, ok, quorate, refused, wait};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

#[test]
fn a_node_is_started_filled_searched_and_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let node = Node::start(&data, &["--demo"]);

    assert!(ok(&data, &["health"]).contains("ready: yes"));
    let found = ok(&data, &["search", "catalogue", "lantern", "--hits", "3"]);
    assert!(found.contains("  1. item-") && found.contains("antern"), "{found}");

    let lines = folder.path().join("people.jsonl");
    std::fs::write(&lines, "{\"objectID\":\"a\",\"name\":\"Ada\",\"n\":1.10}\n{\"name\":\"Grace\"}\n")
        .unwrap();
    let lines = lines.to_str().unwrap();
    assert!(ok(&data, &["import", "people & co/1", lines]).starts_with("2 records in `people & co/1`"));
    ok(&data, &["import", "people & co/1", lines]);
    assert!(ok(&data, &["search", "people & co/1"]).contains("2 hits"), "the same file adds nothing twice");
    assert!(ok(&data, &["search", "people & co/1", "--json"]).contains("\"n\":1.10"), "as it is written");
    let mut import = quorate(&data);
    import.args(["import", "piped", "-"]).stdin(std::fs::File::open(lines).unwrap());
    assert!(String::from_utf8_lossy(&import.output().unwrap().stdout).starts_with("2 records in `piped`"));
    assert!(ok(&data, &["search", "piped"]).contains("2 hits"));

    let table = folder.path().join("people.csv");
    std::fs::write(&table, "sku,name,price\n7,Lamp,9.5\n8,Chair,40\n").unwrap();
    ok(&data, &["import", "table", table.to_str().unwrap(), "--id-field", "sku", "--batch", "1"]);
    let cheap = ok(&data, &["search", "table", "--filters", "price < 10", "--json"]);
    assert!(cheap.contains("\"objectID\":\"7\"") && cheap.contains("\"nbHits\":1"), "{cheap}");

    refused(&data, &["search", "nothing-here", "x"], "nothing-here");
    refused(&data, &["serve", "--listen", "127.0.0.1:0"], "data");
    assert!(node.stop(), "SIGTERM is a clean end");

    let node = Node::start(&data, &[]);
    assert!(
        ok(&data, &["search", "people & co/1", "grace"]).contains("1 hit in"),
        "records survive a restart"
    );
    drop(node);
}

#[test]
fn an_import_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let _node = Node::start(&data, &[]);
    let file = folder.path().join("records.jsonl");
    let good: String = (0..50).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    std::fs::write(&file, format!("{good}{{\"n\":50]\n")).unwrap();
    let import = ["import", "numbers", file.to_str().unwrap(), "--batch", "10"];
    refused(&data, &import, "line 51");
    refused(&data, &import, "going on after 50 records");
    // what was sent is gone: it is not passed over
    clear(&data, "numbers");
    refused(&data, &import, "`numbers` lacks what was sent before");
    assert!(ok(&data, &["search", "numbers"]).contains("50 hits"));

    std::fs::write(&file, format!("{good}{{\"n\":50}}\n")).unwrap();
    assert!(ok(&data, &import).starts_with("51 records"), "another content starts from its first record");
    assert!(ok(&data, &["search", "numbers"]).contains("51 hits"), "and replaces what was there");
}

/// Removes all records of an index.
fn clear(data: &Path, index: &str) {
    let read = |name: &str| std::fs::read_to_string(data.join(name)).unwrap().trim().to_owned();
    let mut node = TcpStream::connect(read("address")).unwrap();
    let (app_id, key) = (read("app-id"), read("admin-key"));
    let head = format!(
        "POST /1/indexes/{index}/clear HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0"
    );
    let ids = format!("X-Algolia-Application-Id: {app_id}\r\nX-Algolia-API-Key: {key}");
    write!(node, "{head}\r\n{ids}\r\n\r\n").unwrap();
    let mut answer = String::new();
    node.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("taskID"), "{answer}");
}

#[test]
fn mistakes_on_the_command_line_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    refused(&data, &["serve", "--data-dri", "x"], "--data-dir");
    refused(&data, &["serve", "--listen", "7700"], "HOST:PORT");
    for level in ["loud", "info,loud", ""] {
        refused(&data, &["serve", "--log-level", level], "log-level");
    }
    assert!(!data.exists(), "what is refused makes nothing");
    refused(&data, &["serve", "--config", "/nowhere/quorate.toml"], "/nowhere/quorate.toml");
    refused(&data, &["serve", "--admin-key", "secret"], "--admin-key");
    refused(&data, &["import", "i", "/nowhere/file.jsonl"], "");
    refused(&data, &["health", "--url", "http://127.0.0.1:9"], "cannot reach http://127.0.0.1:9");
    let mut command = quorate(&data);
    let output = command.args(["serve"]).env("QUORATE_LISTNE", "127.0.0.1:0").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean QUORATE_LISTEN?"));
}

#[test]
fn an_operator_sees_the_installation() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let node = Node::start(&data, &["--node-name", "n1", "--peer-listen", "127.0.0.1:0"]);

    let status = ok(&data, &["cluster", "status"]);
    assert!(status.contains("1 of 1 nodes reached, asked n1"), "{status}");
    assert!(status.ends_with("Everything is where it is wanted.\n"), "{status}");
    let too_long: Vec<&str> = status.lines().filter(|line| line.chars().count() > 100).collect();
    assert!(too_long.is_empty(), "{too_long:?}");
    assert!(ok(&data, &["cluster", "status", "--json"]).contains("\"answeredBy\": \"n1\""));
    let top = ok(&data, &["cluster", "top", "--once"]);
    assert!(top.contains("queries/s") && top.contains("leader"), "{top}");

    let token = ok(&data, &["cluster", "token"]);
    assert!(token.trim().len() >= 16, "{token}");
    let add = ok(&data, &["cluster", "add"]);
    assert!(add.contains("--node-name n2") && add.contains("--join 127.0.0.1:"), "{add}");
    assert!(!add.contains(token.trim()), "the token is not shown in passing");

    refused(&data, &["cluster", "drain", "n1"], "it is the last active node of the cluster main");
    refused(&data, &["cluster", "remove", "n7"], "there is no node n7; the nodes are n1");
    refused(&data, &["cluster", "transfer", "1", "n7"], "there is no node n7");
    assert!(ok(&data, &["cluster", "transfer", "1", "n1"]).contains("group 1 is handed to n1"));
    assert!(node.stop(), "SIGTERM is a clean end");

    let alone = folder.path().join("alone");
    refused(&alone, &["cluster", "token"], "was never started with --peer-listen");
}

/// What a node says when it is called by a key that it does not know.
const UNKNOWN: &str = "Invalid Application-ID or API key";

/// Runs a command with a key in the environment.
fn with_key(data_dir: &Path, key: &str, arguments: &[&str]) -> Output {
    quorate(data_dir).args(arguments).env("QUORATE_API_KEY", key).output().unwrap()
}

#[test]
fn an_operator_looks_after_keys() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let node = Node::start(&data, &["--demo"]);
    let lists = |key: &str| ok(&data, &["keys", "list"]).lines().any(|line| line.starts_with(key));
    let search = ["search", "catalogue", "lantern"];

    let made =
        ok(&data, &["keys", "create", "--acl", "search", "--indexes", "cat*", "--description", "of a shop"]);
    let key = made.trim();
    assert!(!key.is_empty() && lists(key), "{made}");
    assert!(ok(&data, &["keys", "list"]).contains("search  indices: cat*  (of a shop)"));
    assert!(ok(&data, &["keys", "list", "--json"]).contains(&format!("\"value\": \"{key}\"")));
    let shown = ok(&data, &["keys", "get", key]);
    assert!(shown.contains("\"of a shop\"") && shown.contains("\"cat*\""), "{shown}");
    assert!(with_key(&data, key, &search).status.success());

    assert!(ok(&data, &["keys", "update", key, "--acl", "browse"]).starts_with("changed at 20"));
    let shown = ok(&data, &["keys", "get", key]);
    assert!(
        shown.contains("browse") && !shown.contains("of a shop"),
        "what is not given gets its default: {shown}"
    );
    assert!(!with_key(&data, key, &search).status.success(), "it may search no more");

    refused(&data, &["keys", "update", key, "--index", "other", "--acl", "search"], "Key does not exist");

    assert!(ok(&data, &["keys", "delete", key]).starts_with("deleted at 20"));
    assert!(!lists(key));
    refused(&data, &["keys", "get", key], "Key does not exist");
    assert!(ok(&data, &["keys", "restore", key]).starts_with("lives again since 20"));
    assert!(lists(key));
    refused(&data, &["keys", "restore", "nothing-like-a-key"], "Key does not exist");
    refused(&data, &["keys", "create", "--acl", "fly"], "fly");

    let made = ok(&data, &["keys", "create", "--acl", "search", "--index", "catalogue"]);
    let of_index = made.trim();
    assert!(!lists(of_index), "it is for one index alone");
    assert!(ok(&data, &["keys", "list", "--index", "catalogue"]).starts_with(of_index));
    assert!(ok(&data, &["keys", "list", "--of-indices"]).contains(of_index));
    assert!(with_key(&data, of_index, &search).status.success());
    ok(&data, &["keys", "delete", of_index, "--index", "catalogue"]);
    assert!(!with_key(&data, of_index, &search).status.success());
    assert!(node.stop(), "SIGTERM is a clean end");
}

#[test]
fn keys_are_derived_and_the_admin_key_is_replaced_without_a_pause() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let node = Node::start(&data, &["--demo"]);
    let search = ["search", "catalogue", "", "--json"];
    let admin = || std::fs::read_to_string(data.join("admin-key")).unwrap().trim().to_owned();

    // of the search key of the data folder, by itself
    let derived = ok(&data, &["keys", "secure", "hitsPerPage=1", "filters=objectID:nothing"]);
    let found = with_key(&data, derived.trim(), &search);
    let found = String::from_utf8(found.stdout).unwrap();
    assert!(found.contains("\"nbHits\":0"), "{found}");
    let output = with_key(&data, &admin(), &["keys", "secure", "hitsPerPage=1"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("the admin key signs no secured keys"));
    refused(&data, &["keys", "secure", "hitsPerPage=many"], "");
    let output = with_key(&data, derived.trim(), &["keys", "secure", "hitsPerPage=1"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("the parent is no API key"));
    let unknown = "0123456789abcdef0123456789abcdef";
    let forged = with_key(&data, unknown, &["keys", "secure", "hitsPerPage=1"]);
    let forged = with_key(&data, String::from_utf8(forged.stdout).unwrap().trim(), &search);
    assert!(String::from_utf8_lossy(&forged.stderr).contains(UNKNOWN));

    let before = admin();
    let made = ok(&data, &["keys", "rotate-admin"]);
    let key = made.trim();
    assert_ne!(key, before);
    for (whose, key) in [("the new key", key), ("the key before, for its time", &before)] {
        assert!(with_key(&data, key, &["keys", "list"]).status.success(), "{whose}");
    }
    wait(START, "the file has the new key", || admin() == key);
    ok(&data, &["keys", "list"]);
    let given = folder.path().join("given");
    std::fs::write(&given, "an-admin-key-that-an-operator-made").unwrap();
    let made = ok(&data, &["keys", "rotate-admin", "--admin-key-file", given.to_str().unwrap()]);
    assert_eq!(made.trim(), "an-admin-key-that-an-operator-made");
    assert!(with_key(&data, made.trim(), &["keys", "list"]).status.success());
    assert!(node.stop(), "SIGTERM is a clean end");
}

#[test]
fn a_certificate_that_has_ended_is_warned_of_at_the_start_and_when_it_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    // of localhost, made for this test and of no other use
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut command = quorate(&data);
    command.args(["serve", "--listen", "127.0.0.1:0", "--tls-listen", "127.0.0.1:0", "--log-level", "warn"]);
    command.arg("--tls-certificates").arg(files.join("ended.pem"));
    command.arg("--tls-keys").arg(files.join("ended.key"));
    command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
    let node = Node(command.spawn().unwrap());
    let warned = || {
        let log = std::fs::read_to_string(&log).unwrap();
        log.lines().filter(|it| it.contains("ended.pem") && it.contains("2003-01-01T00:00:00Z")).count()
    };
    wait(START, "the node listens", || data.join("address").exists());
    assert_eq!(warned(), 1, "{}", std::fs::read_to_string(&log).unwrap());
    let hangup = Command::new("kill").args(["-HUP", &node.0.id().to_string()]).status().unwrap();
    assert!(hangup.success());
    wait(START, "it is warned of again", || warned() == 2);
    assert!(node.stop(), "SIGTERM is a clean end");
}

#[test]
fn commands_call_a_node_whose_certificate_an_own_authority_issued() {
    let folder = tempfile::tempdir().unwrap();
    let (data, key) = (folder.path().join("data"), rcgen::KeyPair::generate().unwrap());
    let own = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (pem, key) = (file("own.pem", own.pem()), file("own.key", key.serialize_pem()));
    let at = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let node = Node::start(&data, &["--tls-listen", &at, "--tls-certificates", &pem, "--tls-keys", &key]);
    let url = format!("https://{}", at.replace("127.0.0.1", "localhost"));
    let health = |ca: Option<&str>| {
        let mut command = quorate(&data);
        command.args(["health", "--url", &url]).args(ca.into_iter().flat_map(|ca| ["--ca-file", ca]));
        command.output().unwrap()
    };
    let text = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let known = health(Some(&pem));
    assert!(known.status.success(), "{}", text(&known));
    let unknown = health(None);
    assert!(!unknown.status.success() && text(&unknown).contains("UnknownIssuer"), "{}", text(&unknown));
    for (wrong, told) in [(key, "no certificate in"), (file("text", "no PEM".into()), "no certificate in")] {
        let refused = health(Some(&wrong));
        assert!(!refused.status.success() && text(&refused).contains(told), "{}", text(&refused));
    }
    assert!(node.stop(), "SIGTERM is a clean end");
    refused(&data, &["health"], "no node serves with the folder");
}

/// Waits until the node shows so many rows of events.
fn wait_rows(data_dir: &Path, rows: &str) {
    wait(STOP, rows, || ok(data_dir, &["events", "status"]).starts_with(rows));
}

#[test]
fn history_comes_in_from_files_and_leaves_as_parquet_for_another_node() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = |name: &str| at(name).to_str().unwrap().to_owned();
    let old_ms = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64 - 60 * 24 * 3_600_000;
    let own = format!(
        r#"{{"eventType":"view","eventName":"Saw","index":"shop","userToken":"ann","objectIDs":["a"],"timestamp":{old_ms}}}"#
    );
    std::fs::write(at("own.jsonl"), own).unwrap();
    let table = format!(
        "index,user,time,kind,event,object,position,price,currency,query,hits,shown\n\
         shop,007,{old_ms},purchase,Bought,b,,9.90,EUR,,,\nshop,7,{old_ms},search,,,,,,shoe,2,\"[\"\"a\"\",\"\"b\"\"]\"\n"
    );
    std::fs::write(at("table.csv"), &table).unwrap();
    std::fs::write(at("wrong.csv"), table + "shop,u,yesterday,view,Saw,a,,,,,,\n").unwrap();
    let (first, second) = (at("first"), at("second"));
    let nodes = [Node::start(&first, &[]), Node::start(&second, &[])];
    for _twice in 0..2 {
        let said = ok(&first, &["events", "import", &text("own.jsonl"), &text("table.csv")]);
        assert!(said.starts_with("3 rows of 2 files"), "{said}");
    }
    refused(&first, &["events", "import", &text("wrong.csv")], "line 4: time is neither");
    wait_rows(&first, "6 rows");
    let export = ["events", "export", "--to", &text("out")];
    assert!(ok(&first, &export).starts_with("3 rows in 1 files"), "each once");
    let said = ok(&second, &["events", "import", &text("out")]);
    assert!(said.starts_with("3 rows of 1 files"), "{said}");
    wait_rows(&second, "3 rows");
    let export = ["events", "export", "--to", &text("again"), "--index", "shop"];
    assert!(ok(&second, &export).starts_with("3 rows in 1 files"));
    let export = ["events", "export", "--to", &text("none"), "--from", "2999-01-01"];
    assert!(ok(&second, &export).starts_with("0 rows in 0 files"));
    for node in nodes {
        assert!(node.stop());
    }
}

#[test]
fn a_node_that_waits_for_others_stops_when_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut command = quorate(&data);
    command.arg("serve").args([
        "--listen",
        "127.0.0.1:0",
        "--peer-listen",
        "127.0.0.1:0",
        "--join",
        "127.0.0.1:9",
    ]);
    command.env("QUORATE_JOIN_TOKEN", "a token that nobody else has, for a test");
    let mut node = Node(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait(START, "it has opened its folder", || {
        assert_eq!(node.0.try_wait().unwrap(), None, "the node ended");
        data.join("join-token").exists()
    });
    std::thread::sleep(Duration::from_millis(500));
    assert!(!data.join("address").exists(), "it waits");
    assert!(node.stop(), "SIGTERM is a clean end");
}
