//! What limits have keys, dictionaries and what else concerns a whole installation, and its work?

use super::kept::at_most;
use super::rows::{FULL, by, here, letters, repeated};
use super::*;
use quorate_model::limits::*;

const LOG: &str = "api/tests/http/logs.rs";
const ALTERNATIVES: &str = "node/engine/tests/alternatives.rs";

/// Every row of it, in the order of the contract.
pub fn all() -> Vec<Limit> {
    [keys(), dictionaries(), rest(), work()].into_iter().flatten().collect()
}

fn keys() -> Vec<Limit> {
    let key = |body: Value| ask(Method::POST, "/1/keys", body);
    let number = |name: &str| {
        let expected = match name {
            "validity" => "integer (seconds, 0 for no limit) between 0 and 2147483647",
            _ => "integer (0 for no limit) between 0 and 2147483647",
        };
        member(key, name, [json!(KEY_INTEGER_MAX), json!(KEY_INTEGER_MAX + 1)], expected)
    };
    let referers = letters(KEY_REFERER_BYTES_MAX).map(|referer| key(json!({"referers": [referer]})));
    let [referer_at, referer_past] = referers;
    let list =
        |name: &str| member(key, name, repeated(KEY_LIST_ENTRIES_MAX, |_| json!("a")), &at_most(1_000));
    let whole = |bytes: usize| {
        let key =
            json!({"value": "", "createdAt": 0, "acl": [], "validity": 0, "queryParameters": "filters=a%3A"});
        let missing = bytes - key.to_string().len();
        ask(
            Method::POST,
            "/1/keys",
            json!({"queryParameters": format!("filters=a%3A{}", "q".repeat(missing))}),
        )
    };
    let too_big = format!("The key is too big: it has {} bytes as JSON", KEY_BYTES_MAX + 1);
    vec![
        by(
            "keys; deleted keys that can be restored",
            format!("{}; {}", count(KEYS_MAX), count(RESTORABLE_KEYS_MAX)),
            "403; the one deleted first cannot be restored: 404",
            &[
                (FULL, "there_are_as_many_keys_as_there_may_be_and_all_are_listed"),
                ("cluster/src/meta/keys_tests.rs", "both_lists_are_bounded"),
            ],
        ),
        by(
            "copies of its index that a key for one index comes to",
            count(KEY_COPIES_MAX),
            "a further copy goes without it",
            &[("node/model/src/key.rs", "a_key_is_for_the_copies_that_it_came_to")],
        ),
        here(
            "description of a key",
            bytes(KEY_DESCRIPTION_BYTES_MAX),
            "400",
            vec![member(
                key,
                "description",
                letters(KEY_DESCRIPTION_BYTES_MAX),
                "string of at most 2048 bytes",
            )],
        ),
        here(
            "`indexes`, `referers` of a key; a referer",
            format!("{} entries; {}", count(KEY_LIST_ENTRIES_MAX), bytes(KEY_REFERER_BYTES_MAX)),
            "400",
            vec![
                list("indexes"),
                list("referers"),
                tried(
                    referer_at,
                    referer_past,
                    400,
                    parameter("referers[0]", "pattern of at most 512 bytes"),
                ),
            ],
        ),
        here(
            "a key as JSON, without its value",
            bytes(KEY_BYTES_MAX),
            "400",
            vec![tried(whole(KEY_BYTES_MAX), whole(KEY_BYTES_MAX + 1), 400, too_big)],
        ),
        here(
            "`validity`, `maxHitsPerQuery`, `maxQueriesPerIPPerHour`",
            count(KEY_INTEGER_MAX),
            "400",
            ["validity", "maxHitsPerQuery", "maxQueriesPerIPPerHour"].map(number).into(),
        ),
        by("a secured key", "64 KiB".into(), "403", &[(FULL, "a_longer_secured_key_is_none")]),
        by(
            "calls with a key in an hour, from an address or of a user",
            "its `maxQueriesPerIPPerHour`".into(),
            "429",
            &[
                (FULL, "a_key_allows_as_many_calls_as_it_says"),
                (
                    "tests/tests/rate_limit.rs",
                    "three_nodes_allow_what_a_key_says_and_the_death_of_one_costs_a_twentieth",
                ),
            ],
        ),
    ]
}

fn dictionaries() -> Vec<Limit> {
    let entry = |words: Value| {
        let body = json!({"objectID": "p", "language": "en", "words": words});
        let requests = json!([{"action": "addEntry", "body": body}]);
        ask(Method::POST, "/1/dictionaries/plurals/batch", json!({ "requests": requests }))
    };
    let [words_at, words_past] = repeated(DICTIONARY_WORDS_MAX, |n| json!(n.to_string())).map(entry);
    let [word_at, word_past] = letters(QUERY_BYTES_MAX).map(|word| entry(json!([word])));
    vec![
        by(
            "custom entries of a dictionary; what they take together",
            format!("{}; {}", count(DICTIONARY_ENTRIES_MAX), bytes(DICTIONARY_BYTES_MAX)),
            "403",
            &[
                (FULL, "a_dictionary_has_as_many_entries_as_it_may"),
                ("api/tests/http/dictionaries.rs", "what_is_over_the_quota_is_refused_and_changes_nothing"),
            ],
        ),
        by(
            "entries of a batch for a dictionary",
            count(BATCH_OPS_MAX),
            "400",
            &[(FULL, "a_dictionary_has_as_many_entries_as_it_may")],
        ),
        here(
            "words of plurals, parts of a compound; a word",
            format!("{DICTIONARY_WORDS_MAX}; {}", bytes(QUERY_BYTES_MAX)),
            "400",
            vec![
                tried(
                    words_at,
                    words_past,
                    400,
                    parameter("requests[0].body.words", &at_most(DICTIONARY_WORDS_MAX)),
                ),
                tried(
                    word_at,
                    word_past,
                    400,
                    parameter("requests[0].body.words[0]", "string of at most 512 bytes"),
                ),
            ],
        ),
    ]
}

fn rest() -> Vec<Limit> {
    let logs = |length: u64| ask(Method::GET, format!("/1/logs?length={length}"), "");
    vec![
        by(
            "allowed sources; description of one",
            format!("{}; {}", count(SOURCES_MAX), bytes(SOURCE_DESCRIPTION_BYTES_MAX)),
            "400",
            &[
                ("api/tests/http/sources.rs", "c8_there_may_be_1_000_sources"),
                ("node/model/src/source.rs", "descriptions_have_a_bound"),
            ],
        ),
        by(
            "calls in the log of a node; how long they are kept",
            "1,000; 7 days".into(),
            "the oldest go",
            &[
                (LOG, "the_last_1_000_are_kept_and_bodies_cut"),
                ("cluster/src/request_log/tests.rs", "what_is_old_is_forgotten_also_in_the_files"),
            ],
        ),
        here(
            "`length` of logs, 10 when it is not given",
            "1,000".into(),
            "400",
            vec![tried(logs(1_000), logs(1_001), 400, parameter("length", "integer between 0 and 1000"))],
        ),
        by(
            "userID; users of a batch; page of users; top users of a cluster",
            "128 characters; 10,000; 1,000; 10".into(),
            "400; 400; 400; no more are shown",
            &[(FULL, "users_are_mapped_within_limits")],
        ),
    ]
}

fn work() -> Vec<Limit> {
    vec![
        by(
            "words of a query that rank and have alternatives",
            count(QUERY_WORDS_MAX),
            "further ones, up to 256, must be there as they are written",
            &[(FULL, "ten_words_have_alternatives")],
        ),
        by(
            "first part of a word that is split; words that are joined",
            "12 characters; the first 5".into(),
            "not looked at",
            &[(ALTERNATIVES, "words_are_joined_and_cut")],
        ),
        by(
            "searching",
            format!("{} s", SEARCH_MS / 1_000),
            "what was found, marked as not exhaustive",
            &[("node/engine/tests/deadlines.rs", "every_loop_that_can_run_long_looks_at_the_clock")],
        ),
        by(
            "waiting for a thread that searches; searches in line",
            format!("{SEARCH_WAIT_MS} ms; {}", count(SEARCH_QUEUE_MAX)),
            "503, never 429",
            &[
                (
                    "node/tests/machine/reading.rs",
                    "a_job_that_has_waited_too_long_or_that_nobody_waits_for_is_not_begun",
                ),
                ("tests/tests/bad_input/crowds.rs", "more_than_a_node_can_do_is_refused_and_not_cut_short"),
            ],
        ),
        by(
            "a write, until it is on disk",
            format!("{WRITE_S} s"),
            "503",
            &[("tests/tests/nodes/deaths.rs", "without_a_majority_writes_are_refused_and_nothing_is_lost")],
        ),
    ]
}
