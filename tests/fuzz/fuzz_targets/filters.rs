//! Does any text break the filter grammar, and does a filter that is printed read back as itself?
#![no_main]

use libfuzzer_sys::fuzz_target;
use quorate_model::filter::parse_filters;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(filter) = parse_filters(text) {
        let printed = filter.to_string();
        let again = parse_filters(&printed).expect("a printed filter is a filter");
        assert_eq!(filter, again, "{text:?} printed as {printed:?}");
    }
});
