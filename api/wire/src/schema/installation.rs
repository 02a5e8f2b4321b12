//! Bodies that show operators the nodes, groups and replicas of an installation, and what they hold.

use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Nodes, groups and replicas, as every node that can be reached says.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Overview {
    pub app_id: String,
    /// The node that answers.
    pub answered_by: String,
    /// Level of the newest commands that are used: every node knows them.
    pub level: u16,
    /// Whether every group is where it is wanted, led, and every node reached.
    pub is_settled: bool,
    /// What is not as it should be, one sentence each.
    pub waits: Vec<String>,
    pub nodes: Vec<Node>,
    /// The meta group first.
    pub groups: Vec<Group>,
    pub claims: Vec<Claim>,
}
/// A node with an empty folder that waits for the place of a node of the installation.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Claim {
    /// Whose place.
    pub name: String,
    pub id: String,
    pub http_address: String,
    pub level: u16,
}
/// A node.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Node {
    pub name: String,
    /// Its number, hexadecimal.
    pub id: String,
    pub cluster: String,
    pub state: NodeState,
    /// Where other nodes find it.
    pub peer_address: String,
    /// Where clients find it.
    pub http_address: String,
    /// The meta log index of its joining.
    pub since: u64,
    /// Level of the newest commands that it knows.
    pub level: u16,
    pub is_reachable: bool,
    /// Seconds for which no node that answered has heard of it.
    pub silent_s: u64,
    /// Why it did not answer.
    pub failure: Option<String>,
    /// The version of its program.
    pub version: Option<String>,
    pub up_seconds: Option<u64>,
    /// How far its clock is ahead of that of the node that answers.
    pub clock_ahead_ms: Option<i64>,
    pub round_trip_ms: Option<f64>,
    pub log_bytes: Option<u64>,
    pub disk_free_bytes: Option<u64>,
    pub disk_total_bytes: Option<u64>,
    /// What keeps it from reads.
    pub reads: Vec<String>,
    /// What keeps it from writes.
    pub writes: Vec<String>,
    pub warnings: Vec<String>,
    pub queries: QueryFigures,
    /// Defects since its start that were contained.
    pub panics: u64,
    /// Of those that write the files of indices only the ones that something has long waited for.
    pub actors: Vec<Actor>,
    /// Replicas that it has.
    pub replicas: u64,
    /// Groups that it leads.
    pub leads: u64,
}
/// What a node is there for.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum NodeState {
    Active,
    Draining,
    Removed,
}
/// Who does one kind of work on a node, one piece after another.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Actor {
    /// What it does.
    pub kind: String,
    /// Which group or index it does that for.
    pub of: String,
    /// How much waits for it, what it works on included.
    pub queued: u64,
    pub queued_bytes: u64,
    /// Milliseconds for which the oldest of it has waited.
    pub head_age_ms: u64,
    /// What it does, or waits for.
    pub waits_for: String,
    pub last_error: Option<String>,
}
/// Searches of a node since its start.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct QueryFigures {
    /// How many there were of each class, from the fastest to the slowest.
    pub classes: Vec<u64>,
}
/// A group.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Group {
    /// Its number; 0 is the meta group.
    pub id: u16,
    /// The meta group has none.
    pub cluster: Option<String>,
    /// The nodes that are to have it; the first of them should lead, except of the meta group.
    pub wanted: Vec<String>,
    /// The members that vote.
    pub voters: Vec<String>,
    /// The members that only follow.
    pub learners: Vec<String>,
    pub leader: Option<String>,
    pub term: u64,
    pub replicas: Vec<Replica>,
    /// How many of them have the whole state.
    pub full_copies: u64,
    /// Whether a change of its members is half through.
    pub is_changing: bool,
    /// The members that lack something that is committed.
    pub behind: Vec<String>,
    /// What it waits for.
    pub waits: Option<String>,
}
/// A replica of a group on a node.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Replica {
    pub node: String,
    pub role: ReplicaRole,
    pub log_first: u64,
    pub log_last: u64,
    pub committed: u64,
    pub applied: u64,
    /// Through where its reads see everything.
    pub shown: u64,
    /// Entries that are committed and that its reads do not see yet.
    pub lag: u64,
    /// Whether it may serve reads.
    pub has_lease: bool,
    /// Why it applies nothing more.
    pub halted: Option<String>,
    pub copy: ReplicaCopy,
}
/// What a replica is to its group.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum ReplicaRole {
    Leader,
    Follower,
    Candidate,
    Learner,
}
/// Whether a replica has the whole state.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum ReplicaCopy {
    Full,
    Fetching,
}

/// Hashes of what a node holds.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Digest {
    pub node: String,
    pub groups: Vec<GroupDigest>,
}
/// Hashes of what a replica holds.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct GroupDigest {
    pub group: u16,
    /// The log index that it is of.
    pub through: u64,
    /// Whether it is of exactly that log index.
    pub is_exact: bool,
    pub indices: Vec<IndexDigest>,
    /// Incarnations of which nobody can say what they held.
    pub unknown: Option<Vec<u64>>,
    /// Of the meta group: its parts.
    pub parts: Option<BTreeMap<String, String>>,
}
/// Hashes of what a replica has of an index, hexadecimal.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct IndexDigest {
    /// Its name, as long as the catalogue names it.
    pub index: Option<String>,
    /// Which life of which index.
    pub incarnation: u64,
    pub records: u64,
    pub content: String,
    pub settings: String,
    pub synonyms: String,
    pub rules: String,
}

/// Models of recommendations.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Models {
    /// By index.
    pub models: Vec<Model>,
    pub page: u64,
    /// Models of all pages.
    pub nb_hits: u64,
    pub nb_pages: u64,
    pub hits_per_page: u64,
}
/// A model of recommendations, as the node that leads its group knows it.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Model {
    pub index: String,
    pub model: String,
    /// Whether it waits for being built or is being built.
    pub is_awaited: bool,
    /// The number of the one that is in force; without it there is none.
    pub seq: Option<u64>,
    /// Bytes of its file.
    pub bytes: Option<u64>,
    pub installed_at: Option<String>,
    /// Whether it was made elsewhere; nothing but its lists is known then.
    pub is_uploaded: Option<bool>,
    /// Rows that it learned from.
    pub rows: Option<u64>,
    /// Users that were left out since they had too many rows.
    pub robots: Option<u64>,
    pub users: Option<u64>,
    /// Of bought-together.
    pub baskets: Option<u64>,
    pub items: Option<u64>,
    /// Different pairs of user, or basket, and item.
    pub interactions: Option<u64>,
    /// Entries of all lists.
    pub neighbours: Option<u64>,
    pub parameters: Option<ModelParameters>,
    pub held_out: Option<HeldOut>,
    /// When the last build ended, as far as the node knows.
    pub built_at: Option<String>,
    pub took_ms: Option<u64>,
    /// Why there is no model of the last build.
    pub reason: Option<String>,
}
/// With what items are compared.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct ModelParameters {
    pub alpha: f64,
    pub beta: f64,
    pub lambda: u64,
}
/// How much of what was held out was found with them.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct HeldOut {
    pub users: u64,
    pub interactions: u64,
    /// The mean part that is among 20 items recommended by the rest.
    pub recall: f64,
}

/// A line of a model that is brought from elsewhere; before them stands one with `version`, 1, and `items`, how many follow.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct ModelLine {
    #[schema(rename = "objectID")]
    pub object_id: String,
    /// At most 100.
    pub neighbours: Vec<ModelNeighbour>,
    /// Users that had the item; of few a list is filled by what is alike.
    pub users: Option<u32>,
}
/// An item that goes with another one.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct ModelNeighbour {
    #[schema(rename = "objectID")]
    pub object_id: String,
    /// Above 0; those of a list tell only against each other.
    pub score: f64,
}
