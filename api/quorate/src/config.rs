//! What did the operator ask for? Values from flags, environment and file, in this order, checked against the table.

use crate::options::{Audience, Exposure, Kind, OPTIONS, OptionRow, nearest, option};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Bytes of a configuration or key file; anything larger is not one.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Bytes that a limit of records, bodies and answers has at least: a smaller one would let nothing pass.
const LIMIT_MIN: u64 = 1_000;
/// Threads that `workers` and `search-threads` may ask for.
const THREADS_MAX: u64 = 1_024;
/// 30 days.
const SECONDS_MAX: u64 = 30 * 24 * 3_600;

/// Where values come from, apart from the flags. The process's own in the program, a table in tests.
pub struct Environment(Vec<(String, String)>);

impl Environment {
    /// The variables of this process that are valid UTF-8.
    pub fn of_process() -> Environment {
        Environment(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        )
    }

    #[cfg(test)]
    pub fn of(pairs: &[(&str, &str)]) -> Environment {
        Environment(pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The values in force, checked, by the name of the option.
#[derive(Debug)]
pub struct Values {
    by_name: BTreeMap<&'static str, String>,
    /// Things that look wrong but stop nothing.
    pub warnings: Vec<String>,
}

/// Merges flags over environment over file over defaults.
///
/// `flags` holds (option name, value). Errors: unknown variables and keys that are near a known one, unknown keys,
/// values of the wrong form; each names where the value came from.
pub fn resolve(
    audience: Audience,
    flags: &[(&'static str, String)],
    environment: &Environment,
) -> Result<Values> {
    let mut values = Values { by_name: BTreeMap::new(), warnings: Vec::new() };
    refuse_misspelt(environment, &mut values.warnings)?;
    for row in OPTIONS.iter().filter(|row| row.concerns(audience)) {
        if let Some(default) = row.default {
            values.by_name.insert(row.name, default.to_owned());
        }
    }
    let flag = |name: &str| flags.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
    if let Some(path) = flag("config").or_else(|| environment.get("QUORATE_CONFIG")) {
        for (row, value) in read_file(Path::new(path))? {
            values.put(audience, row, value, &format!("key `{}` of {path}", row.key()))?;
        }
    }
    for row in OPTIONS {
        if let Some(value) = environment.get(&row.env()) {
            values.put(audience, row, value.to_owned(), &row.env())?;
        }
    }
    for (name, value) in flags {
        values.put(audience, option(name), value.clone(), &format!("--{name}"))?;
    }
    Ok(values)
}

impl Values {
    fn put(
        &mut self,
        audience: Audience,
        row: &'static OptionRow,
        value: String,
        origin: &str,
    ) -> Result<()> {
        if !row.concerns(audience) {
            return Ok(());
        }
        if !fits(row.kind, &value) {
            let shown = match row.exposure {
                Exposure::Open => format!("`{value}`"),
                Exposure::Secret => "the value".to_owned(),
            };
            bail!("{origin}: {shown} does not fit, expected {}", row.kind);
        }
        self.by_name.insert(row.name, value);
        Ok(())
    }

    /// The options that have another value than in `before`.
    pub fn changed_since(&self, before: &Values) -> Vec<&'static str> {
        let names = OPTIONS.iter().map(|row| row.name);
        names.filter(|name| self.by_name.get(name) != before.by_name.get(name)).collect()
    }

    /// The text of an option, if it has a value.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.by_name.get(option(name).name).map(String::as_str)
    }

    /// Whether an option has another value than its default.
    pub fn is_given(&self, name: &str) -> bool {
        self.text(name) != option(name).default
    }

    /// The texts of an option of kind `Addresses`.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.text(name).into_iter().flat_map(|text| text.split(',')).map(|it| it.trim().to_owned()).collect()
    }

    /// The path of an option, if it has a value.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// The number of an option of kind `Bytes`, `Count` or `Seconds` that has a default.
    pub fn number(&self, name: &str) -> u64 {
        self.text(name).and_then(parse_bytes).expect("the table gives a default and put() checked the form")
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| value == "true" || value == "1")
    }

    /// The folder of the node.
    pub fn data_dir(&self) -> PathBuf {
        self.path("data-dir").expect("the table gives a default")
    }

    /// The admin key from the variable or the file, if one of them is given. Errors: both are; the file has none.
    pub fn admin_key(&self) -> Result<Option<String>> {
        if let Some(key) = self.text("admin-key") {
            if self.text("admin-key-file").is_some() {
                bail!(
                    "admin-key-file and the variable QUORATE_ADMIN_KEY are both given: which one counts? Give one of them"
                );
            }
            return Ok(Some(key.to_owned()));
        }
        self.path("admin-key-file").map(|path| read_key(&path)).transpose()
    }
}

/// The key in a file: its first line without surrounding space.
pub fn read_key(path: &Path) -> Result<String> {
    let text = read_small(path)?;
    match text.lines().next().map(str::trim) {
        Some(key) if !key.is_empty() => Ok(key.to_owned()),
        _ => bail!("{} holds no key in its first line", path.display()),
    }
}

/// A small text file, whole.
pub fn read_small(path: &Path) -> Result<String> {
    let size = std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    if size > FILE_BYTES_MAX {
        bail!("{} has {size} bytes, expected at most {FILE_BYTES_MAX}", path.display());
    }
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A misspelt variable is refused; one that resembles nothing is only mentioned, because schedulers set some by the
/// name of a service (`QUORATE_SERVICE_HOST`).
fn refuse_misspelt(environment: &Environment, warnings: &mut Vec<String>) -> Result<()> {
    let known: Vec<String> = OPTIONS.iter().map(OptionRow::env).collect();
    for (name, _) in environment.0.iter().filter(|(name, _)| name.starts_with("QUORATE_")) {
        if known.contains(name) {
            continue;
        }
        let bare = |full: &str| full["QUORATE_".len()..].to_owned();
        let bare_known: Vec<String> = known.iter().map(|full| bare(full)).collect();
        match nearest(&bare(name), bare_known.iter().map(String::as_str)) {
            Some(near) => bail!("unknown environment variable {name}, did you mean QUORATE_{near}?"),
            None => {
                warnings.push(format!("the environment variable {name} is not an option of this program"))
            }
        }
    }
    Ok(())
}

fn read_file(path: &Path) -> Result<Vec<(&'static OptionRow, String)>> {
    let text = read_small(path)?;
    parse_file(&text).with_context(|| format!("in the configuration file {}", path.display()))
}

fn parse_file(text: &str) -> Result<Vec<(&'static OptionRow, String)>> {
    let table: toml::Table = text.parse().context("not valid TOML")?;
    let keys: Vec<String> = OPTIONS.iter().filter(|row| allowed_in_file(row)).map(OptionRow::key).collect();
    let mut found = Vec::new();
    for (key, value) in table {
        let Some(row) = OPTIONS.iter().find(|row| row.key() == key) else {
            match nearest(&key, keys.iter().map(String::as_str)) {
                Some(near) => bail!("unknown key `{key}`, did you mean `{near}`?"),
                None => bail!("unknown key `{key}`; the keys are {}", keys.join(", ")),
            }
        };
        if row.exposure == Exposure::Secret {
            bail!("`{key}` is a secret and not read from here; use the variable {} or a key file", row.env());
        }
        if !allowed_in_file(row) {
            bail!("`{key}` cannot be set in a configuration file");
        }
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(on) => on.to_string(),
            toml::Value::Array(list) if row.kind == Kind::Addresses => {
                let texts = list.iter().map(|it| it.as_str().unwrap_or_default());
                texts.collect::<Vec<_>>().join(",")
            }
            other => bail!("`{key}` is a {}, expected {}", other.type_str(), row.kind),
        };
        found.push((row, text));
    }
    Ok(found)
}

fn allowed_in_file(row: &OptionRow) -> bool {
    row.exposure == Exposure::Open && row.name != "config"
}

fn fits(kind: Kind, value: &str) -> bool {
    match kind {
        Kind::Text | Kind::Path => !value.trim().is_empty(),
        Kind::Addresses => value.split(',').all(|one| fits(Kind::Address, one.trim())),
        Kind::Address => value.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && port.parse::<u16>().is_ok() && !host.contains('/')
        }),
        Kind::Url => value
            .strip_prefix("http://")
            .or_else(|| value.strip_prefix("https://"))
            .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')),
        Kind::Bytes => parse_bytes(value).is_some(),
        Kind::Limit => parse_bytes(value).is_some_and(|bytes| bytes >= LIMIT_MIN),
        Kind::Count => value.parse::<u64>().is_ok_and(|n| n <= THREADS_MAX),
        Kind::Seconds => value.parse::<u64>().is_ok_and(|n| n <= SECONDS_MAX),
        Kind::Word(words) => words.contains(&value),
        Kind::Switch => matches!(value, "true" | "false" | "1" | "0"),
    }
}

/// `100000`, `64MiB`, `1GB`, `10k` in bytes.
fn parse_bytes(value: &str) -> Option<u64> {
    let value = value.trim();
    let digits = value.len() - value.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = value[..digits].parse().ok()?;
    let unit = match value[digits..].trim().to_ascii_lowercase().trim_end_matches('b') {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// The annotated sample configuration, as kept in `deploy/quorate.toml`.
pub fn sample() -> String {
    let mut out = String::from(
        "# Configuration of a Quorate node: quorate serve --config quorate.toml\n\
         # A flag wins over the environment, the environment over this file, this file over the defaults shown here.\n\
         # Secrets are not read from here: use QUORATE_ADMIN_KEY or admin_key_file.\n",
    );
    for row in OPTIONS.iter().filter(|row| allowed_in_file(row) && row.concerns(Audience::Server)) {
        let value = match (row.default, row.kind) {
            (Some(default), Kind::Count | Kind::Seconds | Kind::Switch) => default.to_owned(),
            (Some(default), Kind::Bytes | Kind::Limit) if default.bytes().all(|b| b.is_ascii_digit()) => {
                default.to_owned()
            }
            (Some(default), _) => format!("{default:?}"),
            (None, _) => "\"\"".to_owned(),
        };
        let note = if row.default.is_none() { " Unset by default." } else { "" };
        write!(out, "\n# {}{note}\n# --{} or {}\n# {} = {value}\n", row.help, row.name, row.env(), row.key())
            .expect("writing to a string");
    }
    out
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
