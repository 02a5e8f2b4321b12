//! Durable bytes of one node: the file layer, the metadata store, its dump, and how values are framed.

pub mod admin_key;
pub mod codec;
pub mod dump;
mod error;
pub mod failing;
pub mod files;
pub mod full_disk;
pub mod identity;
pub mod incoming;
pub mod kv;
pub mod layout;
pub mod recorder;
mod session;
pub mod space;
mod upgrade;

pub use error::{Result, StoreError};
