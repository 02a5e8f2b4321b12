//! Tables and properties of records and partial updates.

use super::*;
use crate::limits::RECORD_BYTES_MAX;
use proptest::prelude::*;

fn shown(result: crate::Result<(Option<ObjectId>, Vec<u8>)>) -> String {
    match result {
        Ok((id, text)) => format!("{} {}", id.unwrap_or_default(), String::from_utf8(text).unwrap()),
        Err(error) => format!("! {error}"),
    }
}

#[track_caller]
fn record(text: &str, path_id: Option<&str>, expected: &str) {
    assert_eq!(shown(parse_record(text.as_bytes(), path_id, RECORD_BYTES_MAX)), expected, "for {text}");
}

#[test]
fn c2_records_name_their_id_in_many_ways() {
    record(r#"{ "objectID" : "a", "n" : 1.0 }"#, None, r#"a {"objectID":"a","n":1.0}"#);
    record(r#"{"n":1,"objectID":"a"}"#, None, r#"a {"n":1,"objectID":"a"}"#);
    record(
        r#"{"n":1,"objectID":12345678901234567890}"#,
        None,
        r#"12345678901234567890 {"objectID":"12345678901234567890","n":1}"#,
    );
    record(r#"{"objectID":1.50}"#, None, r#"1.5 {"objectID":"1.5"}"#);
    record(r#"{"objectID":1e3}"#, None, r#"1000 {"objectID":"1000"}"#);
    record(r#"{"object\u0049D":"a"}"#, None, r#"a {"object\u0049D":"a"}"#);
    record(r#"{"n":1}"#, None, r#" {"n":1}"#);
    record(r#"{"n":1}"#, Some("p/ä\""), r#"p/ä" {"objectID":"p/ä\"","n":1}"#);
    record(r#"{"objectID":"body","n":1}"#, Some("path"), r#"path {"objectID":"path","n":1}"#);
    record(r#"{"objectID":"same","n":1}"#, Some("same"), r#"same {"objectID":"same","n":1}"#);
    record("{}", Some("a"), r#"a {"objectID":"a"}"#);
}

#[test]
fn bad_records_are_refused_with_a_reason() {
    record("[]", None, "! Invalid record: expected a JSON object near line:1 column:1");
    record("7", None, "! Invalid record: expected a JSON object near line:1 column:1");
    record(r#"{"a":1,"a":2}"#, None, "! Duplicate attribute: a near line:1 column:10");
    record(r#"{"a":1,"\u0061":2}"#, None, "! Duplicate attribute: a near line:1 column:15");
    record(r#"{"objectID":null}"#, None, "! objectID must be a string or a number");
    record(r#"{"objectID":["a"]}"#, None, "! objectID must be a string or a number");
    record(r#"{"objectID":true}"#, None, "! objectID must be a string or a number");
    record(r#"{"objectID":""}"#, None, "! objectID must not be empty");
    record(r#"{"objectID":"a\nb"}"#, None, "! objectID must not contain control characters");
    record("{}", Some(&"x".repeat(513)), "! objectID must have at most 512 bytes");
    record(r#"{"a":1e999}"#, None, "! parse error: floating point overflow near line:1 column:11");
    let many: Vec<String> = (0..100).map(|n| format!("\"a{n}\":1")).collect();
    let twice = format!("{{{},\"a50\":2}}", many.join(","));
    assert!(
        shown(parse_record(twice.as_bytes(), None, RECORD_BYTES_MAX))
            .starts_with("! Duplicate attribute: a50 ")
    );
}

#[test]
fn c19_big_records_say_their_size() {
    let error = parse_record(br#"{"objectID":"i","a":"0123456789"}"#, None, 20).unwrap_err();
    assert_eq!(error.kind, crate::ErrorKind::Invalid);
    assert!(error.message.starts_with("Record is too big size=33/20 bytes. "), "{error}");
    let error = at_position(error, 3);
    assert!(
        error.message.starts_with("Record at the position 3 objectID=i is too big size=33/20 bytes. "),
        "{error}"
    );
    assert_eq!((error.position, error.object_id.as_deref()), (Some(3), Some("i")));
    let unnamed = at_position(parse_record(br#"{"a":"0123456789"}"#, None, 10).unwrap_err(), 0);
    assert!(unnamed.message.starts_with("Record at the position 0 is too big size=18/10 bytes"), "{unnamed}");
    assert!(parse_record(br#"{"a" : 1}"#, None, 7).is_ok(), "white space does not count");
}

#[test]
fn ids_are_put_first() {
    assert_eq!(with_object_id(b"{}", "a"), br#"{"objectID":"a"}"#);
    assert_eq!(with_object_id(br#"{"n":1}"#, "a\\"), br#"{"objectID":"a\\","n":1}"#);
}

fn op(name: &str, value: &str) -> String {
    format!(r#"{{"n":{{"_operation":"{name}","value":{value}}}}}"#)
}

#[test]
fn c3_5_operations_are_checked_before_they_are_kept() {
    let check = |text: &str| shown(parse_partial(text.as_bytes(), Some("i"), RECORD_BYTES_MAX));
    assert_eq!(
        check(r#"{"objectID":"x", "a": {"_operation":"Add","value":"v"}}"#),
        r#"i {"a":{"_operation":"Add","value":"v"}}"#
    );
    assert_eq!(check(r#"{"a":{"b":1}}"#), r#"i {"a":{"b":1}}"#);
    assert_eq!(shown(parse_partial(br#"{"objectID":5,"a":1}"#, None, 99)), r#"5 {"a":1}"#);
    for (name, value, expected) in [
        (
            "Multiply",
            "1",
            "_operation among Increment, Decrement, Add, Remove, AddUnique, IncrementFrom, IncrementSet",
        ),
        ("Increment", "\"1\"", "number as value"),
        ("Decrement", "null", "number as value"),
        ("IncrementFrom", "1.5", "integer as value"),
        ("IncrementSet", "\"x\"", "integer as value"),
        ("IncrementSet", "99999999999999999999", "integer as value"),
        ("Add", "[1]", "number or string as value"),
        ("Remove", "{}", "number or string as value"),
        ("AddUnique", "true", "number or string as value"),
    ] {
        assert_eq!(
            check(&op(name, value)),
            format!("! Invalid operation on attribute n, expected {expected}")
        );
    }
    assert_eq!(
        check(r#"{"n":{"_operation":1,"value":1}}"#),
        "! Invalid operation on attribute n, expected _operation among Increment, Decrement, Add, Remove, AddUnique, IncrementFrom, IncrementSet"
    );
    assert_eq!(
        check(r#"{"n":{"_operation":"Add"}}"#),
        "! Invalid operation on attribute n, expected number or string as value"
    );
}

/// Applies `changes`; `-` stands for a missing record and for an ignored update.
#[track_caller]
fn apply(current: &str, changes: &str, expected: &str) {
    let current = (current != "-").then_some(current.as_bytes());
    let (_, parsed) = parse_partial(changes.as_bytes(), Some("i"), RECORD_BYTES_MAX).unwrap();
    let found = match apply_partial(current, &parsed, true, "i", None).unwrap() {
        PartialOutcome::Write(text) => String::from_utf8(text).unwrap(),
        PartialOutcome::Ignore | PartialOutcome::TooLarge(_) => "-".to_owned(),
    };
    assert_eq!(found, expected, "for {changes}");
}

#[test]
fn card_4_3_3_attributes_are_replaced_whole() {
    apply(
        r#"{"objectID":"i","a":{"x":1,"y":2},"b":1.0}"#,
        r#"{"a":{"x":3},"c":null}"#,
        r#"{"objectID":"i","a":{"x":3},"b":1.0,"c":null}"#,
    );
    apply("-", r#"{"a":1}"#, r#"{"objectID":"i","a":1}"#);
    assert_eq!(apply_partial(None, br#"{"a":1}"#, false, "i", None).unwrap(), PartialOutcome::Ignore);
}

#[test]
fn a_record_grows_up_to_what_it_may_take() {
    let record = br#"{"objectID":"i","a":["x"]}"#;
    let add = br#"{"a":{"_operation":"Add","value":"y"}}"#;
    let within = |bytes_max| apply_partial(Some(record), add, true, "i", Some(bytes_max)).unwrap();
    let grown = br#"{"objectID":"i","a":["x","y"]}"#;
    assert_eq!(within(30), PartialOutcome::Write(grown.to_vec()));
    assert_eq!(within(29), PartialOutcome::TooLarge(30));
    // what is too large already may get smaller, or stay as large
    let small = |changes: &[u8]| apply_partial(Some(record), changes, true, "i", Some(10)).unwrap();
    assert_eq!(small(br#"{"a":1}"#), PartialOutcome::Write(br#"{"objectID":"i","a":1}"#.to_vec()));
    assert_eq!(small(br#"{"a":["z"]}"#), PartialOutcome::Write(br#"{"objectID":"i","a":["z"]}"#.to_vec()));
    assert_eq!(small(br#"{"b":1}"#), PartialOutcome::TooLarge(32));
}

#[test]
fn card_4_3_4_increment_and_decrement() {
    let with = |n: &str| format!(r#"{{"objectID":"i","n":{n}}}"#);
    for (name, old, value, expected) in [
        ("Increment", "1", "2", "3"),
        ("Decrement", "1", "2", "-1"),
        ("Increment", "1.5", "1", "2.5"),
        ("Increment", "1.0", "1", "2.0"),
        ("Increment", "1", "0.5", "1.5"),
        ("Increment", "9223372036854775807", "1", "9223372036854775808"),
        ("Increment", "18446744073709551615", "1", "1.8446744073709552e19"),
        ("Decrement", "-9223372036854775808", "1", "-9.223372036854776e18"),
        ("Increment", "1.7976931348623157e308", "1.7976931348623157e308", "1.7976931348623157e308"),
        ("Increment", "\"text\"", "1", "\"text\""),
        ("Increment", "null", "1", "null"),
    ] {
        apply(&with(old), &op(name, value), &with(expected));
    }
    apply(r#"{"objectID":"i"}"#, &op("Increment", "5"), &with("5"));
    apply("-", &op("Decrement", "5"), &with("-5"));
}

#[test]
fn card_4_3_4_add_remove_and_add_unique() {
    let with = |n: &str| format!(r#"{{"objectID":"i","n":{n}}}"#);
    for (name, old, value, expected) in [
        ("Add", "[]", "1", "[1]"),
        ("Add", "[1,\"a\"]", "1", "[1,\"a\",1]"),
        ("Add", "[[1]]", "1", "[[1],1]"),
        ("Add", "\"x\"", "1", "\"x\""),
        ("Remove", "[1,2.0,\"1\",1.0,2]", "1", "[2.0,\"1\",2]"),
        ("Remove", "[\"a\",\"\\u0061\",\"b\"]", "\"a\"", "[\"b\"]"),
        ("Remove", "[\"a\"]", "\"a\"", "[]"),
        ("Remove", "[\"a\",{\"b\":1}]", "\"a\"", "[\"a\",{\"b\":1}]"),
        ("Remove", "[\"a\",[1]]", "\"a\"", "[\"a\",[1]]"),
        ("Remove", "\"a\"", "\"a\"", "\"a\""),
        ("AddUnique", "[1]", "1.0", "[1]"),
        ("AddUnique", "[1]", "\"1\"", "[1,\"1\"]"),
        ("AddUnique", "[[1]]", "2", "[[1]]"),
    ] {
        apply(&with(old), &op(name, value), &with(expected));
    }
    apply("-", &op("Add", "\"a\""), &with("[\"a\"]"));
    apply("-", &op("AddUnique", "\"a\""), &with("[\"a\"]"));
    apply("-", &op("Remove", "\"a\""), r#"{"objectID":"i"}"#);
}

#[test]
fn card_4_3_4_increment_from_and_increment_set() {
    let with = |n: &str| format!(r#"{{"objectID":"i","n":{n}}}"#);
    for (name, old, value, expected) in [
        ("IncrementFrom", "3", "3", Some("4")),
        ("IncrementFrom", "3", "2", None),
        ("IncrementFrom", "\"3\"", "3", None),
        ("IncrementSet", "3", "4", Some("4")),
        ("IncrementSet", "3", "3", None),
        ("IncrementSet", "3.5", "4", Some("4")),
        ("IncrementSet", "null", "4", None),
    ] {
        apply(&with(old), &op(name, value), &expected.map_or("-".to_owned(), with));
    }
    apply("-", &op("IncrementFrom", "0"), &with("1"));
    apply("-", &op("IncrementFrom", "1"), "-");
    apply("-", &op("IncrementSet", "1"), &with("1"));
    apply("-", &op("IncrementSet", "0"), "-");
    let two =
        r#"{"a":1,"n":{"_operation":"IncrementFrom","value":7},"b":{"_operation":"Increment","value":1}}"#;
    apply(&with("6"), two, "-");
    apply(&with("7"), two, r#"{"objectID":"i","n":8,"a":1,"b":1}"#);
}

#[test]
fn batch_actions_have_names_and_rights() {
    use crate::key::Acl;
    for action in BatchAction::ALL {
        assert_eq!(BatchAction::parse(action.name()).unwrap(), action);
    }
    assert_eq!(BatchAction::Clear.acl(), Acl::DeleteIndex);
    assert!(BatchAction::DeleteObject.needs_object_id() && !BatchAction::AddObject.needs_object_id());
    let error = BatchAction::parse("addobject").unwrap_err();
    assert!(
        error.message.starts_with("Invalid batch action: addobject, expected one of addObject, "),
        "{error}"
    );
}

fn any_value() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "1",
        "-0",
        "1.5",
        "1e308",
        "9223372036854775807",
        "\"a\"",
        "\"\\u0061\"",
        "null",
        "true",
        "[]",
        "[1,\"a\"]",
        "[[1]]",
        "{\"x\":[]}",
    ])
    .prop_map(str::to_owned)
}

fn any_change() -> impl Strategy<Value = String> {
    let names =
        vec!["Increment", "Decrement", "Add", "Remove", "AddUnique", "IncrementFrom", "IncrementSet", "Nope"];
    let operation = (prop::sample::select(names), any_value())
        .prop_map(|(name, value)| format!(r#"{{"_operation":"{name}","value":{value}}}"#));
    prop_oneof![any_value(), operation]
}

fn any_object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::btree_map("[a-d]", value, 0..4).prop_map(|members| {
        let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!("{{{}}}", members.join(" , "))
    })
}

proptest! {
    #[test]
    fn partial_updates_of_any_record_give_a_record(old in any_object(any_value()), changes in any_object(any_change())) {
        let (_, old) = parse_record(old.as_bytes(), Some("i"), RECORD_BYTES_MAX).unwrap();
        if let Ok((_, changes)) = parse_partial(changes.as_bytes(), Some("i"), RECORD_BYTES_MAX) {
            for current in [Some(old.as_slice()), None] {
                let outcome = apply_partial(current, &changes, true, "i", None).unwrap();
                prop_assert_eq!(&apply_partial(current, &changes, true, "i", None).unwrap(), &outcome);
                if let PartialOutcome::Write(text) = outcome {
                    let again = parse_record(&text, None, RECORD_BYTES_MAX).unwrap();
                    prop_assert_eq!(again, (Some("i".to_owned()), text));
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..48), text in r#"[{}\[\]",:a0-9objectID_ ]{0,40}"#) {
        let _ = parse_record(&bytes, None, RECORD_BYTES_MAX);
        let _ = parse_partial(&bytes, None, RECORD_BYTES_MAX);
        let _ = apply_partial(Some(&bytes), &bytes, true, "i", None);
        if let Ok((Some(id), record)) = parse_record(text.as_bytes(), None, RECORD_BYTES_MAX) {
            prop_assert_eq!(parse_record(&record, None, RECORD_BYTES_MAX).unwrap(), (Some(id), record));
        }
    }
}
