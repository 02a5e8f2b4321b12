//! Which configuration has a virtual replica over that of its primary, and what was it made of?

use crate::resources::Resources;
use quorate_engine::{Configuration, Schema};
use quorate_model::Settings;
use std::sync::Arc;

/// The configuration of a virtual replica, with what it was made of.
#[derive(Debug)]
pub(crate) struct VirtualConfiguration {
    pub primary: Schema,
    pub own: Arc<Settings>,
    pub resources: Arc<Resources>,
    pub configuration: Configuration,
}
