//! What else stands for the words of a query, and which of them say little? Plurals, synonyms, stop words (C§4.5, C§11).

use super::shard::WordLists;
use super::wanted::{Other, Step, Wanted, chars, fixed};
use serde_json::{Map, Value, json};

/// Gives the words their other forms and synonyms, takes stop words out, and returns what stands for several words or is
/// several words. `no_stop_words` says that stop words go although nobody asks for it.
pub fn apply_word_lists(
    words: &mut Vec<Wanted>,
    word_lists: &WordLists,
    params: &Map<String, Value>,
    no_stop_words: bool,
) -> Vec<Step> {
    let all_languages = is_english_among(params);
    let english = |name: &str| {
        (params.get(name) == Some(&json!(true)) && all_languages) || params.get(name) == Some(&json!(["en"]))
    };
    for (place, word) in words.iter_mut().enumerate() {
        word.place = place;
        if !english("ignorePlurals") || word.quoted {
            continue;
        }
        let text = text_of(word);
        let sets = word_lists.plurals.iter().filter(|set| set.contains(&text));
        let other = |form: &String| Other {
            text: chars(form),
            prefix: false,
            typos: 0,
            exact: as_exact(params, "ignorePlurals"),
            is_synonym: false,
        };
        word.others.extend(sets.flatten().filter(|form| **form != text).map(other));
    }
    let removed = english("removeStopWords")
        || (no_stop_words && all_languages && !params.contains_key("removeStopWords"));
    let is_stop = |word: &Wanted| {
        removed && !word.prefix && !word.quoted && word_lists.stop_words.contains(&text_of(word))
    };
    let mut stop: Vec<bool> = words.iter().map(is_stop).collect();
    if !stop.contains(&false) {
        stop.fill(false);
    }
    let steps = match params.get("synonyms") == Some(&json!(false)) {
        true => vec![],
        false => synonyms(words, &stop, word_lists, params),
    };
    let mut kept = stop.iter();
    words.retain(|_| kept.next() == Some(&false));
    steps
}
/// Whether the languages of the query are all, or English is one of them.
pub fn is_english_among(params: &Map<String, Value>) -> bool {
    params.get("queryLanguages").is_none_or(|listed| listed.as_array().unwrap().contains(&json!("en")))
}
fn text_of(word: &Wanted) -> String {
    word.text.iter().collect()
}
/// Whether such alternatives count as exact.
fn as_exact(params: &Map<String, Value>, name: &str) -> bool {
    match params.get("alternativesAsExact").and_then(Value::as_array) {
        Some(list) => list.contains(&json!(name)),
        None => name != "multiWordsSynonym",
    }
}
/// Looks up every stretch of the query, the longest first. Single words that stand for single words are added to them.
fn synonyms(
    words: &mut [Wanted],
    stop: &[bool],
    word_lists: &WordLists,
    params: &Map<String, Value>,
) -> Vec<Step> {
    let before = |place: usize| stop[..place].iter().filter(|stop| !**stop).count();
    let meanings = meanings(word_lists);
    let mut steps = vec![];
    let typed = words.to_vec();
    for from in 0..words.len() {
        for to in (from + 1..=words.len()).rev() {
            let stretch = &typed[from..to];
            if stretch.iter().any(|word| word.quoted) || before(from) == before(to) {
                continue;
            }
            let begun = to == typed.len() && typed[to - 1].prefix;
            for (meaning, exact) in found(&meanings, stretch, begun, params) {
                let single = to - from == 1 && !meaning.text.contains(' ');
                let name = if single { "singleWordSynonym" } else { "multiWordsSynonym" };
                let exact = exact && meaning.typos == 0 && !meaning.is_placeholder && as_exact(params, name);
                let prefix = begun && meaning.typos == 0 && !meaning.is_placeholder;
                if single {
                    let (text, typos) = (chars(&meaning.text), meaning.typos);
                    words[from].others.push(Other { text, prefix, typos, exact, is_synonym: typos == 0 });
                    continue;
                }
                let mut others: Vec<Wanted> =
                    meaning.text.split(' ').map(|word| fixed(chars(word))).collect();
                others.last_mut().unwrap().prefix = prefix;
                let step = Step::typing_error(others, before(from), before(to));
                steps.push(Step { typos: 0, is_typo: false, exact, ..step });
            }
        }
    }
    steps
}
/// What a stretch of the query means, each with whether it may count as exact.
fn found<'m>(
    meanings: &'m [Meaning],
    stretch: &[Wanted],
    begun: bool,
    params: &Map<String, Value>,
) -> Vec<(&'m Meaning, bool)> {
    let text = stretch.iter().map(text_of).collect::<Vec<_>>().join(" ");
    let mut found: Vec<(&Meaning, bool)> =
        meanings.iter().filter(|m| m.key == text).map(|m| (m, true)).collect();
    if let [word] = stretch {
        let form = |m: &&Meaning| word.others.iter().any(|other| other.text == chars(&m.key));
        let exact = as_exact(params, "ignorePlurals");
        found.extend(meanings.iter().filter(form).map(|m| (m, exact)));
    }
    if begun {
        let goes_on = |m: &&Meaning| {
            m.key.strip_prefix(&text).is_some_and(|rest| !rest.is_empty() && !rest.contains(' '))
        };
        let mut longer: Vec<&Meaning> = meanings.iter().filter(goes_on).collect();
        longer.sort_by(|a, b| a.key.cmp(&b.key));
        found.extend(longer.into_iter().map(|m| (m, false)));
    }
    found
}
/// That some words of a query stand for others.
struct Meaning {
    key: String,
    text: String,
    typos: u32,
    is_placeholder: bool,
}
fn meanings(word_lists: &WordLists) -> Vec<Meaning> {
    let mut all = vec![];
    for synonym in &word_lists.synonyms {
        let list = |name: &str| -> Vec<String> {
            let texts = synonym[name].as_array().into_iter().flatten();
            texts.map(|text| text.as_str().unwrap().to_string()).collect()
        };
        let one = |name: &str| synonym[name].as_str().unwrap().to_string();
        let (keys, texts, typos) = match synonym["type"].as_str().unwrap() {
            "onewaysynonym" => (vec![one("input")], list("synonyms"), 0),
            "altcorrection1" => (vec![one("word")], list("corrections"), 1),
            "altcorrection2" => (vec![one("word")], list("corrections"), 2),
            "placeholder" => (list("replacements"), vec![format!("<<{}", one("placeholder"))], 0),
            _ => (list("synonyms"), list("synonyms"), 0),
        };
        let is_placeholder = synonym["type"] == "placeholder";
        for key in &keys {
            let others = texts.iter().filter(|text| *text != key);
            all.extend(others.map(|text| Meaning {
                key: key.clone(),
                text: text.clone(),
                typos,
                is_placeholder,
            }));
        }
    }
    all
}
