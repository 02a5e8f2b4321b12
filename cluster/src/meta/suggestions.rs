//! How do the configurations of query suggestions and the states of their builds change (C§16)?

use super::rows::{ROW_BYTES_MAX, Row, RowChange, StateTable};
use super::suggestions_row::{BuildBegun, Built, SuggestionsRow};
use super::{At, IndexRow, MetaState};
use quorate_model::{IndexName, NodeId, SuggestionConfig, limits};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A row for each suggestions index.
const SUGGESTIONS: u8 = b'q';

impl StateTable for Arc<BTreeMap<IndexName, Arc<SuggestionsRow>>> {
    fn kinds(&self) -> &'static [u8] {
        &[SUGGESTIONS]
    }
    fn hashed_as(&self) -> &'static str {
        "suggestions"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(self.iter().map(|(index, it)| row(index, it)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        let suggestions = Arc::new(SuggestionsRow::decode(row.value, ROW_BYTES_MAX)?);
        Arc::make_mut(self).insert(row.index()?, suggestions);
        Some(())
    }
}

fn row(index: &IndexName, row: &SuggestionsRow) -> RowChange {
    RowChange::put(SUGGESTIONS, index.as_str().as_bytes(), row.encode())
}

impl MetaState {
    /// Whether an index that a configuration reads is its suggestions index, or is made from that, also by way of others and of replicas,
    /// whose records are those of their primary.
    pub fn leads_back(&self, config: &SuggestionConfig) -> bool {
        self.leads_back_by(config, |index| {
            self.catalogue.get(index).and_then(IndexRow::primary).map(|link| &link.name)
        })
    }
    /// The same without replicas, which is what entries of logs have been decided by.
    fn loops(&self, config: &SuggestionConfig) -> bool {
        self.leads_back_by(config, |_| None)
    }
    fn leads_back_by<'m>(
        &'m self,
        config: &'m SuggestionConfig,
        is_like: impl Fn(&IndexName) -> Option<&'m IndexName>,
    ) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), config.reads().collect::<Vec<_>>());
        while let Some(index) = next.pop() {
            if *index == config.index_name {
                return true;
            }
            if seen.insert(index) {
                next.extend(is_like(index));
                next.extend(self.suggestions.get(index).into_iter().flat_map(|row| row.config.reads()));
            }
        }
        false
    }

    pub(super) fn put_suggestions(&mut self, at: At, config: &[u8], is_new: bool) -> Vec<RowChange> {
        let Some(config) = SuggestionConfig::from_json(config) else { return vec![] };
        let index = config.index_name.clone();
        let known = self.suggestions.get(&index);
        let is_full = known.is_none() && self.suggestions.len() >= limits::SUGGESTION_CONFIGS_MAX;
        if is_full || self.loops(&config) || is_new && known.is_some() {
            return vec![];
        }
        let config = Arc::new(config);
        let row = match known {
            Some(known) => SuggestionsRow { config, asked: at.log_index, ..(**known).clone() },
            None => SuggestionsRow {
                config,
                created: at.log_index,
                asked: at.log_index,
                begun: None,
                built: None,
            },
        };
        self.keep_suggestions(index, row)
    }

    pub(super) fn delete_suggestions(&mut self, index: &IndexName) -> Vec<RowChange> {
        match Arc::make_mut(&mut self.suggestions).remove(index) {
            Some(_) => vec![RowChange::delete(SUGGESTIONS, index.as_str().as_bytes())],
            None => vec![],
        }
    }

    pub(super) fn ask_for_suggestions(&mut self, at: At, index: IndexName) -> Vec<RowChange> {
        match self.suggestions.get(&index) {
            Some(row) => {
                let row = SuggestionsRow { asked: at.log_index, ..(**row).clone() };
                self.keep_suggestions(index, row)
            }
            None => vec![],
        }
    }

    pub(super) fn begin_suggestions(&mut self, at: At, index: IndexName, node: NodeId) -> Vec<RowChange> {
        match self.suggestions.get(&index) {
            Some(row) => {
                let begun = Some(BuildBegun { at: at.log_index, node, time_ms: at.time_ms });
                let row = SuggestionsRow { begun, ..(**row).clone() };
                self.keep_suggestions(index, row)
            }
            None => vec![],
        }
    }

    /// Of a build that another one has overtaken nothing is kept.
    pub(super) fn end_suggestions(
        &mut self,
        at: At,
        index: IndexName,
        begun_at: u64,
        is_success: bool,
        log: Vec<u8>,
    ) -> Vec<RowChange> {
        let Some(row) = self.suggestions.get(&index) else { return vec![] };
        let Some(begun) = row.begun.filter(|begun| begun.at == begun_at) else { return vec![] };
        let before = row.built.as_ref().and_then(|built| built.last_success);
        let took_ms = at.time_ms.saturating_sub(begun.time_ms);
        let last_success = if is_success { Some((at.time_ms, took_ms)) } else { before };
        let log = Arc::new(log);
        let built = Built { ended_ms: at.time_ms, begun_at, is_success, last_success, log };
        let row = SuggestionsRow { begun: None, built: Some(built), ..(**row).clone() };
        self.keep_suggestions(index, row)
    }

    fn keep_suggestions(&mut self, index: IndexName, row: SuggestionsRow) -> Vec<RowChange> {
        let change = self::row(&index, &row);
        Arc::make_mut(&mut self.suggestions).insert(index, Arc::new(row));
        vec![change]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::MetaCommand;
    use crate::meta::log_of_tests::Log;
    use quorate_model::suggestions::{PluralLanguages, SuggestionSource};

    fn name(name: &str) -> IndexName {
        IndexName::new(name).unwrap()
    }
    fn config(index: &str, reads: &[&str]) -> Vec<u8> {
        let source = |read: &&str| SuggestionSource {
            index_name: name(read),
            replicas: false,
            analytics_tags: vec![],
            facets: vec![],
            min_hits: 5,
            min_letters: None,
            generate: vec![],
            external: vec![],
        };
        let config = SuggestionConfig {
            index_name: name(index),
            source_indices: reads.iter().map(source).collect(),
            languages: PluralLanguages::default(),
            exclude: vec![],
            enable_personalization: false,
            allow_special_characters: false,
        };
        config.to_json()
    }
    impl Log {
        fn put_suggestions(&mut self, index: &str, reads: &[&str], is_new: bool) {
            self.step(10, MetaCommand::PutSuggestions { config: config(index, reads), is_new });
        }
        fn suggestions_of(&self, index: &str) -> Option<SuggestionsRow> {
            self.state.suggestions.get(&name(index)).map(|row| (**row).clone())
        }
    }

    #[test]
    fn configurations_are_made_changed_and_deleted_and_show_in_the_digest() {
        let mut log = Log::default();
        let none = log.state.digest(|_| {});
        assert!(!none.contains_key("suggestions"), "as of older programs");
        log.put_suggestions("s", &["a"], true);
        log.put_suggestions("s", &["b"], true);
        let row = log.suggestions_of("s").unwrap();
        assert_eq!((row.created, row.asked, row.config.to_json()), (1, 1, config("s", &["a"])));
        assert!(row.is_running());
        let first = log.state.digest(|_| {});
        log.put_suggestions("s", &["b"], false);
        let row = log.suggestions_of("s").unwrap();
        assert_eq!((row.created, row.asked, row.config.to_json()), (1, 3, config("s", &["b"])));
        assert_ne!(log.state.digest(|_| {})["suggestions"], first["suggestions"]);
        log.step(0, MetaCommand::DeleteSuggestions { index: name("s") });
        log.step(0, MetaCommand::DeleteSuggestions { index: name("s") });
        assert!(log.suggestions_of("s").is_none() && log.rows.is_empty());
        assert_eq!(log.state.digest(|_| {}), none);
        log.step(0, MetaCommand::PutSuggestions { config: b"{}".to_vec(), is_new: false });
        for number in 0..=limits::SUGGESTION_CONFIGS_MAX {
            log.put_suggestions(&format!("s{number}"), &["a"], number % 2 == 0);
        }
        assert_eq!(log.state.suggestions.len(), limits::SUGGESTION_CONFIGS_MAX);
        log.put_suggestions("s0", &["b"], false);
        assert_eq!(
            log.suggestions_of("s0").unwrap().config.to_json(),
            config("s0", &["b"]),
            "also when there are as many as there may be"
        );
    }

    #[test]
    fn nothing_is_made_from_itself() {
        let mut log = Log::default();
        log.put_suggestions("s", &["a", "s"], true);
        assert!(log.suggestions_of("s").is_none());
        log.put_suggestions("c", &["b"], true);
        log.put_suggestions("b", &["a"], true);
        log.put_suggestions("a", &["x", "c"], true);
        assert!(log.suggestions_of("a").is_none(), "by way of two others");
        log.put_suggestions("a", &["x"], true);
        log.put_suggestions("b", &["a", "c"], false);
        assert_eq!(log.suggestions_of("b").unwrap().config.to_json(), config("b", &["a"]));
    }

    #[test]
    fn a_build_covers_what_was_asked_for_before_it_began() {
        let mut log = Log::default();
        let begin = |log: &mut Log, node| {
            log.step(20, MetaCommand::BeginSuggestions { index: name("s"), node: NodeId(node) });
            log.log_index
        };
        let end = |log: &mut Log, begun_at, is_success, text: &[u8]| {
            let (index, log_text) = (name("s"), text.to_vec());
            log.step(50, MetaCommand::EndSuggestions { index, begun_at, is_success, log: log_text });
        };
        begin(&mut log, 1);
        assert!(log.rows.is_empty());
        log.put_suggestions("s", &["a"], true);
        let overtaken = begin(&mut log, 1);
        let begun_at = begin(&mut log, 2);
        end(&mut log, overtaken, true, b"old");
        assert!(log.suggestions_of("s").unwrap().built.is_none());
        log.step(30, MetaCommand::AskForSuggestions { index: name("s") });
        end(&mut log, begun_at, true, b"text");
        let row = log.suggestions_of("s").unwrap();
        let built = row.built.clone().unwrap();
        assert_eq!((built.ended_ms, built.last_success, &built.log[..]), (50, Some((50, 30)), &b"text"[..]));
        assert!(row.is_asked() && row.begun.is_none(), "what was asked for meanwhile is not done");
        let begun_at = begin(&mut log, 2);
        end(&mut log, begun_at, false, b"failed");
        let row = log.suggestions_of("s").unwrap();
        assert!(!row.is_running());
        let built = row.built.unwrap();
        assert_eq!((built.is_success, built.last_success), (false, Some((50, 30))));
    }
}
