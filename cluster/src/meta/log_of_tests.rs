//! A state of tests, beside the rows that it has written: what a restart reads has to be the same, and all of it hashed.

use super::{At, MetaState, RowChange};
use crate::command::{Joining, MetaCommand};
use quorate_model::NodeId;
use std::collections::BTreeMap;

/// A state with its rows and the place in its log.
#[derive(Default)]
pub(super) struct Log {
    pub state: MetaState,
    pub rows: BTreeMap<Vec<u8>, Vec<u8>>,
    pub log_index: u64,
}

impl Log {
    /// Applies the next command at this time, and reads the rows as a restart does.
    pub fn step(&mut self, time_ms: u64, command: MetaCommand) {
        self.log_index += 1;
        let at = At { log_index: self.log_index, time_ms };
        for RowChange { key, value } in self.state.apply(at, command) {
            match value {
                Some(value) => drop(self.rows.insert(key, value)),
                None => drop(self.rows.remove(&key)),
            }
        }
        let state = &self.state;
        let rows: BTreeMap<Vec<u8>, Option<Vec<u8>>> =
            state.tables().iter().flat_map(|table| table.rows()).map(|row| (row.key, row.value)).collect();
        for (key, value) in &self.rows {
            let row = String::from_utf8_lossy(key);
            let is_said = rows.get(key).is_some_and(|it| it.as_ref() == Some(value));
            assert!(is_said, "no table says that it has the row {row:?} of command {}", self.log_index);
        }
        let restored = MetaState::from_rows(self.rows.clone()).expect("own rows");
        assert_eq!(restored, self.state, "after command {}", self.log_index);
    }
    /// A node of a cluster joins, or says that it knows this level.
    pub fn join(&mut self, node: u64, cluster: &str, level: u16) {
        let name = format!("n{node}");
        let joining =
            Joining { peer: name.clone(), http: name.clone(), name, cluster: cluster.into(), level };
        self.step(0, MetaCommand::AddNode { node: NodeId(node), joining });
    }
}
