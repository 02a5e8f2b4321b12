//! Does any body break records and partial updates, and is what comes out of them always a record?
#![no_main]

use libfuzzer_sys::fuzz_target;
use quorate_model::json::minify;
use quorate_model::record::{PartialOutcome, apply_partial, parse_partial, parse_record};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(small) = minify(bytes) {
        assert_eq!(minify(&small).expect("minified text is JSON"), small);
        serde_json::from_slice::<serde_json::Value>(&small).expect("minified text is JSON to others too");
    }
    let _refused = parse_record(bytes, Some("id"), 100_000);
    if let Ok(parsed) = parse_partial(bytes, Some("id"), 100_000) {
        let changes = parsed.1;
        let current = br#"{"objectID":"id","n":1,"list":[1,"a"],"nested":{"x":1}}"#;
        for current in [None, Some(current.as_slice())] {
            if let Ok(PartialOutcome::Write(record)) = apply_partial(current, &changes, true, "id", None) {
                let (id, _) = parse_record(&record, None, usize::MAX).expect("an updated record is a record");
                assert_eq!(id.as_deref(), Some("id"));
            }
        }
    }
});
