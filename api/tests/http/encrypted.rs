//! Do clients call by HTTPS, and who is turned away?

use super::*;
use actix_web::web::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use quorate_api::{Encrypted, Networks, Tls, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Somebody who issues certificates, to nodes and to operators.
struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl Authority {
    fn new() -> Authority {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        let certificate = certificate.der().clone();
        Authority { folder, issuer: Issuer::new(params, key), certificate }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    /// Writes a certificate of a host and its key.
    fn issue(&self, name: &str, host: &str) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.path(&format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(self.path(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }
    fn files(&self, names: &[&str]) -> TlsFiles {
        let of = |kind: &str| names.iter().map(|name| self.path(&format!("{name}.{kind}"))).collect();
        TlsFiles { certificates: of("pem"), keys: of("key"), client_ca: None }
    }
    /// Connects as a client that speaks this protocol, perhaps with a certificate of its own.
    async fn connect(
        &self,
        at: SocketAddr,
        host: &str,
        alpn: &str,
        own: Option<&str>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some(name) => {
                let chain = CertificateDer::pem_file_iter(self.path(&format!("{name}.pem"))).unwrap();
                let key = PrivateKeyDer::from_pem_file(self.path(&format!("{name}.key"))).unwrap();
                builder.with_client_auth_cert(chain.map(Result::unwrap).collect(), key).unwrap()
            }
        };
        config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        let stream = TcpStream::connect(at).await?;
        let name = ServerName::try_from(host.to_owned()).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }
}

/// A call by HTTP/1.1; what came back, whole.
async fn exchange(
    mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    head: &str,
    more: &str,
) -> (u16, String) {
    let text = format!(
        "{head} HTTP/1.1\r\nhost: search.example:1\r\nconnection: close\r\nx-algolia-application-id: {APP}\r\n\
         x-algolia-api-key: {ADMIN}\r\n{more}content-length: 0\r\n\r\n"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // a server may end without saying so
    let _ended = stream.read_to_string(&mut answer).await;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no answer: {answer:?}")), answer)
}

/// Runs a server with these options while `calls` run, which are given its two addresses.
async fn serving(options: ServerOptions, calls: impl AsyncFnOnce(SocketAddr, SocketAddr)) {
    let bound = quorate_api::server(options).unwrap();
    let handle = bound.server.handle();
    let (plain, encrypted) = (bound.address, bound.encrypted.unwrap());
    let running = actix_rt::spawn(bound.server);
    calls(plain, encrypted).await;
    handle.stop(true).await;
    running.await.unwrap().unwrap();
}
fn encrypted(node: &Node, files: TlsFiles) -> (ServerOptions, Tls) {
    let tls = Tls::open(files).unwrap();
    let listen: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let encrypted = Some(Encrypted { listen, tls: tls.clone() });
    (ServerOptions { encrypted, ..node.options() }, tls)
}
/// A caller of the proxy at this machine, which says how it was called.
fn from_elsewhere(proto: &str) -> String {
    format!("x-forwarded-for: 9.9.9.9\r\nx-forwarded-proto: {proto}\r\n")
}

#[actix_web::test]
async fn both_protocols_are_spoken_and_hosts_have_certificates_of_their_own() {
    let (node, authority) = (Node::start().await, Authority::new());
    authority.issue("a", "search.example");
    authority.issue("b", "*.other.example");
    let (options, tls) = encrypted(&node, authority.files(&["a", "b"]));
    serving(options, async |_, at| {
        for host in ["search.example", "x.other.example"] {
            let stream = authority.connect(at, host, "http/1.1", None).await.unwrap();
            let (status, answer) = exchange(stream, "GET /1/indexes", "").await;
            assert_eq!(status, 200, "{answer}");
        }
        let strange = authority.connect(at, "third.example", "http/1.1", None).await;
        assert!(strange.is_err(), "nobody has a certificate for it");
        let stream = authority.connect(at, "search.example", "h2", None).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
        let connection = actix_rt::spawn(connection);
        let (answer, _) = begin(&mut client, "/1/indexes/i/o", "PUT", br#"{"a":1}"#.to_vec(), true).await;
        assert_eq!(answer.await.unwrap().status(), 201);
        connection.abort();
        // plain text is no TLS
        let mut plain = TcpStream::connect(at).await.unwrap();
        plain.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut answer = vec![];
        let _ended = plain.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
        // a new certificate counts for new connections
        authority.issue("a", "third.example");
        assert!(tls.has_changed());
        tls.reload().unwrap();
        let stream = authority.connect(at, "third.example", "http/1.1", None).await.unwrap();
        assert_eq!(exchange(stream, "GET /1/indexes", "").await.0, 200);
        assert!(authority.connect(at, "search.example", "http/1.1", None).await.is_err());
    })
    .await;
}

/// Begins a call by HTTP/2.
async fn begin(
    client: &mut SendRequest<Bytes>,
    path: &str,
    method: &str,
    body: Vec<u8>,
    is_whole: bool,
) -> (ResponseFuture, h2::SendStream<Bytes>) {
    std::future::poll_fn(|context| client.poll_ready(context)).await.unwrap();
    let request = http02::Request::builder().method(method).uri(format!("https://search.example{path}"));
    let request = request.header("x-algolia-application-id", APP).header("x-algolia-api-key", ADMIN);
    let (answer, mut stream) = client.send_request(request.body(()).unwrap(), false).unwrap();
    stream.send_data(body.into(), is_whole).unwrap();
    (answer, stream)
}

/// A client by HTTP/2, and its connection, which goes on for itself.
async fn client(
    authority: &Authority,
    at: SocketAddr,
    settings: &h2::client::Builder,
) -> (SendRequest<Bytes>, actix_rt::task::JoinHandle<Result<(), h2::Error>>) {
    let stream = authority.connect(at, "search.example", "h2", None).await.unwrap();
    let (client, connection) = settings.handshake(stream).await.unwrap();
    (client, actix_rt::spawn(connection))
}

#[actix_web::test]
async fn one_connection_has_so_many_calls_at_a_time_and_no_more() {
    let (node, authority) = (Node::start().await, Authority::new());
    authority.issue("a", "search.example");
    let (options, _) = encrypted(&node, authority.files(&["a"]));
    serving(options, async |_, at| {
        let (mut client, connection) = client(&authority, at, &h2::client::Builder::new()).await;
        let (first, _) = begin(&mut client, "/1/indexes", "GET", vec![], true).await;
        assert_eq!(first.await.unwrap().status(), 200, "now the client knows how many it may have");
        let mut waiting = vec![];
        for _ in 0..128 {
            waiting.push(
                begin(&mut client, "/1/indexes/*/queries", "POST", b"{\"requests\":".to_vec(), false).await,
            );
        }
        let one_more = async {
            let (answer, _) = begin(&mut client, "/1/indexes", "GET", vec![], true).await;
            answer.await.unwrap().status()
        };
        let mut one_more = Box::pin(one_more);
        assert!(tokio::time::timeout(Duration::from_millis(200), &mut one_more).await.is_err(), "it waits");
        for (answer, mut stream) in waiting {
            stream.send_data("[]}".into(), true).unwrap();
            assert_eq!(answer.await.unwrap().status(), 200);
        }
        assert_eq!(one_more.await, 200);
        connection.abort();
    })
    .await;
}

#[actix_web::test]
async fn a_refused_call_may_send_its_body_to_the_end() {
    let (node, authority) = (Node::start().await, Authority::new());
    authority.issue("a", "search.example");
    let (options, _) = encrypted(&node, authority.files(&["a"]));
    serving(options, async |_, at| {
        let (mut client, connection) = client(&authority, at, &h2::client::Builder::new()).await;
        let (answer, mut stream) = begin(&mut client, "/nothing", "POST", b"{".to_vec(), false).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        stream.send_data("}".into(), true).expect("the stream is not reset");
        assert_eq!(answer.await.unwrap().status(), 404);
        connection.abort();
    })
    .await;
}

#[actix_web::test]
async fn answers_that_nobody_takes_hold_places_and_memory_until_their_connection_is_ended() {
    let (node, authority) = (Node::start().await, Authority::new());
    authority.issue("a", "search.example");
    let (options, _) = encrypted(&node, authority.files(&["a"]));
    serving(options, async |_, at| {
        // a client that takes nothing
        let mut unwilling = h2::client::Builder::new();
        unwilling.initial_window_size(0);
        let (mut own, connection) = client(&authority, at, &unwilling).await;
        let mut unread = vec![];
        for _ in 0..128 {
            let (answer, _) = begin(&mut own, "/1/indexes", "GET", vec![], true).await;
            let answer = answer.await.unwrap();
            assert_eq!(answer.status(), 200);
            unread.push(answer);
        }
        let one_more = tokio::time::timeout(Duration::from_millis(200), async {
            begin(&mut own, "/1/indexes", "GET", vec![], true).await.0.await
        });
        assert!(one_more.await.is_err(), "answers under way count");
        // it answers every sign of life, and is ended for all that
        let ended = tokio::time::timeout(Duration::from_secs(25), connection).await;
        assert!(ended.is_ok(), "the connection goes on");
        drop(unread);
        let (mut other, connection) = client(&authority, at, &h2::client::Builder::new()).await;
        let (answer, _) = begin(&mut other, "/1/indexes", "GET", vec![], true).await;
        assert_eq!(answer.await.unwrap().status(), 200);
        connection.abort();
    })
    .await;
}

#[actix_web::test]
async fn the_head_of_a_call_by_http2_is_bounded_as_it_is_unpacked() {
    let (node, authority) = (Node::start().await, Authority::new());
    authority.issue("a", "search.example");
    let (options, _) = encrypted(&node, authority.files(&["a"]));
    serving(options, async |_, at| {
        let (mut client, connection) = client(&authority, at, &h2::client::Builder::new()).await;
        // the second and third are some 100 bytes on the wire: a long value is named by a number once it was sent
        for (headers, bytes, expected) in
            [(3, 3_000, 200), (30, 3_000, 431), (2, 70_000, 431), (3, 3_000, 200)]
        {
            std::future::poll_fn(|context| client.poll_ready(context)).await.unwrap();
            let mut request = http02::Request::builder().uri("https://search.example/1/isalive");
            for _ in 0..headers {
                request = request.header("x-long", "a".repeat(bytes));
            }
            let (answer, _) = client.send_request(request.body(()).unwrap(), true).unwrap();
            assert_eq!(answer.await.unwrap().status(), expected, "{headers} headers of {bytes} bytes");
        }
        connection.abort();
    })
    .await;
}

#[actix_web::test]
async fn who_never_says_how_a_connection_is_encrypted_takes_no_more_than_who_does() {
    let (node, authority) = (Node::start().await, Authority::new());
    authority.issue("a", "search.example");
    let (options, _) = encrypted(&node, authority.files(&["a"]));
    let options = ServerOptions { connections_max: 200, workers: 1, ..options };
    serving(options, async |_, at| {
        let mut silent = vec![];
        for _ in 0..400 {
            silent.push(TcpStream::connect(at).await.unwrap());
        }
        // those it may not have are ended at once: their places are for others
        let mut open = 0;
        for stream in &mut silent {
            let read = tokio::time::timeout(Duration::from_millis(10), stream.read(&mut [0])).await;
            open += usize::from(read.is_err());
        }
        assert!((16..=100).contains(&open), "{open} of 400 are open");
        // and those it may have are ended when they have said nothing for long enough
        let begun = Instant::now();
        for stream in &mut silent {
            let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut [0])).await;
            assert!(read.is_ok(), "one stays open for {:?}", begun.elapsed());
        }
        let stream = authority.connect(at, "search.example", "http/1.1", None).await.unwrap();
        assert_eq!(exchange(stream, "GET /1/indexes", "").await.0, 200);
    })
    .await;
}

#[actix_web::test]
async fn where_plain_http_is_closed_a_call_is_told_where_to_go() {
    let (node, authority) = (Node::start().await, Authority::new());
    authority.issue("a", "search.example");
    let (options, _) = encrypted(&node, authority.files(&["a"]));
    let trusted_proxies = Networks::parse(["127.0.0.1"]).unwrap();
    let options = ServerOptions { https_only: true, trusted_proxies, ..options };
    serving(options, async |plain, at| {
        let call = async |more: &str, head: &str| {
            exchange(TcpStream::connect(plain).await.unwrap(), head, more).await
        };
        let (status, answer) = call(&from_elsewhere("http"), "GET /1/indexes").await;
        let expected = format!("Calls by plain HTTP are not taken, use https://search.example:{}", at.port());
        assert!(status == 403 && answer.contains(&expected), "{answer}");
        assert_eq!(call("x-forwarded-for: 9.9.9.9\r\n", "GET /1/indexes").await.0, 403);
        assert_eq!(call(&from_elsewhere("https"), "GET /1/indexes").await.0, 200, "the proxy says so");
        for (more, expected) in
            [("https\r\nx-forwarded-proto: http", 403), ("http, HTTPS", 200), ("https, http", 403)]
        {
            assert_eq!(
                call(&from_elsewhere(more), "GET /1/indexes").await.0,
                expected,
                "{more}: the last says it"
            );
        }
        assert_eq!(call("", "GET /1/indexes").await.0, 200, "from this machine");
        assert_eq!(call(&from_elsewhere("http"), "GET /livez").await.0, 200, "what balancers ask");
        let stream = authority.connect(at, "search.example", "http/1.1", None).await.unwrap();
        assert_eq!(exchange(stream, "GET /1/indexes", &from_elsewhere("http")).await.0, 200);
    })
    .await;
}

#[actix_web::test]
async fn operators_show_certificates_where_that_is_asked() {
    let (node, authority, strangers) = (Node::start().await, Authority::new(), Authority::new());
    authority.issue("a", "search.example");
    authority.issue("operator", "operator.example");
    strangers.issue("stranger", "operator.example");
    let files = TlsFiles { client_ca: Some(authority.path("ca.pem")), ..authority.files(&["a"]) };
    let (options, _) = encrypted(&node, files);
    let options = ServerOptions { trusted_proxies: Networks::parse(["127.0.0.1"]).unwrap(), ..options };
    serving(options, async |plain, at| {
        let call = async |own: Option<&str>, head: &str| {
            let stream = authority.connect(at, "search.example", "http/1.1", own).await.unwrap();
            exchange(stream, head, &from_elsewhere("https")).await
        };
        let (status, answer) = call(None, "GET /admin/cluster").await;
        assert!(status == 403 && answer.contains("need a client certificate"), "{answer}");
        assert_eq!(call(Some("operator"), "GET /admin/cluster").await.0, 200);
        assert_eq!(call(None, "GET /1/indexes").await.0, 200, "other calls need none");
        let over_plain = TcpStream::connect(plain).await.unwrap();
        assert_eq!(exchange(over_plain, "GET /admin/cluster", &from_elsewhere("https")).await.0, 403);
        // one of another authority: the copy is where its holder would have it
        for kind in ["pem", "key"] {
            let name = format!("stranger.{kind}");
            std::fs::copy(strangers.path(&name), authority.path(&name)).unwrap();
        }
        let refused = authority.connect(at, "search.example", "http/1.1", Some("stranger")).await;
        let is_refused = match refused {
            Err(_) => true,
            Ok(mut stream) => {
                // with TLS 1.3 the refusal comes after the client's last message
                let _lost = stream.write_all(b"GET /admin/cluster HTTP/1.1\r\nhost: a\r\n\r\n").await;
                let mut answer = vec![];
                stream.read_to_end(&mut answer).await.is_err() || answer.is_empty()
            }
        };
        assert!(is_refused);
    })
    .await;
}
