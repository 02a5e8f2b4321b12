//! What does this node keep of the calls that it answers?

use super::traffic::Traffic;
use crate::rate_limit::RateLimiter;
use crate::request_log::{READERS, RequestLog};
use tokio::sync::Semaphore;

/// What calls leave behind on this node.
pub struct Calls {
    /// Those that were answered lately, unless this node keeps none.
    pub log: Option<RequestLog>,
    /// Who may merge the logs of all nodes just now.
    pub log_readers: Semaphore,
    /// Those that keys still allow.
    pub rate_limiter: RateLimiter,
    /// How many searches there were, and how long they took.
    pub traffic: Traffic,
}

impl Calls {
    /// Of a node that has answered nothing yet, and keeps a log or none.
    pub fn new(keeps_log: bool) -> Calls {
        Calls {
            log: keeps_log.then(RequestLog::default),
            log_readers: Semaphore::new(READERS),
            rate_limiter: RateLimiter::default(),
            traffic: Traffic::default(),
        }
    }
}
