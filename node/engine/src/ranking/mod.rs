//! Which of two matching documents comes first?
//!
//! [`criteria`] is the table of what ranks; each criterion has a file of its own.

pub mod context;
pub mod criteria;
pub mod distance;
pub mod distinct;
pub mod evaluate;
pub mod groups;
pub mod key;
pub mod nearby;
pub mod relevant;
pub mod rules;
pub mod top;
