//! Do long parameters act as short ones do, and what do they take (C§10.4)?

use super::{applied, ask, brands, ids, index, shop};
use serde_json::{Value, json};

/// A rule for every query with parameters of more than 8 kB of filters, of which the first ones alone match something.
fn long(object_id: &str, mut params: Value) -> Value {
    let others: Vec<String> = (0..400).map(|i| format!("brand:\"nobody {i:04}\"")).collect();
    let own = params["filters"].as_str().unwrap().to_owned();
    params["filters"] = format!("{own} OR {}", others.join(" OR ")).into();
    assert!(params.to_string().len() > 8_000);
    json!({"objectID": object_id, "consequence": {"params": params}})
}

#[test]
fn c10_4_long_parameters_act_as_short_ones() {
    let of = |filters: &str| json!({"filters": filters, "hitsPerPage": 2, "renderingContent": {"a": 1}});
    let one = long("a", of("brand:Apple OR brand:Samsung"));
    let shard = index(shop(), &brands(), std::slice::from_ref(&one), &[]);
    let found = ask(&shard, json!({"query": "thing"}));
    assert_eq!((ids(&found).as_str(), found.nb_hits), ("p0 p1", 3));
    assert_eq!(found.rules.rendering_content.as_deref(), Some(&json!({"a": 1})));
    let explained = ask(&shard, json!({"query": "thing", "explain": ["params.rules"]}));
    assert_eq!(explained.rules.params.unwrap()["hitsPerPage"], 2);

    // the parameters of the better rule count, the filters of both
    let two = [long("b", json!({"filters": "brand:Samsung OR brand:Red", "hitsPerPage": 1})), one];
    let shard = index(shop(), &brands(), &two, &[]);
    assert_eq!(applied(&shard, json!({"query": "thing"})), "a b");
    let found = ask(&shard, json!({"query": "thing"}));
    assert_eq!((ids(&found).as_str(), found.nb_hits), ("p3", 1));
}
