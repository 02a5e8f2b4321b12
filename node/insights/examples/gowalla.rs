//! How much of what users of a published split did next do the models foretell?
//!
//! Takes the folder that has `train.txt.gz` and `test.txt.gz`, a line `user item item …`. Prints one line of JSON: recall and NDCG of
//! the 20 items that a user is recommended (the sum of the lists of its history, each divided by its sum), the part of the items
//! that anybody is recommended, and the same for what is most popular.

use flate2::read::GzDecoder;
use quorate_insights::neighbours::{Collector, Interaction, Kind, Model, related_products};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const RECOMMENDED: usize = 20;
type Users = Vec<(u64, Vec<String>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: gowalla FOLDER")?;
    let train = read(&Path::new(&folder).join("train.txt.gz"))?;
    let test: HashMap<u64, Vec<String>> =
        read(&Path::new(&folder).join("test.txt.gz"))?.into_iter().collect();

    let mut collector = Collector::new();
    for (user, items) in &train {
        for item in items {
            collector.add(Interaction { user: *user, item, kind: Kind::Click, time_ms: 0 })?;
        }
    }
    let stop = AtomicBool::new(false);
    let mut bytes = Vec::new();
    let report = related_products(&collector.finish(&stop)?, &mut bytes, &stop)?;
    let model = Model::open(&bytes)?;
    model.check()?;
    let mut lists = HashMap::new();
    for entry in model.iter() {
        let (item, neighbours) = entry?;
        let sum: f64 = neighbours.list.iter().map(|neighbour| neighbour.score()).sum();
        let list = neighbours.list.iter().map(|neighbour| (neighbour.item, neighbour.score() / sum));
        lists.insert(item, list.collect::<Vec<_>>());
    }

    let mut popular: HashMap<&str, f64> = HashMap::new();
    for (_, items) in &train {
        items.iter().for_each(|item| *popular.entry(item).or_default() += 1.0);
    }
    let popular = best(popular);
    let related = measure(&train, &test, lists.len(), |items| {
        let mut scores = HashMap::new();
        for (neighbour, score) in items.iter().filter_map(|item| lists.get(item.as_str())).flatten() {
            *scores.entry(*neighbour).or_default() += *score;
        }
        best(scores)
    });
    let popular = measure(&train, &test, lists.len(), |_| popular.clone());
    let result = json!({ "related": related, "popular": popular, "report": report, "bytes": bytes.len() });
    println!("{result}");
    Ok(())
}

fn read(path: &Path) -> Result<Users, Box<dyn Error>> {
    let mut users = Vec::new();
    for line in BufReader::new(GzDecoder::new(File::open(path)?)).lines() {
        let line = line?;
        let mut words = line.split_whitespace();
        if let Some(user) = words.next() {
            users.push((user.parse()?, words.map(str::to_owned).collect()));
        }
    }
    Ok(users)
}
/// Items, the best first; of equal ones the first by name.
fn best(scores: HashMap<&str, f64>) -> Vec<&str> {
    let mut scored: Vec<(&str, f64)> = scores.into_iter().collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    scored.into_iter().map(|(item, _)| item).collect()
}
/// The means over users that have something to foretell.
fn measure<'a>(
    train: &'a Users,
    test: &HashMap<u64, Vec<String>>,
    items: usize,
    recommend: impl Fn(&'a [String]) -> Vec<&'a str>,
) -> serde_json::Value {
    let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let (mut recall, mut ndcg, mut users) = (0.0, 0.0, 0);
    let mut shown = HashSet::new();
    for (user, history) in train {
        let Some(wanted) = test.get(user).filter(|wanted| !wanted.is_empty()) else { continue };
        let wanted: HashSet<&str> = wanted.iter().map(String::as_str).collect();
        let known: HashSet<&str> = history.iter().map(String::as_str).collect();
        let recommended =
            recommend(history).into_iter().filter(|item| !known.contains(item)).take(RECOMMENDED);
        let (mut hits, mut gained) = (0, 0.0);
        for (place, item) in recommended.enumerate() {
            shown.insert(item);
            if wanted.contains(item) {
                hits += 1;
                gained += gain(place);
            }
        }
        recall += f64::from(hits) / wanted.len() as f64;
        ndcg += gained / (0..wanted.len().min(RECOMMENDED)).map(gain).sum::<f64>();
        users += 1;
    }
    let mean = |sum: f64| sum / f64::from(users);
    json!({
        "users": users, "recall": mean(recall), "ndcg": mean(ndcg), "coverage": shown.len() as f64 / items as f64,
    })
}
