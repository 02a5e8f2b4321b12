//! How does a request become a call on the service, and its outcome an answer?
//!
//! One table of routes (`table`) says method, path, right, body and handler; one path of code (`entry`) takes
//! every request through cross-origin answers, routing, credentials, body, endpoint, log line and figures.
#![warn(missing_docs)]

pub mod admin;
mod analytics;
pub mod auth;
mod away;
pub mod body;
pub mod call;
pub mod clusters;
pub mod connection;
pub mod dictionaries;
mod doorman;
pub mod entry;
pub mod error;
mod http2;
pub mod indices;
pub mod insights;
pub mod keys;
pub mod listener;
pub mod location;
pub mod logs;
pub mod metrics;
pub mod network;
pub mod objects;
pub mod openapi;
pub mod operations;
pub mod parse;
pub mod recommend;
pub mod reply;
pub mod resources;
pub mod room;
pub mod routes;
pub mod search;
pub mod server;
pub mod settings;
pub mod sources;
pub mod state;
mod stream;
mod suggestions;
pub mod table;
pub mod tasks;
pub mod tls;

pub use listener::Listener;
pub use location::Locations;
pub use network::Networks;
pub use server::{Encrypted, ServerOptions, routes, server};
pub use state::{ApiState, Limits};
pub use tls::{Tls, TlsFiles};
