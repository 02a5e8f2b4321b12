//! Do several nodes act as one, whatever becomes of some of them?

mod copies;
mod deaths;
mod many_in_group;
mod partition;
mod rebuild;
mod recover;
mod request_log;
mod rotation;
mod tasks;
mod upgrade;
mod users;
