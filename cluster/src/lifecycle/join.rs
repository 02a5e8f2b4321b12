//! How a node that starts takes its place: it founds an installation, joins one, or comes back to it.

use crate::clock::write_deadline;
use crate::command::Joining;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::context::abreast;
use crate::controllers::lease_renewal;
use crate::controllers::reconciler;
use crate::disk::Purpose;
use crate::groups::reopen;
use crate::groups::start::Founding;
use crate::lifecycle::admin_key::{self, AdminKeys, Outcome};
use crate::lifecycle::answer::Answerer;
use crate::lifecycle::bootstrap::{self, Entered, Seekers};
use crate::lifecycle::installation::{self, Topology};
use crate::lifecycle::running::Running;
use crate::meta::{MetaState, NotAdmitted};
use crate::options::{ClusterOptions, FIRST_CLUSTER, ServiceOptions, Started};
use crate::peer::{ClusterSecret, Derivation, PeerLimits, PeerOptions, PeerVersion, Peers};
use crate::rpc::snapshot_source::PeerSource;
use crate::users;
use quorate_model::{Error, GroupId, NodeId, Result, level};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks whether the meta state has come.
const LOOK: Duration = Duration::from_millis(50);
/// Between two lines in the log while nothing comes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Before the next attempt to introduce this node to the others.
const INTRODUCE_EVERY: Duration = Duration::from_secs(1);

/// Brings a node whose folder is open to where it serves.
pub async fn enter(running: &mut Running, options: &ServiceOptions) -> Result<Started> {
    let (context, starter) = (running.context.clone(), running.starter.clone());
    check_level(options.command_level, &context.meta())?;
    let seekers = Seekers::default();
    let keys = running.admin_keys.clone();
    let (peers, mut joining) = meet(running, options, &seekers, &keys)?;
    let founding = match starter.knows(GroupId::META)? {
        // what its log holds wins
        true => Founding::Joiner,
        false => {
            keys.enter()?;
            seek(peers.as_ref(), starter.self_id, &joining, &options.cluster.join, &seekers).await?
        }
    };
    starter.start_group(GroupId::META, founding)?;
    let meta_group = context.groups().meta()?;
    let place = match meta_group.raft.membership().voters == [starter.self_id.0] {
        true => Topology::SingleNode,
        false => Topology::MultiNode,
    };
    // its number is never that of another start, even if no log entry can be made now
    context.ids().set_start(id_start(starter.life()));
    match place {
        Topology::SingleNode => running.catch_up().await?,
        Topology::MultiNode => wait_for_meta(&context).await,
    }
    as_known(&mut joining, &options.cluster, &context.meta(), context.self_id())?;
    let mut started = installation::settle(running, options, &keys).await?;
    if let Some(peers) = &peers {
        peers.set_installation(&started.app_id);
    }
    let multi_cluster = options.cluster.multi_cluster;
    match place {
        Topology::SingleNode => {
            introduce(&context, &joining).await?;
            settle_admin_key(&keys, &context, &mut started).await;
            // not at once while others run an older program
            if multi_cluster && users::enable(&context).await.is_err() {
                let context = context.clone();
                running.run("mapping of users", move || enable_users_in_time(context.clone()));
            }
        }
        Topology::MultiNode => {
            let to_others = context.clone();
            running.run("introduction", move || introduce_in_time(to_others.clone(), joining.clone()));
            if multi_cluster {
                let context = context.clone();
                running.run("mapping of users", move || enable_users_in_time(context.clone()));
            }
        }
    }
    let keeper = context.clone();
    running.run("admin key", move || admin_key::keep(keeper.clone(), keys.clone()));
    running.start_groups()?;
    running.catch_up().await?;
    let reconciled = context.clone();
    running.run("reconciler", move || reconciler::run(reconciled.clone(), starter.clone()));
    let (failed, first) = (running.starter.clone(), options.reopen_after);
    running.run("failed groups", move || reopen::run(failed.clone(), first));
    let asking = context.clone();
    running.run("questions to the meta group", move || abreast::ask(asking.clone()));
    running.run("leases", move || lease_renewal::run(context.clone()));
    Ok(started)
}

/// Brings the admin key of a node that is alone in force before it serves. What cannot be done now is done when it can be.
async fn settle_admin_key(keys: &AdminKeys, context: &NodeContext, started: &mut Started) {
    match keys.settle(context).await {
        Ok(outcome) => started.replaced_admin_key = outcome == Outcome::Replaced,
        Err(error) => started.warnings.push(format!("the admin key given is not in force yet: {error}")),
    }
    let has_file = keys.keep_file(context).await.is_ok_and(|has_it| has_it);
    if !has_file && matches!(keys.files().key(), Ok(None)) {
        started.warnings.push(
            "the file with the admin key is gone; the key still works, and a new one can be given in QUORATE_ADMIN_KEY"
                .into(),
        );
    }
}

/// Errors: the node would not know all commands that the installation uses.
fn check_level(own: u16, meta: &MetaState) -> Result<()> {
    if !(level::FIRST..=level::NEWEST).contains(&own) {
        return Err(Error::invalid(format!(
            "command-level must be from {} to {}, the newest that this program knows",
            level::FIRST,
            level::NEWEST
        )));
    }
    match meta.level() {
        used if used > own => Err(Error::invalid(format!(
            "this installation uses commands of level {used}, and this node takes part in those up to {own}: start a newer version, without command-level"
        ))),
        _ => Ok(()),
    }
}

/// Lets a node that is known keep the name and the cluster that nobody gives it. Errors: it is given another cluster, or the name of
/// another node.
fn as_known(joining: &mut Joining, given: &ClusterOptions, meta: &MetaState, node: NodeId) -> Result<()> {
    let Some(known) = meta.nodes.get(&node) else { return Ok(()) };
    if known.peer != joining.peer && !known.peer.is_empty() {
        tracing::warn!(
            known = known.peer,
            given = joining.peer,
            "the other nodes call this one at the peer address that it had, and do not hear of another one while they cannot: start it \
             with that address, or let a node with an empty folder take its place (quorate cluster replace)"
        );
    }
    match &given.node_name {
        Some(name) if meta.namesake(node, name).is_some() => {
            return Err(Error::invalid(NotAdmitted::NameTaken(name.clone()).to_string()));
        }
        Some(_) => {}
        None => joining.name.clone_from(&known.name),
    }
    match &given.cluster {
        Some(cluster) if *cluster != known.cluster => {
            Err(Error::invalid(NotAdmitted::OtherCluster(known.cluster.clone()).to_string()))
        }
        Some(_) => Ok(()),
        None => {
            joining.cluster.clone_from(&known.cluster);
            Ok(())
        }
    }
}

/// Ten digits of chance.
fn id_start(life: u64) -> u64 {
    life % 10_000_000_000
}

/// Starts to listen for other nodes.
fn meet(
    running: &Running,
    options: &ServiceOptions,
    seekers: &Seekers,
    keys: &Arc<AdminKeys>,
) -> Result<(Option<Peers>, Joining)> {
    let of_cluster = &options.cluster;
    let identity = running.folder.node_id().simple().to_string();
    let mut joining = Joining {
        name: of_cluster.node_name.clone().unwrap_or_else(|| format!("node-{}", &identity[..8])),
        cluster: of_cluster.cluster.clone().unwrap_or_else(|| FIRST_CLUSTER.to_owned()),
        peer: of_cluster.peer_address.clone().unwrap_or_default(),
        http: of_cluster.http_address.clone(),
        level: options.command_level,
    };
    let Some(listen) = of_cluster.peer_listen else {
        if !of_cluster.join.is_empty() {
            return Err(Error::invalid("join needs peer-listen: the other nodes must reach this one"));
        }
        return Ok((None, joining));
    };
    let cannot =
        |error: std::io::Error| Error::invalid(format!("cannot listen for other nodes on {listen}: {error}"));
    let listener = TcpListener::bind(listen).map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    let given: Option<SocketAddr> = joining.peer.parse().ok();
    if given.is_some_and(|given| given.ip().is_unspecified() || given.port() == 0) {
        return Err(Error::invalid(format!(
            "peer-address {} is no address that other nodes can use; name one of this machine, and a port",
            joining.peer
        )));
    }
    if joining.peer.is_empty() {
        if bound.ip().is_unspecified() {
            return Err(Error::invalid(format!(
                "peer-listen {listen} is no address that other nodes can use; name one with peer-address"
            )));
        }
        joining.peer = bound.to_string();
    }
    let peer_options = PeerOptions {
        node: running.starter.self_id,
        secret: secret(running, of_cluster)?,
        also: of_cluster.join_token_also.as_deref().map(ClusterSecret::from_token).transpose()?,
        listener,
        version: PeerVersion::of_this_program(options.command_level),
        // who is given another one is refused before it is a node there
        installation: match &running.context.meta().installation {
            Some(installation) => Some(installation.app_id.clone()),
            None => options.app_id.clone(),
        },
        limits: PeerLimits::default(),
    };
    let snapshots = running.starter.snapshots.store().clone();
    let answerer = Answerer::new(running.context.clone(), snapshots, seekers.clone(), keys.clone());
    let peers = Peers::start(peer_options, Arc::new(answerer)).map_err(|e| Error::internal(e.to_string()))?;
    running.context.peers().connect(peers.clone());
    let source = PeerSource::new(peers.clone(), running.starter.meta.clone(), running.starter.self_id);
    running.starter.snapshots.connect(Arc::new(source));
    let set = running.starter.outbox.0.set(peers.clone());
    assert!(set.is_ok(), "a node meets its peers once");
    Ok((Some(peers), joining))
}

/// The secret of the options, otherwise that of the folder, otherwise a new one; the folder keeps it.
fn secret(running: &Running, options: &ClusterOptions) -> Result<ClusterSecret> {
    let kept = running.folder.join_token()?;
    let secret = match (&options.join_token, &kept) {
        (Some(given), Some(kept)) => {
            let (secret, derivation) = ClusterSecret::from_token_or_kept(given, &kept.parse()?)?;
            if derivation == Derivation::Hashed {
                tracing::warn!(
                    "the join token was chosen by people, and an earlier version made a secret of it that can be guessed: replace it \
                     with one of `quorate cluster token --new`; until then nodes join with what stands in DATA_DIR/join-token"
                );
            }
            secret
        }
        (Some(given), None) => ClusterSecret::from_token(given)?,
        (None, Some(kept)) => ClusterSecret::from_token(kept)?,
        (None, None) if options.join.is_empty() => ClusterSecret::random(),
        (None, None) => {
            return Err(Error::invalid(
                "join needs the join token of the installation in QUORATE_JOIN_TOKEN; it stands in DATA_DIR/join-token of every node",
            ));
        }
    };
    let token = secret.to_token();
    if kept.as_ref() != Some(&token) {
        running.folder.set_join_token(&token)?;
    }
    Ok(secret)
}

/// Finds out whether this node, which knows of no installation, founds one.
async fn seek(
    peers: Option<&Peers>,
    node: NodeId,
    joining: &Joining,
    join: &[String],
    seekers: &Seekers,
) -> Result<Founding> {
    let Some(peers) = peers.filter(|_| !join.is_empty()) else { return Ok(Founding::Founder) };
    match bootstrap::enter(peers, node, joining, join, seekers).await? {
        Entered::Founded => Ok(Founding::Founder),
        Entered::Joined(addresses) => {
            peers.set_addresses(addresses.into_iter().filter(|(id, _)| *id != node).collect());
            Ok(Founding::Joiner)
        }
    }
}

/// Waits until the others have told this node of the installation and of itself.
async fn wait_for_meta(context: &NodeContext) {
    let (mut since, self_id) = (Instant::now(), context.self_id());
    loop {
        let meta = context.meta();
        if meta.installation.is_some() && meta.nodes.contains_key(&self_id) {
            return;
        }
        reconciler::introduce(context, &meta);
        if since.elapsed() >= PATIENCE {
            tracing::info!("waiting for the other nodes to tell this one of the installation");
            since = Instant::now();
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Tells the installation how this node is to be reached, and that it has started.
async fn introduce(context: &NodeContext, joining: &Joining) -> Result<()> {
    let node = context.self_id();
    let is_known = context.meta().nodes.get(&node).is_some_and(|row| row.is(joining));
    if !is_known {
        let add = MetaCommand::AddNode { node, joining: joining.clone() };
        context.proposer().propose_meta(add, Purpose::Remove, write_deadline()).await?;
    }
    let start = MetaCommand::StartNode;
    match context.proposer().propose_meta(start, Purpose::Remove, write_deadline()).await {
        Ok(accepted) => context.ids().set_start(accepted.task_id.log_index()),
        // an almost full disk must not keep a node from serving reads
        Err(error) => tracing::warn!(%error, "this start is not in the log"),
    }
    Ok(())
}

async fn enable_users_in_time(context: Arc<NodeContext>) {
    while let Err(error) = users::enable(&context).await {
        tracing::debug!(%error, "the mapping of users is not enabled yet");
        tokio::time::sleep(INTRODUCE_EVERY).await;
    }
}

async fn introduce_in_time(context: Arc<NodeContext>, joining: Joining) {
    while let Err(error) = introduce(&context, &joining).await {
        tracing::debug!(%error, "the other nodes do not know yet that this one has started");
        tokio::time::sleep(INTRODUCE_EVERY).await;
    }
}
