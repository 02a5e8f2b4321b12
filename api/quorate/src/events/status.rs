//! What is there of events, and how far is each node?

use super::patiently;
use crate::client::Client;
use anyhow::Result;
use serde_json::Value;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Prints it. Exit code 2 when a node did not answer.
pub fn run(client: &Client, as_json: bool) -> Result<ExitCode> {
    let found = patiently(|| client.get("/admin/events"))?;
    match as_json {
        true => println!("{found:#}"),
        false => print!("{}", shown(&found)),
    }
    let is_whole = found["unreachable"].as_array().is_none_or(Vec::is_empty);
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn shown(found: &Value) -> String {
    let list = |of: &Value, name: &str| of[name].as_array().cloned().unwrap_or_default();
    let mut out = match found["oldestDay"].as_str() {
        None => "no events\n".to_owned(),
        Some(oldest) => format!(
            "{} rows, {} bytes in files, from {oldest} to {}\n",
            found["rows"],
            found["bytes"],
            found["newestDay"].as_str().unwrap_or_default()
        ),
    };
    out.push_str("\ngroup  node              rows         bytes        figures      waiting  behind  days\n");
    for group in list(found, "groups") {
        for replica in list(&group, "nodes") {
            let days = match (replica["oldestDay"].as_str(), replica["newestDay"].as_str()) {
                (Some(oldest), Some(newest)) => format!("{oldest} to {newest}"),
                _ => "-".to_owned(),
            };
            let number = |name: &str| replica[name].as_u64().unwrap_or_default();
            let node = replica["node"].as_str().unwrap_or_default();
            writeln!(
                out,
                "{:<6} {node:<17} {:<12} {:<12} {:<12} {:<8} {:<7} {days}",
                group["group"].as_u64().unwrap_or_default(),
                number("rows"),
                number("bytes"),
                number("rollupBytes"),
                number("waitingRows"),
                number("lagEntries"),
            )
            .expect("a String takes everything");
        }
    }
    for replica in list(found, "groups").iter().flat_map(|group| list(group, "nodes")) {
        if let files @ 1.. = replica["lostFiles"].as_u64().unwrap_or_default() {
            let node = replica["node"].as_str().unwrap_or_default();
            writeln!(
                out,
                "{node} has lost {files} files with {} rows: quorate cluster status says which",
                replica["lostRows"]
            )
            .expect("a String takes everything");
        }
    }
    for unheard in list(found, "unreachable") {
        let text = |name: &str| unheard[name].as_str().unwrap_or_default().to_owned();
        writeln!(out, "{} did not answer: {}", text("node"), text("reason"))
            .expect("a String takes everything");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nodes_are_rows_of_a_table() {
        assert!(
            shown(&json!({"rows": 0, "bytes": 0, "groups": [], "unreachable": []}))
                .starts_with("no events\n")
        );
        let node = json!({"node": "one", "rows": 5, "bytes": 70, "rollupBytes": 8, "waitingRows": 2, "waitingBytes": 9, "lagEntries": 3,
            "lostFiles": 1, "lostRows": 6, "oldestDay": "2026-01-01", "newestDay": "2026-01-02"});
        let found = json!({"rows": 7, "bytes": 70, "oldestDay": "2026-01-01", "newestDay": "2026-01-02",
            "groups": [{"group": 4, "days": [], "nodes": [node]}],
            "unreachable": [{"node": "two", "reason": "it cannot be reached"}]});
        let lines: Vec<String> = shown(&found).lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "7 rows, 70 bytes in files, from 2026-01-01 to 2026-01-02");
        assert_eq!(
            lines[3].split_whitespace().collect::<Vec<_>>().join(" "),
            "4 one 5 70 8 2 3 2026-01-01 to 2026-01-02"
        );
        assert_eq!(lines[4], "one has lost 1 files with 6 rows: quorate cluster status says which");
        assert_eq!(lines[5], "two did not answer: it cannot be reached");
    }
}
