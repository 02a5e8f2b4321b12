//! What does an answer cost before anything is searched? Serves recorded answers from the HTTP stack of the node.
//!
//! Arguments: FILE ADDRESS. FILE holds pairs of a request body and the answer to it, each as four bytes of length (little
//! endian) and the bytes. Prints the address it listens on and serves until it is ended. Listener, threads and headers are
//! those of a node; routes, credentials, parsing, searching and rendering are not there.

use actix_web::http::header;
use actix_web::web::{self, Bytes, Data};
use actix_web::{App, HttpResponse, HttpServer};
use std::collections::HashMap;
use std::io::{Error, Result, Write};
use std::time::Duration;

const LENGTH_BYTES: usize = 4;
const BACKLOG: u32 = 1_024;
const KEEP_ALIVE: Duration = Duration::from_secs(75);

type Answers = HashMap<Bytes, Bytes>;

#[actix_web::main]
async fn main() -> Result<()> {
    let mut given = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(file), Some(address)) = (given.next(), given.next()) else {
        return Err(Error::other("canned FILE ADDRESS"));
    };
    let answers = Data::new(recorded(Bytes::from(std::fs::read(file)?))?);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let http = HttpServer::new(move || App::new().app_data(answers.clone()).default_service(web::to(answer)))
        .workers(threads)
        .backlog(BACKLOG)
        .keep_alive(KEEP_ALIVE)
        .tcp_nodelay(true)
        .bind(address)?;
    for address in http.addrs() {
        println!("{address}");
    }
    std::io::stdout().flush()?;
    http.run().await
}

async fn answer(body: Bytes, answers: Data<Answers>) -> HttpResponse {
    let Some(known) = answers.get(&body) else { return HttpResponse::NotFound().body("not recorded") };
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CONTENT_TYPE, "application/json; charset=UTF-8"));
    response.insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"));
    response.insert_header(("correlation-id", "0123456789abcdef"));
    response.insert_header((header::VARY, "accept-encoding"));
    response.body(known.clone())
}

/// The pairs of a file. Errors: it ends within one.
fn recorded(mut bytes: Bytes) -> Result<Answers> {
    let mut next = || -> Result<Option<Bytes>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let broken = || Error::other("the recorded answers break off");
        if bytes.len() < LENGTH_BYTES {
            return Err(broken());
        }
        let head = bytes.split_to(LENGTH_BYTES);
        let length = head.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        if bytes.len() < length {
            return Err(broken());
        }
        Ok(Some(bytes.split_to(length)))
    };
    let mut answers = Answers::new();
    while let Some(request) = next()? {
        let answer = next()?.ok_or_else(|| Error::other("a recorded request has no answer"))?;
        answers.insert(request, answer);
    }
    Ok(answers)
}
