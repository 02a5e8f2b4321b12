//! Which options are there? One table: flag, environment variable, TOML key, default, help and where each belongs.

use std::fmt;

/// What the text of an option has to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any non-empty text.
    Text,
    /// A path of the file system.
    Path,
    /// `HOST:PORT`.
    Address,
    /// `HOST:PORT`, several of them with commas between; as a flag it may also be given more than once.
    Addresses,
    /// `http://…` or `https://…`.
    Url,
    /// A size: digits, or digits and one of k, M, G (thousands) or Ki, Mi, Gi (1,024s), with or without a B.
    Bytes,
    /// The size of a limit: as a size, from 1,000 bytes on.
    Limit,
    /// A number from 0; 0 lets the program choose where the help says so.
    Count,
    /// A time in whole seconds, at most 30 days.
    Seconds,
    /// One of the words.
    Word(&'static [&'static str]),
    /// `true` or `false`; as a flag it stands alone.
    Switch,
}

/// Which commands know an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// `serve` only.
    Server,
    /// `import`, `search`, `health` and `cluster`.
    Client,
    /// Both.
    Everyone,
}

/// Whether the value may be shown, and given as an argument or in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Anywhere.
    Open,
    /// Environment only: arguments are seen by every user of the machine, and files get copied.
    Secret,
}

/// One row of the table.
#[derive(Debug)]
pub struct OptionRow {
    /// Long flag without the dashes; `QUORATE_` + upper case is the variable, with underscores the TOML key.
    pub name: &'static str,
    /// What the value has to look like.
    pub kind: Kind,
    /// Value when nothing is given; `None` leaves it unset.
    pub default: Option<&'static str>,
    /// Who uses it.
    pub audience: Audience,
    /// Where it may be given.
    pub exposure: Exposure,
    /// What it does, for `--help` and the sample configuration.
    pub help: &'static str,
}

impl OptionRow {
    /// The environment variable of the option.
    pub fn env(&self) -> String {
        format!("QUORATE_{}", self.key().to_ascii_uppercase())
    }

    /// The key of the option in a configuration file.
    pub fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Whether `audience` uses the option.
    pub fn concerns(&self, audience: Audience) -> bool {
        self.audience == Audience::Everyone || self.audience == audience
    }
}

const fn row(
    name: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    audience: Audience,
    help: &'static str,
) -> OptionRow {
    OptionRow { name, kind, default, audience, exposure: Exposure::Open, help }
}

const fn secret(name: &'static str, audience: Audience, help: &'static str) -> OptionRow {
    OptionRow { name, kind: Kind::Text, default: None, audience, exposure: Exposure::Secret, help }
}

/// Every option. The names are a promise: scripts rely on them.
pub const OPTIONS: &[OptionRow] = &[
    row(
        "config",
        Kind::Path,
        None,
        Audience::Everyone,
        "Configuration file (TOML) with the keys of this table.",
    ),
    row(
        "data-dir",
        Kind::Path,
        Some("quorate-data"),
        Audience::Everyone,
        "Folder that holds everything the node keeps. Client commands read the address and the admin key of a local node there.",
    ),
    row(
        "listen",
        Kind::Address,
        Some("127.0.0.1:7700"),
        Audience::Server,
        "Address to listen on. Port 0 takes a free one; the address in use stands in DATA_DIR/address.",
    ),
    row(
        "read-listen",
        Kind::Address,
        None,
        Audience::Server,
        "Further address that takes reads only; anything else is answered 403.",
    ),
    row(
        "write-listen",
        Kind::Address,
        None,
        Audience::Server,
        "Further address that takes writes only; anything else is answered 403.",
    ),
    row(
        "admin-listen",
        Kind::Address,
        None,
        Audience::Server,
        "Further address that takes the calls of operators only (/admin, /metrics); anything else is answered 403.",
    ),
    row(
        "tls-listen",
        Kind::Address,
        None,
        Audience::Server,
        "Further address that takes everything by HTTPS, with HTTP/2.",
    ),
    row(
        "tls-certificates",
        Kind::Text,
        None,
        Audience::Server,
        "PEM files with the certificates for tls-listen, separated by commas: each with those it was issued by behind it. Read again when they change.",
    ),
    row(
        "tls-keys",
        Kind::Text,
        None,
        Audience::Server,
        "PEM files with the keys of tls-certificates, in the same order.",
    ),
    row(
        "tls-client-ca",
        Kind::Path,
        None,
        Audience::Server,
        "PEM file with certificates: calls of /admin from other machines need a client certificate issued by one of them.",
    ),
    row(
        "https-only",
        Kind::Switch,
        Some("false"),
        Audience::Server,
        "Calls by plain HTTP from other machines are answered 403, unless a trusted proxy says that they came to it by HTTPS.",
    ),
    row(
        "peer-listen",
        Kind::Address,
        None,
        Audience::Server,
        "Address to listen on for the other nodes of the installation; without it the node stays alone.",
    ),
    row(
        "peer-address",
        Kind::Address,
        None,
        Audience::Server,
        "Where the other nodes find this one, when that is not the address it listens on.",
    ),
    row(
        "http-address",
        Kind::Address,
        None,
        Audience::Server,
        "Where clients find this node, when that is not the address it listens on; shown to operators.",
    ),
    row(
        "trusted-proxies",
        Kind::Text,
        None,
        Audience::Server,
        "Addresses or networks (CIDR) of the proxies before this node, separated by commas: limits by address count the caller they name in X-Forwarded-For.",
    ),
    row(
        "node-name",
        Kind::Text,
        None,
        Audience::Server,
        "Name of this node, unlike that of every other one. When absent, the one it has; at first one made of its identity.",
    ),
    row(
        "cluster",
        Kind::Text,
        None,
        Audience::Server,
        "Name of the cluster this node belongs to, which it never changes. When absent, the one it is in; at first main.",
    ),
    row(
        "multi-cluster",
        Kind::Switch,
        Some("false"),
        Audience::Server,
        "Turns on the mapping of users to clusters, for the whole installation and for good: every record then belongs to a user.",
    ),
    row(
        "join",
        Kind::Addresses,
        None,
        Audience::Server,
        "Peer addresses of other nodes, whose installation this one joins. No harm once it has joined.",
    ),
    secret(
        "join-token",
        Audience::Server,
        "What all nodes of the installation share: one of `quorate cluster token --new`, or at least 16 characters. Made by the first node when absent; it stands in DATA_DIR/join-token.",
    ),
    secret(
        "join-token-also",
        Audience::Server,
        "Another join token that counts, while the token of a running installation is replaced node by node.",
    ),
    row(
        "app-id",
        Kind::Text,
        None,
        Audience::Everyone,
        "Application id. Made at the first start when absent; a different one later is refused.",
    ),
    secret(
        "admin-key",
        Audience::Server,
        "Admin key. Made at the first start when absent; one that this node was not given before replaces that of the whole installation. A node that joins changes none.",
    ),
    row(
        "admin-key-file",
        Kind::Path,
        None,
        Audience::Server,
        "File that holds the admin key, instead of the variable QUORATE_ADMIN_KEY.",
    ),
    row(
        "admin-key-overlap-s",
        Kind::Seconds,
        Some("3600"),
        Audience::Server,
        "Seconds for which an admin key still counts after the one given to this node has replaced it.",
    ),
    row(
        "record-bytes-max",
        Kind::Limit,
        Some("100000"),
        Audience::Server,
        "Bytes of one record; larger ones are answered 400.",
    ),
    row(
        "body-bytes-max",
        Kind::Limit,
        Some("100MiB"),
        Audience::Server,
        "Bytes of one request body after decompression; larger ones are answered 413.",
    ),
    row(
        "search-body-bytes-max",
        Kind::Limit,
        Some("1MiB"),
        Audience::Server,
        "Bytes of the body of one search after decompression; larger ones are answered 413.",
    ),
    row(
        "multi-body-bytes-max",
        Kind::Limit,
        Some("16MiB"),
        Audience::Server,
        "Bytes of a body with many searches or object IDs after decompression; larger ones are answered 413.",
    ),
    row(
        "answer-bytes-max",
        Kind::Limit,
        Some("32MiB"),
        Audience::Server,
        "Bytes of one answer. A browse ends its page early; what else would be larger is answered 400.",
    ),
    row(
        "log-level",
        Kind::Text,
        Some("info"),
        Audience::Server,
        "What is logged: error, warn, info, debug, trace or off, or rules such as info,quorate_cluster=debug.",
    ),
    row(
        "log-format",
        Kind::Word(&["text", "json"]),
        Some("text"),
        Audience::Server,
        "Form of the log lines on standard error: text or json.",
    ),
    row(
        "event-retention-days",
        Kind::Count,
        Some("90"),
        Audience::Server,
        "Days for which events are kept, at most 1024, on every node alike; 0 keeps them for ever.",
    ),
    row(
        "model-builds",
        Kind::Word(&["on", "off"]),
        Some("on"),
        Audience::Server,
        "Whether models of recommendations are built of events; off builds those that somebody asks for.",
    ),
    row(
        "model-build-hours",
        Kind::Count,
        Some("24"),
        Audience::Server,
        "Hours after which a model is built anew at the latest; much that is new has it built after an hour.",
    ),
    row(
        "request-log",
        Kind::Word(&["on", "off"]),
        Some("on"),
        Audience::Server,
        "Whether the last 1000 calls are kept for GET /1/logs; off removes what was kept.",
    ),
    row(
        "workers",
        Kind::Count,
        Some("0"),
        Audience::Server,
        "Threads that answer HTTP; 0 = one for each core.",
    ),
    row(
        "command-level",
        Kind::Count,
        Some("0"),
        Audience::Server,
        "Level of the newest commands this node takes part in; 0 = all it knows. A lower one keeps the way back to an older version open while an upgrade is tried out.",
    ),
    row(
        "search-threads",
        Kind::Count,
        Some("0"),
        Audience::Server,
        "Threads that search for one caller; 0 = one for each core. Two more are there for others.",
    ),
    row(
        "disk-reserve-bytes",
        Kind::Bytes,
        Some("256MiB"),
        Audience::Server,
        "Free space below which writes answer 503; reads go on.",
    ),
    row(
        "snapshot-bytes-per-s",
        Kind::Bytes,
        Some("100MB"),
        Audience::Server,
        "Bytes per second at which files of snapshots are fetched from other nodes, all together.",
    ),
    row(
        "check-bytes-per-s",
        Kind::Bytes,
        Some("4MB"),
        Audience::Server,
        "Bytes per second of index files that are read in the background to find damage and to compare replicas.",
    ),
    row(
        "check-every-s",
        Kind::Seconds,
        Some("3600"),
        Audience::Server,
        "Seconds from the beginning of one such pass over all files to the next, at least.",
    ),
    row(
        "take-over-s",
        Kind::Seconds,
        Some("600"),
        Audience::Server,
        "Seconds for which nobody must have heard of a node before one with its name, its address and an empty folder takes its place by itself. What the nodes say that still run counts. 0: never.",
    ),
    row(
        "expect-data",
        Kind::Switch,
        Some("false"),
        Audience::Server,
        "Refuse to start with a data folder that holds no data of a node: its disk is not mounted then.",
    ),
    row(
        "ip-locations",
        Kind::Path,
        None,
        Audience::Server,
        "Database of places of addresses (MaxMind format, cities) for aroundLatLngViaIP; without it the parameter has no centre.",
    ),
    row(
        "events-sink-url",
        Kind::Url,
        None,
        Audience::Server,
        "Where rows of events and searches are sent, too: POST with a line of JSON for each, in order, again until the answer is 2xx.",
    ),
    secret(
        "events-sink-token",
        Audience::Server,
        "Sent to events-sink-url as `Authorization: Bearer TOKEN`.",
    ),
    row(
        "demo",
        Kind::Switch,
        Some("false"),
        Audience::Server,
        "Load a small catalogue of an invented shop into the index `catalogue`.",
    ),
    row(
        "url",
        Kind::Url,
        None,
        Audience::Client,
        "Address of the service. Default: the node whose data folder is DATA_DIR, else http://127.0.0.1:7700.",
    ),
    row(
        "ca-file",
        Kind::Path,
        None,
        Audience::Everyone,
        "PEM file with certificates: calls by HTTPS, of commands and to an event sink, go only to who has one issued by them. Default: the authorities of the web.",
    ),
    row(
        "user-id",
        Kind::Text,
        None,
        Audience::Client,
        "User whose records commands read and write, where records belong to users (--multi-cluster); * for those that everybody sees.",
    ),
    secret("api-key", Audience::Client, "Key to use. Default: the admin key in DATA_DIR."),
];

/// The option with this flag name. Panics when the table has no such row, which a test excludes for every caller.
pub fn option(name: &str) -> &'static OptionRow {
    OPTIONS.iter().find(|row| row.name == name).expect("callers name rows of the table")
}

/// The known name nearest to `name`, when it is near enough to be what was meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).clamp(1, 4);
    known
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(d, _)| *d <= allowed)
        .min()
        .map(|(_, c)| c)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from `from` to `to`.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Text => out.write_str("a text that is not empty"),
            Kind::Path => out.write_str("a path"),
            Kind::Address => out.write_str("HOST:PORT, for example 127.0.0.1:7700"),
            Kind::Addresses => out.write_str("HOST:PORT, or several with commas between them"),
            Kind::Url => out.write_str("http://HOST:PORT or https://HOST:PORT"),
            Kind::Bytes => out.write_str("a number of bytes, for example 100000, 64MiB or 1GB"),
            Kind::Limit => out.write_str("a number of bytes from 1000 on, for example 100000, 64MiB or 1GB"),
            Kind::Count => out.write_str("a whole number from 0 to 1024"),
            Kind::Seconds => out.write_str("whole seconds, at most 2592000"),
            Kind::Word(words) => write!(out, "one of {}", words.join(", ")),
            Kind::Switch => out.write_str("true or false"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["data_dir", "listen", "log_level", "log_format"];
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(nearest(name, known.into_iter()), expected, "{name}");
        };
        check("data_dri", Some("data_dir"));
        check("datadir", Some("data_dir"));
        check("lisen", Some("listen"));
        check("loglevel", Some("log_level"));
        check("replication", None);
        check("x", None);
    }

    #[test]
    fn names_are_unique_and_secrets_have_no_default() {
        for (i, row) in OPTIONS.iter().enumerate() {
            assert!(OPTIONS[i + 1..].iter().all(|other| other.name != row.name), "{} twice", row.name);
            assert!(row.exposure == Exposure::Open || row.default.is_none(), "{}", row.name);
            assert!(row.help.ends_with('.'), "{}", row.name);
        }
        assert_eq!(option("data-dir").env(), "QUORATE_DATA_DIR");
        assert_eq!(option("data-dir").key(), "data_dir");
    }
}
