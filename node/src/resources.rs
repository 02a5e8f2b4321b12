//! The synonyms and rules of one index: read once when they change, then shared by everything that reads them.

use crate::error::Result;
use crate::ops::RawResource;
use quorate_engine::Schema;
use quorate_engine::resources::{find_recommend_rules, find_rules, find_synonyms};
use quorate_engine::rules::RecommendRules;
use quorate_model::resource::ResourceQuery;
use quorate_model::{ObjectId, RecommendRule, ResourceHits, ResourceKind, Rule, Settings, Synonym};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Resources of one kind by id. A change copies the map, not the resources.
pub type ById<T> = Arc<BTreeMap<ObjectId, Arc<T>>>;

/// All synonyms and rules of an index. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// The synonyms.
    pub synonyms: ById<Synonym>,
    /// The rules.
    pub rules: ById<Rule>,
    /// The rules of models of recommendations; no model is there without any.
    pub recommend: RecommendRules,
}

/// Whether earlier resources of the kind stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// They stay unless one with the same id is saved.
    Kept,
    /// They are gone.
    Dropped,
}

impl Resources {
    /// How many there are of a kind.
    pub fn count(&self, kind: ResourceKind) -> usize {
        match kind {
            ResourceKind::Synonyms => self.synonyms.len(),
            ResourceKind::Rules => self.rules.len(),
            ResourceKind::Recommend(model) => self.recommend.get(&model).map_or(0, |rules| rules.len()),
        }
    }
    /// The ids of a kind with their resources as saved, by id.
    pub fn saved(&self, kind: ResourceKind) -> Vec<(&str, &str)> {
        match kind {
            ResourceKind::Synonyms => {
                self.synonyms.iter().map(|(id, synonym)| (id.as_str(), &*synonym.document)).collect()
            }
            ResourceKind::Rules => {
                self.rules.iter().map(|(id, rule)| (id.as_str(), &*rule.document)).collect()
            }
            ResourceKind::Recommend(model) => {
                let rules = self.recommend.get(&model).into_iter().flat_map(|rules| rules.iter());
                rules.map(|(id, rule)| (id.as_str(), &*rule.document)).collect()
            }
        }
    }
    /// Whether there is one with this id.
    pub fn contains(&self, kind: ResourceKind, object_id: &str) -> bool {
        match kind {
            ResourceKind::Synonyms => self.synonyms.contains_key(object_id),
            ResourceKind::Rules => self.rules.contains_key(object_id),
            ResourceKind::Recommend(model) => {
                self.recommend.get(&model).is_some_and(|rules| rules.contains_key(object_id))
            }
        }
    }
    /// A page of those that match, by objectID from the last to the first. Errors: `Invalid` when the answer is too big.
    pub fn search(
        &self,
        kind: ResourceKind,
        settings: &Arc<Settings>,
        asked: &ResourceQuery,
    ) -> quorate_model::Result<ResourceHits> {
        let schema = Schema::from(settings.clone());
        match kind {
            ResourceKind::Synonyms => {
                find_synonyms(self.synonyms.values().rev().map(|synonym| &**synonym), &schema, asked)
            }
            ResourceKind::Rules => find_rules(self.rules.values().rev().map(|rule| &**rule), &schema, asked),
            ResourceKind::Recommend(model) => {
                let rules = self.recommend.get(&model).into_iter().flat_map(|rules| rules.values().rev());
                find_recommend_rules(rules.map(|rule| &**rule), &schema, asked)
            }
        }
    }
    /// All of a kind as a command saves them.
    pub fn raw(&self, kind: ResourceKind) -> Vec<RawResource> {
        let raw = |(object_id, document): (&str, &str)| RawResource {
            object_id: object_id.to_owned(),
            document: document.as_bytes().to_vec(),
        };
        self.saved(kind).into_iter().map(raw).collect()
    }
    /// These and the given ones. Errors: one of them is none of its kind, or there would be too many.
    pub(crate) fn with(
        &self,
        kind: ResourceKind,
        resources: &[RawResource],
        earlier: Earlier,
    ) -> Result<Resources> {
        let mut after = self.clone();
        match kind {
            ResourceKind::Synonyms => add(&mut after.synonyms, resources, earlier, |document| {
                Ok(Synonym::from_document(document)?)
            })?,
            ResourceKind::Rules => {
                add(&mut after.rules, resources, earlier, |document| Ok(Rule::from_document(document)?))?
            }
            ResourceKind::Recommend(model) => {
                let mut rules = after.recommend.remove(&model).unwrap_or_default();
                add(&mut rules, resources, earlier, |document| Ok(RecommendRule::from_document(document)?))?;
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
    pub(crate) fn without(&self, kind: ResourceKind, object_id: &str) -> Resources {
        let mut after = self.clone();
        match kind {
            ResourceKind::Synonyms => drop(Arc::make_mut(&mut after.synonyms).remove(object_id)),
            ResourceKind::Rules => drop(Arc::make_mut(&mut after.rules).remove(object_id)),
            ResourceKind::Recommend(model) => {
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
    resources: &[RawResource],
    earlier: Earlier,
    typed: impl Fn(&[u8]) -> Result<T>,
) -> Result<()> {
    let mut after = match earlier {
        Earlier::Kept => BTreeMap::clone(to),
        Earlier::Dropped => BTreeMap::new(),
    };
    for RawResource { object_id, document } in resources {
        after.insert(object_id.clone(), Arc::new(typed(document)?));
    }
    *to = Arc::new(after);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn synonym(id: usize) -> RawResource {
        let document = format!(r#"{{"objectID":"{id}","type":"synonym","synonyms":["a","{id}"]}}"#);
        RawResource { object_id: id.to_string(), document: document.into_bytes() }
    }

    #[test]
    fn c20_a_change_to_more_than_the_limit_is_none() {
        let kind = ResourceKind::Synonyms;
        let all: Vec<_> = (0..kind.count_max()).map(synonym).collect();
        let full = Resources::default().with(kind, &all, Earlier::Kept).unwrap();
        assert_eq!((full.count(kind), full.count(ResourceKind::Rules)), (10_000, 0));
        let error = full.with(kind, &[synonym(10_000)], Earlier::Kept).unwrap_err();
        assert_eq!(error.to_string(), "An index can have at most 10000 synonyms");
        assert!(error.is_deterministic());
        assert!(full.with(kind, &[synonym(7)], Earlier::Kept).is_ok());
        assert_eq!(full.with(kind, &[synonym(10_000)], Earlier::Dropped).unwrap().count(kind), 1);
        assert_eq!(full.without(kind, "7").count(kind), 9_999);
        assert!(full.contains(kind, "7") && !full.without(kind, "7").contains(kind, "7"));
    }
}
