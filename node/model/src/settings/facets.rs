//! Which attributes have facets (C§4)?

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
