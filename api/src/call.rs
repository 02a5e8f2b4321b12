//! What does an endpoint know of the request it answers?

use crate::auth::Caller;
use crate::clusters::named_user;
use crate::listener::Listener;
use crate::logs::CallNote;
use crate::parse;
use crate::room::Taken;
use crate::state::ApiState;
use actix_web::http::header::HeaderMap;
use actix_web::web::Bytes;
use quorate_cluster::{CallerOp, ReadRights, Receipt, Service};
use quorate_model::{Error, IndexName, Result, UserId};
use quorate_wire::QueryString;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::RefCell;
use std::net::IpAddr;
use std::time::Instant;

/// Bytes that the body of a call may have together with what is made of it, more or less.
const HELD_BYTES_MAX: usize = 64 << 20;

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
    /// Whose call it is, as far as rights and limits by address go: nobody but a trusted proxy can claim another.
    pub caller_address: Option<IpAddr>,
    /// What the log says of it beside.
    pub note: &'a CallNote,
    /// What the listener that took it is there for.
    pub listener: Listener,
    /// When the head had been read.
    pub started: Instant,
    /// What the call holds of the memory that large bodies share.
    pub held: RefCell<Taken>,
}

impl<'a> Call<'a> {
    /// The service.
    pub fn service(&self) -> &'a Service {
        self.state.service()
    }
    /// Takes memory for what the body becomes, until the call is answered. Errors: `Invalid` when that is more than
    /// [`HELD_BYTES_MAX`] with the body; `Unavailable` when others hold all there is.
    pub fn hold(&self, bytes: usize) -> Result<()> {
        let mut held = self.held.borrow_mut();
        match held.bytes() + bytes <= HELD_BYTES_MAX {
            true => held.grow(bytes),
            false => {
                Err(Error::invalid("The body asks for too much at once: send fewer requests in one call"))
            }
        }
    }
    /// The body, a JSON object; empty when there is none.
    pub async fn object(&self) -> Result<Map<String, Value>> {
        parse::away(&self.body, parse::object).await
    }
    /// The body, an object of a known shape.
    pub async fn typed<T: DeserializeOwned + Send + 'static>(&self) -> Result<T> {
        parse::away(&self.body, parse::typed).await
    }
    /// The index the path names.
    pub fn index_name(&self) -> Result<IndexName> {
        IndexName::new(&self.names[0])
    }
    /// The user whose records the request is for, where the installation places records by user (C§15).
    ///
    /// Errors: `Invalid` when the request names none there, or one whose id is not valid. Cost: one load when it does not.
    pub fn user(&self) -> Result<Option<UserId>> {
        if !self.service().places_by_user() {
            return Ok(None);
        }
        match named_user(self)? {
            Some(user) => Ok(Some(user)),
            None => Err(Error::invalid(
                "a user ID is required in the header X-Service-User-ID: this application keeps records by user",
            )),
        }
    }
    /// Reads one index: `ask` is given the index that has the records of the request's user, and `asked`.
    ///
    /// Errors: those of `ask`; `Invalid` as of [`Self::user`] and for a user that is in no cluster.
    pub async fn read<A: Clone, T>(
        &self,
        index: &IndexName,
        asked: A,
        mut ask: impl AsyncFnMut(&IndexName, A) -> Result<T>,
    ) -> Result<T> {
        match self.user()? {
            Some(user) => {
                // asked again when the user was moved meanwhile
                let again = async |part: &IndexName| ask(part, asked.clone()).await;
                // on the heap, so that where nobody places by user no call makes room for it
                Box::pin(self.service().read_for(&user, index, again)).await
            }
            None => ask(index, asked).await,
        }
    }
    /// Writes records of one index.
    pub async fn write(&self, index: &IndexName, ops: Vec<CallerOp>) -> Result<Receipt> {
        match self.user()? {
            Some(user) => self.service().write_records_for(&user, index, ops).await,
            None => self.service().write_records(index, ops).await,
        }
    }
    /// What the caller may be shown, and how much of it.
    pub fn read_rights(&self) -> ReadRights {
        ReadRights { bytes_max: self.state.limits().answer_bytes_max, ..self.caller.read_rights() }
    }
    /// Milliseconds since the request was read.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
