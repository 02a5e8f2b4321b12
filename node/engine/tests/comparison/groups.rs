//! distinct: which records are left when each brand may have only a few? (C§8.1)

use super::ranker::{Answer, Ranked, Ranker};
use serde_json::Value;

impl Ranker<'_> {
    /// The best records of each group, groups in the order of their best record. Records without a brand are groups of one.
    pub fn grouped(&self, ranked: Vec<(Ranked, &Value)>, matched: Vec<String>) -> Answer {
        let most = self.query.params.get("distinct").and_then(Value::as_u64).unwrap_or(0);
        if most == 0 {
            let count = ranked.len() as u64;
            let ranked = ranked.into_iter().map(|(one, _)| one).collect();
            return Answer { count, ranked, matched, uncut: count };
        }
        let mut groups: Vec<(Option<String>, Vec<Ranked>)> = vec![];
        for (mut one, record) in ranked {
            let brand = record["brand"].as_str().map(str::to_string);
            let group = groups.iter_mut().find(|(value, _)| value.is_some() && *value == brand);
            match group {
                Some((_, members)) if (members.len() as u64) < most => {
                    one.sequence = Some(members.len() as u32);
                    members.push(one);
                }
                Some(_) => {}
                None => {
                    one.sequence = Some(0);
                    groups.push((brand, vec![one]));
                }
            }
        }
        let count = groups.len() as u64;
        // groups stay together: the caller cuts pages by members with sequence 0
        let ranked = groups.into_iter().flat_map(|(_, members)| members).collect();
        Answer { count, ranked, matched, uncut: count }
    }
}
