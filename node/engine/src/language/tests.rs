//! Tables of stop words, word forms and compounds.

use super::*;
use quorate_model::dictionary::{DictionaryEntry, DictionaryWords, StandardChange};

fn forms(code: &str, word: &str) -> Vec<String> {
    Dictionaries::default().declensions(word, Languages::listed(&[code]))
}

#[test]
fn stop_words_by_language() {
    let dictionaries = Dictionaries::default();
    for (word, code, expected) in [
        ("the", "en", true),
        ("about", "en", true),
        ("dont", "en", true),
        ("new", "en", false),
        ("world", "en", false),
        ("die", "de", true),
        ("die", "en", false),
        ("fur", "de", true),
        ("les", "fr", true),
        ("para", "pt-br", true),
        ("och", "sv", true),
        ("nie", "pl", true),
        ("не", "bg", true),
        ("lantern", "en", false),
        ("the", "xx", false),
    ] {
        assert_eq!(dictionaries.is_stop_word(word, Languages::listed(&[code])), expected, "{word} {code}");
    }
    // every language that users may name has its list (C§12.2)
    let listed = "ar hy eu bn pt-br bg ca zh cs da nl en fi fr gl de el hi hu id ga it ja ko ku lv lt mr no fa pl pt ro \
        ru sk es sv th tr uk ur";
    for code in listed.split_whitespace() {
        assert!(Dictionaries::standard(Language::of(code).unwrap())[0], "{code}");
    }
}

#[test]
fn singular_and_plural_find_each_other() {
    let mut missing: Vec<String> = vec![];
    for (code, pairs) in [
        (
            "en",
            "car cars, child children, foot feet, mouse mice, city cities, box boxes, boy boys, knife knives, shelf \
             shelves, tomato tomatoes, photo photos, woman women, policeman policemen, human humans, house houses, bus \
             buses, dress dresses, watch watches, cache caches, movie movies, analysis analyses, tooth teeth, person \
             people, leaf leaves, shoe shoes, quiz quizzes, grandchild grandchildren, case cases, rose roses, size sizes, \
             hero heroes, cactus cacti, index indices, index indexes, axe axes, battery batteries, toy toys, key keys, \
             menu menus, virus viruses, prince princes, princess princesses",
        ),
        (
            "fr",
            "cheval chevaux, bateau bateaux, oeil yeux, jeu jeux, bijou bijoux, chat chats, travail travaux, maison \
             maisons, journal journaux, festival festivals, pneu pneus, oiseau oiseaux, lit lits",
        ),
        (
            "de",
            "buch bucher, haus hauser, kind kinder, handbuch handbucher, tag tage, hund hunde, lampe lampen, auto autos, \
             frau frauen, wohnung wohnungen, freundin freundinnen, stuhl stuhle, schuh schuhe, museum museen, haus \
             haeuser, kinderbuch kinderbucher, jacke jacken, bett betten, hotel hotels, krankheit krankheiten, apfel apfel",
        ),
        (
            "es",
            "casa casas, arbol arboles, luz luces, camion camiones, coche coches, pais paises, zapato zapatos, rey reyes",
        ),
        (
            "it",
            "libro libri, casa case, cane cani, amico amici, banca banche, lago laghi, uomo uomini, uovo uova, scarpa scarpe",
        ),
        (
            "pt",
            "casa casas, flor flores, aviao avioes, animal animais, hotel hoteis, homem homens, mao maos, luz luzes",
        ),
        (
            "nl",
            "boek boeken, huis huizen, boot boten, man mannen, kind kinderen, auto autos, stad steden, tafel tafels, fles flessen, brief brieven, lamp lampen, schoen schoenen, kat katten",
        ),
        ("sv", "flicka flickor, bil bilar, bok bocker, pojke pojkar, katt katten"),
        ("da", "bil biler, barn born, pige piger, bog boger, hus huset"),
        ("no", "bil biler, barn barna, jente jenter, bok boker"),
        ("fi", "talo talot, kukka kukat, nainen naiset, tytto tytot, kauppa kaupat"),
        ("ru", "книга книги, стол столы, город города, ребенок дети, окно окна"),
        ("pl", "kot koty, ksiazka ksiazki, okno okna, dziecko dzieci"),
        ("tr", "ev evler, kitap kitaplar, araba arabalar"),
        ("hu", "haz hazak, konyv konyvek, auto autok"),
        ("ca", "casa cases, llibre llibres"),
        ("ro", "carte carti, casa case"),
        ("el", "ανθρωποσ ανθρωποι, θαλασσα θαλασσεσ"),
        ("he", "ספר ספרים"),
        ("eo", "libro libroj"),
    ] {
        for pair in pairs.split(',') {
            let (one, many) = pair.trim().split_once(' ').unwrap();
            let many = many.trim();
            if one == many {
                continue;
            }
            for (from, to) in [(one, many), (many, one)] {
                let found = forms(code, from);
                if !found.iter().any(|form| form == to) {
                    missing.push(format!("{code} {from} -> {to}: {found:?}"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn words_that_only_look_like_forms_are_left_alone() {
    for (code, word, other) in [
        ("en", "new", "news"),
        ("en", "news", "new"),
        ("en", "hi", "his"),
        ("en", "princess", "princes"),
        ("en", "a", "as"),
        ("en", "doe", "does"),
        ("en", "mean", "means"),
        ("fr", "bra", "bras"),
        ("fr", "heureux", "heureu"),
        ("de", "buch", "buchen"),
        ("de", "buch", "buche"),
        ("es", "lunes", "lun"),
    ] {
        assert!(
            !forms(code, word).iter().any(|form| form == other),
            "{code} {word}: {:?}",
            forms(code, word)
        );
    }
    assert!(forms("ja", "car").is_empty() && forms("en", "x11s").is_empty());
}

#[test]
fn where_no_language_is_said_short_words_are_not_guessed() {
    let of_all = |word: &str| Dictionaries::default().declensions(word, Languages::ALL);
    for word in ["war", "car", "hen", "one", "bar", "par"] {
        let short: Vec<String> = of_all(word).into_iter().filter(|form| form.len() < 3).collect();
        assert!(short.is_empty(), "{word} {short:?}");
        assert!(of_all(word).contains(&format!("{word}s")), "{word}");
    }
    assert!(of_all("cars").contains(&"car".to_owned()));
    assert!(forms("en", "tvs").contains(&"tv".to_owned()), "a language that is said has short words");
}

#[test]
fn forms_are_few_and_without_repetition() {
    for word in ["case", "a", "hund", "casa", "bil", "kitap", "книга", "e", "ß", "zzzzzzzz"] {
        let found = Dictionaries::default().declensions(word, Languages::ALL);
        assert!(found.len() <= FORMS_MAX && !found.contains(&word.to_string()), "{word} {found:?}");
        assert!((1..found.len()).all(|i| !found[..i].contains(&found[i])), "{word} {found:?}");
    }
}

#[test]
fn compounds_fall_into_parts() {
    let parts = |code: &str, word: &str| {
        Dictionaries::default().compound_parts(word, Languages::listed(&[code])).join(" ")
    };
    for (code, word, expected) in [
        ("de", "gartenhaus", "garten haus"),
        ("de", "kinderbuch", "kinder buch"),
        ("de", "sonnenbrille", "sonnen brille"),
        ("de", "lederhandtasche", "leder hand tasche"),
        ("de", "mountainbikehose", "mountainbike hose"),
        ("de", "flasche", ""),
        ("de", "haus", ""),
        ("de", "lantern", ""),
        ("nl", "fietsband", "fiets band"),
        ("nl", "keukentafel", "keuken tafel"),
        ("sv", "bordslampa", "bord lampa"),
        ("da", "bordlampe", "bord lampe"),
        ("no", "bordlampe", "bord lampe"),
        ("nb", "bordlampe", "bord lampe"),
        ("fi", "lentokone", ""),
        ("fi", "ruokapoyta", "ruoka poyta"),
        ("en", "gartenhaus", ""),
    ] {
        assert_eq!(parts(code, word), expected, "{code} {word}");
    }
}

#[test]
fn the_words_of_the_index_take_compounds_apart() {
    let german = Languages::listed(&["de"]);
    let split = |dictionaries: &Dictionaries, word: &str, terms: &[&str]| {
        dictionaries.compound_parts_by_terms(word, german, &mut |term| terms.contains(&term)).join(" ")
    };
    let standard = Dictionaries::default();
    for (word, terms, expected) in [
        ("xylohutte", &["xylo", "hutte"][..], "xylo hutte"),
        ("bundesliga", &["bund", "bundes", "liga"], "bundes liga"),
        ("xylophone", &["xylo"], ""),
        ("haus", &["ha", "us"], ""),
        // lists know what the index does not
        ("gartenhaus", &[], "garten haus"),
    ] {
        assert_eq!(split(&standard, word, terms), expected, "{word}");
    }
    let custom = with(vec![("de", compound("bundesliga", "bundes lig a"))], &[]);
    assert_eq!(split(&custom, "bundesliga", &["bundes", "liga"]), "bundes lig a", "an entry goes first");
}

/// Dictionaries with these custom entries, without the standard ones of some languages.
fn with(entries: Vec<(&'static str, DictionaryWords)>, without_standard: &[&str]) -> Dictionaries {
    let mut custom = CustomEntries::default();
    for (number, (language, words)) in entries.into_iter().enumerate() {
        custom.insert(DictionaryEntry { object_id: number.to_string(), language, words });
    }
    let off =
        || StandardChange::Set(without_standard.iter().map(|code| ((*code).to_owned(), true)).collect());
    custom.change_standard([off(), off(), off()]);
    Dictionaries::new(custom)
}
fn stop_word(word: &str, is_enabled: bool) -> DictionaryWords {
    DictionaryWords::StopWord { word: word.into(), is_enabled }
}
fn set(words: &[&str]) -> DictionaryWords {
    DictionaryWords::Plurals { words: words.iter().map(|word| (*word).into()).collect() }
}
fn compound(word: &str, parts: &str) -> DictionaryWords {
    DictionaryWords::Compound {
        word: word.into(),
        parts: parts.split_whitespace().map(str::to_owned).collect(),
    }
}

#[test]
fn custom_entries_come_on_top_and_switch_standard_ones_off() {
    let all = Languages::listed(&["en", "de"]);
    let only = Languages::listed(&["en"]);
    let entries = || {
        vec![
            ("en", stop_word("shop", true)),
            ("en", stop_word("the", false)),
            ("en", set(&["roof", "rooves"])),
            ("de", compound("kaskade", "kas kade")),
        ]
    };
    let dictionaries = with(entries(), &[]);
    assert!(dictionaries.is_stop_word("shop", all) && !dictionaries.is_stop_word("the", all));
    assert!(!dictionaries.is_stop_word("shop", Languages::listed(&["de"])));
    assert_eq!(dictionaries.declensions("roof", only), ["rooves"]);
    assert_eq!(dictionaries.declensions("car", only), ["cars"]);
    assert_eq!(dictionaries.compound_parts("kaskade", all), ["kas", "kade"]);
    let dictionaries = with(entries(), &["en"]);
    assert!(!dictionaries.is_stop_word("about", only) && dictionaries.declensions("car", only).is_empty());
    assert!(dictionaries.is_stop_word("shop", all) && dictionaries.declensions("roof", only) == ["rooves"]);
}

#[test]
fn a_word_without_parts_is_a_part_of_others() {
    let (german, dutch) = (Languages::listed(&["de"]), Languages::listed(&["nl"]));
    let xylo = || ("de", compound("Xylo", ""));
    let parts = |dictionaries: &Dictionaries, word: &str, languages| {
        dictionaries.compound_parts(word, languages).join(" ")
    };
    let plain = with(vec![], &[]);
    assert_eq!(parts(&plain, "xyloxylo", german), "");
    let custom = with(vec![xylo(), ("de", compound("gartenhaus", ""))], &[]);
    assert_eq!(parts(&custom, "xylohaus", german), "xylo haus");
    assert_eq!(parts(&custom, "xyloxylo", german), "xylo xylo");
    assert_eq!(parts(&custom, "xyloxylo", dutch), "");
    assert_eq!(parts(&custom, "gartenhaus", german), "", "somebody said that it is not taken apart");
    assert_eq!(custom.compound_parts_by_terms("gartenhaus", german, &mut |_| true), Vec::<String>::new());
    let alone = with(vec![xylo()], &["de"]);
    assert_eq!(
        (parts(&alone, "xyloxylo", german).as_str(), parts(&alone, "gartenhaus", german).as_str()),
        ("xylo xylo", "")
    );
}
