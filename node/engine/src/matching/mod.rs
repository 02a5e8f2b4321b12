//! Which documents of a segment contain the words of a query?
mod ahead;
pub mod automaton;
pub mod collect;
pub mod cuts;
pub mod expand;
pub mod find;
pub mod growth;
pub mod paths;
pub mod phrases;
mod scan;
pub mod typo;
pub mod union;
mod widen;
mod wordless;
