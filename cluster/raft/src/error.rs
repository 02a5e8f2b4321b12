//! What can go wrong when a group is opened or its log is read or written.

use quorate_model::GroupId;

/// Errors of opening and running groups; answers to proposals have their own, [`crate::ProposeError`].
#[derive(Debug, thiserror::Error)]
pub enum RaftError {
    /// The log store cannot be opened, read or written.
    #[error("raft log: {0}")]
    Log(String),
    /// Files of the log are not as they were written, and no power cut explains it. Nothing was changed.
    #[error("the raft log is damaged. {0}")]
    Damaged(Box<crate::log_inspect::LogReport>),
    /// The log ends before what the state machine has applied: entries that were on disk are gone.
    #[error("group {group}: the log ends at {last} but {applied} is applied; the log lost entries")]
    LogLost {
        /// The group.
        group: GroupId,
        /// Last index in the log.
        last: u64,
        /// Applied position of the state machine.
        applied: u64,
    },
    /// The state machine is older than the first entry that the log still has.
    #[error("group {group}: the log starts after {truncated} but only {applied} is applied")]
    LogCompacted {
        /// The group.
        group: GroupId,
        /// Last index that was cut off.
        truncated: u64,
        /// Applied position of the state machine.
        applied: u64,
    },
    /// The log belongs to another member.
    #[error("group {group}: the log belongs to member {found}, this is member {expected}")]
    Identity {
        /// The group.
        group: GroupId,
        /// Member id in the log.
        found: u64,
        /// Member id asked for.
        expected: u64,
    },
    /// The format of the log is newer than this program.
    #[error("group {group}: log format {found} is newer than {known}")]
    Format {
        /// The group.
        group: GroupId,
        /// Version found.
        found: u8,
        /// Newest version known.
        known: u8,
    },
    /// The consensus library refused a configuration or state.
    #[error("group {group}: {message}")]
    Consensus {
        /// The group.
        group: GroupId,
        /// What it said.
        message: String,
    },
    /// A group with this id runs already, or the host has stopped.
    #[error("group {group}: {message}")]
    NotStarted {
        /// The group.
        group: GroupId,
        /// Why.
        message: &'static str,
    },
}
