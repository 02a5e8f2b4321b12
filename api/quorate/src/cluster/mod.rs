//! How does an operator look after the nodes of an installation? `quorate cluster status`, `top`, `add`, `drain`, …

mod add;
mod show;
mod table;
mod top;

use crate::client::{Client, Credentials, Encoding, segment};
use crate::config::{Values, read_key};
use anyhow::{Context, Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use quorate_cluster::Recovery;
use quorate_cluster::membership::Overview;
use serde_json::{Value, json};
use std::process::ExitCode;

/// File in the data folder that holds what all nodes share.
const JOIN_TOKEN_FILE: &str = "join-token";

/// The command line of `cluster`; `flags` are those of every command that talks to a node.
pub fn command(flags: impl Fn() -> Vec<Arg>, after_help: &str) -> Command {
    let sub = |name: &'static str, about: &'static str| {
        Command::new(name).about(about).args(flags()).after_help(after_help.to_owned())
    };
    let node = || Arg::new("node").value_name("NODE").required(true).help("Name of the node");
    let force = |help: &'static str| Arg::new("force").long("force").action(ArgAction::SetTrue).help(help);
    Command::new("cluster")
        .about("Look after the nodes of an installation")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            sub("status", "Show nodes and groups, and what is not as it should be").arg(
                Arg::new("json")
                    .long("json")
                    .action(ArgAction::SetTrue)
                    .help("Print the answer of the node as it is"),
            ),
        )
        .subcommand(
            sub("top", "Show every second how far nodes and groups are, until interrupted").arg(
                Arg::new("once")
                    .long("once")
                    .action(ArgAction::SetTrue)
                    .help("Show it once, without clearing the screen"),
            ),
        )
        .subcommand(sub("add", "Print the command that starts a further node"))
        .subcommand(sub("token", "Print the join token in the data folder"))
        .subcommand(sub("drain", "Move everything off a node, which goes on answering").arg(node()))
        .subcommand(sub("undrain", "Let a drained node hold replicas again").arg(node()))
        .subcommand(
            sub("remove", "Take a node out for good")
                .arg(node())
                .arg(force("Also when it is alive and not drained")),
        )
        .subcommand(
            sub("replace", "Put a new node in the place of a dead one, which is taken out for good")
                .arg(node())
                .arg(
                    Arg::new("with")
                        .long("with")
                        .value_name("NODE")
                        .help("The new node [default: the one that joined last]"),
                )
                .arg(force("Also when the old one is alive and not drained")),
        )
        .subcommand(
            sub(
                "recover",
                "Go on with the stopped node of the data folder alone when the majority is lost for good",
            )
            .arg(
                Arg::new("confirm")
                    .long("confirm")
                    .value_name("APP_ID")
                    .help("Carry the plan out; without it the plan is only printed"),
            ),
        )
        .subcommand(
            sub("transfer", "Hand a group to another leader")
                .arg(
                    Arg::new("group")
                        .value_name("GROUP")
                        .required(true)
                        .value_parser(value_parser!(u16))
                        .help("Number of the group; 0 is the meta group"),
                )
                .arg(node()),
        )
}

/// Carries out one of the commands.
pub fn run(values: &Values, name: &str, given: &ArgMatches) -> Result<ExitCode> {
    match name {
        "token" => return token(values),
        "recover" => return recover(values, given.get_one::<String>("confirm").map(String::as_str)),
        _ => {}
    }
    let client = Client::find(values, Credentials::Required)?;
    let node = || segment(given.get_one::<String>("node").expect("clap requires it"));
    let force = || if given.get_flag("force") { "?force=true" } else { "" };
    match name {
        "status" => return status(&client, given.get_flag("json")),
        "top" => return top::run(&client, given.get_flag("once")),
        "add" => print!("{}", add::text(&look(&client)?, &values.data_dir().join(JOIN_TOKEN_FILE))),
        "drain" | "undrain" => tell(&client, &format!("/admin/nodes/{}/{name}", node()), &Value::Null)?,
        "remove" => {
            let path = format!("/admin/nodes/{}{}", node(), force());
            said(&client.delete(&path)?.ok()?);
        }
        "replace" => {
            let with = given.get_one::<String>("with").map_or(json!({}), |with| json!({ "with": with }));
            tell(&client, &format!("/admin/nodes/{}/replace{}", node(), force()), &with)?;
        }
        "transfer" => {
            let group: &u16 = given.get_one("group").expect("clap requires it");
            let node: &String = given.get_one("node").expect("clap requires it");
            tell(&client, &format!("/admin/groups/{group}/leader"), &json!({ "node": node }))?;
        }
        other => unreachable!("clap knows no command {other}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// How the installation is now.
fn look(client: &Client) -> Result<Overview> {
    let answer = client.get("/admin/cluster")?.ok()?;
    serde_json::from_value(answer).with_context(|| format!("{} is a node of another version", client.url))
}

/// Exit code 0 when everything is where it is wanted.
fn status(client: &Client, as_json: bool) -> Result<ExitCode> {
    let overview = match as_json {
        true => {
            let answer = client.get("/admin/cluster")?.ok()?;
            println!("{answer:#}");
            serde_json::from_value(answer)?
        }
        false => {
            let overview = look(client)?;
            print!("{}", show::status(&overview));
            overview
        }
    };
    Ok(if overview.is_settled { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn tell(client: &Client, path: &str, body: &Value) -> Result<()> {
    let body = if body.is_null() { vec![] } else { serde_json::to_vec(body)? };
    said(&client.post(path, &body, Encoding::Plain)?.ok()?);
    Ok(())
}

fn said(answer: &Value) {
    println!("{}", answer["message"].as_str().unwrap_or("done"));
}

fn token(values: &Values) -> Result<ExitCode> {
    let path = values.data_dir().join(JOIN_TOKEN_FILE);
    if !path.exists() {
        bail!(
            "there is no join token in {}: the node of this folder was never started with --peer-listen",
            values.data_dir().display()
        );
    }
    println!("{}", read_key(&path)?);
    Ok(ExitCode::SUCCESS)
}

/// Prints the plan, or carries it out.
fn recover(values: &Values, confirm: Option<&str>) -> Result<ExitCode> {
    let data_dir = values.data_dir();
    let refused = |error: quorate_model::Error| anyhow::anyhow!(error.message);
    let recovery = Recovery::open(&data_dir).map_err(refused)?;
    let plan = recovery.plan().clone();
    let Some(confirm) = confirm else {
        print!("{}", plan.text());
        if plan.obstacles.is_empty() {
            let folder = data_dir.display();
            println!("\nTo do it: quorate cluster recover --data-dir {folder} --confirm {}", plan.app_id);
        }
        return Ok(ExitCode::SUCCESS);
    };
    recovery.carry_out(confirm).map_err(refused)?;
    println!(
        "{} is the only node of {} now: start it as before. Delete the folders of {}, then let them join anew.",
        plan.node,
        plan.app_id,
        plan.others.join(", ")
    );
    Ok(ExitCode::SUCCESS)
}
