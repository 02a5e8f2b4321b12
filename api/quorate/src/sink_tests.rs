//! Does a sink by HTTPS get rows and token, and nobody else?

use super::*;
use crate::config::{Environment, resolve};
use crate::options::Audience;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

/// A server that takes whatever is sent with a certificate for `localhost`, and says what the first call that comes through was.
fn server(key: &rcgen::KeyPair, own: &rcgen::Certificate) -> (SocketAddr, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = versions.unwrap().with_no_client_auth().with_single_cert(vec![own.der().clone()], key);
    let config = Arc::new(config.unwrap());
    let serve = move || {
        loop {
            let (stream, _) = listener.accept().unwrap();
            let connection = ServerConnection::new(config.clone()).unwrap();
            let mut reader = BufReader::new(StreamOwned::new(connection, stream));
            let (mut text, mut length) = (String::new(), 0);
            while reader.read_line(&mut text).is_ok_and(|read| read > 2) {
                let last = text.lines().next_back().unwrap_or_default().to_ascii_lowercase();
                length = last.strip_prefix("content-length: ").map_or(length, |it| it.parse().unwrap());
            }
            if text.is_empty() {
                continue;
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            reader.get_mut().write_all(answer).unwrap();
            reader.get_mut().conn.send_close_notify();
            reader.get_mut().flush().unwrap();
            return text + &String::from_utf8(body).unwrap();
        }
    };
    (address, std::thread::spawn(serve))
}
fn sink(port: u16, ca_file: Option<&Path>) -> Arc<dyn EventSink> {
    let url = format!("https://localhost:{port}/rows?a=b");
    let ca_file = ca_file.map(|path| path.to_str().unwrap().to_owned());
    let flags: Vec<_> = [("events-sink-url", Some(url)), ("ca-file", ca_file)]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    let token = [("QUORATE_EVENTS_SINK_TOKEN", "secret-of-sink")];
    let values = resolve(Audience::Server, &flags, &Environment::of(&token)).unwrap();
    wanted(&values).unwrap().unwrap()
}

#[test]
fn rows_and_token_go_by_https_to_whom_the_file_of_authorities_knows_alone() {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let own = params.self_signed(&key).unwrap();
    let (address, served) = server(&key, &own);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), own.pem()).unwrap();
    let refused = sink(address.port(), None).send(b"{\"a\":1}\n").unwrap_err();
    assert!(refused.starts_with("no connection by TLS: "), "{refused}");
    sink(address.port(), Some(file.path())).send(b"{\"a\":2}\n{\"a\":3}\n").unwrap();
    let text = served.join().unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /rows?a=b HTTP/1.1\r\n"), "{head}");
    assert!(head.to_ascii_lowercase().contains("authorization: bearer secret-of-sink"), "{head}");
    assert_eq!(body, "{\"a\":2}\n{\"a\":3}\n");
}
