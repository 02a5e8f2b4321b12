//! Tables and properties of every filter notation.

use super::*;
use crate::limits;
use proptest::prelude::*;
use serde_json::{Value, json};

fn shown(result: crate::Result<Filter>) -> String {
    match result {
        Ok(filter) => filter.to_string(),
        Err(error) => format!("! {error}"),
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(shown(parse_filters(text)), expected, "for {text}");
}

#[track_caller]
fn check_items(items: Items, value: Value, expected: &str) {
    assert_eq!(shown(parse_items("p", items, &value)), expected, "for {value}");
}

#[test]
fn tags_of_a_list_keep_their_spaces_and_those_of_a_text_do_not() {
    let tags = |value: serde_json::Value| {
        let filter = parse_items("tagFilters", Items::Tags, &value).unwrap();
        let of = |atom: &FilterAtom| match &atom.atom {
            Atom::Tag { value } => (value.clone(), atom.negated),
            other => panic!("{other:?}"),
        };
        filter.all.iter().flat_map(|any| any.any.iter().map(of)).collect::<Vec<_>>()
    };
    let given = |value: &str, negated: bool| (value.to_owned(), negated);
    assert_eq!(
        tags(serde_json::json!(["  lead", "-  lead", ["trail ", "a"]])),
        [given("  lead", false), given("  lead", true), given("trail ", false), given("a", false)]
    );
    assert_eq!(tags(serde_json::json!(" a , - b")), [given("a", false), given(" b", true)]);
}

#[test]
fn c5_1_or_binds_tighter_than_and() {
    check("", "");
    check(" \n\t\u{c}", "");
    check("a AND b OR c", r#"_tags:"a" AND (_tags:"b" OR _tags:"c")"#);
    check("((a) OR (b)) AND c", r#"(_tags:"a" OR _tags:"b") AND _tags:"c""#);
    check("(A AND (B OR C))", r#"_tags:"A" AND (_tags:"B" OR _tags:"C")"#);
    check(
        "x:a OR x:b AND (tags:movie AND price:10 TO 20)",
        r#"("x":"a" OR "x":"b") AND "tags":"movie" AND "price":10 TO 20"#,
    );
    check("((((a))))", r#"_tags:"a""#);
    check("NOT a AND NOT b:c", r#"NOT _tags:"a" AND NOT "b":"c""#);
}

#[test]
fn c5_1_conjunctions_inside_disjunctions_are_refused_at_any_depth() {
    let before = "! filters: filter (X AND Y) OR Z is not allowed, only (X OR Y) AND Z is allowed";
    let after = "! filters: filter X OR (Y AND Z) is not allowed, only X AND (Y OR Z) is allowed";
    check("(a AND b) OR c", before);
    check("a OR (b AND c)", after);
    check("(a AND b OR c) OR d", before);
    check("x AND (a OR ((b AND c)))", after);
}

#[test]
fn c5_1_every_atom_has_its_form() {
    check("price=10", r#""price"=10"#);
    check("price!=10.5 AND price<1 AND price<=-1 AND price>0 AND price>=+2", {
        r#""price"!=10.5 AND "price"<1 AND "price"<=-1 AND "price">0 AND "price">=2"#
    });
    check("price : 10 TO 20", r#""price":10 TO 20"#);
    check("num:123TO456", r#""num":123 TO 456"#);
    check("num:-5 TO -3", r#""num":-5 TO -3"#);
    check("year:2020", r#""year":"2020""#);
    check("_tags:movie", r#"_tags:"movie""#);
    check("brand:Apple<score=2> OR brand:'Sam sung' < score = 65535 >", {
        r#"("brand":"Apple"<score=2> OR "brand":"Sam sung"<score=65535>)"#
    });
    check("movie<score=3>", r#"_tags:"movie"<score=3>"#);
    check("a.b:c", r#""a.b":"c""#);
    check("NOT price:10 TO 20", r#"NOT "price":10 TO 20"#);
}

#[test]
fn c5_2_quotes_escapes_and_dashes() {
    check(r#"author:"Stephen King""#, r#""author":"Stephen King""#);
    check(r#""content type":x"#, r#""content type":"x""#);
    check(r#""author:Stephen King""#, r#""author":"Stephen King""#);
    check(r#"":x""#, r#"_tags:":x""#);
    check(r#"a:"x \" y \\ \n""#, r#""a":"x \" y \\ \\n""#);
    check(r#"a:'it\'s "it"'"#, r#""a":"it's \"it\"""#);
    check(r#"a:" ""#, r#""a":" ""#);
    check("name:-value", r#""name":"-value""#);
    check("-value", r#"_tags:"-value""#);
    check(r"\-value", r#"_tags:"\\-value""#);
    check("a:AND", "! filters: Unexpected token 'AND' expected string at col 2");
    check("a:and", r#""a":"and""#);
    check("a:été OR a:日本", r#"("a":"été" OR "a":"日本")"#);
}

#[test]
fn c19_unexpected_tokens_are_named_with_their_column() {
    for (text, expected) in [
        ("NOT(a OR b)", "'(' expected filter at col 3"),
        ("not a", "string(a) expected end of filter at col 4"),
        ("price < abc", "string(abc) expected numeric at col 8"),
        ("price > \"10\"", "string(10) expected numeric at col 8"),
        ("a AND", "end of filter expected filter at col 5"),
        ("a:", "end of filter expected string at col 2"),
        ("a::b", "':' expected string at col 2"),
        ("(a", "end of filter expected ')' at col 2"),
        ("a)", "')' expected end of filter at col 1"),
        ("()", "')' expected filter at col 1"),
        ("OR a", "'OR' expected filter at col 0"),
        ("a b", "string(b) expected end of filter at col 2"),
        ("a:1 TO x", "string(x) expected numeric at col 7"),
        ("a:\"\"", "empty string expected string at col 2"),
        ("''", "empty string expected filter at col 0"),
        ("a:\"b", "incomplete string expected string at col 2"),
        ("é:1e999 AND b=1e999", "numeric(1e999) expected numeric at col 14"),
        ("b=NaN", "string(NaN) expected numeric at col 2"),
        ("num<123<score=4>", "<score=4> expected end of filter at col 7"),
        ("a:b<score=65536>", "<score=65536> expected score between 0 and 65535 at col 3"),
        ("a:b<c", "< expected end of filter at col 3"),
        ("NOT NOT a", "'NOT' expected filter at col 4"),
    ] {
        check(text, &format!("! filters: Unexpected token {expected}"));
    }
}

#[test]
fn c19_one_or_holds_one_kind_and_the_first_names_it() {
    let start = "! filters: Different types are not allowed in the same OR.\nExpected a";
    check(
        "a OR b:c",
        &format!("{start} tag filter which needs to have this form:\n - _tags:tag_value\n - tag_value"),
    );
    check(
        "b:c OR a",
        &format!("{start} facet filter which needs to have this form:\n - facet_name:facet_value"),
    );
    let forms = "\n - numeric_attr_name=10\n - numeric_attr_name>10\n - numeric_attr_name>=10\n - numeric_attr_name<10\n - numeric_attr_name<=10\n - numeric_attr_name!=10\n - numeric_attr_name:10 TO 20";
    check(
        "(n=1 OR n:1 TO 2) OR a",
        &format!("{start} numeric filter which needs to have one of the following form:{forms}"),
    );
}

#[test]
fn size_number_and_nesting_are_bounded() {
    let parens = |n: usize| format!("{}a{}", "(".repeat(n), ")".repeat(n));
    check(&parens(limits::FILTER_NESTING_MAX), r#"_tags:"a""#);
    check(&parens(65), "! filters: parentheses are nested more than 64 levels deep");
    check(&"(".repeat(60_000), "! filters: parentheses are nested more than 64 levels deep");
    let atoms = |n: usize| vec!["a"; n].join(" AND ");
    assert_eq!(parse_filters(&atoms(1_000)).unwrap().len(), 1_000);
    check(&atoms(1_001), "! Invalid value for \"filters\" parameter, expected at most 1000 filters");
    let long = "a".repeat(limits::FILTERS_TEXT_BYTES_MAX + 1);
    check(&long, "! Invalid value for \"filters\" parameter, expected string shorter than 65536 bytes");
}

#[test]
fn c5_6_facet_filters() {
    let facets = |value, expected| check_items(Items::Facets, value, expected);
    facets(json!([["a:1", "a:2"], "b:3"]), r#"("a":"1" OR "a":"2") AND "b":"3""#);
    facets(json!("(category:Book,category:Movie),author:John"), {
        r#"("category":"Book" OR "category":"Movie") AND "author":"John""#
    });
    facets(json!(r#"[["a:1","a:2"],"b:3"]"#), r#"("a":"1" OR "a":"2") AND "b":"3""#);
    facets(json!("editor:'visual studio'"), r#""editor":"visual studio""#);
    facets(json!("editor:'a, (b)',x:y"), r#""editor":"a, (b)" AND "x":"y""#);
    facets(json!(["a:-v", "-a:v", r"a:\-v", r"count:\-12", "-a:-v"]), {
        r#"NOT "a":"v" AND NOT "a":"v" AND "a":"-v" AND "count":"-12" AND "a":"v""#
    });
    facets(json!(["a:http://x:80", "a:b<score=7>", "_tags:t", "cat:A > B"]), {
        r#""a":"http://x:80" AND "a":"b"<score=7> AND _tags:"t" AND "cat":"A > B""#
    });
    facets(json!([[["a:1", ["a:2"]]], []]), r#"("a":"1" OR "a":"2")"#);
    facets(json!([[]]), "");
    facets(json!(""), "");
    facets(json!([]), "");
    facets(json!(["", null]), "");
    facets(json!(["a:it's"]), r#""a":"it's""#);
    facets(json!(["brand:Acme ", " b: lead", "c:x <score=2>", "d:\" e \""]), {
        r#""brand":"Acme " AND "b":" lead" AND "c":"x"<score=2> AND "d":" e ""#
    });
    facets(json!("brand: Acme , (b: c,d:e )"), r#""brand":"Acme" AND ("b":"c" OR "d":"e")"#);
    let expected = "! Invalid value for \"p\" parameter, expected string or nested array of strings of the form \"attribute:value\"";
    for wrong in [
        json!(["price"]),
        json!([1]),
        json!({"a": 1}),
        json!("[1"),
        json!("(a:b"),
        json!(["a:b<score=70000>"]),
    ] {
        facets(wrong, expected);
    }
}

#[test]
fn c5_7_numeric_filters() {
    let numbers = |value, expected| check_items(Items::Numbers, value, expected);
    numbers(json!([["a=1", "a=2"], "b>=3"]), r#"("a"=1 OR "a"=2) AND "b">=3"#);
    numbers(json!("price > 10, price<=20.5"), r#""price">10 AND "price"<=20.5"#);
    numbers(json!(["price:1 TO 2", "price:1 to 2", "x != -3"]), {
        r#""price":1 TO 2 AND "price":1 TO 2 AND "x"!=-3"#
    });
    for wrong in ["a", "a=b", "=1", "a=", "a=1e999", "a=NaN", "a:1", "a!1", "a==1"] {
        assert!(shown(parse_items("p", Items::Numbers, &json!([wrong]))).starts_with('!'), "{wrong}");
    }
}

#[test]
fn c5_8_tag_filters() {
    let tags = |value, expected| check_items(Items::Tags, value, expected);
    tags(json!("tag1,(tag2,-tag3)"), r#"_tags:"tag1" AND (_tags:"tag2" OR NOT _tags:"tag3")"#);
    tags(json!("algolia"), r#"_tags:"algolia""#);
    tags(json!([["a", "b:c"], r"\-d"]), r#"(_tags:"a" OR _tags:"b:c") AND _tags:"-d""#);
    assert!(shown(parse_items("p", Items::Tags, &json!(["-"]))).starts_with('!'));
}

#[test]
fn items_are_bounded() {
    let many: Vec<String> = (0..1_001).map(|n| format!("a:{n}")).collect();
    check_items(
        Items::Facets,
        json!(many),
        "! Invalid value for \"p\" parameter, expected at most 1000 filters",
    );
    let long = json!([format!("a:{}", "b".repeat(70_000))]);
    check_items(
        Items::Facets,
        long,
        "! Invalid value for \"p\" parameter, expected string shorter than 65536 bytes",
    );
    let mut deep = json!("a:b");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    assert!(parse_items("p", Items::Facets, &deep).is_err());
}

fn name() -> impl Strategy<Value = String> {
    r#"[a-z"'\\ (),:<>=!é日]{1,6}"#.prop_filter("_tags has its own atom", |name| name != "_tags")
}

fn atom(kind: u8) -> impl Strategy<Value = FilterAtom> {
    let number = || (-1_000_000i64..1_000_000).prop_map(|n| n as f64 / 64.0);
    let op = prop::sample::select(vec![
        NumericOp::Eq,
        NumericOp::Ne,
        NumericOp::Lt,
        NumericOp::Le,
        NumericOp::Gt,
        NumericOp::Ge,
    ]);
    let test = match kind {
        0 => (name(), name()).prop_map(|(attribute, value)| Atom::Facet { attribute, value }).boxed(),
        1 => name().prop_map(|value| Atom::Tag { value }).boxed(),
        2 => (name(), op, number())
            .prop_map(|(attribute, op, value)| Atom::Numeric { attribute, op, value })
            .boxed(),
        _ => (name(), number(), number())
            .prop_map(|(attribute, from, to)| Atom::Range { attribute, from, to })
            .boxed(),
    };
    (test, any::<bool>(), if kind < 2 { 0..=65_535u32 } else { 1..=1u32 })
        .prop_map(|(atom, negated, score)| FilterAtom { atom, negated, score })
}

fn filter() -> impl Strategy<Value = Filter> {
    let group =
        (0u8..4).prop_flat_map(|kind| prop::collection::vec(atom(kind), 1..4)).prop_map(|any| AnyOf { any });
    prop::collection::vec(group, 0..4).prop_map(|all| Filter { all })
}

proptest! {
    #[test]
    fn a_printed_filter_reads_back_as_itself(filter in filter()) {
        prop_assert_eq!(parse_filters(&filter.to_string()), Ok(filter));
    }

    #[test]
    fn any_filter_text_is_answered(text in r#"([ab():="'<>!\\ é,-]|AND|OR|NOT|TO|<score=|1|\[|\]){0,30}"#) {
        if let Ok(filter) = parse_filters(&text) {
            prop_assert_eq!(parse_filters(&filter.to_string()), Ok(filter));
        }
        for items in [Items::Facets, Items::Numbers, Items::Tags] {
            let _ = parse_items("p", items, &json!(text));
            let _ = parse_items("p", items, &json!([[text]]));
        }
    }
}
