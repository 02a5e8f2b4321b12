//! The synonyms and rules of one index: read once when they change, then shared by everything that reads them.

use crate::error::Result;
use crate::ops::RawDocument;
use quorate_engine::Schema;
use quorate_engine::documents::{find_recommend_rules, find_rules, find_synonyms};
use quorate_engine::rules::RecommendRules;
use quorate_model::document::DocumentQuery;
use quorate_model::{DocumentHits, DocumentKind, ObjectId, RecommendRule, Rule, Settings, Synonym};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Documents of one kind by id. A change copies the map, not the documents.
pub type ById<T> = Arc<BTreeMap<ObjectId, Arc<T>>>;

/// All synonyms and rules of an index. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Documents {
    /// The synonyms.
    pub synonyms: ById<Synonym>,
    /// The rules.
    pub rules: ById<Rule>,
    /// The rules of models of recommendations; no model is there without any.
    pub recommend: RecommendRules,
}

/// Whether earlier documents of the kind stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// They stay unless one with the same id is saved.
    Kept,
    /// They are gone.
    Dropped,
}

impl Documents {
    /// How many there are of a kind.
    pub fn count(&self, kind: DocumentKind) -> usize {
        match kind {
            DocumentKind::Synonyms => self.synonyms.len(),
            DocumentKind::Rules => self.rules.len(),
            DocumentKind::Recommend(model) => self.recommend.get(&model).map_or(0, |rules| rules.len()),
        }
    }
    /// The ids of a kind with their documents as saved, by id.
    pub fn saved(&self, kind: DocumentKind) -> Vec<(&str, &str)> {
        match kind {
            DocumentKind::Synonyms => {
                self.synonyms.iter().map(|(id, synonym)| (id.as_str(), &*synonym.document)).collect()
            }
            DocumentKind::Rules => {
                self.rules.iter().map(|(id, rule)| (id.as_str(), &*rule.document)).collect()
            }
            DocumentKind::Recommend(model) => {
                let rules = self.recommend.get(&model).into_iter().flat_map(|rules| rules.iter());
                rules.map(|(id, rule)| (id.as_str(), &*rule.document)).collect()
            }
        }
    }
    /// Whether there is one with this id.
    pub fn contains(&self, kind: DocumentKind, object_id: &str) -> bool {
        match kind {
            DocumentKind::Synonyms => self.synonyms.contains_key(object_id),
            DocumentKind::Rules => self.rules.contains_key(object_id),
            DocumentKind::Recommend(model) => {
                self.recommend.get(&model).is_some_and(|rules| rules.contains_key(object_id))
            }
        }
    }
    /// A page of those that match, by objectID from the last to the first. Errors: `Invalid` when the answer is too big.
    pub fn search(
        &self,
        kind: DocumentKind,
        settings: &Arc<Settings>,
        asked: &DocumentQuery,
    ) -> quorate_model::Result<DocumentHits> {
        let schema = Schema::from(settings.clone());
        match kind {
            DocumentKind::Synonyms => {
                find_synonyms(self.synonyms.values().rev().map(|synonym| &**synonym), &schema, asked)
            }
            DocumentKind::Rules => find_rules(self.rules.values().rev().map(|rule| &**rule), &schema, asked),
            DocumentKind::Recommend(model) => {
                let rules = self.recommend.get(&model).into_iter().flat_map(|rules| rules.values().rev());
                find_recommend_rules(rules.map(|rule| &**rule), &schema, asked)
            }
        }
    }
    /// All of a kind as a command saves them.
    pub fn raw(&self, kind: DocumentKind) -> Vec<RawDocument> {
        let raw = |(object_id, document): (&str, &str)| RawDocument {
            object_id: object_id.to_owned(),
            document: document.as_bytes().to_vec(),
        };
        self.saved(kind).into_iter().map(raw).collect()
    }
    /// These and the given ones. Errors: one of them is none of its kind, or there would be too many.
    pub(crate) fn with(
        &self,
        kind: DocumentKind,
        documents: &[RawDocument],
        earlier: Earlier,
    ) -> Result<Documents> {
        let mut after = self.clone();
        match kind {
            DocumentKind::Synonyms => add(&mut after.synonyms, documents, earlier, |document| {
                Ok(Synonym::from_document(document)?)
            })?,
            DocumentKind::Rules => {
                add(&mut after.rules, documents, earlier, |document| Ok(Rule::from_document(document)?))?
            }
            DocumentKind::Recommend(model) => {
                let mut rules = after.recommend.remove(&model).unwrap_or_default();
                add(&mut rules, documents, earlier, |document| Ok(RecommendRule::from_document(document)?))?;
                if !rules.is_empty() {
                    after.recommend.insert(model, rules);
                }
            }
        }
        match after.count(kind) > kind.count_max() {
            true => Err(kind.too_many().into()),
            false => Ok(after),
        }
    }
    /// These without one.
    pub(crate) fn without(&self, kind: DocumentKind, object_id: &str) -> Documents {
        let mut after = self.clone();
        match kind {
            DocumentKind::Synonyms => drop(Arc::make_mut(&mut after.synonyms).remove(object_id)),
            DocumentKind::Rules => drop(Arc::make_mut(&mut after.rules).remove(object_id)),
            DocumentKind::Recommend(model) => {
                let mut rules = after.recommend.remove(&model).unwrap_or_default();
                Arc::make_mut(&mut rules).remove(object_id);
                if !rules.is_empty() {
                    after.recommend.insert(model, rules);
                }
            }
        }
        after
    }
}

fn add<T>(
    to: &mut ById<T>,
    documents: &[RawDocument],
    earlier: Earlier,
    typed: impl Fn(&[u8]) -> Result<T>,
) -> Result<()> {
    let mut after = match earlier {
        Earlier::Kept => BTreeMap::clone(to),
        Earlier::Dropped => BTreeMap::new(),
    };
    for RawDocument { object_id, document } in documents {
        after.insert(object_id.clone(), Arc::new(typed(document)?));
    }
    *to = Arc::new(after);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn synonym(id: usize) -> RawDocument {
        let document = format!(r#"{{"objectID":"{id}","type":"synonym","synonyms":["a","{id}"]}}"#);
        RawDocument { object_id: id.to_string(), document: document.into_bytes() }
    }

    #[test]
    fn c20_a_change_to_more_than_the_limit_is_none() {
        let kind = DocumentKind::Synonyms;
        let all: Vec<_> = (0..kind.count_max()).map(synonym).collect();
        let full = Documents::default().with(kind, &all, Earlier::Kept).unwrap();
        assert_eq!((full.count(kind), full.count(DocumentKind::Rules)), (10_000, 0));
        let error = full.with(kind, &[synonym(10_000)], Earlier::Kept).unwrap_err();
        assert_eq!(error.to_string(), "An index can have at most 10000 synonyms");
        assert!(error.is_deterministic());
        assert!(full.with(kind, &[synonym(7)], Earlier::Kept).is_ok());
        assert_eq!(full.with(kind, &[synonym(10_000)], Earlier::Dropped).unwrap().count(kind), 1);
        assert_eq!(full.without(kind, "7").count(kind), 9_999);
        assert!(full.contains(kind, "7") && !full.without(kind, "7").contains(kind, "7"));
    }
}
