//! How does an operator look at the log of a stopped node, and what can be done when it is damaged? `quorate log …`

use crate::config::Values;
use anyhow::{Result, anyhow};
use clap::{Arg, ArgMatches, Command};
use quorate_cluster::damage;
use std::process::ExitCode;

/// The command line of `log`; `flags` are those of every command that finds the data folder.
pub fn command(flags: impl Fn() -> Vec<Arg>) -> Command {
    let sub = |name: &'static str, about: &'static str| Command::new(name).about(about).args(flags());
    let confirm = || {
        Arg::new("confirm").long("confirm").value_name("APP_ID").help("Do it; without it nothing is changed")
    };
    Command::new("log")
        .about("Look at the log of a stopped node, and go on when it is damaged")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(sub(
            "inspect",
            "Show files, groups and damage; changes nothing, exit code 2 when it is damaged",
        ))
        .subcommand(
            sub(
                "start-anew",
                "Set a damaged node's files aside, so that it takes its place anew from the other nodes",
            )
            .arg(confirm()),
        )
        .subcommand(
            sub(
                "accept-loss",
                "Let a node that is alone go on without what is lost; the damaged log is kept",
            )
            .arg(confirm()),
        )
}

/// Carries out one of the commands.
pub fn run(values: &Values, name: &str, given: &ArgMatches) -> Result<ExitCode> {
    let data_dir = values.data_dir();
    let refused = |error: quorate_model::Error| anyhow!(error.message);
    let report = damage::inspect(&data_dir).map_err(refused)?;
    print!("{}", damage::text(&report, &data_dir));
    if name == "inspect" {
        let is_whole = report.damage.is_empty() && !damage::is_gone(&report, &data_dir);
        return Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(2) });
    }
    let confirm = given.get_one::<String>("confirm").map(String::as_str);
    match name {
        "start-anew" => {
            let aside = damage::start_anew(&data_dir, confirm).map_err(refused)?;
            println!(
                "What the node had is in {}. Start it as before: it joins with a new number.",
                aside.display()
            );
            println!(
                "The others let it in when the old one is taken out (quorate cluster remove NODE --force), or by themselves after a while."
            );
        }
        _ => {
            damage::accept_loss(&data_dir, confirm).map_err(refused)?;
            println!(
                "Done: start the node as before. What is lost stays lost; the damaged log is kept beside it."
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}
