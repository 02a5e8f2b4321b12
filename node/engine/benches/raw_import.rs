//! How fast would tantivy alone take the same text? The floor that an import is compared with.
//!
//! Arguments: FILE (JSON lines), the text fields separated by commas, threads. Positions, a doc store with the whole
//! record, the default tokenizer, no sort order. Prints records/s on one line.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::time::Instant;
use tantivy::schema::{STORED, STRING, Schema, TEXT};
use tantivy::{Index, IndexWriter, TantivyDocument};

const HEAP_BYTES_PER_THREAD: usize = 128 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(file), Some(fields)) = (given.next(), given.next()) else {
        return Err("raw_import FILE FIELD,FIELD… [THREADS]".into());
    };
    let threads = match given.next() {
        Some(threads) => threads.parse()?,
        None => std::thread::available_parallelism()?.get(),
    };
    let mut schema = Schema::builder();
    let id = schema.add_text_field("objectID", STRING);
    let record = schema.add_text_field("record", STORED);
    let texts: Vec<_> =
        fields.split(',').map(|name| (name.to_owned(), schema.add_text_field(name, TEXT))).collect();
    let folder = tempfile::tempdir()?;
    let index = Index::create_in_dir(folder.path(), schema.build())?;
    let mut writer: IndexWriter = index.writer_with_num_threads(threads, threads * HEAP_BYTES_PER_THREAD)?;

    let lines = BufReader::with_capacity(1 << 20, std::fs::File::open(file)?).lines();
    let begun = Instant::now();
    let mut records = 0u64;
    for line in lines {
        let line = line?;
        let parsed: Value = serde_json::from_str(&line)?;
        let mut document = TantivyDocument::new();
        document.add_text(id, parsed["objectID"].as_str().unwrap_or_default());
        for (name, field) in &texts {
            if let Some(text) = parsed[name].as_str() {
                document.add_text(*field, text);
            }
        }
        document.add_text(record, &line);
        writer.add_document(document)?;
        records += 1;
    }
    writer.commit()?;
    println!("{:.0}", records as f64 / begun.elapsed().as_secs_f64());
    Ok(())
}
