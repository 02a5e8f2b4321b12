//! Which of two matching documents comes first?
pub mod context;
pub mod distinct;
pub mod evaluate;
pub mod geo;
pub mod key;
pub mod nearby;
pub mod relevant;
pub mod top;
