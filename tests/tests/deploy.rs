//! Do the files in `deploy/` do what they say? The ready files of the proxies, before a node and before an echo; the three nodes of
//! the demo.

use quorate_tests::binary;
use quorate_tests::chance::from_environment;
use quorate_tests::client::{Client, Family};
use quorate_tests::greedy::credentials;
use quorate_tests::harness::{ADMIN_KEY, Server, Setup};
use quorate_tests::skipped::skip;
use quorate_tests::wait::wait_until;
use serde_json::json;
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long processes may take to come up: generous, for machines that do something else too.
const PATIENCE: Duration = Duration::from_secs(120);
/// The hosts that the ready files make: reads, writes, three for both.
const FRONTS: usize = 5;
/// Where the nodes are in the file of nginx, which has no variables: reads, writes, both.
const NODES_IN_FILE: [&str; 9] = ["7712", "7722", "7732", "7713", "7723", "7733", "7710", "7720", "7730"];

/// A program that ends with the test.
struct Running(Child);
impl Drop for Running {
    fn drop(&mut self) {
        // it may have ended by itself
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn file(name: &str) -> PathBuf {
    binary::workspace_root().join("deploy").join(name)
}
fn installed(paths: &[&str]) -> Option<PathBuf> {
    paths.iter().map(PathBuf::from).find(|path| path.exists())
}
fn free_addresses() -> [SocketAddr; FRONTS] {
    // held together, so that they differ
    let held = [(); FRONTS].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|it| it.local_addr().unwrap())
}

/// The ready file of HAProxy, which leads to this address whichever node it asks.
fn haproxy(program: &Path, fronts: &[SocketAddr; FRONTS], node: &str) -> Running {
    let names =
        ["QUORATE_READ", "QUORATE_WRITE", "QUORATE_FALLBACK_1", "QUORATE_FALLBACK_2", "QUORATE_FALLBACK_3"];
    let mut command = Command::new(program);
    command.arg("-db").arg("-f").arg(file("haproxy.cfg")).stdout(Stdio::null()).stderr(Stdio::null());
    command.envs(names.iter().zip(fronts.map(|at| at.to_string())));
    for kind in ["READ", "WRITE", "NODE"] {
        command.envs((1..=3).map(|n| (format!("QUORATE_{kind}_{n}"), node)));
    }
    Running(command.spawn().unwrap())
}

/// The same with nginx, whose file has the addresses in it.
fn nginx(program: &Path, folder: &Path, fronts: &[SocketAddr; FRONTS], node: &str) -> Running {
    let mut text = std::fs::read_to_string(file("nginx.conf")).unwrap();
    for (number, front) in fronts.iter().enumerate() {
        text = text.replace(&format!("127.0.0.1:{}", 7_701 + number), &front.to_string());
    }
    for port in NODES_IN_FILE {
        text = text.replace(&format!("127.0.0.1:{port}"), node);
    }
    let own = folder.display();
    let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary: String = kinds.iter().map(|it| format!("{it}_temp_path {own}/{it};\n")).collect();
    let whole = format!(
        "daemon off; master_process off; pid {own}/pid; error_log stderr;\nevents {{}}\nhttp {{ access_log off;\n{temporary}{text}}}\n"
    );
    let path = folder.join("nginx.conf");
    std::fs::write(&path, whole).unwrap();
    let mut command = Command::new(program);
    command.arg("-p").arg(folder).arg("-c").arg(path).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().unwrap())
}

/// Sends a head as it is; the status and all that follows it. `None` when nobody answers.
fn ask(address: &SocketAddr, target: &str, headers: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let head = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some((answer.get(9..12)?.parse().ok()?, answer))
}

/// Answers every call with its head, until the test ends.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = vec![];
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|bytes| bytes == 1) {
                head.push(byte[0]);
            }
            let answer = format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
                head.len(),
                String::from_utf8_lossy(&head)
            );
            let _asker_may_be_gone = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// What every ready file promises. It is started with where it listens and where it leads.
fn check(name: &str, start: impl Fn(&[SocketAddr; FRONTS], &str) -> Running) {
    let fronts = free_addresses();
    let proxy = start(&fronts, &echo().to_string());
    fronts.iter().for_each(|front| check_claims(name, front));
    drop(proxy);

    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(folder.path().join("data")).option("trusted-proxies", "127.0.0.1");
    let server = setup.start().unwrap();
    let fronts = free_addresses();
    let _proxy = start(&fronts, server.address());
    fronts.iter().for_each(|front| check_operators(name, front));
    check_sources(name, &fronts, &server);
}

/// What clients claim of themselves does not reach the nodes.
fn check_claims(name: &str, front: &SocketAddr) {
    let claims = "X-Forwarded-For: 203.0.113.7, 10.0.0.1\r\nx-forwarded-for: 203.0.113.8\r\nX-Forwarded-Proto: https\r\n";
    let mut said = String::new();
    wait_until(PATIENCE, name, || {
        let answer = ask(front, "/1/isalive", claims).filter(|(status, _)| *status == 200);
        answer.map(|(_, text)| said = text.to_lowercase()).is_some()
    });
    let of = |name: &str| said.lines().filter_map(|line| line.strip_prefix(name)).collect::<Vec<_>>();
    assert_eq!(of("x-forwarded-for: "), ["127.0.0.1"], "{name} {front}: {said}");
    assert_eq!(of("x-forwarded-proto: "), ["http"], "{name} {front}: {said}");
}

/// What is for operators is not reached, however it is spelled, and all the rest is.
fn check_operators(name: &str, front: &SocketAddr) {
    let admin = credentials(ADMIN_KEY);
    wait_until(PATIENCE, name, || ask(front, "/1/indexes", &admin).is_some_and(|(status, _)| status == 200));
    for target in ["/metrics", "/metrics/", "/metrics?a=b", "/admin", "/admin/", "/admin/cluster?a=b"] {
        let (status, _) = ask(front, target, &admin).unwrap();
        assert_eq!(status, 404, "{name} {front} {target}");
    }
    for target in [
        "//metrics",
        "/%6detrics",
        "/metrics%2F",
        "/./metrics",
        "/1/../metrics",
        "/1//../../metrics",
        "/METRICS",
        "/metrics;a",
        "http://x/metrics",
        "http://x/admin/cluster",
        "/%61dmin/cluster",
        "//admin/cluster",
        "/admin//cluster",
        "\\admin/cluster",
    ] {
        let (status, text) = ask(front, target, &admin).unwrap();
        let is_shown = text.contains("isSettled") || text.contains("quorate_");
        assert!(status >= 400 && !is_shown, "{name} {front} {target}: {text}");
    }
}

/// A key for some sources goes by who calls the proxy, whatever that one says.
fn check_sources(name: &str, fronts: &[SocketAddr], server: &Server) {
    for (from, status) in [("127.0.0.1", 200), ("203.0.113.7", 403)] {
        let body = json!({"acl": ["listIndexes"], "queryParameters": format!("restrictSources={from}")});
        // who makes a key for some sources has to be there
        let client = server.client().with_header("X-Forwarded-For", from);
        let made = client.post("/1/keys", &body).unwrap().success().unwrap();
        let key = credentials(made.body["key"].as_str().unwrap());
        for front in fronts {
            for claim in ["", "X-Forwarded-For: 203.0.113.7\r\n"] {
                let answer = ask(front, "/1/indexes", &format!("{key}{claim}"));
                assert_eq!(answer.map(|(status, _)| status), Some(status), "{name} {front} {from} {claim}");
            }
        }
    }
}

#[test]
fn the_ready_file_of_haproxy_keeps_operators_apart_and_says_who_calls() {
    match installed(&["/usr/sbin/haproxy", "/usr/bin/haproxy"]) {
        Some(program) => check("HAProxy", |fronts, node| haproxy(&program, fronts, node)),
        None => skip("HAProxy is not installed"),
    }
}

#[test]
fn the_ready_file_of_nginx_keeps_operators_apart_and_says_who_calls() {
    let text = std::fs::read_to_string(file("nginx.conf")).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.starts_with('#')).collect();
    let count = |line: &str| lines.iter().filter(|it| **it == line).count();
    assert_eq!(count("server {"), FRONTS);
    assert_eq!(count("location ~ ^/(admin|metrics)(/|$) { return 404; }"), FRONTS);
    // one more, in a place of its own, would be all that counts there
    let headers: Vec<&str> =
        text.lines().filter(|line| line.trim().starts_with("proxy_set_header X-")).collect();
    let expected =
        ["proxy_set_header X-Forwarded-For $remote_addr;", "proxy_set_header X-Forwarded-Proto $scheme;"];
    assert_eq!(headers, expected);
    let is_inside = |line: &&&str| line.contains("proxy_set_header") && line.contains('{');
    assert_eq!(lines.iter().filter(is_inside).count(), 0);
    let folder = tempfile::tempdir().unwrap();
    if let Some(program) = installed(&["/usr/sbin/nginx", "/usr/bin/nginx"]) {
        check("nginx", |fronts, node| nginx(&program, folder.path(), fronts, node));
    }
}

/// A port such that all that the demo listens at are free now.
fn base_port() -> u16 {
    let mut chance = from_environment("deploy");
    loop {
        let base = 20_000 + 50 * u16::try_from(chance.below(240)).unwrap();
        let free = |offset| TcpListener::bind(("127.0.0.1", base + offset)).is_ok();
        if (0..40).all(free) {
            return base;
        }
    }
}

#[test]
fn the_demo_of_three_nodes_needs_no_proxy_and_begins_when_all_are_in() {
    let folder = tempfile::tempdir().unwrap();
    let (data, ready) = (folder.path().join("data"), folder.path().join("ready"));
    let base = base_port();
    let output = std::fs::File::create(folder.path().join("output")).unwrap();
    let mut command = Command::new(file("demo-cluster"));
    command.arg(&data).env("QUORATE_BIN", binary::path().unwrap()).env("BASE_PORT", base.to_string());
    command.env("HAPROXY", "").env("READY_FILE", &ready).stdout(output.try_clone().unwrap()).stderr(output);
    let mut demo = Demo(command.spawn().unwrap());
    let output = || std::fs::read_to_string(folder.path().join("output")).unwrap();
    wait_until(PATIENCE, "the demo is ready", || {
        assert!(demo.0.try_wait().unwrap().is_none(), "it ended: {}", output());
        ready.exists()
    });
    let text = std::fs::read_to_string(&ready).unwrap();
    let said: HashMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let mut addresses = vec![said["QUORATE_READ"]];
    addresses.extend(said["QUORATE_FALLBACKS"].split(','));
    let expected: Vec<String> = (1..=3).map(|n| format!("127.0.0.1:{}", base + 10 * n)).collect();
    assert_eq!(addresses, expected, "the nodes themselves: {text}");
    assert_eq!(said["QUORATE_WRITE"], expected[0]);
    let client =
        |address: &str, key: &str| Client::new(address, Family::Algolia, said["QUORATE_APP_ID"], key);
    let admin = said["QUORATE_API_KEY"];
    // nothing is waited for here: it said that all is there
    let seen = client(&expected[0], admin).get("/admin/cluster").unwrap().success().unwrap().body;
    let nodes = seen["nodes"].as_array().unwrap();
    assert!(nodes.len() == 3 && seen["isSettled"] == true, "{seen}");
    let written = client(&expected[0], admin).post("/1/indexes/i", &json!({"word": "lamp"})).unwrap();
    written.success().unwrap();
    // the key for searches stands where it says, and counts everywhere
    let search_key = std::fs::read_to_string(data.join("n1/search-key")).unwrap();
    assert!(output().contains("n1/search-key"), "{}", output());
    for address in &expected {
        let client = client(address, search_key.trim());
        wait_until(PATIENCE, "the record is found", || {
            client.search("i", &json!({"query": "lamp"})).is_ok_and(|found| found["nbHits"] == 1)
        });
    }
    // it ends with all that it started
    let status = demo.end();
    assert!(status.success(), "{status}: {}", output());
    for address in &expected {
        let refused = TcpStream::connect(address).map_err(|error| error.kind()).err();
        assert_eq!(refused, Some(ErrorKind::ConnectionRefused), "{address} is still there");
    }
}

/// The script, which takes its nodes with it.
struct Demo(Child);
impl Demo {
    fn end(&mut self) -> std::process::ExitStatus {
        let id = self.0.id().to_string();
        // its own process is not gone before it is waited for
        let _ = Command::new("sh").args(["-c", &format!("kill -TERM {id}")]).status();
        self.0.wait().unwrap()
    }
}
impl Drop for Demo {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            self.end();
        }
    }
}
