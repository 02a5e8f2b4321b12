//! Would the simulation notice? Each planted bug must be found, and by what is meant to find it.

use crate::mutant::Mutant;
use quorate_model::seeds::{self, caught};

/// How a mutant shows: seeds that found it soon, and what is said about it.
struct Expected {
    mutant: Mutant,
    seeds: &'static [u64],
    text: &'static [&'static str],
}

/// Seeds that are tried at most.
const SEEDS_MAX: u64 = 1_000;
const LATE_READ: &[&str] = &["behind what is published", "has read at"];

fn expected(mutant: Mutant) -> Expected {
    let (seeds, text): (&[u64], &[&str]) = match mutant {
        Mutant::SkipsSync => (&[1], &["the log lost entries", "forgot a term", "only"]),
        Mutant::AnswersBeforeCommit => (&[], &["an answered entry was lost", "misses", "something else"]),
        Mutant::DropsConfiguration => {
            (&[21], &["a term that is not durable", "behind what is published", "two leaders"])
        }
        Mutant::AppliesTwice => (&[], &["a function of the log", "the common history"]),
        Mutant::ForgetsVote => (&[], &["a vote that is not durable"]),
        Mutant::CutsTooMuch => (&[10], &["the log starts after"]),
        Mutant::MixesRounds => (&[4553], LATE_READ),
        Mutant::CountsFromAnswer => (&[53], LATE_READ),
        Mutant::RenewsLate => (&[7], LATE_READ),
        Mutant::IgnoresDeposition => (&[261], LATE_READ),
        Mutant::ShowsBeforeReplay => (&[4655], LATE_READ),
        Mutant::GrantsUnconfirmed
        | Mutant::GrantsOnOldConfirmation
        | Mutant::CountsRunningTime
        | Mutant::ReadsAfterEnd
        | Mutant::ReadsTooEarly
        | Mutant::LeadsAtOnce
        | Mutant::ForgetsHolders
        | Mutant::RemovesReaders
        | Mutant::ShowsTooMuch => (&[], LATE_READ),
    };
    Expected { mutant, seeds, text }
}

/// Runs seeds until the mutant is found; says which one it was.
fn find(Expected { mutant, seeds, text }: Expected) {
    let from = seeds::seeds(0).start;
    for (tried, seed) in seeds.iter().copied().chain(from..from + SEEDS_MAX).enumerate() {
        let Some(found) = caught(|| drop(crate::leases(seed, Some(mutant)))) else { continue };
        if text.iter().any(|text| found.contains(text)) {
            println!("{mutant:?}: seed {seed} after {tried} others: {}", found.lines().next().unwrap_or(""));
            return;
        }
    }
    panic!("{mutant:?} is not found within {SEEDS_MAX} seeds");
}

#[test]
fn bugs_of_consensus_are_found() {
    Mutant::CONSENSUS.into_iter().for_each(|mutant| find(expected(mutant)));
}

#[test]
fn bugs_of_leases_are_found() {
    Mutant::LEASES.into_iter().for_each(|mutant| find(expected(mutant)));
}
