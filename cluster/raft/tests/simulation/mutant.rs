//! Bugs that the simulation must find: each is planted where the world carries out what a member decided.

/// One planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Writes are reported as durable; some of them are not.
    SkipsSync,
    /// A proposal is answered when the leader has appended it.
    AnswersBeforeCommit,
    /// The configuration of a change is not stored.
    DropsConfiguration,
    /// Now and then an entry is applied twice.
    AppliesTwice,
    /// Votes are not stored.
    ForgetsVote,
    /// The log is cut behind what the state machine has made durable.
    CutsTooMuch,
    /// A lease is granted by whoever believes to lead.
    GrantsUnconfirmed,
    /// A lease is granted on a confirmation from before the question.
    GrantsOnOldConfirmation,
    /// Answers to an earlier round of a question count for a later one.
    MixesRounds,
    /// A lease counts from its answer.
    CountsFromAnswer,
    /// A lease counts by a clock that stands still while the node is stopped.
    CountsRunningTime,
    /// A lease is used after its end.
    ReadsAfterEnd,
    /// A lease is used before its holder shows what it begins with.
    ReadsTooEarly,
    /// A renewal that comes late counts as if it had come in time.
    RenewsLate,
    /// A new leader does not wait for the leases of the old one.
    LeadsAtOnce,
    /// A leader forgets whom it granted a lease.
    ForgetsHolders,
    /// A leader does not notice that it was deposed.
    IgnoresDeposition,
    /// A member is removed while it may read.
    RemovesReaders,
    /// A holder says that it shows what it has only applied.
    ShowsTooMuch,
    /// A member that has started again takes what it knew before for what it shows, although a replay has yet to bring it back.
    ShowsBeforeReplay,
}

impl Mutant {
    pub const CONSENSUS: [Mutant; 6] = [
        Mutant::SkipsSync,
        Mutant::AnswersBeforeCommit,
        Mutant::DropsConfiguration,
        Mutant::AppliesTwice,
        Mutant::ForgetsVote,
        Mutant::CutsTooMuch,
    ];
    pub const LEASES: [Mutant; 14] = [
        Mutant::GrantsUnconfirmed,
        Mutant::GrantsOnOldConfirmation,
        Mutant::MixesRounds,
        Mutant::CountsFromAnswer,
        Mutant::CountsRunningTime,
        Mutant::ReadsAfterEnd,
        Mutant::ReadsTooEarly,
        Mutant::RenewsLate,
        Mutant::LeadsAtOnce,
        Mutant::ForgetsHolders,
        Mutant::IgnoresDeposition,
        Mutant::RemovesReaders,
        Mutant::ShowsTooMuch,
        Mutant::ShowsBeforeReplay,
    ];
}
