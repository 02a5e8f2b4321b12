//! What is learnt of a call while it is answered that its log entry says?

use crate::auth::Caller;
use actix_web::web::Bytes;
use quorate_cluster::request_log::InnerCall;
use quorate_cluster::{ReadRights, ServedSearch, ServedSearches};
use quorate_model::{IndexName, SearchResults};
use std::cell::{Cell, RefCell};

/// Indices of one call that its entry names at most, and their bytes with those of users.
const INNER_MAX: usize = 100;
const INNER_BYTES_MAX: usize = 4 << 10;
/// Bytes of a name of a user (C§13.3).
const USER_TOKEN_BYTES_MAX: usize = 129;

/// Gathered while a call is answered. A call is logged once its credentials were found to hold: strangers would push everything
/// else out of the log.
#[derive(Debug, Default)]
pub struct CallNote {
    /// When its head had been read, Unix milliseconds.
    pub began_ms: u64,
    pub(super) caller: Cell<Option<ReadRights>>,
    /// The key that the caller has shown.
    pub(super) key: RefCell<String>,
    pub(super) body: RefCell<Bytes>,
    pub(super) hits: Cell<Option<(u64, bool)>>,
    pub(super) inner: RefCell<Inner>,
    served: RefCell<ServedSearches>,
}

/// The queries of a call, or the indices that it is about beside the one that its path names.
#[derive(Debug, Default)]
pub(super) struct Inner {
    pub calls: Vec<InnerCall>,
    /// Whether there are more than are named.
    pub has_more: bool,
    bytes: usize,
}

impl CallNote {
    /// Of a call that begins at a time, Unix milliseconds.
    pub fn of(began_ms: u64) -> Self {
        CallNote { began_ms, ..CallNote::default() }
    }
    /// Its credentials hold, and this is whose they are.
    pub fn known(&self, caller: &Caller, key: Option<&str>) {
        self.caller.set(Some(caller.read_rights()));
        self.key.replace(key.unwrap_or_default().to_owned());
    }
    /// Its body has been read.
    pub fn body(&self, body: &Bytes) {
        self.body.replace(body.clone());
    }
    /// Its query has found this.
    pub fn found(&self, results: &SearchResults) {
        self.hits.set(Some((results.nb_hits, results.exhaustive_nb_hits)));
    }
    /// It has served a search, which counts if the call is answered with it.
    pub fn served(&self, search: ServedSearch<'_>) {
        self.served.borrow_mut().push(search);
    }
    /// What it has served.
    pub fn take_served(&self) -> ServedSearches {
        self.served.take()
    }
    /// The next of its queries is of this index, for this user.
    pub fn asks(&self, index: &IndexName, user_token: Option<&str>) {
        let mut inner = self.inner.borrow_mut();
        let index = index.as_str().to_owned();
        let user_token =
            user_token.map(|token| token[..token.floor_char_boundary(USER_TOKEN_BYTES_MAX)].to_owned());
        inner.bytes += index.len() + user_token.as_ref().map_or(0, String::len);
        if inner.calls.len() < INNER_MAX && inner.bytes <= INNER_BYTES_MAX {
            inner.calls.push(InnerCall { index, user_token, query_id: None });
        } else {
            inner.has_more = true;
        }
    }
    /// This is what events name one of its queries by.
    pub fn answers_as(&self, query: usize, query_id: &str) {
        if let Some(inner) = self.inner.borrow_mut().calls.get_mut(query) {
            inner.query_id = Some(query_id.to_owned());
        }
    }
    /// It is about this index, maybe again.
    pub fn about(&self, index: &IndexName) {
        let is_noted = self.inner.borrow().calls.iter().any(|it| it.index == index.as_str());
        if !is_noted {
            self.asks(index, None);
        }
    }
}
