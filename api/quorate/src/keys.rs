//! How does an operator look after API keys? `quorate keys list`, `get`, `create`, `update`, `delete`, `restore`, `rotate-admin`,
//! `secure`.

use crate::client::{ADMIN_KEY_FILE, Client, Credentials, Encoding, SEARCH_KEY_FILE, segment};
use crate::config::{Values, read_key};
use anyhow::{Result, anyhow, bail};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use quorate_api::auth::Restrictions;
use quorate_api::auth::secured::derive;
use quorate_cluster::ids;
use serde_json::{Map, Value, json};
use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

/// Flags of a key that hold lists, with their member.
const LISTS: [(&str, &str, &str, &str); 3] = [
    ("acl", "acl", "RIGHT", "A right: search, browse, addObject, …; may be repeated"),
    ("indexes", "indexes", "PATTERN", "An index name, or a pattern with * at its ends; may be repeated"),
    ("referers", "referers", "PATTERN", "A referer that may use it, or a pattern; may be repeated"),
];
/// Flags that hold texts.
const TEXTS: [(&str, &str, &str, &str); 2] = [
    ("description", "description", "TEXT", "What it is for"),
    ("query-parameters", "queryParameters", "PARAMS", "URL-encoded parameters that every query with it has"),
];
/// Flags that hold numbers.
const NUMBERS: [(&str, &str, &str, &str); 3] = [
    ("validity", "validity", "SECONDS", "In how many seconds it ends"),
    ("max-hits-per-query", "maxHitsPerQuery", "N", "Hits of a page at most"),
    ("max-queries-per-ip-per-hour", "maxQueriesPerIPPerHour", "N", "Calls of an address in an hour at most"),
];

/// The command line of `keys`; `flags` are those of every command that talks to a node.
pub fn command(flags: impl Fn() -> Vec<Arg>, after_help: &str) -> Command {
    let sub = |name: &'static str, about: &'static str| {
        Command::new(name).about(about).args(flags()).after_help(after_help.to_owned())
    };
    let index = || {
        let help = "For one index alone";
        Arg::new("index").long("index").value_name("INDEX").help(help)
    };
    let key = || {
        let help = "The key; - reads it from the input, where nobody sees it in the list of processes";
        Arg::new("key").value_name("KEY").required(true).allow_hyphen_values(true).help(help)
    };
    Command::new("keys")
        .about("Look after API keys")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            sub("list", "List the keys for all indices")
                .arg(index())
                .arg(
                    Arg::new("of-indices")
                        .long("of-indices")
                        .action(ArgAction::SetTrue)
                        .conflicts_with("index")
                        .help("List the keys that are for one index alone, of every index"),
                )
                .arg(
                    Arg::new("json")
                        .long("json")
                        .action(ArgAction::SetTrue)
                        .help("Print the answer of the node as it is"),
                ),
        )
        .subcommand(sub("get", "Show a key").arg(key()).arg(index()))
        .subcommand(sub("create", "Make a key and print it").arg(index()).args(members()))
        .subcommand(
            sub("update", "Replace what a key may do: what is not given gets its default")
                .arg(key())
                .arg(index())
                .args(members()),
        )
        .subcommand(sub("delete", "Delete a key").arg(key()).arg(index()))
        .subcommand(sub("restore", "Let a deleted key live again").arg(key()))
        .subcommand(
            sub("rotate-admin", "Replace the admin key and print the new one; the one before counts for a while")
                .arg(
                    Arg::new("admin-key-file")
                        .long("admin-key-file")
                        .value_name("FILE")
                        .value_parser(value_parser!(PathBuf))
                        .help("Take the new one from a file [default: one is made at random]"),
                ),
        )
        .subcommand(
            sub("secure", "Derive a secured key, without a node, and print it")
                .arg(
                    Arg::new("parent-file")
                        .long("parent-file")
                        .value_name("FILE")
                        .value_parser(value_parser!(PathBuf))
                        .help("The key to derive it from [default: QUORATE_API_KEY, otherwise the search key of the data folder]"),
                )
                .arg(Arg::new("parameters").value_name("NAME=VALUE").num_args(1..).required(true).help(
                    "What it forces, not URL-encoded: filters=…, validUntil=…, restrictIndices=…, any search parameter",
                )),
        )
}

fn members() -> Vec<Arg> {
    let arg = |(flag, _, value, help): (&'static str, &str, &'static str, &'static str)| {
        Arg::new(flag).long(flag).value_name(value).help(help)
    };
    let lists = LISTS.into_iter().map(|row| arg(row).action(ArgAction::Append).value_delimiter(','));
    let numbers = NUMBERS.into_iter().map(|row| arg(row).value_parser(value_parser!(u64)));
    lists.chain(TEXTS.into_iter().map(arg)).chain(numbers).collect()
}

/// Carries out one of the commands.
pub fn run(values: &Values, name: &str, given: &ArgMatches) -> Result<ExitCode> {
    if name == "secure" {
        println!("{}", secured(values, given)?);
        return Ok(ExitCode::SUCCESS);
    }
    let client = Client::find(values, Credentials::Required)?;
    match name {
        "list" => list(&client, given)?,
        "get" => println!("{:#}", client.get(&path(given)?)?.ok()?),
        "create" => {
            let made =
                client.post(&place(given), body(given).to_string().as_bytes(), Encoding::Plain)?.ok()?;
            println!("{}", made["key"].as_str().unwrap_or_default());
            tell_of_no_rights(given);
        }
        "update" => {
            let path = path(given)?;
            // a node answers for a key that is not there as for one that is (C§13.1)
            client.get(&path)?.ok()?;
            let changed = client.put(&path, &body(given))?.ok()?;
            println!("changed at {}", changed["updatedAt"].as_str().unwrap_or("?"));
            tell_of_no_rights(given);
        }
        "delete" => {
            let deleted = client.delete(&path(given)?)?.ok()?;
            println!("deleted at {}", deleted["deletedAt"].as_str().unwrap_or("?"));
        }
        "restore" => {
            let path = format!("/1/keys/{}/restore", segment(&key(given)?));
            let restored = client.post(&path, b"", Encoding::Plain)?.ok()?;
            println!("lives again since {}", restored["createdAt"].as_str().unwrap_or("?"));
        }
        "rotate-admin" => rotate_admin(&client, given)?,
        other => unreachable!("clap knows no command {other}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Says that a key may do nothing, which nobody wants who leaves its rights out.
fn tell_of_no_rights(given: &ArgMatches) {
    if given.get_many::<String>("acl").is_none() {
        eprintln!("This key has no rights: --acl names those that it has.");
    }
}

/// Where the keys of an index are, or those of all.
fn place(given: &ArgMatches) -> String {
    match given.get_one::<String>("index") {
        Some(index) => format!("/1/indexes/{}/keys", segment(index)),
        None => "/1/keys".to_owned(),
    }
}
fn path(given: &ArgMatches) -> Result<String> {
    Ok(format!("{}/{}", place(given), segment(&key(given)?)))
}
fn key(given: &ArgMatches) -> Result<String> {
    let key: &String = given.get_one("key").expect("clap requires it");
    if key != "-" {
        return Ok(key.clone());
    }
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    match line.trim() {
        "" => bail!("the input holds no key in its first line"),
        key => Ok(key.to_owned()),
    }
}

fn body(given: &ArgMatches) -> Value {
    let mut body = Map::new();
    for (flag, member, ..) in LISTS {
        if let Some(values) = given.get_many::<String>(flag) {
            body.insert(member.to_owned(), values.map(String::as_str).collect());
        }
    }
    for (flag, member, ..) in TEXTS {
        if let Some(text) = given.get_one::<String>(flag) {
            body.insert(member.to_owned(), json!(text));
        }
    }
    for (flag, member, ..) in NUMBERS {
        if let Some(number) = given.get_one::<u64>(flag) {
            body.insert(member.to_owned(), json!(number));
        }
    }
    Value::Object(body)
}

fn list(client: &Client, given: &ArgMatches) -> Result<()> {
    let path = if given.get_flag("of-indices") { "/1/indexes/*/keys".to_owned() } else { place(given) };
    let answer = client.get(&path)?.ok()?;
    if given.get_flag("json") {
        println!("{answer:#}");
        return Ok(());
    }
    for key in answer["keys"].as_array().into_iter().flatten() {
        println!("{}", line(key));
    }
    Ok(())
}

/// A key with what tells it from others.
fn line(key: &Value) -> String {
    let text = |name: &str| key[name].as_str().unwrap_or_default().to_owned();
    let words = |name: &str| {
        let words = key[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        words.collect::<Vec<_>>().join(",")
    };
    let mut line = format!("{}  {}", text("value"), words("acl"));
    let index = text("index");
    let indexes = if index.is_empty() { words("indexes") } else { index };
    for (what, value) in [("indices", indexes), ("referers", words("referers"))] {
        if !value.is_empty() {
            line.push_str(&format!("  {what}: {value}"));
        }
    }
    if let Some(seconds) = key["validity"].as_u64().filter(|seconds| *seconds > 0) {
        line.push_str(&format!("  ends in {seconds} s"));
    }
    let description: String = text("description").chars().filter(|c| !c.is_control()).collect();
    if !description.is_empty() {
        line.push_str(&format!("  ({description})"));
    }
    line
}

/// The key is made here, so that it is known whatever becomes of the answer.
fn rotate_admin(client: &Client, given: &ArgMatches) -> Result<()> {
    let key = match given.get_one::<PathBuf>("admin-key-file") {
        Some(path) => read_key(path)?,
        None => ids::key_string(),
    };
    let body = json!({ "adminKey": key }).to_string();
    let answer = client.post("/admin/admin-key", body.as_bytes(), Encoding::Plain);
    let is_refused = answer.as_ref().is_ok_and(|answer| (400..500).contains(&answer.status));
    match answer.and_then(|answer| answer.ok()) {
        Ok(_) => println!("{key}"),
        Err(error) if is_refused => bail!("{error}"),
        Err(error) => bail!("{error}; if the node took it all the same, the admin key is now {key}"),
    }
    Ok(())
}

fn secured(values: &Values, given: &ArgMatches) -> Result<String> {
    let data_dir = values.data_dir();
    let parent = match (given.get_one::<PathBuf>("parent-file"), values.text("api-key")) {
        (Some(path), _) => read_key(path)?,
        (None, Some(key)) => key.to_owned(),
        (None, None) => read_key(&data_dir.join(SEARCH_KEY_FILE))
            .map_err(|error| anyhow!("{error}: name the parent with --parent-file or QUORATE_API_KEY"))?,
    };
    if read_key(&data_dir.join(ADMIN_KEY_FILE)).is_ok_and(|admin| admin == parent) {
        bail!(
            "the admin key signs no secured keys: name another parent with --parent-file or QUORATE_API_KEY"
        );
    }
    // as the nodes make them, and as no secured key and no admin key that people choose looks
    if parent.len() != 32 || !parent.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        bail!("the parent is no API key: those have 32 hexadecimal digits");
    }
    let parameters = given.get_many::<String>("parameters").unwrap_or_default();
    let parameters = encoded(parameters.map(String::as_str))?;
    check(&parameters)?;
    Ok(derive(&parent, &parameters))
}

/// `NAME=VALUE` by name, URL-encoded, as client libraries write them.
fn encoded<'a>(parameters: impl Iterator<Item = &'a str>) -> Result<String> {
    let mut pairs = Vec::new();
    for parameter in parameters {
        let Some((name, value)) = parameter.split_once('=') else { bail!("{parameter} is not NAME=VALUE") };
        if pairs.iter().any(|(known, _)| *known == name) {
            bail!("{name} is given twice");
        }
        pairs.push((name, value));
    }
    pairs.sort_unstable();
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    Ok(pairs.collect::<Vec<_>>().join("&"))
}

/// Refuses what would make a key that no node takes.
fn check(parameters: &str) -> Result<()> {
    let now_s = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    match Restrictions::parse(parameters).refuses_all(now_s) {
        Some(error) => Err(anyhow!(error.message)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_become_the_members_they_are_named_for() {
        let command = command(Vec::new, "");
        let given = command.get_matches_from([
            "keys",
            "create",
            "--acl",
            "search,browse",
            "--acl",
            "logs",
            "--indexes",
            "a*",
            "--validity",
            "60",
            "--description",
            "d",
            "--max-hits-per-query",
            "5",
            "--query-parameters",
            "filters=a%3Ab",
        ]);
        let (_, given) = given.subcommand().unwrap();
        let expected = json!({
            "acl": ["search", "browse", "logs"], "indexes": ["a*"], "validity": 60, "description": "d",
            "maxHitsPerQuery": 5, "queryParameters": "filters=a%3Ab",
        });
        assert_eq!((body(given), place(given)), (expected, "/1/keys".to_owned()));
    }

    #[test]
    fn parameters_of_secured_keys_are_encoded_in_order_and_checked() {
        let text = |given: &[&str]| encoded(given.iter().copied());
        assert_eq!(
            text(&["validUntil=9", "filters=a:b AND c:d"]).unwrap(),
            "filters=a%3Ab%20AND%20c%3Ad&validUntil=9"
        );
        assert!(text(&["filters"]).is_err() && text(&["a=1", "a=2"]).is_err());
        for (parameters, is_fine) in [
            ("filters=a%3Ab&hitsPerPage=5&restrictSources=10.0.0.0%2F8", true),
            ("filters=a%3A%3A(", false),
            ("hitsPerPage=many", false),
            ("validUntil=tomorrow", false),
            ("validUntil=1", false),
            ("restrictIndices=", false),
            ("restrictSources=", false),
            ("restrictSources=home", false),
            ("unknown=1", false),
        ] {
            assert_eq!(check(parameters).is_ok(), is_fine, "{parameters}");
        }
    }

    #[test]
    fn a_line_names_what_is_restricted() {
        let key = json!({
            "value": "k", "acl": ["search"], "validity": 9, "description": "a\u{1b}[31m", "indexes": ["i", "j*"],
            "referers": ["r"],
        });
        assert_eq!(line(&key), "k  search  indices: i,j*  referers: r  ends in 9 s  (a[31m)");
        assert_eq!(line(&json!({"value": "k", "acl": [], "index": "i"})), "k    indices: i");
    }
}
