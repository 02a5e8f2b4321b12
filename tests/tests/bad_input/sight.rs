//! Does what is not for others stay out of their sight: keys, answers for operators, files?

use super::*;
use quorate_tests::greedy::{begin, credentials};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn keys_in_mistyped_paths_stay_out_of_the_log() {
    let (_dir, server) = start();
    let client = server.client();
    for path in ["/1/key/SECRET1", "/1/keys/SECRET2", "/SECRET3", "/1/keys/SECRET4/restore/now"] {
        client.delete(path).unwrap();
    }
    // a line says which answer it is about
    let mut stream = begin(server.address(), "/1/indexes/books/query", &credentials(ADMIN_KEY), b"").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut head = [0; 4 << 10];
    let bytes = stream.read(&mut head).unwrap();
    let head = String::from_utf8_lossy(&head[..bytes]).to_lowercase();
    let id = head.lines().find_map(|line| line.strip_prefix("correlation-id: ")).expect("an id").to_owned();
    let log = server.log();
    assert!(log.contains(&id), "{id} is not in {log}");
    assert!(!log.contains("SECRET"), "{log}");
    assert!(log.contains("client=127.0.0.1") || log.contains("client=\"127.0.0.1\""), "{log}");
}

#[test]
fn what_is_for_operators_is_not_for_scripts_of_other_pages() {
    let (_dir, server) = start();
    let allowed = |method: &str, path: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nOrigin: http://evil\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.to_lowercase().contains("access-control-allow-origin")
    };
    for (method, path, is_allowed) in [
        ("OPTIONS", "/1/indexes", true),
        ("GET", "/1/indexes", true),
        ("OPTIONS", "/admin/cluster", false),
        ("GET", "/admin/cluster", false),
        ("GET", "/metrics", false),
        ("GET", "/metrics/", false),
    ] {
        assert_eq!(allowed(method, path), is_allowed, "{method} {path}");
    }
}

/// Whatever the node is started with, and whoever was let into its folder before, what it keeps is its user's alone.
#[test]
fn other_users_of_the_machine_read_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(dir.path().join("data"));
    setup.within = ["sh", "-c", "umask 0; exec \"$@\"", "sh"].map(str::to_owned).to_vec();
    let server = setup.start().unwrap();
    server.client().post("/1/indexes/i", &json!({"objectID": "1"})).unwrap().success().unwrap();
    settle(&server.client(), "i").unwrap();
    check_closed(server.data_dir());
    let setup = server.stop().unwrap();
    let opened = std::process::Command::new("chmod").args(["-R", "a+rwX"]).arg(&setup.data_dir).status();
    assert!(opened.unwrap().success());
    let server = setup.start().unwrap();
    check_closed(server.data_dir());
    assert_eq!(server.client().search("i", &json!({"query": ""})).unwrap()["nbHits"], 1);
}

/// Looks at every file and folder.
fn check_closed(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    let (mut folders, mut files) = (vec![folder.to_path_buf()], 0);
    while let Some(folder) = folders.pop() {
        let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            // some are there for a moment only
            match std::fs::metadata(&path) {
                Ok(found) if found.is_dir() => folders.push(path),
                Ok(found) => {
                    assert_eq!(found.permissions().mode() & 0o077, 0, "{}", path.display());
                    files += 1;
                }
                Err(_) => {}
            }
        }
    }
    assert!(files > 5, "{files} files");
}
