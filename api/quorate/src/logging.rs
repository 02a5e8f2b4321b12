//! Where do log lines go? To standard error, as text or JSON, filtered by the option `log-level`.

use crate::config::Values;
use crate::output;
use anyhow::{Context, Result, bail};
use tracing_subscriber::EnvFilter;

/// What libraries say about their own start is no news, and what is not HTTP is answered 400, which is no error of the
/// node; a rule of the operator wins.
const QUIET: &str = "actix_server=warn,actix_http::h1=off";

/// Changes what is logged while the process runs.
pub struct Log(Box<dyn Fn(EnvFilter) -> Result<()>>);

impl Log {
    /// Installs the logger of the process. Errors: a filter that cannot be read.
    pub fn install(values: &Values) -> Result<Log> {
        // A log that cannot be written, on a full disk for instance, must not stop the work it is about.
        let lines = tracing_subscriber::fmt()
            .with_env_filter(filter(values)?)
            .with_writer(std::io::stderr)
            .log_internal_errors(false);
        Ok(match values.text("log-format") {
            Some("json") => {
                let lines = lines.json().flatten_event(true).with_filter_reloading();
                let handle = lines.reload_handle();
                lines.init();
                Log(Box::new(move |filter| Ok(handle.reload(filter)?)))
            }
            _ => {
                let lines =
                    lines.with_ansi(output::takes_colours(&std::io::stderr())).with_filter_reloading();
                let handle = lines.reload_handle();
                lines.init();
                Log(Box::new(move |filter| Ok(handle.reload(filter)?)))
            }
        })
    }
    /// Filters by these values from now on. Errors: a filter that cannot be read; then nothing changes.
    pub fn set(&self, values: &Values) -> Result<()> {
        (self.0)(filter(values)?)
    }
}

fn filter(values: &Values) -> Result<EnvFilter> {
    let level = values.text("log-level").unwrap_or("info");
    check(level)?;
    EnvFilter::try_new(format!("{QUIET},{level}"))
        .with_context(|| format!("log-level `{level}` cannot be read"))
}

/// Levels of log lines, and none.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// Refuses a word that is no level: the library takes it for the name of a part of the program.
fn check(filter: &str) -> Result<()> {
    for rule in filter.split(',').map(str::trim) {
        let level = rule.rsplit_once('=').map_or(rule, |(_, level)| level).to_ascii_lowercase();
        if !LEVELS.contains(&level.as_str()) {
            bail!(
                "log-level: `{rule}` is not one of {}, nor a rule such as quorate_cluster=debug",
                LEVELS.join(", ")
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for filter in ["info", "WARN", "off", "info,quorate_cluster=debug", "quorate::request=off, warn"] {
            assert!(check(filter).is_ok(), "{filter}");
        }
        for filter in ["verbose", "", "info,loud", "quorate_cluster", "quorate=loud"] {
            assert!(check(filter).is_err(), "{filter}");
        }
    }
}
