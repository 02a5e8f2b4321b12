//! What does the meta state hold, as hashes that other members can compare theirs with?

use super::{MetaState, RowChange};
use quorate_node::Digest;
use std::collections::BTreeMap;

impl MetaState {
    /// A hash of each table of the state, of the rows that it would lie in its tree as. `pace` is called with bytes that were
    /// hashed, every mebibyte or so, and may take its time. Cost: one pass over everything.
    pub fn digest(&self, mut pace: impl FnMut(u64)) -> BTreeMap<String, Digest> {
        let mut read = 0;
        let mut table = |rows: &mut dyn Iterator<Item = RowChange>| {
            let mut digest = Digest::default();
            for RowChange { key, value } in rows {
                let value = value.unwrap_or_default();
                digest.add(&key, &value);
                read += (key.len() + value.len()) as u64;
                if read >= PACE_BYTES {
                    pace(std::mem::take(&mut read));
                }
            }
            digest
        };
        let mut digests: BTreeMap<String, Digest> =
            ALWAYS.iter().map(|name| ((*name).to_owned(), Digest::default())).collect();
        for it in self.tables() {
            let mut rows = it.rows().peekable();
            if rows.peek().is_some() {
                digests.entry(it.hashed_as().to_owned()).or_default().join(table(&mut rows));
            }
        }
        pace(read);
        digests
    }
}

/// The tables that every program names, also when they have no rows; older programs do not know the others.
const ALWAYS: [&str; 11] = [
    "indices",
    "keys",
    "admin key",
    "copies",
    "removed indices",
    "replica lists",
    "nodes",
    "clusters",
    "placement",
    "users",
    "levels",
];
/// Bytes between two pauses.
const PACE_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{MetaCommand, UserStep};
    use crate::meta::log_of_tests::Log;
    use quorate_model::dictionary::{DictionaryEntry, DictionaryWords};
    use quorate_model::{
        AllowedSource, ApiKey, DictionaryKind, DictionaryOp, GroupId, IndexName, NodeId, UserId,
    };

    /// That of the programs whose hashes these are.
    const LEVEL: u16 = 9;

    fn name(text: &str) -> IndexName {
        IndexName::new(text).expect("a name")
    }

    /// A state that has something of every table.
    fn full() -> Log {
        let mut log = Log::default();
        let key = |value: &str| {
            let key = format!(r#"{{"value":"{value}","createdAt":1,"acl":["search"]}}"#);
            serde_json::to_vec(&serde_json::from_str::<ApiKey>(&key).expect("a key")).expect("JSON")
        };
        log.step(1, MetaCommand::SetUp { app_id: "APP".into(), admin_key: [1; 32], search_key: key("s") });
        log.join(1, "main", LEVEL);
        log.join(2, "second", LEVEL);
        log.step(2_000, MetaCommand::RotateAdminKey { admin_key: [2; 32], replaces: 0, overlap_ms: 9 });
        log.step(3_000, MetaCommand::CreateKey { key: key("k") });
        log.step(4_000, MetaCommand::DeleteKey { value: "s".into() });
        log.step(5_000, MetaCommand::CreateIndex { name: name("a"), group: GroupId(1) });
        log.step(5_000, MetaCommand::CreateIndex { name: name("b"), group: GroupId(2) });
        let incarnation = log.state.catalogue.get(&name("b")).expect("made").incarnation;
        log.step(6_000, MetaCommand::DeleteIndex { name: name("b"), incarnation });
        log.step(7_000, MetaCommand::EnableUsers);
        let users = ["u", "v", "w"].map(|user| UserId::new(user).expect("a user"));
        log.step(7_000, MetaCommand::AssignUsers { cluster: 0, users: users.to_vec() });
        log.step(7_000, MetaCommand::BeginCopies { groups: vec![GroupId(3), GroupId(4)] });
        log.step(7_000, MetaCommand::MoveUser { user: users[0].clone(), to: 1 });
        let epoch = log.state.users.map.get(&users[0]).expect("assigned").epoch;
        // the copies are under way: it notes that it waits
        log.step(7_000, MetaCommand::StepUser { user: users[0].clone(), epoch, step: UserStep::Freeze });
        let source = AllowedSource::new("192.0.2.0/24", Some("office".into())).expect("a network");
        log.step(8_000, MetaCommand::SetSources { sources: vec![source] });
        let words = DictionaryWords::StopWord { word: "w".into(), is_enabled: true };
        let entry = DictionaryEntry { object_id: "e".into(), language: "en", words };
        let (kind, ops) = (DictionaryKind::StopWords, vec![DictionaryOp::Add(entry)]);
        log.step(8_000, MetaCommand::ChangeDictionary { kind, clear: false, ops });
        let config = br#"{"indexName":"q","sourceIndices":[{"indexName":"a","minHits":5}]}"#.to_vec();
        log.step(9_000, MetaCommand::PutSuggestions { config, is_new: true });
        log.step(9_000, MetaCommand::BeginSuggestions { index: name("q"), node: NodeId(1) });
        log
    }

    /// Of the tables of a state the first digits of their hashes; those of nothing are left out.
    fn hashes(state: &MetaState) -> String {
        let named = state.digest(|_| {}).into_iter().map(|(table, digest)| {
            let hash = digest.to_string();
            if digest == Digest::default() { table } else { format!("{table} {}", &hash[..12]) }
        });
        named.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn hashes_stay_what_other_programs_make_of_the_same_state() {
        assert_eq!(
            hashes(&full().state),
            "admin key db895223c117, clusters e89bf01165e5, copies 693a693291a8, dictionaries b25cfbe0f41e, \
             indices 24eb4eb30960, keys d0c040046470, levels 1f074f3b1542, nodes cea1421510d6, \
             placement e25b6a6ba17a, removed indices aa4fe6065bea, replica lists afe27a0b7097, \
             suggestions a6d0f9ca46aa, users 4a973ae699ef"
        );
        assert_eq!(
            hashes(&MetaState::default()),
            "admin key 14cb0538aa20, clusters, copies, indices, keys, levels c41c0036eda0, nodes, placement, \
             removed indices, replica lists, users"
        );
    }
}
