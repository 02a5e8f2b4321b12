//! Models of recommendations: which are made when, by the node that leads their group, and how their files get to the others.

mod builds;
mod due;
mod files;

pub use builds::run as build;
pub use files::run as keep_files;
