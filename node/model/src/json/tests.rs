//! Tables and properties of the scanner, with serde_json as its model.

use super::*;
use proptest::prelude::*;

fn check(source: &str, expected: &str) {
    let found = match minify(source.as_bytes()) {
        Ok(text) => String::from_utf8(text).unwrap(),
        Err(error) => format!("! {error}"),
    };
    assert_eq!(found, expected, "for {source}");
}

#[test]
fn text_is_minified_and_numbers_keep_their_digits() {
    check(
        " { \"a\" : [ 1.0 , 2e3, -0, 12345678901234567890123 ] } ",
        r#"{"a":[1.0,2e3,-0,12345678901234567890123]}"#,
    );
    check(r#"{"a b":" x \" y ","u":"\ud83d\ude00é"}"#, r#"{"a b":" x \" y ","u":"\ud83d\ude00é"}"#);
    check(" [ ] ", "[]");
    check("{ }", "{}");
    check("[ [ ] , { } , [ true , false , null ] ]", "[[],{},[true,false,null]]");
    check(" 7 ", "7");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (source, expected) in [
        ("", "! parse error: premature EOF near line:1 column:0"),
        ("{\"a\":1", "! parse error: premature EOF near line:1 column:6"),
        (
            "{\"a\" 1}",
            "! parse error: object key and value must be separated by a colon (':') near line:1 column:6",
        ),
        ("{a:1}", "! parse error: invalid object key (must be a string) near line:1 column:2"),
        ("[1,]", "! parse error: unallowed token at this point in JSON text near line:1 column:4"),
        ("[1 2]", "! parse error: after array element, I expect ',' or ']' near line:1 column:4"),
        (
            "{\"a\":1 ]",
            "! parse error: after key and value, inside map, I expect ',' or '}' near line:1 column:8",
        ),
        ("[1]]", "! parse error: trailing garbage near line:1 column:4"),
        ("[\n 1e999]", "! parse error: floating point overflow near line:2 column:7"),
        ("[NaN]", "! lexical error: invalid char in json text. near line:1 column:2"),
        ("[nul]", "! lexical error: invalid string in json text. near line:1 column:2"),
        ("[01]", "! parse error: after array element, I expect ',' or ']' near line:1 column:3"),
        (
            "[-]",
            "! lexical error: malformed number, a digit is required after the minus sign. near line:1 column:3",
        ),
        (
            "[1.]",
            "! lexical error: malformed number, a digit is required after the decimal point. near line:1 column:4",
        ),
        (
            "[1e]",
            "! lexical error: malformed number, a digit is required after the exponent. near line:1 column:4",
        ),
        (
            "[\"\\x\"]",
            "! lexical error: inside a string, '\\' occurs before a character which it may not. near line:1 column:3",
        ),
        ("[\"\\ud800\"]", "! lexical error: lone surrogate inside string. near line:1 column:9"),
        (
            "[\"\\u12g4\"]",
            "! lexical error: invalid (non-hex) character occurs after '\\u' inside string. near line:1 column:3",
        ),
        ("[\"a\u{1}\"]", "! lexical error: invalid character inside string. near line:1 column:4"),
    ] {
        check(source, expected);
    }
    let error = minify(b"[\"\xff\"]").unwrap_err();
    assert_eq!(error.message, "lexical error: invalid bytes in UTF8 string near line:1 column:3");
}

#[test]
fn nesting_is_bounded_at_64() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    check(&nested(64), &nested(64));
    check(&nested(65), "! parse error: JSON is nested more than 64 levels deep near line:1 column:65");
    let objects = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    check(&objects(64), &objects(64));
    assert!(minify(objects(65).as_bytes()).is_err());
}

#[test]
fn members_of_the_first_level_are_reported() {
    let found = scan(br#" {"a" : {"x":1}, "b\n":[2] } "#).unwrap();
    let members: Vec<_> =
        found.members.iter().map(|m| (found.name(m).into_owned(), found.value(m))).collect();
    assert_eq!(members, [("a".to_owned(), &b"{\"x\":1}"[..]), ("b\n".to_owned(), b"[2]")]);
    assert_eq!(found.members[0].source_end, 5);
    assert!(scan(br#"[{"a":1}]"#).unwrap().members.is_empty());
}

proptest! {
    #[test]
    fn any_bytes_are_answered_and_accepted_ones_agree_with_serde(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let ours = minify(&bytes);
        let theirs = serde_json::from_slice::<serde_json::Value>(&bytes);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok());
    }

    #[test]
    fn json_like_text_agrees_with_serde_and_minify_is_idempotent(text in r#"[ \[\]{},:"\\a0-9eEu.\-+ntrfalse]{0,40}"#) {
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match minify(text.as_bytes()) {
            Ok(once) => {
                prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(&once).unwrap(), theirs.unwrap());
                prop_assert_eq!(minify(&once).unwrap(), once);
            }
            Err(_) => prop_assert!(theirs.is_err()),
        }
    }
}
