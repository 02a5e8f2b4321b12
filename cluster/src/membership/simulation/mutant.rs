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
    /// Operators may take nodes out that are down without a look at the copies.
    RemovesUnseen,
    /// They may give the places of nodes that are down to empty ones without a look at the copies.
    ReplacesUnseen,
    /// They may take nodes out that are up before these have given up what they hold.
    RemovesUndrained,
    /// They may name who comes into the place of any node without a look at the copies.
    ReplacesByNameUnseen,
    /// In the meta group a member counts as full when its log is long enough.
    MetaCountsDescriptions,
    /// What operators look at says nothing of the meta group.
    OverlooksMeta,
    /// Operators take nodes out upon what all said at some moment, long ago perhaps.
    ActsOnOldNews,
    /// Who leaves believes for as long as it runs what each of the others said once, whatever it knows itself.
    LeavesOnOldNews,
    /// Nothing is held against what happens to a node that has just joined.
    OverlooksWhoJustJoined,
    /// A damaged copy counts again when taking it anew has failed.
    TrustsAgainAfterAFailedFetch,
}

impl Mutant {
    pub const ALL: [Mutant; 14] = [
        Mutant::CountsDescriptions,
        Mutant::LeavesOnTheLeadersWord,
        Mutant::AsBefore,
        Mutant::NameAndAddressSuffice,
        Mutant::RemovesUnseen,
        Mutant::ReplacesUnseen,
        Mutant::RemovesUndrained,
        Mutant::ReplacesByNameUnseen,
        Mutant::MetaCountsDescriptions,
        Mutant::OverlooksMeta,
        Mutant::ActsOnOldNews,
        Mutant::LeavesOnOldNews,
        Mutant::OverlooksWhoJustJoined,
        Mutant::TrustsAgainAfterAFailedFetch,
    ];

    /// A seed that found it, tried before all others; without one the first seeds do.
    pub fn found_by(self) -> Option<u64> {
        match self {
            Mutant::ReplacesByNameUnseen | Mutant::RemovesUndrained => Some(10),
            Mutant::LeavesOnTheLeadersWord => Some(117),
            Mutant::OverlooksWhoJustJoined => Some(48),
            Mutant::RemovesUnseen => Some(61),
            Mutant::ActsOnOldNews => Some(37),
            Mutant::OverlooksMeta => Some(11),
            Mutant::TrustsAgainAfterAFailedFetch => Some(25),
            Mutant::ReplacesUnseen => Some(2),
            Mutant::LeavesOnOldNews => Some(53),
            Mutant::CountsDescriptions
            | Mutant::NameAndAddressSuffice
            | Mutant::AsBefore
            | Mutant::MetaCountsDescriptions => None,
        }
    }
}
