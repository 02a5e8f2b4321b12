//! How does the bench talk to the node cheaply? One kept connection, requests rendered before the clock starts.

use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const ANSWER: Duration = Duration::from_secs(120);

/// Where the node is and who asks.
#[derive(Clone, Debug)]
pub struct Target {
    /// `HOST:PORT`.
    pub address: String,
    /// Application id.
    pub app_id: String,
    /// Key.
    pub api_key: String,
}

/// A kept connection.
pub struct Connection {
    target: Target,
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects.
    pub fn open(target: &Target) -> Result<Connection> {
        let stream = TcpStream::connect(&target.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        Ok(Connection { target: target.clone(), stream: BufReader::with_capacity(1 << 16, stream) })
    }

    /// The bytes of a request.
    pub fn render(target: &Target, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nX-Service-Application-Id: {}\r\nX-Service-API-Key: {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            target.address,
            target.app_id,
            target.api_key,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        request
    }

    /// Sends a rendered request and reads its answer. Errors: any status but 2xx.
    pub fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<()> {
        self.stream.get_mut().write_all(request)?;
        let status = self.read_answer(answer)?;
        ensure!((200..300).contains(&status), "status {status}: {}", String::from_utf8_lossy(answer));
        Ok(())
    }

    /// Renders, sends and parses.
    pub fn call(&mut self, method: &str, path: &str, body: &[u8]) -> Result<serde_json::Value> {
        let request = Connection::render(&self.target, method, path, body);
        let mut answer = Vec::new();
        self.exchange(&request, &mut answer).with_context(|| format!("{method} {path}"))?;
        Ok(serde_json::from_slice(&answer)?)
    }

    fn read_answer(&mut self, answer: &mut Vec<u8>) -> Result<u16> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).context("no status line")?;
        let (mut length, mut is_chunked) = (None, false);
        loop {
            line.clear();
            ensure!(self.stream.read_line(&mut line)? > 0, "the answer broke off");
            let header = line.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>()?);
            }
            is_chunked |= header == "transfer-encoding: chunked";
        }
        answer.clear();
        match length {
            Some(length) => {
                answer.resize(length, 0);
                self.stream.read_exact(answer)?;
            }
            None if is_chunked => self.read_chunks(answer)?,
            None => bail!("an answer without a length"),
        }
        Ok(status)
    }

    fn read_chunks(&mut self, answer: &mut Vec<u8>) -> Result<()> {
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim(), 16).context("no chunk size")?;
            let start = answer.len();
            answer.resize(start + size, 0);
            self.stream.read_exact(&mut answer[start..])?;
            line.clear();
            self.stream.read_line(&mut line)?;
            if size == 0 {
                return Ok(());
            }
        }
    }
}
