//! Which attributes have facets (C§4)?

use super::IndexSettings;
use super::members::{attribute, entries, inside};
use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::HashMap;
use std::ops::Deref;

/// An attribute of attributesForFaceting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct FacetAttribute {
    pub path: String,
    pub searchable: bool,
    pub filter_only: bool,
    pub after_distinct: bool,
}

/// Attributes that are compared sooner than a path is hashed.
const COMPARED_MAX: usize = 16;

/// The attributes of attributesForFaceting in their order. One that is listed several times stands where it is first and is all that the
/// entries say of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FacetAttributes {
    listed: Vec<FacetAttribute>,
    /// Places in the list, by path.
    places: HashMap<String, usize>,
}

impl FacetAttributes {
    /// The attribute of a path. Cost: the same for any number of them.
    pub fn get(&self, path: &str) -> Option<&FacetAttribute> {
        match self.listed.len() <= COMPARED_MAX {
            true => self.listed.iter().find(|facet| facet.path == path),
            false => self.places.get(path).map(|&place| &self.listed[place]),
        }
    }
}

impl Deref for FacetAttributes {
    type Target = [FacetAttribute];
    fn deref(&self) -> &[FacetAttribute] {
        &self.listed
    }
}

impl FromIterator<FacetAttribute> for FacetAttributes {
    fn from_iter<T: IntoIterator<Item = FacetAttribute>>(entries: T) -> Self {
        let mut all = FacetAttributes::default();
        for entry in entries {
            let FacetAttributes { listed, places } = &mut all;
            let Some(&place) = places.get(&entry.path) else {
                places.insert(entry.path.clone(), listed.len());
                listed.push(entry);
                continue;
            };
            let first = &mut listed[place];
            first.searchable |= entry.searchable;
            first.filter_only |= entry.filter_only;
            first.after_distinct |= entry.after_distinct;
        }
        all
    }
}

pub(crate) fn attributes_for_faceting(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let mut found = Vec::new();
    for entry in entries(value) {
        let mut facet = FacetAttribute {
            path: String::new(),
            searchable: false,
            filter_only: false,
            after_distinct: false,
        };
        let mut rest = entry.trim();
        loop {
            if let Some(inner) = inside(rest, "searchable") {
                facet.searchable = true;
                rest = inner;
            } else if let Some(inner) = inside(rest, "filterOnly") {
                facet.filter_only = true;
                rest = inner;
            } else if let Some(inner) = inside(rest, "afterDistinct") {
                facet.after_distinct = true;
                rest = inner;
            } else {
                break;
            }
        }
        let expected = "attribute names, searchable(name), filterOnly(name) or afterDistinct(name)";
        facet.path = attribute(name, rest, expected)?;
        if facet.searchable && facet.filter_only {
            return Err(Error::parameter(name, "either searchable(name) or filterOnly(name), not both"));
        }
        found.push(facet);
    }
    index.attributes_for_faceting = found.into_iter().collect();
    Ok(())
}
