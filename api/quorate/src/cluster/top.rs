//! What does `quorate cluster top` show? Every second the work of each node and how far each group is.

use super::show::label;
use super::table::{Align, Table, bytes};
use crate::client::Client;
use anyhow::Result;
use quorate_cluster::membership::{NodeView, Overview};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Clears the screen and goes to its beginning.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

/// Shows it until interrupted, or once.
pub fn run(client: &Client, once: bool) -> Result<ExitCode> {
    let (mut before, mut at) = (super::look(client)?, Instant::now());
    loop {
        std::thread::sleep(INTERVAL);
        match super::look(client) {
            Ok(now) => {
                let text = text(&before, &now, at.elapsed());
                match once {
                    true => {
                        print!("{text}");
                        return Ok(ExitCode::SUCCESS);
                    }
                    false => println!("{CLEAR}{text}"),
                }
                (before, at) = (now, Instant::now());
            }
            // the node that is asked may be starting anew
            Err(error) if !once => println!("{CLEAR}{error:#}"),
            Err(error) => return Err(error),
        }
    }
}

/// What happened between two looks.
fn text(before: &Overview, now: &Overview, between: Duration) -> String {
    let waits = match now.waits.len() {
        0 => "everything is where it is wanted".to_owned(),
        1 => now.waits[0].clone(),
        count => format!("{} and {} more", now.waits[0], count - 1),
    };
    format!("{}: {waits}\n\n{}\n{}", now.app_id, nodes(before, now, between), groups(now))
}

fn nodes(before: &Overview, now: &Overview, between: Duration) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("node", Left),
        ("state", Left),
        ("leads", Right),
        ("replicas", Right),
        ("lag", Right),
        ("queries/s", Right),
        ("p99", Right),
        ("log", Right),
        ("disk free", Right),
        ("of", Right),
    ]);
    for node in &now.nodes {
        let earlier = before.nodes.iter().find(|it| it.id == node.id).map(|it| &it.queries);
        let queries = earlier.map(|earlier| node.queries.since(earlier)).unwrap_or_default();
        let lags = now.groups.iter().flat_map(|group| &group.replicas).filter(|it| it.node == node.name);
        let of = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), bytes);
        table.row(vec![
            node.name.clone(),
            state(node),
            node.leads.to_string(),
            node.replicas.to_string(),
            lags.map(|it| it.lag).max().unwrap_or(0).to_string(),
            format!("{:.0}", queries.count() as f64 / between.as_secs_f64().max(0.001)),
            queries.percentile_us(99).map_or_else(|| "-".to_owned(), milliseconds),
            of(node.log_bytes),
            of(node.disk_free_bytes),
            of(node.disk_total_bytes),
        ]);
    }
    table.render()
}

fn state(node: &NodeView) -> String {
    let word = match () {
        () if !node.is_reachable => "no answer",
        () if !node.reads.is_empty() => "no reads",
        () if !node.writes.is_empty() => "no writes",
        () => &node.state,
    };
    word.to_owned()
}

fn groups(now: &Overview) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("group", Left),
        ("member", Left),
        ("role", Left),
        ("term", Right),
        ("log", Right),
        ("committed", Right),
        ("applied", Right),
        ("shown", Right),
        ("lag", Right),
        ("lease", Left),
    ]);
    for group in &now.groups {
        for replica in &group.replicas {
            table.row(vec![
                label(group),
                replica.node.clone(),
                replica.role.clone(),
                group.term.to_string(),
                format!("{}..{}", replica.log_first, replica.log_last),
                replica.committed.to_string(),
                replica.applied.to_string(),
                replica.shown.to_string(),
                replica.lag.to_string(),
                (if replica.has_lease { "yes" } else { "no" }).to_owned(),
            ]);
        }
    }
    table.render()
}

fn milliseconds(micros: u64) -> String {
    match micros {
        u64::MAX => "> 5 s".to_owned(),
        micros => format!("{:.1} ms", micros as f64 / 1_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::WIDTH;
    use super::*;
    use quorate_cluster::membership::{GroupView, ReplicaView};
    use quorate_cluster::{QueryFigures, Traffic};

    fn overview(queries: QueryFigures) -> Overview {
        let node = NodeView {
            name: "n1".into(),
            id: "7".into(),
            state: "active".into(),
            is_reachable: true,
            queries,
            ..NodeView::default()
        };
        let replica = ReplicaView {
            node: "n1".into(),
            role: "leader".into(),
            lag: 5,
            shown: 17,
            ..ReplicaView::default()
        };
        let group = GroupView { id: 2, replicas: vec![replica], ..GroupView::default() };
        Overview { app_id: "APP".into(), nodes: vec![node], groups: vec![group], ..Overview::default() }
    }

    #[test]
    fn the_rate_is_that_of_the_time_between_two_looks() {
        let traffic = Traffic::default();
        traffic.record(Duration::from_secs(1));
        let before = overview(traffic.figures());
        for _ in 0..50 {
            traffic.record(Duration::from_micros(1_200));
        }
        let text = text(&before, &overview(traffic.figures()), Duration::from_secs(2));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let node: Vec<&str> = text.lines().nth(3).expect("a node").split_whitespace().collect();
        assert_eq!(node[..8], ["n1", "active", "0", "0", "5", "25", "1.5", "ms"], "{text}");
        let group: Vec<&str> = text.lines().nth(6).expect("a group").split_whitespace().collect();
        assert_eq!(group, ["2", "n1", "leader", "0", "0..0", "0", "0", "17", "5", "no"], "{text}");
    }
}
