//! Which items go together? Item-item models: what they learn from, how they are built, and the files they are.
//!
//! Rows are taken by [`Collector`], [`related_products`] and [`bought_together`] write a file, and [`Model`] reads it in memory, [`ModelFile`]
//! where it lies.

mod build;
mod error;
mod exact;
mod file;
mod histories;
mod interactions;
mod lists;
mod matrix;
mod model;
mod names;
mod parameters;
mod report;
mod shape;
mod similarities;
mod sort;
#[cfg(test)]
mod tests;
mod trial;
mod upload;
mod writer;

pub use build::{bought_together, related_products};
pub use error::{NeighboursError, Result};
pub use file::ModelFile;
pub use interactions::{Collector, Interaction, Interactions, Kind, ROWS_MAX, USER_ROWS_MAX};
pub use lists::NEIGHBOURS_MAX;
pub use model::{Model, Neighbour, Neighbours};
pub use names::ID_BYTES_MAX;
pub use parameters::Parameters;
pub use report::{HeldOut, Report};
pub use upload::uploaded;
pub use writer::{FORMAT_VERSION, ModelWriter, SCORE_BEST};
