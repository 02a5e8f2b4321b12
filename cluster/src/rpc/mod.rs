//! What nodes ask each other, in types: questions and answers, the calls of a read, and who carries them.

pub mod calls;
pub mod peer_client;
pub mod requests;
pub mod snapshot_source;
