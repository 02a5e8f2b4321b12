//! Are the three forms read record by record, with the right line in every error?

use super::*;
use std::io::Write as _;

fn read(name: &str, content: &[u8]) -> Result<Vec<(u64, String)>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let mut source = Source::open(&path, None)?;
    let mut found = Vec::new();
    while let Some(record) = source.next_record()? {
        found.push((record.line, record.json));
    }
    Ok(found)
}

#[test]
fn records_and_their_lines() {
    let check = |name: &str, content: &str, expected: &[(u64, &str)]| {
        let expected: Vec<_> = expected.iter().map(|(line, json)| (*line, json.to_string())).collect();
        assert_eq!(read(name, content.as_bytes()).unwrap(), expected, "{content}");
    };
    check("a.jsonl", "", &[]);
    check(
        "a.jsonl",
        "{\"a\":1}\n\n {\"b\": \"}\"}  \r\n{}",
        &[(1, r#"{"a":1}"#), (3, r#"{"b": "}"}"#), (4, "{}")],
    );
    check("a.jsonl", "\u{feff}{\"a\":1}", &[(1, r#"{"a":1}"#)]);
    check("a.json", "[]", &[]);
    check(
        "a.json",
        "[{\"a\":[1,{}]},\n{\"b\":\"]\\\"}\"}\n]\n",
        &[(1, r#"{"a":[1,{}]}"#), (2, r#"{"b":"]\"}"}"#)],
    );
    check("a.json", "\n[\n{\n\"a\":1}\n,{}]", &[(3, "{\n\"a\":1}"), (5, "{}")]);
    check(
        "a.csv",
        "objectID,name,price,sold,zip\n1,\"Lamp, red\",9.5,true,01234\n2,,,false,\n",
        &[
            (2, r#"{"name":"Lamp, red","objectID":"1","price":9.5,"sold":true,"zip":"01234"}"#),
            (3, r#"{"objectID":"2","sold":false}"#),
        ],
    );
}

#[test]
fn ids_of_a_column_are_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "art,n\n4.1,4.10\n4.10,1\n5,1\n5.0,1\n1e3,1\n-2,1\n007,1\n").unwrap();
    let mut source = Source::open(&path, None).unwrap().with_ids(Some("art"));
    let mut found = vec![];
    while let Some(record) = source.next_record().unwrap() {
        found.push(record.json);
    }
    let expected = [
        "4.1,\"n\":4.1",
        "\"4.10\",\"n\":1",
        "5,\"n\":1",
        "5.0,\"n\":1",
        "\"1e3\",\"n\":1",
        "-2,\"n\":1",
        "\"007\",\"n\":1",
    ];
    assert_eq!(found, expected.map(|rest| format!("{{\"art\":{rest}}}")));
}

#[test]
fn a_quote_that_is_never_closed_is_told_with_its_line() {
    for content in
        ["a,b\n1,x\n2,\"abc\n3,y\n", "a,b\r\n1,x\r\n2,\"abc", "a\n\"\"\n\"\"\"\n", "\u{feff}\"a\n\n\n"]
    {
        let error = format!("{:#}", read("a.csv", content.as_bytes()).unwrap_err());
        let line = if content.starts_with('\u{feff}') { 1 } else { 3 };
        assert!(
            error.contains(&format!("line {line}: the quote before a cell is never closed")),
            "{content:?}: {error}"
        );
    }
    // quotes inside of cells, and pairs of them
    for content in
        ["a,b\n5\" pipe,x\n", "a\n\"he said \"\"no\"\"\"\n", "a,b\n\"x\ny\",\"\"", "\u{feff}\"a\"\n1\n"]
    {
        read("a.csv", content.as_bytes()).unwrap();
    }
}

#[test]
fn errors_name_the_line() {
    let check = |name: &str, content: &[u8], expected: &str| {
        let error = format!("{:#}", read(name, content).unwrap_err());
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    };
    check("a.jsonl", b"{}\n{\"a\":}\n", "line 2, column 6");
    check("a.jsonl", b"{}\n[1]\n", "line 2: a record is a JSON object, this is an array");
    check("a.jsonl", b"{}\n\n{\"a\":\"\xff\"}", "line 3: not UTF-8");
    check("a.jsonl", b"{} {}\n", "line 1");
    check("a.json", b"[{}\n{}]", "line 2: expected a comma");
    check("a.json", b"[{},\n1]", "line 2: expected an object");
    check("a.json", b"[{},\n{\"a\":1", "line 2: the file ends inside this record");
    check("a.json", b"[{}\n", "the file ends inside the array");
    check("a.json", b"[{}]\n[", "line 2: text after the end");
    check("a.json", b"[\n{\"a\":1,\n\"b\":x}]", "line 3");
    check("a.csv", b"a,b\n1,2\n3\n", "line 3: 1 cells, the header has 2");
    check("a.csv", b"a,\n1,2\n", "line 1: a column has no name");
    check("a.txt", b"hello", "neither JSON nor named .csv");
}

#[test]
fn compressed_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    // the last one says nothing of it, as standard input does not
    for name in ["a.jsonl.gz", "a.jsonl", "-"] {
        is_unpacked(&folder.path().join(name));
    }
}
fn is_unpacked(path: &Path) {
    let mut writer = flate2::write::GzEncoder::new(File::create(path).unwrap(), flate2::Compression::fast());
    writer.write_all(b"{\"a\":1}\n{\"a\":2}\n").unwrap();
    writer.finish().unwrap();
    let mut source = Source::open(path, None).unwrap();
    assert_eq!(source.next_record().unwrap().unwrap().json, r#"{"a":1}"#);
    assert_eq!(source.next_record().unwrap().unwrap().line, 2);
    assert_eq!(source.next_record().unwrap(), None);
    assert_eq!(source.read_bytes.load(Ordering::Relaxed), std::fs::metadata(path).unwrap().len());
}

#[test]
fn a_row_of_csv_is_bounded_also_when_it_is_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv.gz");
    let mut file = flate2::write::GzEncoder::new(File::create(&path).unwrap(), flate2::Compression::fast());
    file.write_all(b"a,b\n1,2\n3,\"").unwrap();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..RECORD_BYTES_MAX / piece.len() + 8 {
        file.write_all(&piece).unwrap();
    }
    file.finish().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20);
    let mut source = Source::open(&path, None).unwrap();
    assert_eq!(source.next_record().unwrap().unwrap().json, r#"{"a":1,"b":2}"#);
    let error = format!("{:#}", source.next_record().unwrap_err());
    assert!(error.contains("a row longer than") && error.contains("quote"), "{error}");
    let header = format!("{}x\n", "x,".repeat(cells::COLUMNS_MAX));
    let error = format!("{:#}", read("wide.csv", header.as_bytes()).unwrap_err());
    assert!(error.contains("10001 columns, at most 10000"), "{error}");
}
