//! Can the node serve? `quorate health`.

use crate::client::{Client, Credentials};
use crate::config::Values;
use anyhow::Result;
use serde_json::Value;
use std::process::ExitCode;

/// Prints one line for `/livez` and one for `/readyz` with the reasons; exit code 0 when both are fine. `with_writes`: the node has to
/// take writes for that, too.
pub fn run(values: &Values, with_writes: bool) -> Result<ExitCode> {
    let client = Client::find(values, Credentials::Unneeded)?;
    let mut code = ExitCode::SUCCESS;
    let ready = if with_writes { "/readyz?writes=true" } else { "/readyz" };
    for (name, path) in [("alive", "/livez"), ("ready", ready)] {
        let answer = client.get(path)?;
        let verdict = if answer.status == 200 { "yes" } else { "no" };
        println!("{name}: {verdict}{}", detail(&answer.body));
        if answer.status != 200 {
            code = ExitCode::FAILURE;
        }
    }
    println!("node: {}", client.url);
    Ok(code)
}

/// Every reason in the answer, whatever its place.
fn detail(body: &Value) -> String {
    let mut all = Vec::new();
    collect(body, &mut all);
    let mut reasons: Vec<String> = vec![];
    // one may stand against reads and against writes, and be a part of the message
    all.sort_by_key(|reason| std::cmp::Reverse(reason.len()));
    for reason in all {
        if !reasons.iter().any(|told| told.contains(&reason)) {
            reasons.push(reason);
        }
    }
    match reasons.is_empty() {
        true => String::new(),
        false => format!(" ({})", reasons.join("; ")),
    }
}

fn collect(value: &Value, reasons: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::String(reason) => reasons.push(reason.clone()),
                    other => collect(other, reasons),
                }
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(reason) if name == "message" || name == "reason" => {
                        reasons.push(reason.clone())
                    }
                    other => collect(other, reasons),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_found_wherever_they_stand() {
        let check = |body: Value, expected: &str| assert_eq!(detail(&body), expected);
        check(Value::Null, "");
        check(serde_json::json!({"status": "ok"}), "");
        check(serde_json::json!({"reads": [], "writes": ["disk is almost full"]}), " (disk is almost full)");
        check(serde_json::json!({"message": "starting", "reads": ["b"]}), " (starting; b)");
        let twice = serde_json::json!({"message": "not ready: full", "reads": ["full"], "writes": ["full"]});
        check(twice, " (not ready: full)");
    }
}
