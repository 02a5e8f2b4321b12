//! What do operators see of a node: a figure, what the program prints?

use crate::binary;
use crate::client::Client;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// A figure of `/metrics` by its name, with its labels when it has some.
pub fn metric(client: &Client, name: &str) -> Result<f64> {
    let text = client.get("/metrics")?.body;
    let lines = || text.as_str().unwrap_or_default().lines();
    let line = lines().find(|line| line.starts_with(&format!("{name} "))).context(name.to_owned())?;
    Ok(line.rsplit(' ').next().unwrap_or_default().parse()?)
}

/// What the program prints on the data folder of a node that runs.
pub fn printed(data_dir: &Path, words: &[&str]) -> Result<String> {
    let mut command = Command::new(binary::path()?);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("QUORATE_")) {
        command.env_remove(name);
    }
    let output = command.args(words).arg("--data-dir").arg(data_dir).output()?;
    Ok([output.stdout, output.stderr].iter().map(|said| String::from_utf8_lossy(said).into_owned()).collect())
}
