//! What are the records of a file? JSON lines, a JSON array or CSV, read as a stream with the line of each record.

use super::cells::{self, cell_text, cell_value, id_value};
use super::rows::{ROW_BYTES_MAX, Rows};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of one record in a file; more means that the file is not what it seems.
pub const RECORD_BYTES_MAX: usize = 64 << 20;
/// Bytes of a file that are read at a time.
pub const BUFFER_BYTES: usize = 1 << 20;
/// What a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON object a line.
    JsonLines,
    /// One array of JSON objects.
    JsonArray,
    /// A header line and rows; numbers and true/false are recognized, empty cells left out.
    Csv,
    /// The same, of which every cell is text.
    CsvText,
}

/// A record and where it stood.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The JSON object.
    pub json: String,
    /// The line it starts in, from 1.
    pub line: u64,
}

/// Reads records one after the other.
pub struct Source {
    kind: Reader,
    /// Bytes of the file read so far, before decompression; shared with the progress bar.
    pub read_bytes: Arc<AtomicU64>,
}

enum Reader {
    Lines { input: Input, line: u64 },
    Array { input: Input, line: u64, state: ArrayState },
    Csv(Box<Csv>),
}

struct Csv {
    rows: csv::Reader<Rows<Input>>,
    names: Vec<String>,
    left: Arc<AtomicU64>,
    cell: Cell,
    /// The column whose cells are ids.
    id: Option<usize>,
    /// By how many lines the reader of rows is behind: where lines end with two characters it takes the second one for the next row's.
    behind: u64,
}

type Input = Box<dyn BufRead + Send>;
/// What a cell of a column becomes, if it is not left out.
type Cell = fn(&str, &str) -> Option<Value>;

#[derive(PartialEq, Eq)]
enum ArrayState {
    BeforeArray,
    First,
    Next,
    Done,
}

impl Source {
    /// Opens a file; `form` of `None` looks at its name and first byte. What begins as gzip does is decompressed, whatever its name.
    pub fn open(path: &Path, form: Option<Form>) -> Result<Source> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let read_bytes = Arc::new(AtomicU64::new(0));
        let counted = Counted { file, read_bytes: Arc::clone(&read_bytes) };
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let stem = name.strip_suffix(".gz").unwrap_or(&name);
        let mut counted = BufReader::new(counted);
        let is_packed = counted.fill_buf().context("cannot read the file")?.starts_with(&GZIP);
        let inner: Box<dyn Read + Send> = match is_packed || stem.len() < name.len() {
            true => Box::new(flate2::read::MultiGzDecoder::new(counted)),
            false => Box::new(counted),
        };
        let mut input: Input = Box::new(BufReader::with_capacity(BUFFER_BYTES, inner));
        let form = match form {
            Some(form) => form,
            None => guess(stem, &mut input)?,
        };
        Ok(Source { kind: Reader::new(input, form)?, read_bytes })
    }

    /// The same, with the member that is the id of records: of a column its cells are kept as they are written.
    pub fn with_ids(mut self, name: Option<&str>) -> Source {
        if let Reader::Csv(csv) = &mut self.kind {
            csv.id = csv.names.iter().position(|column| Some(column.as_str()) == name);
        }
        self
    }

    /// The next record, `None` at the end. Errors name the line; the file cannot be read on after one.
    pub fn next_record(&mut self) -> Result<Option<Found>> {
        match &mut self.kind {
            Reader::Lines { input, line } => next_line(input, line),
            Reader::Array { input, line, state } => next_element(input, line, state),
            Reader::Csv(csv) => {
                csv.left.store(ROW_BYTES_MAX, Ordering::Relaxed);
                next_row(csv)
            }
        }
    }
}

impl Reader {
    fn new(input: Input, form: Form) -> Result<Reader> {
        Ok(match form {
            Form::JsonLines => Reader::Lines { input, line: 0 },
            Form::JsonArray => Reader::Array { input, line: 1, state: ArrayState::BeforeArray },
            Form::Csv | Form::CsvText => {
                let left = Arc::new(AtomicU64::new(ROW_BYTES_MAX));
                let mut input = input;
                let start = input.fill_buf().context("cannot read the file")?;
                let behind = match start.iter().position(|byte| *byte == b'\n') {
                    Some(end) if start[..end].ends_with(b"\r") => 1,
                    _ => 0,
                };
                let input = Rows::new(input, left.clone());
                let mut rows = csv::ReaderBuilder::new().flexible(false).from_reader(input);
                let names: Vec<String> = rows
                    .headers()
                    .context("line 1: no header")?
                    .iter()
                    .map(|name| name.trim().to_owned())
                    .collect();
                cells::check_names(&names)?;
                let cell = if form == Form::Csv { cell_value } else { cell_text };
                Reader::Csv(Box::new(Csv { rows, names, left, cell, id: None, behind }))
            }
        })
    }
}

/// What is said of a file that does not show what it is.
pub const UNTOLD: &str = "the file is neither JSON nor named .csv";

fn guess(name: &str, input: &mut Input) -> Result<Form> {
    if name.ends_with(".csv") {
        return Ok(Form::Csv);
    }
    let start = input.fill_buf().context("cannot read the file")?;
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => Ok(Form::JsonArray),
        Some(b'{') | None => Ok(Form::JsonLines),
        Some(_) => bail!(UNTOLD),
    }
}

fn next_line(input: &mut Input, line: &mut u64) -> Result<Option<Found>> {
    loop {
        let mut bytes = Vec::new();
        let limit = RECORD_BYTES_MAX as u64 + 1;
        let read =
            input.by_ref().take(limit).read_until(b'\n', &mut bytes).context("cannot read the file")?;
        if read == 0 {
            return Ok(None);
        }
        *line += 1;
        if bytes.len() > RECORD_BYTES_MAX {
            bail!("line {line}: longer than {RECORD_BYTES_MAX} bytes; is this one JSON object a line?");
        }
        let bytes = if *line == 1 { bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes) } else { &bytes };
        let text = bytes.trim_ascii();
        if !text.is_empty() {
            return object(text, *line).map(Some);
        }
    }
}

/// Checks that `text` is one JSON object and keeps it as it is.
fn object(text: &[u8], line: u64) -> Result<Found> {
    let text = std::str::from_utf8(text).with_context(|| format!("line {line}: not UTF-8"))?;
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| syntax(&error, line))?;
    if !raw.get().starts_with('{') {
        bail!("line {line}: a record is a JSON object, this is {}", kind_of(raw.get()));
    }
    Ok(Found { json: raw.get().to_owned(), line })
}

fn syntax(error: &serde_json::Error, line: u64) -> anyhow::Error {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or("not JSON");
    let at = line + (error.line() as u64).saturating_sub(1);
    anyhow::anyhow!("line {at}, column {}: {what}", error.column())
}

fn kind_of(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

fn next_element(input: &mut Input, line: &mut u64, state: &mut ArrayState) -> Result<Option<Found>> {
    loop {
        let Some(byte) = peek_token(input, line)? else {
            if *state == ArrayState::Done {
                return Ok(None);
            }
            bail!("line {line}: the file ends inside the array");
        };
        match (byte, &*state) {
            (0xEF | 0xBB | 0xBF, ArrayState::BeforeArray) => input.consume(1),
            (b'[', ArrayState::BeforeArray) => {
                input.consume(1);
                *state = ArrayState::First;
            }
            (b']', ArrayState::First | ArrayState::Next) => {
                input.consume(1);
                *state = ArrayState::Done;
            }
            (b',', ArrayState::Next) => {
                input.consume(1);
                let after = peek_token(input, line)?;
                if after != Some(b'{') {
                    bail!("line {line}: expected an object after the comma");
                }
                let start = *line;
                let text = take_object(input, line)?;
                return object(&text, start).map(Some);
            }
            (b'{', ArrayState::First) => {
                let start = *line;
                let text = take_object(input, line)?;
                *state = ArrayState::Next;
                return object(&text, start).map(Some);
            }
            (_, ArrayState::BeforeArray) => bail!("line {line}: expected an array of objects"),
            (_, ArrayState::First) => bail!("line {line}: a record is a JSON object"),
            (_, ArrayState::Next) => bail!("line {line}: expected a comma or the end of the array"),
            (_, ArrayState::Done) => bail!("line {line}: text after the end of the array"),
        }
    }
}

/// The next byte that is not white space, left in the input.
fn peek_token(input: &mut Input, line: &mut u64) -> Result<Option<u8>> {
    loop {
        let buffer = input.fill_buf().context("cannot read the file")?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let blank = buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        *line += buffer[..blank].iter().filter(|byte| **byte == b'\n').count() as u64;
        let next = buffer.get(blank).copied();
        input.consume(blank);
        if next.is_some() {
            return Ok(next);
        }
    }
}

/// The bytes of the object the input stands at, found by counting brackets outside strings.
fn take_object(input: &mut Input, line: &mut u64) -> Result<Vec<u8>> {
    let start = *line;
    let mut text = Vec::new();
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    loop {
        let buffer = input.fill_buf().context("cannot read the file")?;
        if buffer.is_empty() {
            bail!("line {start}: the file ends inside this record");
        }
        let mut used = 0;
        for byte in buffer {
            used += 1;
            match byte {
                b'\n' => *line += 1,
                _ if escaped => {
                    escaped = false;
                    continue;
                }
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        text.extend_from_slice(&buffer[..used]);
        input.consume(used);
        if depth == 0 {
            return Ok(text);
        }
        if text.len() > RECORD_BYTES_MAX {
            bail!("line {start}: a record longer than {RECORD_BYTES_MAX} bytes");
        }
    }
}

fn next_row(csv: &mut Csv) -> Result<Option<Found>> {
    let Csv { rows, names, cell: value, id, behind, .. } = csv;
    let mut row = csv::StringRecord::new();
    let read = rows.read_record(&mut row).map_err(|error| match error.position() {
        Some(position) => anyhow::anyhow!("line {}: {}", position.line() + *behind, csv_reason(&error)),
        None => match error.kind() {
            csv::ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::Other => {
                anyhow::anyhow!("{error}")
            }
            _ => anyhow::anyhow!("cannot read the file: {error}"),
        },
    })?;
    if !read {
        return Ok(None);
    }
    let line = row.position().map_or(0, csv::Position::line) + *behind;
    let mut members = serde_json::Map::new();
    for (place, (name, cell)) in names.iter().zip(row.iter()).enumerate() {
        let value =
            value(name, cell).map(|value| if *id == Some(place) { id_value(value, cell) } else { value });
        if let Some(value) = value {
            members.insert(name.clone(), value);
        }
    }
    Ok(Some(Found { json: Value::Object(members).to_string(), line }))
}

fn csv_reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells, the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "not UTF-8".to_owned(),
        _ => error.to_string(),
    }
}

/// A file that counts what is read from it.
struct Counted {
    file: File,
    read_bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read_bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
