//! Does any body break the search parameters or the settings, and do settings that were accepted stay accepted?
#![no_main]

use libfuzzer_sys::fuzz_target;
use quorate_model::{SearchParams, Settings};

fuzz_target!(|bytes: &[u8]| {
    let _refused = SearchParams::from_body(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _refused = SearchParams::from_url_encoded(text);
    }
    if let Ok(changes) = Settings::parse_body(bytes)
        && let Ok(settings) = Settings::default().merge(&changes)
    {
        let again = Settings::from_document(&settings.document).expect("accepted settings stay accepted");
        assert_eq!(settings.fingerprint(), again.fingerprint());
    }
});
