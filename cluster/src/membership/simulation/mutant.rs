//! Bugs that the simulation must find: each is planted where the world carries out what a node decided.

/// One planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A member counts as full when its log is long enough: when it has the description of a snapshot.
    CountsDescriptions,
    /// Who leaves removes its files when the leader says that it is no member.
    LeavesOnTheLeadersWord,
    /// Both, as it was in releases before.
    AsBefore,
    /// A name and an address are enough to take a place.
    NameAndAddressSuffice,
    /// Operators may take nodes out without a look at the copies.
    RemovesUnseen,
}

impl Mutant {
    pub const ALL: [Mutant; 5] = [
        Mutant::CountsDescriptions,
        Mutant::LeavesOnTheLeadersWord,
        Mutant::AsBefore,
        Mutant::NameAndAddressSuffice,
        Mutant::RemovesUnseen,
    ];
}
