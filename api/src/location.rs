//! Where on Earth is an address? (C§4.7 aroundLatLngViaIP)
//!
//! A database in the MaxMind format, read whole at the start; the operator brings it. Cost of a look-up: about a
//! microsecond, paid by requests that ask for it only.

use maxminddb::{Reader, WithinOptions};
use quorate_model::params::LatLng;
use serde::Deserialize;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;

/// The places of addresses.
pub struct Locations(Reader<Vec<u8>>);

/// The part of an entry that is looked at.
#[derive(Deserialize)]
struct Entry {
    location: Option<Coordinates>,
}
/// The same, for who asks for the country.
#[derive(Deserialize)]
struct CountryEntry {
    country: Option<Country>,
}
#[derive(Deserialize)]
struct Country {
    iso_code: Option<String>,
}
#[derive(Deserialize)]
struct Coordinates {
    latitude: Option<f64>,
    longitude: Option<f64>,
}

impl Entry {
    fn place(self) -> Option<LatLng> {
        let Coordinates { latitude: Some(lat), longitude: Some(lng) } = self.location? else { return None };
        let on_earth = (-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lng);
        on_earth.then_some(LatLng { lat, lng })
    }
}
impl CountryEntry {
    fn code(self) -> Option<String> {
        self.country?.iso_code
    }
}

impl Locations {
    /// Reads a database file. Errors: a text that says what is wrong with the file.
    pub fn open(path: &Path) -> Result<Self, String> {
        let locations =
            std::fs::read(path).map_err(|error| error.to_string()).and_then(Locations::from_bytes)?;
        let (places, countries) = locations.holds();
        if !places {
            tracing::warn!(path = %path.display(), "no network at the begin of this database has a place: aroundLatLngViaIP may do nothing");
        }
        if !countries {
            tracing::warn!(path = %path.display(), "no network at the begin of this database has a country: analytics may know none");
        }
        Ok(locations)
    }
    /// Whether it has places, and countries: what the first thousand of its networks say.
    pub fn holds(&self) -> (bool, bool) {
        let networks = self.0.networks(WithinOptions::default()).into_iter().flatten().take(1_000);
        networks.flatten().fold((false, false), |(places, countries), network| {
            let place = network.decode::<Entry>().ok().flatten().and_then(Entry::place);
            let country = network.decode::<CountryEntry>().ok().flatten().and_then(CountryEntry::code);
            (places | place.is_some(), countries | country.is_some())
        })
    }
    /// Takes the bytes of a database. Errors: a text that says what is wrong with them.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        Reader::from_source(bytes).map(Locations).map_err(|error| error.to_string())
    }
    /// The place of an address; `None` when the database has none for it.
    pub fn place_of(&self, address: IpAddr) -> Option<LatLng> {
        let entry: Entry = self.0.lookup(address.to_canonical()).ok()?.decode().ok()??;
        entry.place()
    }
    /// The code of the country of an address; `None` when the database has none for it.
    pub fn country_of(&self, address: IpAddr) -> Option<String> {
        let entry: CountryEntry = self.0.lookup(address.to_canonical()).ok()?.decode().ok()??;
        entry.code()
    }
}

impl fmt::Debug for Locations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Locations({})", self.0.metadata().database_type)
    }
}
