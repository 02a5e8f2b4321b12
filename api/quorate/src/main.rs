//! Which command was asked for? `quorate serve`, `import`, `search`, `health`, `keys`, `cluster`, `events`, `log` and `config`.

mod client;
mod cluster;
mod config;
mod demo;
mod events;
mod health;
mod import;
mod keys;
mod log;
mod logging;
mod options;
mod output;
mod process;
mod roots;
mod search;
mod serve;
mod signals;
mod sink;
mod start_text;

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};
use config::{Environment, Values};
use options::{Audience, Exposure, Kind, OPTIONS};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let matches = command().get_matches();
    if matches.subcommand_name() != Some("serve") {
        output::end_with_its_reader();
    }
    match run(&matches) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(matches: &ArgMatches) -> Result<ExitCode> {
    let environment = Environment::of_process();
    match matches.subcommand() {
        Some(("serve", given)) => serve::run(&|| values(Audience::Server, given, &environment)),
        Some(("import", given)) => import::run(&values(Audience::Client, given, &environment)?, given),
        Some(("search", given)) => search::run(&values(Audience::Client, given, &environment)?, given),
        Some(("health", given)) => {
            health::run(&values(Audience::Client, given, &environment)?, given.get_flag("writes"))
        }
        Some(("keys", given)) => {
            let (name, given) = given.subcommand().expect("clap requires a command of keys");
            keys::run(&values(Audience::Client, given, &environment)?, name, given)
        }
        Some(("cluster", given)) => {
            let (name, given) = given.subcommand().expect("clap requires a command of cluster");
            cluster::run(&values(Audience::Client, given, &environment)?, name, given)
        }
        Some(("events", given)) => {
            let (name, given) = given.subcommand().expect("clap requires a command of events");
            events::run(&values(Audience::Client, given, &environment)?, name, given)
        }
        Some(("log", given)) => {
            let (name, given) = given.subcommand().expect("clap requires a command of log");
            log::run(&values(Audience::Client, given, &environment)?, name, given)
        }
        Some(("config", _)) => {
            print!("{}", config::sample());
            Ok(ExitCode::SUCCESS)
        }
        _ => unreachable!("clap requires one of the commands above"),
    }
}

fn values(audience: Audience, given: &ArgMatches, environment: &Environment) -> Result<Values> {
    let mut flags = Vec::new();
    for row in OPTIONS.iter().filter(|row| row.concerns(audience) && row.exposure == Exposure::Open) {
        if row.kind == Kind::Switch {
            if given.get_flag(row.name) {
                flags.push((row.name, "true".to_owned()));
            }
        } else if row.kind == Kind::Addresses {
            let values: Vec<&str> =
                given.get_many::<String>(row.name).into_iter().flatten().map(String::as_str).collect();
            if !values.is_empty() {
                flags.push((row.name, values.join(",")));
            }
        } else if let Some(value) = given.get_one::<String>(row.name) {
            flags.push((row.name, value.clone()));
        }
    }
    config::resolve(audience, &flags, environment)
}

fn command() -> Command {
    Command::new("quorate")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A search service for your own machines")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("serve")
                .about("Run a node")
                .args(flags(Audience::Server))
                .after_help(secrets(Audience::Server)),
        )
        .subcommand(import::command().args(flags(Audience::Client)).after_help(secrets(Audience::Client)))
        .subcommand(search::command().args(flags(Audience::Client)).after_help(secrets(Audience::Client)))
        .subcommand(
            Command::new("health")
                .about("Ask a node whether it can serve; exit code 0 when it can")
                .arg(
                    Arg::new("writes")
                        .long("writes")
                        .action(ArgAction::SetTrue)
                        .help("Exit code 0 only when it takes writes, too"),
                )
                .args(flags(Audience::Client))
                .after_help(secrets(Audience::Client)),
        )
        .subcommand(keys::command(|| flags(Audience::Client).collect(), &secrets(Audience::Client)))
        .subcommand(cluster::command(|| flags(Audience::Client).collect(), &secrets(Audience::Client)))
        .subcommand(events::command(|| flags(Audience::Client).collect(), &secrets(Audience::Client)))
        .subcommand(log::command(|| flags(Audience::Client).collect()))
        .subcommand(Command::new("config").about("Print an annotated configuration file with the defaults"))
}

fn flags(audience: Audience) -> impl Iterator<Item = Arg> {
    OPTIONS.iter().filter(move |row| row.concerns(audience) && row.exposure == Exposure::Open).map(|row| {
        let mut help = format!("{} [env: {}]", row.help, row.env());
        if let (Some(default), false) = (row.default, row.kind == Kind::Switch) {
            help.push_str(&format!(" [default: {default}]"));
        }
        let arg = Arg::new(row.name).long(row.name).help(help);
        match row.kind {
            Kind::Switch => arg.action(ArgAction::SetTrue),
            Kind::Path => arg.value_name("PATH"),
            Kind::Address => arg.value_name("HOST:PORT"),
            Kind::Addresses => arg.value_name("HOST:PORT").action(ArgAction::Append),
            Kind::Url => arg.value_name("URL"),
            Kind::Bytes | Kind::Limit => arg.value_name("BYTES"),
            Kind::Text | Kind::Count | Kind::Seconds | Kind::Word(_) => arg.value_name("VALUE"),
        }
    })
}

fn secrets(audience: Audience) -> String {
    let mut text = String::from("Only in the environment:\n");
    for row in OPTIONS.iter().filter(|row| row.concerns(audience) && row.exposure == Exposure::Secret) {
        text.push_str(&format!("  {}  {}\n", row.env(), row.help));
    }
    text.push_str("A flag wins over the environment, the environment over the file of --config, the file over the default.");
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }

    #[test]
    fn an_unknown_flag_names_the_near_one() {
        let error =
            super::command().try_get_matches_from(["quorate", "serve", "--data-dri", "x"]).unwrap_err();
        assert!(error.to_string().contains("--data-dir"), "{error}");
    }
}
