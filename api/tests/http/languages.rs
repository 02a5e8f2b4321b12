//! Are words of other scripts and parts of compounds found through the interface?

use super::*;
use serde_json::json;

#[actix_web::test]
async fn words_are_found_as_the_language_settings_say() {
    let node = Node::start().await;
    let settings = json!({
        "searchableAttributes": ["name"], "indexLanguages": ["zh"], "decompoundedAttributes": {"de": ["name"]}
    });
    node.write(Method::PUT, "/1/indexes/i/settings", settings.clone()).await;
    let shown = node.get("/1/indexes/i/settings").await;
    assert_eq!(
        (&shown["indexLanguages"], &shown["decompoundedAttributes"]),
        (&settings["indexLanguages"], &settings["decompoundedAttributes"])
    );
    let names = ["\u{5317}\u{4eac}\u{5927}\u{5b78}", "Gartenhaus", "\u{d55c}\u{ad6d}\u{c5b4}"];
    for (i, name) in names.iter().enumerate() {
        node.write(Method::PUT, &format!("/1/indexes/i/{i}"), json!({"name": name})).await;
    }
    // the simplified word in a traditional text, a part of a compound, the beginning of a Korean word
    for (query, id, shown, word) in [
        ("\u{5927}\u{5b66}", "0", "\u{5317}\u{4eac}<em>\u{5927}\u{5b78}</em>", "\u{5927}\u{5b66}"),
        ("haus", "1", "Garten<em>haus</em>", "haus"),
        ("\u{d55c}\u{ad6d}", "2", "<em>\u{d55c}\u{ad6d}</em>\u{c5b4}", "\u{d55c}\u{ad6d}"),
    ] {
        let answer = node.post("/1/indexes/i/query", json!({"query": query})).await;
        let hit = &answer["hits"][0];
        let name = &hit["_highlightResult"]["name"];
        assert_eq!((&answer["nbHits"], &hit["objectID"]), (&json!(1), &json!(id)), "{query}: {answer}");
        assert_eq!((&name["value"], &name["matchedWords"]), (&json!(shown), &json!([word])), "{query}");
    }
    let wrong = node
        .call(Method::PUT, "/1/indexes/i/settings", r#"{"decompoundedAttributes":{"fr":["name"]}}"#)
        .await;
    wrong.refused(400, "Invalid value for \"decompoundedAttributes\" parameter, expected object of lists");
}
