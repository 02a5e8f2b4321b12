//! How is a further node started? The command line for it, made of what the installation says of itself.

use quorate_cluster::membership::Overview;
use std::fmt::Write as _;
use std::path::Path;

/// Nodes that the new one is told to join; one is enough, the others are for when that one is down.
const JOINED: usize = 3;

/// The command line and what to know about it.
pub fn text(overview: &Overview, token: &Path) -> String {
    let reachable = overview.nodes.iter().filter(|node| node.is_reachable && !node.peer_address.is_empty());
    let addresses: Vec<&str> = reachable.map(|node| node.peer_address.as_str()).take(JOINED).collect();
    if addresses.is_empty() {
        return "This node listens for no others. Start it with --peer-listen HOST:PORT first.\n".to_owned();
    }
    let taken = |name: &str| overview.nodes.iter().any(|node| node.name == name);
    let name = (1..).map(|number| format!("n{number}")).find(|name| !taken(name)).unwrap_or_default();
    let asked = overview.nodes.iter().find(|node| node.name == overview.answered_by);
    let cluster = asked.map_or("main", |node| node.cluster.as_str());
    let mut text = format!(
        "On the new machine, with HOST as the others reach it:\n\n  \
         QUORATE_JOIN_TOKEN=… quorate serve --data-dir quorate-data --node-name {name} --cluster {cluster} \\\n    \
         --listen HOST:7700 --peer-listen HOST:7701"
    );
    for address in &addresses {
        write!(text, " \\\n    --join {address}").expect("writing to a string");
    }
    let place = match token.exists() {
        true => token.display().to_string(),
        false => "DATA_DIR/join-token".to_owned(),
    };
    writeln!(
        text,
        "\n\nThe join token stands in {place} of every node; `quorate cluster token` prints it there.\n\
         Who has it can join and read everything: carry it over a way you trust.\n\
         Groups move to the new node by themselves; `quorate cluster status` shows how far it is."
    )
    .expect("writing to a string");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_cluster::membership::NodeView;

    #[test]
    fn the_command_joins_the_nodes_there_are_under_a_free_name() {
        let node = |name: &str, peer: &str| NodeView {
            name: name.into(),
            cluster: "west".into(),
            peer_address: peer.into(),
            is_reachable: true,
            ..NodeView::default()
        };
        let nodes = vec![node("n1", "10.0.0.1:7701"), node("n3", "10.0.0.3:7701")];
        let overview = Overview { answered_by: "n1".into(), nodes, ..Overview::default() };
        let told = text(&overview, Path::new("/nowhere/join-token"));
        for part in [
            "--node-name n2 ",
            "--cluster west",
            "--join 10.0.0.1:7701 \\\n",
            "--join 10.0.0.3:7701\n",
            "DATA_DIR/join-token",
        ] {
            assert!(told.contains(part), "{part} is missing:\n{told}");
        }
        let alone = Overview { nodes: vec![node("n1", "")], ..Overview::default() };
        assert!(text(&alone, Path::new("x")).contains("--peer-listen"));
    }
}
