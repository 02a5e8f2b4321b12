//! What does an endpoint know of the request it answers?

use crate::auth::Caller;
use crate::listener::Listener;
use crate::state::ApiState;
use actix_web::http::header::HeaderMap;
use actix_web::web::Bytes;
use quorate_cluster::Service;
use quorate_model::{IndexName, Result};
use quorate_wire::QueryString;
use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Instant;

/// One authenticated request.
pub struct Call<'a> {
    /// Shared by all requests.
    pub state: &'a ApiState,
    /// Who calls.
    pub caller: Caller,
    /// Decoded names of the path, in the order of its template.
    pub names: Vec<Cow<'a, str>>,
    /// The raw query string.
    pub query: QueryString<'a>,
    /// Headers.
    pub headers: &'a HeaderMap,
    /// The body, decompressed.
    pub body: Bytes,
    /// Where the request comes from: the first address of X-Forwarded-For, otherwise the peer.
    pub address: Option<IpAddr>,
    /// What the listener that took it is there for.
    pub listener: Listener,
    /// When the head had been read.
    pub started: Instant,
}

impl<'a> Call<'a> {
    /// The service.
    pub fn service(&self) -> &'a Service {
        self.state.service()
    }
    /// The index the path names.
    pub fn index_name(&self) -> Result<IndexName> {
        IndexName::new(&self.names[0])
    }
    /// Milliseconds since the request was read.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
