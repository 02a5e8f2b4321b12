//! How do events leave an installation, and come into one? `quorate events status`, `export` and `import`.

mod export;
mod files;
mod import;
mod past;
mod status;

use crate::client::{Answer, Client, Credentials};
use crate::config::Values;
use anyhow::{Result, anyhow};
use clap::{Arg, ArgAction, ArgMatches, Command};
use quorate_cluster::damage;
use quorate_model::analytics::Day;
use serde_json::Value;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long a call is made again while nodes are away or busy.
const RETRY: Duration = Duration::from_secs(120);
/// How long it is tried again without a word.
const TOLD_AFTER: Duration = Duration::from_secs(2);
const PAUSE_FIRST: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The command line of `events`; `flags` are those of every command that talks to a node.
pub fn command(flags: impl Fn() -> Vec<Arg>, after_help: &str) -> Command {
    let sub = |name: &'static str, about: &'static str| {
        Command::new(name).about(about).args(flags()).after_help(after_help.to_owned())
    };
    let day = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("YYYY-MM-DD").value_parser(read_day).help(help)
    };
    Command::new("events")
        .about("Look at events, take them to other programs, and bring history in")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            sub("status", "Show rows, bytes and days of events, and how far nodes are behind").arg(
                Arg::new("json")
                    .long("json")
                    .action(ArgAction::SetTrue)
                    .help("Print the answer of the node as it is"),
            ),
        )
        .subcommand(
            sub("export", "Write all events and counted searches as Parquet files, by day")
                .arg(Arg::new("to").long("to").value_name("DIR").required(true).help("Folder to write to"))
                .arg(
                    Arg::new("index")
                        .long("index")
                        .value_name("NAME")
                        .action(ArgAction::Append)
                        .help("Only events of this index; may be given more than once"),
                )
                .arg(day("from", "The first day (UTC)"))
                .arg(day("until", "The last day (UTC)")),
        )
        .subcommand(
            sub(
                "accept-loss",
                "Of a stopped node that is alone: go on without files of events that are damaged or gone",
            )
            .arg(
                Arg::new("confirm")
                    .long("confirm")
                    .value_name("APP_ID")
                    .help("Do it; without it nothing is changed"),
            ),
        )
        .subcommand(
            sub("import", "Bring events and searches of the past in: JSON lines, CSV or Parquet")
                .long_about(
                    "Bring events and searches of the past in, up to the retention of the service. Files have the columns \
                     that export gives, or JSON objects as POST /1/events takes them; .gz is decompressed; of folders \
                     every such file is taken. Each event needs its time. An interrupted import goes on where it stopped \
                     when the same command runs again, and what is sent twice counts once.",
                )
                .arg(
                    Arg::new("file")
                        .value_name("FILE|DIR")
                        .required(true)
                        .num_args(1..)
                        .help("Files, or folders with files"),
                )
                .arg(
                    Arg::new("restart")
                        .long("restart")
                        .action(ArgAction::SetTrue)
                        .help("Start from the first row although an earlier import was interrupted"),
                ),
        )
}

fn read_day(text: &str) -> Result<Day, String> {
    Day::parse(text).ok_or_else(|| "a day is written as YYYY-MM-DD".to_owned())
}

/// Carries out one of the commands.
pub fn run(values: &Values, name: &str, given: &ArgMatches) -> Result<ExitCode> {
    if name == "accept-loss" {
        let confirm = given.get_one::<String>("confirm").map(String::as_str);
        let lost = damage::accept_lost_events(&values.data_dir(), confirm);
        for what in lost.map_err(|error| anyhow!(error.message))? {
            println!("lost: {what}");
        }
        println!("Done: start the node as before.");
        return Ok(ExitCode::SUCCESS);
    }
    let client = Client::find(values, Credentials::Required)?;
    match name {
        "status" => status::run(&client, given.get_flag("json")),
        "export" => export::run(&client, given),
        "import" => import::run(&client, given),
        other => unreachable!("clap knows no command {other}"),
    }
}

/// Makes a call, again while nodes are away or busy, which it says once. Errors: what the node says; or it was away for too long.
fn patiently(mut call: impl FnMut() -> Result<Answer>) -> Result<Value> {
    let begun = Instant::now();
    let (mut pause, mut is_told) = (PAUSE_FIRST, false);
    loop {
        let failed = match call() {
            Ok(answer) if answer.status < 500 => return answer.ok(),
            Ok(answer) => {
                pause = pause.max(Duration::from_secs(answer.retry_after_s.unwrap_or(0)).min(PAUSE_MAX));
                anyhow!(answer.message())
            }
            Err(error) => error,
        };
        if begun.elapsed() + pause > RETRY {
            return Err(failed);
        }
        if begun.elapsed() >= TOLD_AFTER && !std::mem::replace(&mut is_told, true) {
            eprintln!("tried again for up to {} s: {failed:#}", RETRY.as_secs());
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
