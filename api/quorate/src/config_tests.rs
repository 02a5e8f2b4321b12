//! Do the sources of a value win in the promised order, and are mistakes named?

use super::*;
use std::io::Write as _;

fn serve(flags: &[(&'static str, &str)], env: &[(&str, &str)]) -> Result<Values> {
    let flags: Vec<_> = flags.iter().map(|(name, value)| (*name, value.to_string())).collect();
    resolve(Audience::Server, &flags, &Environment::of(env))
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

#[test]
fn flag_over_environment_over_file_over_default() {
    let config = file("listen = \"0.0.0.0:1\"\nworkers = 3\n");
    let path = config.path().to_str().unwrap();
    let listen = |flags: &[(&'static str, &str)], env: &[(&str, &str)]| {
        serve(flags, env).unwrap().text("listen").unwrap().to_owned()
    };
    assert_eq!(listen(&[], &[]), "127.0.0.1:7700");
    assert_eq!(listen(&[("config", path)], &[]), "0.0.0.0:1");
    assert_eq!(listen(&[], &[("QUORATE_CONFIG", path)]), "0.0.0.0:1");
    assert_eq!(listen(&[("config", path)], &[("QUORATE_LISTEN", "0.0.0.0:2")]), "0.0.0.0:2");
    assert_eq!(
        listen(&[("config", path), ("listen", "0.0.0.0:3")], &[("QUORATE_LISTEN", "0.0.0.0:2")]),
        "0.0.0.0:3"
    );
    assert_eq!(serve(&[("config", path)], &[]).unwrap().number("workers"), 3);
}

#[test]
fn mistakes_name_their_origin_and_the_near_name() {
    let check = |env: &[(&str, &str)], text: &str, parts: &[&str]| {
        let config = file(text);
        let path = config.path().to_str().unwrap();
        let error = format!("{:#}", serve(&[("config", path)], env).unwrap_err());
        for part in parts {
            assert!(error.contains(part), "{error:?} lacks {part:?}");
        }
    };
    check(&[("QUORATE_DATADIR", "x")], "", &["QUORATE_DATADIR", "QUORATE_DATA_DIR"]);
    check(&[("QUORATE_LISTEN", "7700")], "", &["QUORATE_LISTEN", "`7700`", "HOST:PORT"]);
    check(&[], "data-dir = 'x'", &["`data-dir`", "`data_dir`"]);
    check(&[], "colour = 1", &["unknown key `colour`", "data_dir"]);
    check(&[], "admin_key = 'abc'", &["secret", "QUORATE_ADMIN_KEY"]);
    check(&[], "workers = 'many'", &["`workers`", "whole number"]);
    check(&[], "workers = [1]", &["`workers` is a array"]);
    check(&[], "log_format = 'xml'", &["text, json"]);
    check(&[], "x = ", &["not valid TOML"]);
    check(&[], "record_bytes_max = 0", &["`record_bytes_max`", "from 1000 on"]);
    check(&[("QUORATE_ANSWER_BYTES_MAX", "1")], "", &["QUORATE_ANSWER_BYTES_MAX", "from 1000 on"]);
}

#[test]
fn secrets_are_not_shown_and_strangers_are_mentioned() {
    let error = serve(&[], &[("QUORATE_ADMIN_KEY", " ")]).unwrap_err().to_string();
    assert!(error.contains("the value does not fit"), "{error}");
    let values = serve(&[], &[("QUORATE_SERVICE_HOST", "10.0.0.1"), ("HOME", "/")]).unwrap();
    assert_eq!(values.warnings.len(), 1);
}

#[test]
fn keys_come_from_variable_or_file() {
    let key = file("  0123abc \nsecond line\n");
    let path = key.path().to_str().unwrap();
    let admin = |env: &[(&str, &str)]| serve(&[], env).unwrap().admin_key();
    assert_eq!(admin(&[]).unwrap(), None);
    assert_eq!(admin(&[("QUORATE_ADMIN_KEY_FILE", path)]).unwrap().as_deref(), Some("0123abc"));
    let both = admin(&[("QUORATE_ADMIN_KEY_FILE", path), ("QUORATE_ADMIN_KEY", "k")]).unwrap_err();
    assert!(both.to_string().contains("both given"), "{both}");
    assert!(admin(&[("QUORATE_ADMIN_KEY_FILE", "/nowhere/at/all")]).is_err());
}

#[test]
fn sizes_are_read_with_units() {
    let check = |text: &str, expected: Option<u64>| assert_eq!(parse_bytes(text), expected, "{text}");
    check("0", Some(0));
    check("100000", Some(100_000));
    check("10k", Some(10_000));
    check("1GB", Some(1_000_000_000));
    check("64 MiB", Some(64 << 20));
    check("2gi", Some(2 << 30));
    check("", None);
    check("-1", None);
    check("1.5M", None);
    check("99999999999G", None);
    check("5 parsecs", None);
}

#[test]
fn every_default_fits_its_kind() {
    for row in OPTIONS {
        assert!(row.default.is_none_or(|value| fits(row.kind, value)), "{}", row.name);
    }
}

#[test]
fn the_sample_is_current_and_reads_back() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/quorate.toml");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, sample()).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, sample(), "refresh it with UPDATE=1");
    let is_value = |line: &&str| line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
    let active: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# ")).filter(is_value).collect();
    let rows = parse_file(&active.join("\n")).unwrap();
    assert!(rows.len() >= 12, "{active:?}");
}
