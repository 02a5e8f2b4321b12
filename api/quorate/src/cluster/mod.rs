//! How does an operator look after the nodes of an installation? `quorate cluster status`, `top`, `add`, `drain`, …

mod add;
mod show;
mod table;
mod top;

use crate::client::{Client, Credentials, Encoding, segment};
use crate::config::{Values, read_key};
use anyhow::{Context, Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use quorate_cluster::membership::Overview;
use quorate_cluster::peer::ClusterSecret;
use quorate_cluster::{Loss, NodeSurvey, Recovery};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
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
        .subcommand(sub("token", "Print the join token in the data folder").arg(
            Arg::new("new").long("new").action(ArgAction::SetTrue).help("Make a new one and print that"),
        ))
        .subcommand(sub("drain", "Move everything off a node, which goes on answering").arg(node()))
        .subcommand(sub("undrain", "Let a drained node hold replicas again").arg(node()))
        .subcommand(
            sub("remove", "Take a node out for good")
                .arg(node())
                .arg(force("Also when it is alive and not drained, unless groups would lose their majority")),
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
            sub("recover", "Go on with the stopped nodes that are left when the majority is lost for good")
                .arg(
                    Arg::new("write-survey")
                        .long("write-survey")
                        .value_name("FILE")
                        .value_parser(value_parser!(PathBuf))
                        .conflicts_with_all(["survey", "confirm", "lose-groups"])
                        .help("Only write what this node has to a file, for several nodes to go on together"),
                )
                .arg(
                    Arg::new("survey")
                        .long("survey")
                        .value_name("FILE")
                        .value_parser(value_parser!(PathBuf))
                        .action(ArgAction::Append)
                        .help(
                            "What one of the nodes has that go on; give those of all, the same on each node",
                        ),
                )
                .arg(
                    Arg::new("lose-groups")
                        .long("lose-groups")
                        .action(ArgAction::SetTrue)
                        .help("Carry the plan out although there are groups that none of these nodes has"),
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
        "token" if given.get_flag("new") => {
            println!("{}", ClusterSecret::random().to_token());
            return Ok(ExitCode::SUCCESS);
        }
        "token" => return token(values),
        "recover" => return recover(values, given),
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

/// Exit code 0 when everything is where it is wanted and every node takes all calls.
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
    Ok(if overview.is_settled && overview.takes_all_calls() { ExitCode::SUCCESS } else { ExitCode::from(2) })
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
    if !path.try_exists().with_context(|| format!("cannot look at {}", path.display()))? {
        bail!(
            "there is no join token in {}: the node of this folder was never started with --peer-listen",
            values.data_dir().display()
        );
    }
    println!("{}", read_key(&path)?);
    Ok(ExitCode::SUCCESS)
}

/// Writes what the node has, prints the plan, or carries it out.
fn recover(values: &Values, given: &ArgMatches) -> Result<ExitCode> {
    let data_dir = values.data_dir();
    let refused = |error: quorate_model::Error| anyhow::anyhow!(error.message);
    if let Some(file) = given.get_one::<PathBuf>("write-survey") {
        let survey = serde_json::to_vec_pretty(&Recovery::survey(&data_dir).map_err(refused)?)?;
        std::fs::write(file, survey).with_context(|| format!("cannot write {}", file.display()))?;
        println!("{} says what this node has. Do not start the node before all is done.", file.display());
        return Ok(ExitCode::SUCCESS);
    }
    let files: Vec<&PathBuf> = given.get_many("survey").unwrap_or_default().collect();
    let surveys: Result<Vec<NodeSurvey>> = files.iter().map(|file| read_survey(file)).collect();
    let recovery = Recovery::open(&data_dir, surveys?).map_err(refused)?;
    let plan = recovery.plan().clone();
    let Some(confirm) = given.get_one::<String>("confirm") else {
        print!("{}", plan.text());
        let surveys: String = files.iter().map(|file| format!(" --survey {}", file.display())).collect();
        let loss = if plan.emptied().next().is_some() { " --lose-groups" } else { "" };
        let (folder, app_id) = (data_dir.display(), &plan.app_id);
        println!(
            "\nTo do it: quorate cluster recover --data-dir {folder}{surveys}{loss} --confirm {app_id}{}",
            if files.len() > 1 {
                "\non each of these nodes with its own folder, before any of them is started"
            } else {
                ""
            }
        );
        return Ok(ExitCode::SUCCESS);
    };
    let loss = if given.get_flag("lose-groups") { Loss::Accepted } else { Loss::Refused };
    recovery.carry_out(confirm, loss).map_err(refused)?;
    match plan.survivors.as_slice() {
        [only] => println!("{only} is the only node of {} now: start it as before.", plan.app_id),
        several => println!(
            "Done here. When it is done on each of {}, start them all as before.",
            several.join(", ")
        ),
    }
    let removed: Vec<&str> = plan.removed.values().map(String::as_str).collect();
    if !removed.is_empty() {
        println!("Delete the folders of {}, then let them join anew.", removed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

fn read_survey(file: &Path) -> Result<NodeSurvey> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is not what --write-survey writes", file.display()))
}
