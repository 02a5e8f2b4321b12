//! What does someone read who starts a node by hand? Address, credentials, a call that works, what to do next.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::Path;

/// What the text tells.
pub struct Start<'a> {
    /// Where the node listens.
    pub address: SocketAddr,
    /// Application id.
    pub app_id: &'a str,
    /// Where the admin key stands.
    pub admin_key_path: &'a Path,
    /// Key that may only search; fit for showing.
    pub search_key: Option<&'a str>,
    /// An index with records, if there is one.
    pub index: Option<&'a str>,
    /// A word that finds something in it.
    pub query: &'a str,
    /// How this program is called from the shell, with the options that lead to this node.
    pub program: Program<'a>,
}

/// How commands for this node begin and end.
pub struct Program<'a> {
    /// The program as it was called.
    pub name: &'a str,
    /// The data folder, when it is not the default.
    pub data_dir: Option<&'a Path>,
}

/// The text, short and once.
pub fn render(start: &Start<'_>) -> String {
    let Start { address, app_id, admin_key_path, search_key, index, query, program } = start;
    let option = program
        .data_dir
        .map_or(String::new(), |path| format!(" --data-dir {}", word(&path.to_string_lossy())));
    let name = word(program.name);
    let mut text = format!(
        "Quorate {version} listens on http://{address}\n\
         \n  application id  {app_id}\
         \n  admin key       in {path}\n",
        version = env!("CARGO_PKG_VERSION"),
        path = admin_key_path.display(),
    );
    if let Some(key) = search_key {
        text.push_str(&format!("  search key      {key}\n"));
    }
    match index.zip(*search_key) {
        Some((index, search_key)) => text.push_str(&format!(
            "\nTry it:\n\n  {}\n\
             \nNext: {name} search {index} {query}{option}\n      {name} import INDEX FILE{option}\nCtrl-C stops the node.\n",
            curl(*address, app_id, search_key, index, query),
        )),
        None => text.push_str(&format!(
            "\nNext, with a file of JSON lines, a JSON array or CSV:\n\n  {name} import INDEX FILE{option}\n  \
             {name} search INDEX WORDS{option}\n\nCtrl-C stops the node.\n",
        )),
    }
    text
}

/// A text as one word of a shell.
fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', "'\\''")))
}

/// A call that can be pasted into a shell.
fn curl(address: SocketAddr, app_id: &str, key: &str, index: &str, query: &str) -> String {
    format!(
        "curl -s 'http://{address}/1/indexes/{}/query' \
         -H 'X-Algolia-Application-Id: {app_id}' -H 'X-Algolia-API-Key: {key}' \
         -d '{{\"query\":\"{query}\",\"hitsPerPage\":3}}'",
        crate::client::segment(index)
    )
}

/// Why the node does not start, with what helps when its disk is full.
pub fn not_opened(why: &str, data_dir: &Path) -> anyhow::Error {
    match why.contains("No space left on device") {
        true => anyhow::anyhow!(
            "{why}: the disk of {} is full, and a start needs some room; free some there and start again",
            data_dir.display()
        ),
        false => anyhow::anyhow!("{why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_complete_and_keeps_the_admin_key_to_itself() {
        let text = render(&Start {
            address: "127.0.0.1:7700".parse().unwrap(),
            app_id: "APP1",
            admin_key_path: Path::new("data/admin-key"),
            search_key: Some("feed"),
            index: Some("catalogue"),
            query: "lamp",
            program: Program { name: "quorate", data_dir: Some(Path::new("data")) },
        });
        for part in [
            "http://127.0.0.1:7700",
            "APP1",
            "data/admin-key",
            "'{\"query\":\"lamp\",\"hitsPerPage\":3}'",
            "quorate search catalogue lamp --data-dir data",
        ] {
            assert!(text.contains(part), "{text} lacks {part}");
        }
        assert!(text.lines().count() <= 15, "{text}");
    }

    #[test]
    fn paths_stay_one_word_in_a_shell() {
        for (path, expected) in
            [("/var/lib/quorate", "/var/lib/quorate"), ("my data", "'my data'"), ("it's", "'it'\\''s'")]
        {
            assert_eq!(word(path), expected);
        }
    }
}
