//! How are rows of events sent to a sink? One POST for some thousands of them, with a line of JSON for each.

use crate::config::Values;
use crate::roots;
use anyhow::{Result, bail};
use quorate_cluster::EventSink;
use std::fmt;
use std::io::{ErrorKind, Read as _};
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::TlsConfig;

const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(30);
/// Bytes of an answer that are read, so that the connection can be used again.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// A sink that is spoken to by HTTP.
struct HttpSink {
    agent: Agent,
    url: String,
    token: Option<String>,
}

impl fmt::Debug for HttpSink {
    /// Without what may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSink").finish_non_exhaustive()
    }
}

/// The sink that an operator wants, if any.
pub fn wanted(values: &Values) -> Result<Option<Arc<dyn EventSink>>> {
    let token = values.text("events-sink-token").map(str::to_owned);
    // also without a sink: a file that is not there is a slip
    let tls = roots::tls(values)?;
    let Some(url) = values.text("events-sink-url") else {
        if token.is_some() {
            bail!("events-sink-token: there is no events-sink-url that it is for");
        }
        return Ok(None);
    };
    let authority = url.split("://").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next());
    if authority.is_none_or(|authority| authority.contains('@')) {
        bail!(
            "events-sink-url: no user and password in it (the variable QUORATE_EVENTS_SINK_TOKEN has a token)"
        );
    }
    if url.parse::<ureq::http::Uri>().is_err() {
        bail!("events-sink-url: it is no URL");
    }
    if token.as_deref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
        bail!("events-sink-token: only visible ASCII characters");
    }
    Ok(Some(Arc::new(HttpSink::new(url, token, tls))))
}

impl HttpSink {
    fn new(url: &str, token: Option<String>, tls: TlsConfig) -> HttpSink {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            // a redirect could lead rows and token elsewhere
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(ANSWER))
            .tls_config(tls)
            .user_agent(concat!("quorate/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        HttpSink { agent, url: url.to_owned(), token }
    }
}

impl EventSink for HttpSink {
    fn send(&self, lines: &[u8]) -> Result<(), String> {
        let mut request = self.agent.post(&self.url).header("Content-Type", "application/x-ndjson");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let mut answer = request.send(lines).map_err(|error| reason(&error))?;
        let status = answer.status();
        let body = answer.body_mut().as_reader().take(ANSWER_BYTES_MAX);
        let _what_it_says = std::io::copy(&mut { body }, &mut std::io::sink());
        if status.is_success() { Ok(()) } else { Err(format!("it answers {}", status.as_u16())) }
    }
}

/// Why there was no answer, without the address, which may hold what is secret.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "it did not answer in time".to_owned(),
        ureq::Error::HostNotFound => "its host is not found".to_owned(),
        // a certificate that is not accepted ends the connection within a write
        ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
            format!("no connection by TLS: {error}")
        }
        ureq::Error::Io(error) => format!("it cannot be reached: {}", error.kind()),
        ureq::Error::Tls(what) => format!("no connection by TLS: {what}"),
        ureq::Error::Rustls(error) => format!("no connection by TLS: {error}"),
        _ => "it gave no answer that can be read".to_owned(),
    }
}

#[cfg(test)]
#[path = "sink_tests.rs"]
mod tests;
