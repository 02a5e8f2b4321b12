//! Bugs that the simulation must find: each is planted where the world carries out what the real code decided.

/// One planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The user is moved over before the rest of the records is copied.
    FlipsBeforeTheRest,
    /// Records are deleted in the old cluster before the user is moved over.
    CleansBeforeFlip,
    /// Writes do not wait while the rest is copied.
    DoesNotFreeze,
    /// A write that had begun before writes had to wait is forgotten.
    ForgetsLateWrites,
    /// Nobody waits until other nodes know of a step.
    HearsNobody,
    /// Writes go on in the new cluster while some nodes still read in the old one.
    LandsAtOnce,
    /// A node that has lost its lease believes what it knows.
    BelievesForever,
    /// Groups carry out what was decided for an earlier step.
    IgnoresFences,
    /// What is copied is what some replica shows, not what is written.
    CopiesOldRecords,
    /// The copy keeps what has been deleted meanwhile.
    CopiesNoDeletions,
    /// Reads move over before every replica of the new cluster shows the copy.
    ShowsTooEarly,
    /// Indices that come or get other names while records are copied are not looked at.
    ReadsTheCatalogueOnce,
    /// Users are moved over while indices are copied.
    ForgetsCopies,
    /// Copies of indices and users whose writes wait do not exclude each other.
    CopiesFrozenUsers,
    /// The partitions of a copy get their names one after another.
    PointsPartByPart,
    /// Nobody looks for partitions that have not got the settings of their index.
    LeavesSettings,
    /// A write is answered, and skipped when its index has got another name on its way.
    SkipsRenamed,
    /// A write whose index has got another name on its way is done again under the one that it was for.
    RepeatsRenamed,
    /// The records of a copy are read one half after the other.
    CopiesInTwo,
    /// All of it is as it was before level 4.
    EarlierLevel,
}

impl Mutant {
    pub const ALL: [Mutant; 20] = [
        Mutant::FlipsBeforeTheRest,
        Mutant::CleansBeforeFlip,
        Mutant::DoesNotFreeze,
        Mutant::ForgetsLateWrites,
        Mutant::HearsNobody,
        Mutant::LandsAtOnce,
        Mutant::BelievesForever,
        Mutant::IgnoresFences,
        Mutant::CopiesOldRecords,
        Mutant::CopiesNoDeletions,
        Mutant::ShowsTooEarly,
        Mutant::ReadsTheCatalogueOnce,
        Mutant::ForgetsCopies,
        Mutant::CopiesFrozenUsers,
        Mutant::PointsPartByPart,
        Mutant::LeavesSettings,
        Mutant::SkipsRenamed,
        Mutant::RepeatsRenamed,
        Mutant::CopiesInTwo,
        Mutant::EarlierLevel,
    ];

    /// Whether it shows while indices are copied, which are copied without a break then.
    pub fn is_of_copies(self) -> bool {
        matches!(
            self,
            Mutant::ForgetsCopies
                | Mutant::CopiesFrozenUsers
                | Mutant::PointsPartByPart
                | Mutant::CopiesInTwo
        )
    }

    /// A seed that found it, tried before all others; without one the first seeds do.
    pub fn found_by(self) -> Option<u64> {
        match self {
            Mutant::ForgetsCopies => Some(1),
            Mutant::HearsNobody | Mutant::ShowsTooEarly | Mutant::LeavesSettings => Some(2),
            Mutant::LandsAtOnce => Some(3),
            Mutant::ReadsTheCatalogueOnce => Some(4),
            Mutant::IgnoresFences => Some(8),
            Mutant::ForgetsLateWrites => Some(19),
            Mutant::CopiesOldRecords => Some(40),
            Mutant::CopiesFrozenUsers => Some(144),
            Mutant::PointsPartByPart => Some(173),
            Mutant::FlipsBeforeTheRest
            | Mutant::CleansBeforeFlip
            | Mutant::DoesNotFreeze
            | Mutant::BelievesForever
            | Mutant::CopiesNoDeletions
            | Mutant::SkipsRenamed
            | Mutant::RepeatsRenamed
            | Mutant::CopiesInTwo
            | Mutant::EarlierLevel => None,
        }
    }
}
