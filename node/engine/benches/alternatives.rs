//! What do the alternatives of query words cost while somebody types?
//!
//! Arguments: FILE (JSON lines), the searchable attributes separated by commas. Types some words of every 97th record letter
//! by letter, once with the words as typed alone, once with everything that stands for them. Prints µs of processor time a
//! query for both, and how many ways to read a query there were.

use quorate_engine::index::{ShardWriter, WriterOptions};
use quorate_engine::matching::find::Prepared;
use quorate_engine::matching::paths;
use quorate_engine::query::plan::plan;
use quorate_engine::query::words::words_of;
use quorate_engine::{Schema, Scratch, SynonymSet};
use quorate_model::{SearchParams, Settings};
use quorate_store::files::RealFiles;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(file), Some(attributes)) = (given.next(), given.next()) else {
        return Err("alternatives FILE ATTRIBUTE,ATTRIBUTE…".into());
    };
    let attributes: Vec<&str> = attributes.split(',').collect();
    let document = json!({"searchableAttributes": attributes});
    let settings = Arc::new(Settings::from_document(document.as_object().ok_or("an object")?)?);
    let schema = Schema::from(settings.clone());
    let folder = tempfile::tempdir()?;
    let options = WriterOptions { memory_bytes: 512 << 20, threads: 1, ..WriterOptions::default() };
    let mut writer = ShardWriter::open(folder.path(), &schema, Arc::new(RealFiles), options)?;
    let mut queries: Vec<String> = vec![];
    for (number, line) in BufReader::new(std::fs::File::open(file)?).lines().enumerate() {
        let line = line?;
        let record: Value = serde_json::from_str(&line)?;
        let text = record[attributes[number % attributes.len()]].as_str().unwrap_or_default();
        if number % 97 == 0 {
            let words: Vec<&str> = text.split_whitespace().skip(number % 3).take(1 + number % 3).collect();
            let typed = words.join(" ");
            queries.extend(typed.char_indices().skip(1).map(|(end, _)| typed[..end].to_string()));
        }
        writer.put(record["objectID"].as_str().unwrap_or_default(), line.into_bytes().into())?;
    }
    let view = writer.publish()?;
    let mut scratch = Scratch::new();
    let (mut ways, mut hits) = ([0usize; 2], [0u64; 2]);
    for round in ["first", "again"] {
        let mut used = [Duration::ZERO; 2];
        for query in &queries {
            for with in [0, 1] {
                let begun = cpu_time();
                let request = SearchParams { query: Some(query.clone()), ..SearchParams::default() };
                let params = settings.effective(&request);
                let mut words = words_of(&schema, &SynonymSet::default(), &params, query);
                if with == 0 {
                    words.alternatives.clear();
                }
                let deadline = Instant::now() + Duration::from_secs(5);
                let mut plan = plan(&view, &settings, &params, words, deadline.into())?;
                plan.limit = 20;
                if with == 1 {
                    paths::lay(&view, &mut plan);
                }
                let fixed = plan.clone();
                let mut prepared =
                    Prepared::new(&view, &settings, &params, (&fixed, &fixed.geo), &mut scratch);
                hits[with] += prepared.run(&plan, params.typo_tolerance, &mut scratch).count;
                used[with] += cpu_time().saturating_sub(begun);
                ways[with] += plan.paths.len();
            }
        }
        let each = |used: Duration| used.as_secs_f64() * 1e6 / queries.len() as f64;
        println!("{round}: as typed {:.1} µs, with alternatives {:.1} µs", each(used[0]), each(used[1]));
    }
    println!("{} queries in {} segments, ways {ways:?}, hits {hits:?}", queries.len(), view.segments().len());
    Ok(())
}
/// Processor time of this thread.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}
