//! Are events, searches and what is made of them the same on every node, whatever dies?

mod events;
mod searches;
mod sink;
mod suggestions;
