//! Do keys and tokens that are replaced, or deleted, stop counting on every node?

mod admin_key;
mod join_token;
mod revoked;
