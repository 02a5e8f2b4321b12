//! What does `quorate cluster status` print? A line about the whole, a table of nodes, one of groups, and what waits.

use super::table::{Align, Table, bytes, duration};
use quorate_cluster::membership::{ActorReport, GroupView, NodeView, Overview};
use std::collections::BTreeMap;

/// Lines about what waits at most.
const WAITS_SHOWN: usize = 20;
/// Actors that are shown at most, and what is long for them.
const ACTORS_SHOWN: usize = 20;
const LONG_MS: u64 = 1_000;

/// The whole text.
pub fn status(overview: &Overview) -> String {
    let reached = overview.nodes.iter().filter(|node| node.is_reachable).count();
    let mut text = format!(
        "Installation {}: {reached} of {} nodes reached, asked {}\n",
        overview.app_id,
        overview.nodes.len(),
        overview.answered_by
    );
    text.push_str(&levels(overview));
    let removed = |reason: &String| reason.starts_with("this node was removed");
    let own = overview.nodes.iter().find(|node| node.name == overview.answered_by);
    if own.is_none_or(|own| own.reads.iter().any(removed)) {
        text.push_str(&format!(
            "{} was removed from the installation and hears nothing of it: ask another node\n",
            overview.answered_by
        ));
    }
    text.push('\n');
    text.push_str(&nodes(&overview.nodes));
    text.push('\n');
    text.push_str(&groups(&overview.groups));
    text.push('\n');
    text.push_str(&actors(&overview.nodes));
    text.push_str(&waits(overview));
    text
}

/// A line while some nodes know newer commands than are used; nothing otherwise.
fn levels(overview: &Overview) -> String {
    let held_back = overview.nodes.iter().any(|node| node.level > overview.level);
    let old = overview.nodes.iter().filter(|node| node.level <= overview.level);
    let old: Vec<&str> = old.map(|node| node.name.as_str()).collect();
    match held_back {
        true => format!(
            "Commands up to level {} are used: {} must be upgraded before newer ones\n",
            overview.level,
            old.join(", ")
        ),
        false => String::new(),
    }
}

fn nodes(nodes: &[NodeView]) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("node", Left),
        ("cluster", Left),
        ("state", Left),
        ("clients at", Left),
        ("up", Right),
        ("version", Left),
        ("leads", Right),
        ("log", Right),
        ("disk free", Right),
        ("clock", Right),
    ]);
    for node in nodes {
        let of = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        table.row(vec![
            node.name.clone(),
            node.cluster.clone(),
            if node.is_reachable { node.state.clone() } else { "no answer".to_owned() },
            node.http_address.clone(),
            of(node.up_seconds.map(duration)),
            of(node.version.clone()),
            format!("{}/{}", node.leads, node.replicas),
            of(node.log_bytes.map(bytes)),
            of(node.disk_free_bytes.map(bytes)),
            of(node.clock_ahead_ms.map(|ms| format!("{ms:+} ms"))),
        ]);
    }
    table.render()
}

fn groups(groups: &[GroupView]) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("group", Left),
        ("cluster", Left),
        ("leader", Left),
        ("term", Right),
        ("voters", Left),
        ("learners", Left),
        ("log", Right),
        ("committed", Right),
        ("lag", Right),
        ("full", Right),
        ("leases", Right),
    ]);
    for group in groups {
        let leader = group.replicas.iter().find(|it| Some(&it.node) == group.leader.as_ref());
        let lag = group.replicas.iter().map(|it| it.lag).max().unwrap_or(0);
        let leases = group.replicas.iter().filter(|it| it.has_lease).count();
        table.row(vec![
            label(group),
            group.cluster.clone().unwrap_or_default(),
            group.leader.clone().unwrap_or_else(|| "none".to_owned()),
            group.term.to_string(),
            group.voters.join(" "),
            group.learners.join(" "),
            leader.map_or_else(|| "-".to_owned(), |it| format!("{}..{}", it.log_first, it.log_last)),
            leader.map_or_else(|| "-".to_owned(), |it| it.committed.to_string()),
            lag.to_string(),
            format!("{}/{}", group.full_copies, group.voters.len() + group.learners.len()),
            format!("{leases}/{}", group.voters.len() + group.learners.len()),
        ]);
    }
    table.render()
}

/// The number of a group, or what it is.
pub fn label(group: &GroupView) -> String {
    match group.id {
        0 => "meta".to_owned(),
        id => id.to_string(),
    }
}

/// The actors that something has long waited for, or that something failed in; nothing when there are none.
fn actors(nodes: &[NodeView]) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("node", Left),
        ("actor", Left),
        ("queued", Right),
        ("bytes", Right),
        ("oldest", Right),
        ("waits for", Left),
    ]);
    let behind = |actor: &&ActorReport| actor.head_age_ms >= LONG_MS || actor.last_error.is_some();
    let all = nodes.iter().flat_map(|node| node.actors.iter().filter(behind).map(move |actor| (node, actor)));
    let mut failed = String::new();
    let mut is_empty = true;
    for (node, actor) in all.take(ACTORS_SHOWN) {
        let name = format!("{} {}", actor.kind.name(), actor.of);
        table.row(vec![
            node.name.clone(),
            name.trim_end().to_owned(),
            actor.queued.to_string(),
            bytes(actor.queued_bytes),
            duration(actor.head_age_ms / 1_000),
            actor.waits_for.clone(),
        ]);
        if let Some(error) = &actor.last_error {
            failed.push_str(&format!("  {} {}: {error}\n", node.name, name.trim_end()));
        }
        is_empty = false;
    }
    match (is_empty, failed.is_empty()) {
        (true, _) => String::new(),
        (false, true) => table.render() + "\n",
        (false, false) => format!("{}Failed last:\n{failed}\n", table.render()),
    }
}

fn waits(overview: &Overview) -> String {
    let mut text = String::from(match overview.takes_all_calls() {
        true => "Everything is where it is wanted.\n",
        false => "Everything is where it is wanted, but not all calls are taken:\n",
    });
    if !overview.is_settled {
        text = String::from("Not as it should be yet:\n");
        for wait in overview.waits.iter().take(WAITS_SHOWN) {
            text.push_str(&format!("  {wait}\n"));
        }
        if overview.waits.len() > WAITS_SHOWN {
            text.push_str(&format!("  and {} more\n", overview.waits.len() - WAITS_SHOWN));
        }
    }
    for (node, count) in only_voters(&overview.groups) {
        let of = if count == 1 { "1 group".to_owned() } else { format!("{count} groups") };
        text.push_str(&format!(
            "  {node} alone votes in {of}: they stop without it, and only its disk may have the last writes\n"
        ));
    }
    // a node that takes no writes may hold all that it should
    for node in &overview.nodes {
        for reason in node.reads.iter().chain(&node.writes) {
            text.push_str(&format!("  {}: {reason}\n", node.name));
        }
    }
    for node in &overview.nodes {
        for warning in &node.warnings {
            text.push_str(&format!("  {}: {warning}\n", node.name));
        }
    }
    text
}

/// The nodes that are the only voters of groups which others follow, and of how many.
fn only_voters(groups: &[GroupView]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for group in groups.iter().filter(|group| !group.learners.is_empty()) {
        if let [only] = &group.voters[..] {
            *counts.entry(only.as_str()).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::table::WIDTH;
    use super::*;
    use quorate_cluster::membership::ReplicaView;

    fn overview() -> Overview {
        let node = |name: &str, is_reachable: bool| NodeView {
            name: name.to_owned(),
            cluster: "main".into(),
            state: "active".into(),
            http_address: format!("search-{name}.internal.example.org:7700"),
            is_reachable,
            up_seconds: is_reachable.then_some(90_061),
            log_bytes: is_reachable.then_some(123_456_789),
            clock_ahead_ms: Some(-3),
            ..NodeView::default()
        };
        let replica = ReplicaView {
            node: "n1".into(),
            log_first: 2_000_000,
            log_last: 3_000_000,
            committed: 3_000_000,
            lag: 7,
            has_lease: true,
            ..ReplicaView::default()
        };
        let group = GroupView {
            id: 3,
            cluster: Some("main".into()),
            leader: Some("n1".into()),
            voters: vec!["n1".into(), "n2".into(), "n3".into()],
            replicas: vec![replica],
            full_copies: 2,
            ..GroupView::default()
        };
        Overview {
            app_id: "APP".into(),
            answered_by: "n1".into(),
            level: 1,
            is_settled: false,
            waits: (0..30).map(|number| format!("group {number}: no leader")).collect(),
            nodes: vec![node("n1", true), node("n2", false)],
            groups: vec![GroupView::default(), group],
            claims: vec![],
        }
    }

    #[test]
    fn the_status_fits_a_terminal_and_says_what_waits() {
        let text = status(&overview());
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let expected = [
            "1 of 2 nodes reached",
            "no answer",
            "1d 1h",
            "123 MB",
            "2000000..3000000",
            "1/3",
            "2/3",
            "meta",
            "and 10 more",
        ];
        for part in expected {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        assert!(!text.contains("must be upgraded"), "{text}");
        let mut mixed = overview();
        mixed.nodes[1].level = 2;
        let name = mixed.nodes[0].name.clone();
        let text = status(&mixed);
        assert!(text.contains("Commands up to level 1 are used") && text.contains(&name), "{text}");
        assert!(!text.contains("waits for"), "{text}");
        let mut behind = overview();
        let actor = ActorReport {
            of: "3".into(),
            queued: 12,
            queued_bytes: 5_000_000,
            head_age_ms: 65_000,
            ..ActorReport::default()
        };
        let failing = ActorReport {
            waits_for: "another attempt".into(),
            last_error: Some("disk full".into()),
            ..actor.clone()
        };
        let well = ActorReport { of: "4".into(), head_age_ms: 900, ..actor.clone() };
        behind.nodes[1].actors = vec![actor, well, failing];
        let text = status(&behind);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        for part in ["apply 3", "5.0 MB", "another attempt", "n2 apply 3: disk full"] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
        assert!(!text.contains("apply 4"), "{text}");
        let mut of_two = overview();
        (of_two.groups[1].voters, of_two.groups[1].learners) = (vec!["n1".into()], vec!["n2".into()]);
        let text = status(&of_two);
        assert!(text.contains("n1 alone votes in 1 group: they stop"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let removed = Overview { answered_by: "n9".into(), ..overview() };
        assert!(status(&removed).contains("n9 was removed from the installation"));
        let settled = Overview { is_settled: true, ..overview() };
        assert!(status(&settled).ends_with("Everything is where it is wanted.\n"));
        let mut full = settled;
        full.nodes[0].writes.push("disk is almost full".to_owned());
        let said =
            "Everything is where it is wanted, but not all calls are taken:\n  n1: disk is almost full\n";
        assert!(status(&full).ends_with(said));
    }
}
