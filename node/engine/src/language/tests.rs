//! Tables of stop words, word forms and compounds.

use super::*;

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
    let entry = (Language::of("de").unwrap(), vec!["bundes".into(), "lig".into(), "a".into()]);
    let custom =
        Dictionaries { compounds: [("bundesliga".into(), vec![entry])].into_iter().collect(), ..standard };
    assert_eq!(split(&custom, "bundesliga", &["bundes", "liga"]), "bundes lig a", "an entry goes first");
}

#[test]
fn custom_entries_come_on_top_and_switch_standard_ones_off() {
    let english = Language::of("en").unwrap();
    let all = Languages::listed(&["en", "de"]);
    let only = Languages::NONE.with(english);
    let mut dictionaries = Dictionaries::default();
    dictionaries.stop_words.insert("shop".into(), only);
    dictionaries.disabled_stop_words.insert("the".into(), only);
    dictionaries.plurals.insert("roof".into(), vec![(english, vec!["rooves".into()])]);
    dictionaries
        .compounds
        .insert("kaskade".into(), vec![(Language::of("de").unwrap(), vec!["kas".into(), "kade".into()])]);
    assert!(dictionaries.is_stop_word("shop", all) && !dictionaries.is_stop_word("the", all));
    assert!(!dictionaries.is_stop_word("shop", Languages::listed(&["de"])));
    assert_eq!(dictionaries.declensions("roof", only), ["rooves"]);
    assert_eq!(dictionaries.compound_parts("kaskade", all), ["kas", "kade"]);
    dictionaries.without_standard = [only; 3];
    assert!(!dictionaries.is_stop_word("about", only) && dictionaries.declensions("car", only).is_empty());
}

#[test]
fn files_remember_the_compounds_that_shaped_them() {
    let (german, dutch) = (Language::of("de").unwrap(), Language::of("nl").unwrap());
    let parts = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let mut dictionaries = Dictionaries::default();
    dictionaries.stop_words.insert("shop".into(), Languages::ALL);
    dictionaries
        .compounds
        .insert("kaskade".into(), vec![(dutch, parts("kask ade")), (german, parts("kas kade"))]);
    dictionaries.compounds.insert("fietsbel".into(), vec![(dutch, parts("fiets bel"))]);
    dictionaries.without_standard[Kind::Compounds as usize] = Languages::listed(&["fi", "de"]);
    let part = dictionaries.in_segments(Languages::listed(&["de", "sv"]));
    let expected = serde_json::json!({"compounds": {"de": {"kaskade": ["kas", "kade"]}}, "withoutStandardCompounds": ["de"]});
    assert_eq!(serde_json::Value::from(part.clone()), expected, "stored in files: must never change");
    let now = Dictionaries::default();
    let again = now.with_compounds_of(&part).unwrap();
    let all = Languages::listed(&["de", "nl"]);
    assert_eq!(again.compound_parts("kaskade", all), ["kas", "kade"]);
    assert_eq!(again.compound_parts("gartenhaus", all), Vec::<String>::new());
    assert!(!again.is_stop_word("shop", all), "what acts in queries is that of now");
    assert_eq!(again.in_segments(Languages::ALL), part);
    assert!(now.with_compounds_of(&Default::default()).unwrap().in_segments(Languages::ALL).is_empty());
    for wrong in [
        serde_json::json!({"compounds": []}),
        serde_json::json!({"compounds": {"xx": {}}}),
        serde_json::json!({"withoutStandardCompounds": 1}),
    ] {
        assert!(now.with_compounds_of(wrong.as_object().unwrap()).is_none(), "{wrong}");
    }
}
