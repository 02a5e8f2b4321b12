//! Which tokens texts give, as a table.

use super::*;
use crate::text::is_ideographic;

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
        ("で ガ ﾊﾞ が", "て@0 カ@1 ハ@2 か@3"),
        ("國語 学", "国@0 语@1 学@2"),
        ("人々 ジャン・ポール", "人@0 々@1 シ@2 ャ@3 ン@4 ホ@5 ー@6 ル@7"),
        ("a🚀b", "a@0 🚀@1 b@2"),
        ("👍🏽 ok", "👍@0 ok@1"),
        ("👨‍👩‍👧 family", "👨\u{200d}👩\u{200d}👧@0 family@1"),
        ("🇫🇷🇩🇪 ❤️ 1️⃣", "🇫🇷@0 🇩🇪@1 ❤@2 1@3"),
        ("🏳️‍🌈🚀", "🏳\u{200d}🌈@0 🚀@1"),
        ("$100 5€", "$@0 100@1 5@2 €@3"),
        ("iPhone6 x86_64", "iphone6@0 x86@1 64@2"),
        ("مُحَمَّد مـــحمد", "محمد@0 محمد@1"),
        ("Ελλάδα ΟΔΟΣ οδός", "ελλαδα@0 οδοσ@1 οδοσ@2"),
        ("שָׁלוֹם", "שלום@0"),
        ("ﬁne oﬀer m² Ⅷ ①", "fine@0 offer@1 m2@2 viii@3 1@4"),
        ("5㎏ 20℃ №7", "5kg@0 20c@1 no7@2"),
        ("1½ cup ½", "1@0 1@1 2@2 cup@3 1@4 2@5"),
        ("co\u{ad}operate می\u{200c}خواهم", "cooperate@0 میخواهم@1"),
        ("İstanbul ısı ẞ", "istanbul@0 isi@1 ss@2"),
        ("col·lecció ĳs", "colleccio@0+2 col@0 leccio@1 ijs@2"),
        ("हिन्दी में", "हिन्दी@0 में@1"),
        ("한국 서", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}@0 \u{1109}\u{1165}@1"),
        ("ＩＰｈｏｎｅ　１．５", "iphone@0 15@1+2 1@1 5@2"),
        ("Ǆ ǆ Å", "dz@0 dz@1 a@2"),
    ];
    for (text, expected) in table {
        assert_eq!(show(&plain(), text, TokenOptions::default()), expected, "{text:?}");
    }
}

#[test]
fn scripts_without_spaces_fall_into_words() {
    assert_eq!(show(&plain(), "ภาษาไทยง่าย ok", TokenOptions::default()), "ภาษา@0 ไทย@1 ง่าย@2 ok@3");
    let chinese = Analyzer::of(Rules { segments: true, ..Rules::default() });
    let table = [
        ("北京大学", "北京@0 北@0 京@0 京大@0 大学@1 大@1 学@1"),
        // the same words, written traditionally
        ("東京へ", "东京@0 东@0 京@0 へ@1"),
        ("共和國a", "共和国@0 共@0 共和@0 和@0 和国@0 国@0 a@1"),
        ("コンピューターと料理", "コンヒューター@0 ヒューター@0 ター@0 と@1 料理@2 料@2 理@2"),
        ("カメラハ\u{3099}ック\u{3099}", "カメラハック@0 メラハック@0 ラハック@0 ハック@0"),
        ("デジタルカメラ", "テシタルカメラ@0 シタルカメラ@0 タルカメラ@0 ルカメラ@0 カメラ@0 メラ@0"),
        ("，。", ""),
    ];
    for (text, expected) in table {
        assert_eq!(show(&chinese, text, TokenOptions::default()), expected, "{text}");
    }
}

#[test]
fn every_part_of_a_segmented_word_is_found() {
    let chinese = Analyzer::of(Rules { segments: true, ..Rules::default() });
    let text = "我喜欢吃苹果和香蕉中华人民共和国今天成立了";
    let mut indexed = vec![];
    chinese.tokens(text, TokenOptions::default(), |token| indexed.push(token.text.to_string()));
    let chars: Vec<char> = text.chars().collect();
    for pair in chars.windows(2).map(|pair| pair.iter().collect::<String>()) {
        assert!(indexed.contains(&pair), "{pair}");
    }
}

#[test]
fn compounds_are_indexed_with_their_parts() {
    let german = TokenOptions { compounds: Languages::listed(&["de"]), ..TokenOptions::default() };
    for (text, expected) in [
        ("Ein Gartenhaus", "ein@0 gartenhaus@1 garten@1 haus@1"),
        ("Küchenstühle", "kuchenstuhle@0"),
        ("Küchenstuhl.", "kuchenstuhl@0 kuchen@0 stuhl@0"),
        ("Garten-Haus", "garten@0 haus@1"),
    ] {
        assert_eq!(show(&plain(), text, german), expected);
    }
    let mut places = vec![];
    plain().tokens("Fußballgröße: Bällehütte", german, |t| places.push((t.start, t.end)));
    plain().tokens("Hüttengarten", german, |t| places.push((t.start, t.end)));
    let of_last: Vec<&str> = places[places.len() - 2..].iter().map(|&(a, b)| &"Hüttengarten"[a..b]).collect();
    assert_eq!(of_last, ["Hütte", "garten"]);
}

#[test]
fn the_beginning_of_a_word_ends_after_whole_characters() {
    let analyzer = plain();
    for (word, wanted, shown) in [
        ("Straße", 5, "Straß"),
        ("Straße", 6, "Straß"),
        ("Straße", 4, "Stra"),
        ("cre\u{300}me", 3, "cre\u{300}"),
        ("don't", 3, "don"),
        ("don't", 4, "don't"),
        ("B.C.E", 2, "B.C"),
        ("한국어", 4, "한국"),
        ("ﬁne", 1, "ﬁ"),
        ("👨‍👩‍👧", 1, "👨‍👩‍👧"),
        ("हिन्दी", 1, "हि"),
        ("abc", 9, "abc"),
    ] {
        let end = analyzer.beginning_end(word, 0, word.len(), wanted);
        assert_eq!(&word[..end], shown, "{word} {wanted}");
    }
}

#[test]
fn camel_case_gives_the_whole_and_its_parts() {
    let table = [
        ("camelCaseWord end", "camelcaseword@0+3 camel@0 case@1 word@2 end@3"),
        ("HTTPServer", "httpserver@0"),
        ("aB", "ab@0+2 a@0 b@1"),
        ("api.getUserName", "apigetusername@0+4 api@0 getusername@1+3 get@1 user@2 name@3"),
        ("3.14Cafe", "314cafe@0+3 3@0 14cafe@1+2 14@1 cafe@2"),
        ("helloBig.wOk", "hellobigwok@0+4 hellobig@0+2 hello@0 big@1 wok@2+2 w@2 ok@3"),
        ("x.aB", "xab@0+2 a@0 b@1"),
        ("api.GetUser", "apigetuser@0+3 api@0 getuser@1+2 get@1 user@2"),
        ("d'Artagnan", "dartagnan@0 artagnan@0"),
        ("x.B", "xb@0"),
    ];
    for (text, expected) in table {
        assert_eq!(
            show(&plain(), text, TokenOptions { camel_case: true, ..TokenOptions::default() }),
            expected,
            "{text:?}"
        );
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
    assert_eq!(show(&rules("", "é", &[]), "cafe\u{301} cafè E\u{301}te", none), "café@0 cafe@1 éte@2");
    assert_eq!(show(&rules("", "で", &[]), "で が て\u{3099}", none), "で@0 か@1 で@2");
    assert_eq!(show(&rules("", "", &[('ä', "ae")]), "Bär ö ÄÖ", none), "baer@0 o@1 aeo@2");
    assert_eq!(
        show(&rules("", "", &[('ä', "ae")]), "Ba\u{308}r BA\u{308}r\u{301} bar", none),
        "baer@0 baer@1 bar@2"
    );
    assert_eq!(show(&rules("", "é", &[('a', "o")]), "ate\u{301} a\u{301}", none), "oté@0 o@1");
    // two marks, and one that is not named: as the whole letter
    for (kept, text, expected) in [
        ("ế", "te\u{302}\u{301} tế te\u{302}", "tế@0 tế@1 te@2"),
        ("ê", "te\u{302}\u{301} tế te\u{302}", "te@0 te@1 tê@2"),
    ] {
        assert_eq!(show(&rules("", kept, &[]), text, none), expected, "{kept}");
    }
    assert_eq!(show(&rules("", "", &[('ế', "x")]), "te\u{302}\u{301} tế", none), "tx@0 tx@1");
    // what replaces a character is normalised like the rest
    assert_eq!(show(&rules("", "", &[('ö', "Ö"), ('+', "plus")]), "C+ Öl", none), "cplus@0 ol@1");
}

#[test]
fn tokens_are_cut_at_64_characters_and_offsets_are_kept() {
    let text = "é".repeat(100);
    plain().tokens(&text, TokenOptions::default(), |t| {
        assert_eq!((t.text.len(), t.start, t.end), (64, 0, 200));
    });
}

/// Texts that mix scripts, marks, pictures and punctuation.
const MIXED: &str =
    "[a-dA-D.'’ éÉßıİæﬁ½²\u{301}\u{200d}\u{fe0f}👍🏽👨🇫🇷$€東京大学のガﾞ가ᄉไทยม้حـَשָκςहि+#-]{0,30}";

proptest::proptest! {
    #[test]
    fn any_text_gives_words_in_order_with_valid_offsets(
        text in "\\PC{0,40}", mixed in MIXED, camel_case: bool, segments: bool, replaces: bool, wanted in 1usize..5
    ) {
        let replaced = if replaces { vec![('á', "aa".into()), ('\u{30ac}', "g".into())] } else { vec![] };
        let analyzer = Analyzer::of(Rules { segments, kept: vec!['é', 'ガ'], replaced, ..Rules::default() });
        let options = TokenOptions { camel_case, compounds: Languages::listed(&["de"]) };
        for text in [text, mixed] {
            let mut last = 0;
            let used = analyzer.tokens(&text, options, |t| {
                assert!(!t.text.is_empty() && text.get(t.start..t.end).is_some_and(|s| !s.is_empty()));
                assert!(t.position >= last || t.span == 1);
                last = last.max(t.position);
                // a mark never comes between a letter and what belongs to it
                let end = analyzer.beginning_end(&text, t.start, t.end, wanted);
                for cut in [t.end, end] {
                    let apart = |c: char| unicode_normalization::char::is_combining_mark(c);
                    assert!(!text[cut..].starts_with(apart), "{text:?} {cut} {t:?}");
                }
                assert!(t.start < end && end <= t.end);
            });
            assert!(used == 0 || used > last);
        }
    }
    #[test]
    fn a_normalised_word_stays_as_it_is(text in MIXED, segments: bool) {
        let analyzer = Analyzer::of(Rules { segments, ..Rules::default() });
        let mut words = vec![];
        analyzer.tokens(&text, TokenOptions::default(), |t| words.push(t.text.to_string()));
        for word in words {
            let mut again = vec![];
            analyzer.tokens(&word, TokenOptions::default(), |t| again.push(t.text.to_string()));
            assert!(again.contains(&word) || word.chars().any(is_ideographic), "{text:?} {word:?} {again:?}");
        }
    }
}
