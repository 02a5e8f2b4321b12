//! Where do log lines go? To standard error, as text or JSON, filtered by the option `log-level`.

use crate::config::Values;
use anyhow::{Context, Result};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// What libraries say about their own start is no news, and what is not HTTP is answered 400, which is no error of the
/// node; a rule of the operator wins.
const QUIET: &str = "actix_server=warn,actix_http::h1=off";

/// Installs the logger of the process. Errors: a filter that cannot be read.
pub fn install(values: &Values) -> Result<()> {
    let level = values.text("log-level").unwrap_or("info");
    let filter = EnvFilter::try_new(format!("{QUIET},{level}"))
        .with_context(|| format!("log-level `{level}` cannot be read"))?;
    // A log that cannot be written, on a full disk for instance, must not stop the work it is about.
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .log_internal_errors(false);
    match values.text("log-format") {
        Some("json") => lines.json().flatten_event(true).init(),
        _ => lines.with_ansi(std::io::stderr().is_terminal()).init(),
    }
    Ok(())
}
