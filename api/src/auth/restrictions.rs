//! What does a key force on the calls made with it (C§13.3)?

use crate::network::Networks;
use lru::LruCache;
use parking_lot::Mutex;
use percent_encoding::percent_decode_str;
use quorate_model::error::shortened;
use quorate_model::settings::table::lookup;
use quorate_model::{Error, Filter, Result, SearchParams};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Parameters embedded in a secured key or set as `queryParameters` of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Restrictions {
    /// Unix seconds after which the key is refused.
    pub valid_until_s: Option<u64>,
    /// Index patterns; `None` = no restriction.
    pub indices: Option<Vec<String>>,
    /// Referer patterns; empty = all.
    pub referers: Vec<String>,
    /// Networks; `None` = all. An empty list, which a template without its value makes, holds nobody.
    pub sources: Option<Vec<String>>,
    /// The user the holder acts for, when the request names none.
    pub user_token: Option<String>,
    /// Search parameters that replace the caller's, by interface name.
    pub overrides: Map<String, Value>,
    /// Filters that hold beside the caller's, or why what is forced cannot be read.
    pub filter: Result<Filter>,
    /// That something has two values, for which every call is refused.
    pub twice: Option<Error>,
}

/// The parameters that are ANDed instead of replaced.
pub const CONJOINED: [&str; 4] = ["filters", "facetFilters", "numericFilters", "tagFilters"];

/// Parameters of places: each kind would win over one that stands behind it in effect.
const PLACES: [&str; 4] = ["aroundLatLng", VIA_IP, "insideBoundingBox", "insidePolygon"];
/// The centre where the caller is, which only searches have.
pub const VIA_IP: &str = "aroundLatLngViaIP";

/// What restrictions force together, the weakest first, by the names of search parameters.
pub fn together(restrictions: &[Arc<Restrictions>]) -> Map<String, Value> {
    let mut all = Map::new();
    for own in restrictions.iter().map(|restrictions| &restrictions.overrides) {
        take_rivals(&mut all, own);
        let known = |name: &str| lookup(name).is_some_and(|row| row.scope.in_query());
        // a place without a value, as a template makes it, is none
        let says = |name: &str, value: &Value| !PLACES.contains(&name) || says_place(name, value);
        let known = own.iter().filter(|(name, value)| known(name) && says(name, value));
        all.extend(known.map(|(name, value)| (name.clone(), value.clone())));
    }
    all
}
/// Takes out of weaker parameters what would win over something that stronger ones say.
pub fn take_rivals(weaker: &mut Map<String, Value>, stronger: &Map<String, Value>) {
    let only = |name: &str, rivals: &[&str]| {
        stronger.contains_key(name) && !rivals.iter().any(|rival| stronger.contains_key(*rival))
    };
    if only("hitsPerPage", &["length", "offset"]) {
        weaker.retain(|name, _| name != "length" && name != "offset");
    }
    if only("query", &["similarQuery"]) {
        weaker.remove("similarQuery");
    }
    if has_place(stronger) {
        weaker.retain(|name, _| !PLACES.contains(&name.as_str()));
    }
}
/// Whether parameters, as they are written, say where records have to be.
pub fn has_place(parameters: &Map<String, Value>) -> bool {
    PLACES.iter().any(|name| parameters.get(*name).is_some_and(|value| says_place(name, value)))
}
/// Whether they take the place of the caller.
pub fn takes_own_place(parameters: &Map<String, Value>) -> bool {
    parameters.get(VIA_IP).is_some_and(|value| says_place(VIA_IP, value))
}
/// Whether a value of one of [`PLACES`] is a place: as searches read it, since there are many ways to write none.
fn says_place(name: &str, value: &Value) -> bool {
    let only = Map::from_iter([(name.to_owned(), value.clone())]);
    SearchParams::from_json(&only)
        .map_or(true, |params| params.has_place() || params.other.get(VIA_IP) == Some(&Value::Bool(true)))
}

impl Restrictions {
    /// Reads URL-encoded parameters. Never fails: parameters that make no sense refuse searches later, not here.
    pub fn parse(text: &str) -> Self {
        let mut found = Restrictions {
            valid_until_s: None,
            indices: None,
            referers: vec![],
            sources: None,
            user_token: None,
            overrides: Map::new(),
            filter: Ok(Filter::default()),
            twice: None,
        };
        let (mut filters, mut named) = (Map::new(), BTreeMap::new());
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            // which of two values holds would be a guess, and what is joined to a filter must not take its place
            let known = lookup(&name).map_or(name.to_string(), |row| row.name.to_owned());
            if named.insert(known, value.clone()).is_some_and(|earlier| earlier != value) {
                let text = format!("{} is given twice in the restrictions of the key", shortened(&name));
                found.twice = Some(Error::invalid(text));
            }
            match name.as_ref() {
                // A date that cannot be read must not make the key valid for ever.
                "validUntil" => found.valid_until_s = Some(value.parse().unwrap_or(0)),
                "restrictIndices" => found.indices = Some(list(&value)),
                "referers" => found.referers = list(&value),
                "restrictSources" => found.sources = Some(list(&value)),
                "userToken" => found.user_token = Some(value.into_owned()),
                // a text of parameters would have to be read before it forces anything
                "params" => {
                    let text = "params cannot be forced: give what it holds as parameters of their own";
                    found.filter = Err(Error::invalid(text));
                }
                name if CONJOINED.contains(&name) => {
                    filters.insert(name.to_owned(), Value::String(value.into_owned()));
                }
                name => {
                    // The current name of a parameter beats its former ones, whichever the request uses.
                    let name = lookup(name).map_or(name, |row| row.name);
                    found.overrides.insert(name.to_owned(), Value::String(value.into_owned()));
                }
            }
        }
        if !filters.is_empty() && found.filter.is_ok() {
            found.filter = SearchParams::from_json(&filters).map(|params| params.filter);
        }
        // a restriction that is mistyped must be none for no call, reads by id included
        if found.filter.is_ok()
            && let Err(error) = SearchParams::from_json(&found.overrides)
        {
            found.filter = Err(error);
        }
        // members of calls, which searches pass over, select nothing
        let forced = |name: &str| lookup(name).is_some_and(|row| row.scope.in_query());
        if found.filter.is_ok()
            && let Some(name) = found.overrides.keys().find(|name| !forced(name))
        {
            let text = format!("{} is no restriction and no search parameter", shortened(name));
            found.filter = Err(Error::invalid(text));
        }
        // replaced by other characters they would select something else
        if percent_decode_str(text).decode_utf8().is_err() {
            found.filter = Err(Error::invalid("the parameters of the key are not URL-encoded UTF-8"));
        }
        found
    }

    /// What tags that a caller sends as those records have to have force on the call. What is no UTF-8, and a `-` that no tag follows,
    /// refuse it: records without a tag of such a name would all pass.
    pub fn of_tags(tags: &[u8]) -> Self {
        let text: String = form_urlencoded::byte_serialize(tags).collect();
        let mut found = Restrictions::parse(&format!("tagFilters={text}"));
        if tags.windows(2).any(|two| two[0] == b'-' && (two[1].is_ascii_whitespace() || two[1] == b'(')) {
            found.filter =
                Err(Error::parameter("X-Algolia-TagFilters", "tags, each of them right behind its `-`"));
        }
        found
    }

    /// Whether the caller's address is inside an allowed network.
    pub fn allows_source(&self, address: Option<IpAddr>) -> bool {
        let Some(sources) = &self.sources else { return true };
        let holds = |network: &String, address| {
            Networks::parse([network.as_str()]).is_ok_and(|networks| networks.hold(address))
        };
        address.is_some_and(|address| sources.iter().any(|network| holds(network, address)))
    }

    /// What is wrong with them, or why nobody can ever call with them at `now_s` (Unix seconds) or later.
    pub fn refuses_all(&self, now_s: u64) -> Option<Error> {
        if let Some(error) = self.twice.as_ref().or(self.filter.as_ref().err()) {
            return Some(error.clone());
        }
        match self.valid_until_s {
            Some(0) => return Some(Error::parameter("validUntil", "Unix time in seconds")),
            Some(until_s) if until_s < now_s => {
                return Some(Error::parameter("validUntil", "Unix time in seconds that is not over"));
            }
            Some(_) | None => {}
        }
        if self.indices.as_ref().is_some_and(Vec::is_empty) {
            return Some(Error::parameter("restrictIndices", "names or patterns of indices"));
        }
        if self.sources.as_ref().is_some_and(Vec::is_empty) {
            return Some(Error::parameter("restrictSources", "IP addresses and networks"));
        }
        let mut sources = self.sources.iter().flatten();
        let wrong = sources.find(|source| Networks::parse([source.as_str()]).is_err())?;
        let expected = format!("IP addresses and networks, which {wrong:?} is not");
        Some(Error::parameter("restrictSources", &expected))
    }
    /// The filters, or the error to answer a search with.
    pub fn filter(&self) -> Result<&Filter, Error> {
        self.filter.as_ref().map_err(Clone::clone)
    }
}

/// A list of names: JSON array, or separated by `,` or `;` (older clients).
fn list(text: &str) -> Vec<String> {
    if text.trim_start().starts_with('[')
        && let Ok(items) = serde_json::from_str(text)
    {
        return items;
    }
    text.split([',', ';']).map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// Parsed `queryParameters` of keys, by their text.
#[derive(Debug)]
pub struct Cache(Mutex<LruCache<String, Arc<Restrictions>>>);

/// Texts kept; a key has one, and an application at most 5,000 keys (C§20).
const TEXTS_MAX: NonZeroUsize = NonZeroUsize::new(1_024).expect("1,024 is not zero");

impl Default for Cache {
    fn default() -> Self {
        Cache(Mutex::new(LruCache::new(TEXTS_MAX)))
    }
}
impl Cache {
    /// What `text` forces.
    pub fn get(&self, text: &str) -> Arc<Restrictions> {
        if let Some(known) = self.0.lock().get(text) {
            return known.clone();
        }
        let parsed = Arc::new(Restrictions::parse(text));
        self.0.lock().put(text.to_owned(), parsed.clone());
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_in_three_forms() {
        for text in ["a%2Cb", "a,b", "a%3Bb", "%5B%22a%22%2C%22b%22%5D", "a;b", "a,,b,"] {
            let found = Restrictions::parse(&format!("restrictIndices={text}"));
            assert_eq!(found.indices.unwrap(), ["a", "b"], "{text}");
        }
        assert_eq!(Restrictions::parse("restrictIndices=").indices, Some(vec![]));
        assert_eq!(Restrictions::parse("").indices, None);
    }

    #[test]
    fn unreadable_expiry_is_expired() {
        assert_eq!(Restrictions::parse("validUntil=soon").valid_until_s, Some(0));
        assert_eq!(Restrictions::parse("validUntil=12").valid_until_s, Some(12));
    }

    #[test]
    fn filters_are_kept_apart_from_overrides() {
        let found = Restrictions::parse("filters=a%3Ab&hitsPerPage=3&userToken=u");
        assert_eq!(found.overrides.get("hitsPerPage"), Some(&Value::String("3".into())));
        assert_eq!(found.user_token.as_deref(), Some("u"));
        assert!(!found.filter.unwrap().is_empty());
        assert!(Restrictions::parse("filters=a%3A%3A(").filter.is_err());
        for wrong in ["params=filters%3Da%3Ab", "filter=a%3Ab", "attributesToRetreive=a", "hitsPerPage=x"] {
            assert!(Restrictions::parse(wrong).filter.is_err(), "{wrong}");
        }
        // members of calls that searches pass over
        for wrong in
            ["indexName=a", "index=a", "strategy=none", "X-Algolia-API-Key=a", "searchableAttributes=a"]
        {
            assert!(Restrictions::parse(wrong).filter.is_err(), "{wrong}");
        }
        for twice in [
            "filters=a%3Ab&filters=a%3Ac",
            "restrictIndices=a&hitsPerPage=1&restrictIndices=b",
            "validUntil=1&validUntil=4000000000",
            "attributesToRetrieve=a&attributes=b",
        ] {
            let wrong = Restrictions::parse(twice).twice.unwrap();
            assert!(wrong.message.contains("is given twice"), "{twice}: {wrong}");
        }
        // clients that write the parameters of a query before the restrictions may say one of them in both
        let same = Restrictions::parse("filters=a%3Ab&userToken=u&validUntil=9&userToken=u");
        assert_eq!((same.twice.clone(), same.refuses_all(8)), (None, None));
        let all = "userToken=u&referers=a&restrictSources=10.0.0.0%2F8&facetQuery=a&query=b&analytics=false";
        assert_eq!(Restrictions::parse(all).filter.map(|_| ()), Ok(()), "{all}");
        assert!(
            Restrictions::parse("filters=%ff").filter.is_err()
                && Restrictions::parse("query=%ff").filter.is_err()
        );
    }

    #[test]
    fn the_parent_wins_over_what_was_signed_with_it() {
        let of = |texts: [&str; 2]| {
            let all = together(&texts.map(|text| Arc::new(Restrictions::parse(text))));
            all.iter()
                .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (secured, parent, expected) in [
            ("hitsPerPage=9&length=5", "hitsPerPage=3", "hitsPerPage=3"),
            ("similarQuery=a", "query=b", "query=b"),
            ("insideBoundingBox=1,2,3,4", "insidePolygon=[[1]]", "insidePolygon=[[1]]"),
            (
                "insideBoundingBox=1,2,3,4",
                "aroundLatLng=1,2&aroundRadius=5",
                "aroundLatLng=1,2 aroundRadius=5",
            ),
            // a place that the parent does not give takes none away
            ("insideBoundingBox=1,2,3,4", "aroundLatLngViaIP=false", "insideBoundingBox=1,2,3,4"),
            ("insideBoundingBox=1,2,3,4", "aroundLatLngViaIP=0", "insideBoundingBox=1,2,3,4"),
            ("insideBoundingBox=1,2,3,4", "aroundLatLngViaIP=1", "aroundLatLngViaIP=1"),
            ("insideBoundingBox=1,2,3,4", "insideBoundingBox=", "insideBoundingBox=1,2,3,4"),
            ("insideBoundingBox=1,2,3,4", "insidePolygon=[[]]", "insideBoundingBox=1,2,3,4"),
            ("similarQuery=a", "query=", "query="),
            ("distinct=2", "distinct=1&validUntil=7", "distinct=1"),
        ] {
            assert_eq!(of([secured, parent]), expected, "{secured} under {parent}");
        }
    }

    #[test]
    fn sources_that_are_none_hold_nobody() {
        let from = |sources: &str, address: &str| {
            Restrictions::parse(&format!("restrictSources={sources}")).allows_source(address.parse().ok())
        };
        for nobody in ["", "%5B%5D", ","] {
            assert!(!from(nobody, "10.1.2.3"), "{nobody}");
        }
        assert!(Restrictions::parse("").allows_source(None));
        assert!(from("10.0.0.0%2F8", "10.1.2.3") && !from("10.0.0.0%2F8", "11.1.2.3"));
        assert!(from("nonsense%2C10.0.0.0%2F8", "10.1.2.3") && !from("nonsense", "10.1.2.3"));
        assert!(!Restrictions::parse("restrictSources=10.0.0.0%2F8").allows_source(None));
    }
}
