//! What was looked for in the place of each word of the query? (C§8.9 `match.alternatives`)

use super::alternatives::{Alternative, Reason};
use super::plan::Plan;
use super::words::{OtherReason, Word};
use crate::analysis::PLACEHOLDER_START;
use quorate_model::results::ExplainedAlternative;

/// Whether a name of `explain` asks for the alternatives.
pub fn is_asked_for(explain: &[String]) -> bool {
    explain.iter().any(|name| matches!(name.as_str(), "*" | "match" | "match.*" | "match.alternatives"))
}
/// Everything that was looked for: the words as typed, then what stands for single words, then what changes their number,
/// then stop words and exclusions. Offsets and lengths count typed words.
pub fn alternatives(plan: &Plan) -> Vec<ExplainedAlternative> {
    let one = |types: Vec<&'static str>, words: Vec<String>, typos: u32, offset: usize, length: usize| {
        ExplainedAlternative { types, words, typos, offset, length }
    };
    let mut all = vec![];
    for word in &plan.words {
        let types = if word.optional { vec!["original", "optional"] } else { vec!["original"] };
        all.push(one(types, vec![word.text.clone()], 0, word.place, 1));
    }
    for word in &plan.words {
        for other in &word.others {
            let reason = match other.reason {
                OtherReason::Plural => "plural",
                OtherReason::Synonym => "synonym",
                OtherReason::Correction => "altCorrection",
            };
            let text = other.text.replace(PLACEHOLDER_START, "<");
            all.push(one(vec![reason], vec![text], other.typos.into(), word.place, 1));
        }
    }
    for Alternative { reason, from, to, words, typos, .. } in &plan.alternatives {
        let reason = match reason {
            Reason::Synonym => "synonym",
            Reason::Concat => "concat",
            Reason::Split => "split",
            Reason::Compound => "compound",
        };
        let (first, last) = (plan.words[*from].place, plan.words[*to - 1].place);
        all.push(one(vec![reason], texts(words), *typos, first, last + 1 - first));
    }
    for word in &plan.stop_words {
        all.push(one(vec!["stopWord"], vec![word.text.clone()], 0, word.place, 1));
    }
    for phrase in &plan.excluded {
        all.push(one(vec!["excluded"], texts(phrase), 0, 0, 0));
    }
    all
}
fn texts(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.text.replace(PLACEHOLDER_START, "<")).collect()
}
