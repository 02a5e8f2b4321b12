//! Which tokens texts give, as a table.

use super::*;

fn show(analyzer: &Analyzer, text: &str, options: TokenOptions) -> String {
    let mut out = Vec::new();
    analyzer.tokens(text, options, |t| {
        assert!(text.get(t.start..t.end).is_some(), "offsets {}..{} of {text:?}", t.start, t.end);
        let span = if t.span > 1 { format!("+{}", t.span) } else { String::new() };
        out.push(format!("{}@{}{span}", t.text, t.position));
    });
    out.join(" ")
}
fn plain() -> Analyzer {
    Analyzer::of(Rules::default())
}

#[test]
fn words_of_texts() {
    let table = [
        ("", ""),
        ("  ,;- ", ""),
        ("Hello, World!", "hello@0 world@1"),
        ("Crème BRÛLÉE", "creme@0 brulee@1"),
        ("cre\u{300}me", "creme@0"),
        ("Straße Ærø Łódź þing ıŞIK", "strasse@0 aero@1 lodz@2 thing@3 isik@4"),
        ("Ｆｕｌｌ１２", "full12@0"),
        ("hello.world", "helloworld@0+2 hello@0 world@1"),
        ("B.C.E. now", "bce@0 now@1"),
        ("don't stop", "dont@0 don@0 stop@1"),
        ("l’eau", "leau@0 eau@0"),
        ("3.14", "314@0+2 3@0 14@1"),
        ("m.55 5.mm", "m55@0 5mm@1+2 5@1 mm@2"),
        ("end. Next", "end@0 next@1"),
        ("Coca®Cola Cola® x", "cocacola@0+2 coca@0 cola@1 cola@2 x@3"),
        ("東京タワー tower", "东@0 京@1 タ@2 ワ@3 ー@4 tower@5"),
        ("で", "て@0"),
        ("a🚀b", "a@0 🚀@1 b@2"),
        ("👍🏽 ok", "👍@0 ok@1"),
        ("$100 5€", "$@0 100@1 5@2 €@3"),
        ("iPhone6 x86_64", "iphone6@0 x86@1 64@2"),
        ("مُحَمَّد", "محمد@0"),
        ("Ελλάδα", "ελλαδα@0"),
    ];
    for (text, expected) in table {
        assert_eq!(show(&plain(), text, TokenOptions::default()), expected, "{text:?}");
    }
}

#[test]
fn camel_case_gives_the_whole_and_its_parts() {
    let table = [
        ("camelCaseWord end", "camelcaseword@0+3 camel@0 case@1 word@2 end@3"),
        ("HTTPServer", "httpserver@0"),
        ("aB", "ab@0+2 a@0 b@1"),
    ];
    for (text, expected) in table {
        assert_eq!(show(&plain(), text, TokenOptions { camel_case: true, ..TokenOptions::default() }), expected, "{text:?}");
    }
}

#[test]
fn settings_change_separators_diacritics_and_letters() {
    let rules = |separators: &str, kept: &str, replaced: &[(char, &str)]| {
        Analyzer::of(Rules {
            separators: separators.chars().collect(),
            kept: kept.chars().collect(),
            replaced: replaced.iter().map(|(c, s)| (*c, s.to_string())).collect(),
            ..Rules::default()
        })
    };
    let none = TokenOptions::default();
    assert_eq!(show(&rules("+#", "", &[]), "Disney+ C# a.b", none), "disney@0 +@1 c@2 #@3 ab@4");
    assert_eq!(show(&rules("", "éå", &[]), "Éte à Åre", none), "éte@0 a@1 åre@2");
    assert_eq!(show(&rules("", "", &[('ä', "ae")]), "Bär ö", none), "baer@0 o@1");
}

#[test]
fn tokens_are_cut_at_64_characters_and_offsets_are_kept() {
    let text = "é".repeat(100);
    plain().tokens(&text, TokenOptions::default(), |t| {
        assert_eq!((t.text.len(), t.start, t.end), (64, 0, 200));
    });
}

proptest::proptest! {
    #[test]
    fn any_text_gives_words_in_order_with_valid_offsets(text in "\\PC{0,40}", camel_case: bool) {
        let mut last = 0;
        let used = plain().tokens(&text, TokenOptions { camel_case, ..TokenOptions::default() }, |t| {
            assert!(!t.text.is_empty() && text.get(t.start..t.end).is_some_and(|s| !s.is_empty()));
            assert!(t.position >= last || t.span == 1);
            last = last.max(t.position);
        });
        assert!(used == 0 || used > last);
    }
}
