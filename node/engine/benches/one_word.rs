//! How much more than a bare tantivy term query does the search for one word cost?
//!
//! Arguments: FILE (JSON lines), the searchable attributes separated by commas, records at most. Both index the same text in
//! this process, tantivy as one field. Words of the records are looked for: tantivy collects the ten best by score, the
//! engine the twenty best by the whole ranking, with the word as a prefix, with typos and with the exact count; then the
//! engine again with its answer rendered as ids. Prints a Markdown table; a word counts with the quickest
//! of its rounds, which other work on the machine disturbs least.

use quorate_engine::index::{ShardView, ShardWriter, WriterOptions};
use quorate_engine::matching::find::Prepared;
use quorate_engine::matching::paths;
use quorate_engine::query::plan::plan;
use quorate_engine::query::words::words_of;
use quorate_engine::{Configuration, Scratch, SearchLimits, search};
use quorate_model::{SearchParams, Settings};
use quorate_store::files::RealFiles;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tantivy::collector::TopDocs;
use tantivy::query::TermQuery;
use tantivy::schema::{Field, IndexRecordOption, Schema, TEXT};
use tantivy::{Index, IndexWriter, Searcher, TantivyDocument, Term};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const HEAP_BYTES: usize = 256 << 20;
/// Words that are looked for, at most.
const WORDS_MAX: usize = 2_000;
/// Letters of a word, at least.
const LETTERS_MIN: usize = 4;
const ROUNDS: usize = 3;

struct Indices {
    view: Arc<ShardView>,
    configuration: Configuration,
    searcher: Searcher,
    text: Field,
    words: Vec<String>,
    _folder: tempfile::TempDir,
}

fn main() -> Outcome<()> {
    let mut given = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(file), Some(attributes)) = (given.next(), given.next()) else {
        return Err("one_word FILE ATTRIBUTE,ATTRIBUTE… [RECORDS]".into());
    };
    let records = given.next().map_or(Ok(usize::MAX), |most| most.parse())?;
    let attributes: Vec<&str> = attributes.split(',').collect();
    let indices = build(&file, &attributes, records)?;
    let mut scratch = Scratch::new();
    let mut times: [Vec<f64>; 3] = Default::default();
    // The first round warms up; of the others each word counts with its quickest.
    for round in 0..=ROUNDS {
        for (number, word) in indices.words.iter().enumerate() {
            let measured = [
                bare(&indices, word)?,
                found(&indices, word, &mut scratch)?,
                shown(&indices, word, &mut scratch)?,
            ];
            for (times, time) in times.iter_mut().zip(measured) {
                let micros = time.as_secs_f64() * 1e6;
                match times.get_mut(number) {
                    Some(best) if round > 1 => *best = best.min(micros),
                    Some(first) => *first = micros,
                    None => times.push(micros),
                }
            }
        }
    }
    report(&indices, &mut times);
    Ok(())
}

fn build(file: &str, attributes: &[&str], records: usize) -> Outcome<Indices> {
    let document = json!({"searchableAttributes": attributes});
    let settings = Arc::new(Settings::from_document(document.as_object().ok_or("an object")?)?);
    let configuration = Configuration { schema: settings.into(), ..Configuration::default() };
    let folder = tempfile::tempdir()?;
    let options = WriterOptions { memory_bytes: HEAP_BYTES, threads: 1, ..WriterOptions::default() };
    let mut writer = ShardWriter::open(folder.path(), &configuration.schema, Arc::new(RealFiles), options)?;
    let mut schema = Schema::builder();
    let text = schema.add_text_field("text", TEXT);
    let index = Index::create_in_ram(schema.build());
    let mut bare: IndexWriter = index.writer_with_num_threads(1, HEAP_BYTES)?;
    let mut words = vec![];
    let lines = BufReader::with_capacity(1 << 20, std::fs::File::open(file)?).lines();
    for (number, line) in lines.take(records).enumerate() {
        let line = line?;
        let record: Value = serde_json::from_str(&line)?;
        let mut document = TantivyDocument::new();
        for attribute in attributes {
            document.add_text(text, record[*attribute].as_str().unwrap_or_default());
        }
        bare.add_document(document)?;
        if number % 31 == 0 && words.len() < WORDS_MAX {
            let title = record[attributes[0]].as_str().unwrap_or_default().to_lowercase();
            let fits =
                |word: &&str| word.len() >= LETTERS_MIN && word.bytes().all(|b| b.is_ascii_lowercase());
            words.extend(title.split(|c: char| !c.is_ascii_alphanumeric()).find(fits).map(str::to_owned));
        }
        writer.put(record["objectID"].as_str().unwrap_or_default(), line.into_bytes().into())?;
    }
    bare.commit()?;
    let searcher = index.reader()?.searcher();
    let view = writer.publish()?;
    Ok(Indices { view, configuration, searcher, text, words, _folder: folder })
}

fn bare(indices: &Indices, word: &str) -> Outcome<Duration> {
    let begun = Instant::now();
    let query = TermQuery::new(Term::from_field_text(indices.text, word), IndexRecordOption::WithFreqs);
    std::hint::black_box(indices.searcher.search(&query, &TopDocs::with_limit(10).order_by_score())?);
    Ok(begun.elapsed())
}

/// From the text to the twenty best with their ranking and the count.
fn found(indices: &Indices, word: &str, scratch: &mut Scratch) -> Outcome<Duration> {
    let Indices { view, configuration, .. } = indices;
    let settings = configuration.settings();
    let begun = Instant::now();
    let request = SearchParams { query: Some(word.to_owned()), ..SearchParams::default() };
    let params = settings.effective(&request);
    let words = words_of(&configuration.schema, &configuration.synonyms, &params, word);
    let mut plan = plan(view, settings, &params, words, (Instant::now() + Duration::from_secs(5)).into())?;
    plan.limit = 20;
    let fixed = plan.clone();
    paths::lay(view, &mut plan);
    let mut prepared = Prepared::new(view, settings, &params, (&fixed, &fixed.geo), scratch);
    std::hint::black_box(prepared.run(&plan, params.typo_tolerance, scratch).count);
    Ok(begun.elapsed())
}

/// The same through the whole search, rendered as ids.
fn shown(indices: &Indices, word: &str, scratch: &mut Scratch) -> Outcome<Duration> {
    let begun = Instant::now();
    let request = SearchParams {
        query: Some(word.to_owned()),
        attributes_to_retrieve: Some(vec!["objectID".to_owned()]),
        attributes_to_highlight: Some(vec![]),
        ..SearchParams::default()
    };
    let limits = SearchLimits {
        deadline: (Instant::now() + Duration::from_secs(5)).into(),
        now_s: 0,
        sees_unretrievable: true,
        max_hits_per_query: 0,
        bytes_max: usize::MAX,
    };
    std::hint::black_box(search(&indices.view, &indices.configuration, &request, &limits, scratch)?.nb_hits);
    Ok(begun.elapsed())
}

fn report(indices: &Indices, times: &mut [Vec<f64>; 3]) {
    println!(
        "{} words, {} records; segments: tantivy {}, engine {}\n",
        indices.words.len(),
        indices.searcher.num_docs(),
        indices.searcher.segment_readers().len(),
        indices.view.segments().len()
    );
    println!("| one word | mean µs | p50 µs | p99 µs | mean by tantivy's |\n|---|---|---|---|---|");
    let mut floor = f64::NAN;
    let names = ["bare tantivy, term, top 10", "engine, top 20", "engine, top 20, answer of ids"];
    for (name, times) in names.into_iter().zip(times) {
        times.sort_by(f64::total_cmp);
        let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
        let at = |share: f64| {
            times.get(((times.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or(f64::NAN)
        };
        if floor.is_nan() {
            floor = mean;
        }
        println!("| {name} | {mean:.1} | {:.1} | {:.1} | {:.1} |", at(0.5), at(0.99), mean / floor);
    }
}
