//! Is every answered write found once, in the index that its name stood for then, when indices get other names and are copied
//! while their users move between clusters and nodes die?
//!
//! Clients write to a few names without a break. Again and again what a name stands for is moved aside to a name that was
//! never used, now and then over another index, and back; the next write makes the name anew. So each write belongs to what
//! the name stood for at some moment between its call and its answer: to one index, or to one of a few. A copy must have
//! what was answered before it began, and nothing else than what it was made of.
//!
//! No call is repeated: one without an answer may have been carried out, so what it concerns is changed no more.

use crate::chance::Chance;
use crate::client::{Answer, Client};
use crate::cluster::Cluster;
use crate::history::Nodes;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const USER: &str = "X-Algolia-User-ID";
/// The clusters of the nodes.
pub const CLUSTERS: [&str; 3] = ["main", "west", "west"];
/// Names that are written to at a time, and clients that do so.
const NAMES: usize = 8;
const WRITERS: usize = 4;
/// How long names are changed in one round.
const ROUND: Duration = Duration::from_secs(3);
/// How long everything may take to come to its end when all nodes run.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A write that was answered, or may have been carried out.
#[derive(Clone)]
struct Write {
    name: usize,
    id: String,
    called: Instant,
    /// `None` without an answer.
    answered: Option<Instant>,
}

/// What a name stood for until it was moved aside.
struct Aside {
    /// Where it is now; `None` when another one was moved over it.
    home: Option<String>,
    called: Instant,
    /// `None` when nobody knows.
    published: Option<Instant>,
}

/// A copy of what a name stood for.
struct Copied {
    name: usize,
    /// How many were aside before that.
    place: usize,
    to: String,
    called: Instant,
}

/// What is known of one name.
#[derive(Default)]
struct Name {
    /// The oldest first.
    aside: Vec<Aside>,
    /// Whether a change had no answer: it is changed no more.
    is_unclear: bool,
    /// Whether something may have been moved over it then: nothing can be said about it.
    is_spoiled: bool,
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Writes that were answered.
    pub answered: usize,
    /// Writes that were not.
    pub unanswered: usize,
    /// Indices that got another name.
    pub renames: usize,
    /// Copies that were looked at.
    pub copies: usize,
    /// Moves of the user that were begun.
    pub moves: usize,
    /// Nodes that died.
    pub kills: usize,
    /// Changes without an answer.
    pub unclear: usize,
}

impl AddAssign for Done {
    fn add_assign(&mut self, more: Done) {
        self.answered += more.answered;
        self.unanswered += more.unanswered;
        self.renames += more.renames;
        self.copies += more.copies;
        self.moves += more.moves;
        self.kills += more.kills;
        self.unclear += more.unclear;
    }
}

/// What became of a change of an index.
enum Outcome {
    Done {
        called: Instant,
        published: Instant,
    },
    /// There was no index.
    Nothing,
    /// No answer, or none that says that it was not done.
    Unclear {
        called: Instant,
    },
}

/// One round.
struct Round<'n> {
    nodes: &'n Nodes,
    user: String,
    prefix: String,
    began: Instant,
    names: Vec<Name>,
    copies: Vec<Copied>,
    done: Done,
}

impl Round<'_> {
    fn name(&self, number: usize) -> String {
        format!("{}-{number}", self.prefix)
    }
    /// Moves or copies an index by one call, and waits until everybody knows.
    fn operate(&self, chance: &mut Chance, operation: &str, from: &str, to: &str) -> Result<Outcome> {
        let body = json!({"operation": operation, "destination": to});
        let path = format!("/1/indexes/{from}/operation");
        let client = wait_for(self.nodes, chance)?;
        let called = Instant::now();
        match client.within(PATIENCE).post(&path, &body) {
            Ok(answer) if answer.status == 200 => {
                let task = answer.task_id()?;
                let path = format!("/1/indexes/{to}/task/{task}");
                until(self.nodes, chance, &path, |answer| answer.body["status"] == "published")?;
                let published = Instant::now();
                // to move what is not there is no error, and changes nothing
                let there = format!("/1/indexes/{to}/settings");
                let mut is_there = false;
                until(self.nodes, chance, &there, |answer| {
                    is_there = answer.status == 200;
                    is_there || answer.status == 404
                })?;
                Ok(if is_there { Outcome::Done { called, published } } else { Outcome::Nothing })
            }
            Ok(answer) if answer.status == 404 => Ok(Outcome::Nothing),
            Ok(answer) if answer.status < 500 => bail!("{path}: {answer:?}"),
            Ok(_) | Err(_) => Ok(Outcome::Unclear { called }),
        }
    }

    /// Gives one name's index another name, and now and then that one another's, or copies it.
    fn change(&mut self, chance: &mut Chance) -> Result<()> {
        let number = chance.below(NAMES as u64) as usize;
        if self.names[number].is_unclear {
            return Ok(());
        }
        match chance.below(3) {
            0 => self.copy(chance, number),
            _ => self.move_aside(chance, number),
        }
    }
    fn copy(&mut self, chance: &mut Chance, name: usize) -> Result<()> {
        let place = self.names[name].aside.len();
        let to = format!("{}-copy-{}", self.name(name), self.copies.len());
        match self.operate(chance, "copy", &self.name(name), &to)? {
            Outcome::Done { called, .. } => self.copies.push(Copied { name, place, to, called }),
            Outcome::Nothing => {}
            // a copy that comes late, or never, is not looked at
            Outcome::Unclear { .. } => self.done.unclear += 1,
        }
        Ok(())
    }
    fn move_aside(&mut self, chance: &mut Chance, number: usize) -> Result<()> {
        let known = self.names[number].aside.len();
        let to = format!("{}-aside-{known}", self.name(number));
        let (called, published) = match self.operate(chance, "move", &self.name(number), &to)? {
            Outcome::Done { called, published } => (called, Some(published)),
            Outcome::Nothing => return Ok(()),
            Outcome::Unclear { called } => (called, None),
        };
        let name = &mut self.names[number];
        name.is_unclear = published.is_none();
        name.aside.push(Aside { home: Some(to.clone()), called, published });
        match name.is_unclear {
            true => self.done.unclear += 1,
            false => self.done.renames += 1,
        }
        if name.is_unclear || known == 0 || chance.below(3) > 0 {
            return Ok(());
        }
        let Some(over) = name.aside[known - 1].home.take() else { return Ok(()) };
        let mut now = to.clone();
        for next in [over, to].into_iter().take(1 + chance.below(2) as usize) {
            match self.operate(chance, "move", &now, &next)? {
                Outcome::Done { .. } => now = next,
                Outcome::Nothing => bail!("{now} is gone"),
                Outcome::Unclear { .. } => {
                    self.names[number].is_unclear = true;
                    self.names[number].is_spoiled = true;
                    self.done.unclear += 1;
                    return Ok(());
                }
            }
        }
        self.names[number].aside[known].home = Some(now);
        Ok(())
    }

    /// Whether every write is where it may be, and only there.
    fn check(&self, client: &Client, writes: &[Write]) -> Result<()> {
        for (number, name) in self.names.iter().enumerate().filter(|(_, name)| !name.is_spoiled) {
            let homes = self.homes(number);
            let mut found: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (place, home) in homes.iter().enumerate() {
                for id in home.iter().map(|home| ids(client, home)).collect::<Result<Vec<_>>>()?.concat() {
                    found.entry(id).or_default().push(place);
                }
            }
            for write in writes.iter().filter(|write| write.name == number) {
                let places = found.remove(&write.id).unwrap_or_default();
                let is_excused = write.answered.is_none()
                    || (0..homes.len()).any(|it| homes[it].is_none() && name.may_hold(write, it));
                let Write { id, .. } = write;
                ensure!(
                    places.iter().all(|place| name.may_hold(write, *place)) && places.len() <= 1,
                    "{id} of {} is found in {places:?} of {homes:?} ({}; user in {}), called {:?} and answered {:?} after the changes {:?}",
                    self.user,
                    self.contents(client, number, writes),
                    client.get(&format!("/1/clusters/mapping/{}", self.user))?.body["clusterName"],
                    write.called.duration_since(self.began),
                    write.answered.map(|at| at.duration_since(self.began)),
                    name.times(self.began)
                );
                let told = "was answered and is nowhere";
                ensure!(places.len() == 1 || is_excused, "{id} of {} {told}: {homes:?}", self.user);
            }
            ensure!(found.is_empty(), "nobody wrote {found:?}");
        }
        self.copies.iter().try_for_each(|copied| self.check_copy(client, copied, writes))
    }
    /// What there is under every name that the index was given, also those that something else was moved over: how many writes of
    /// each place, and those that may be of several.
    fn contents(&self, client: &Client, number: usize, writes: &[Write]) -> String {
        let (name, count) = (self.name(number), self.names[number].aside.len());
        let places = |id: &String| {
            let write = writes.iter().find(|write| write.id == *id);
            (0..=count)
                .filter(|place| write.is_some_and(|it| self.names[number].may_hold(it, *place)))
                .collect()
        };
        let asides = (0..count).map(|known| format!("{name}-aside-{known}"));
        let told = asides.chain([name.clone()]).map(|home| match ids(client, &home) {
            Ok(ids) => {
                let mut of = BTreeMap::<Vec<usize>, usize>::new();
                ids.iter().for_each(|id| *of.entry(places(id)).or_default() += 1);
                format!("{home}: {of:?}")
            }
            Err(error) => format!("{home}: {error:#}"),
        });
        let written = writes.iter().filter(|it| it.name == number && it.answered.is_some());
        let mut all = BTreeMap::<Vec<usize>, usize>::new();
        written.for_each(|it| *all.entry(places(&it.id)).or_default() += 1);
        format!("{}; written: {all:?}", told.collect::<Vec<_>>().join("; "))
    }
    /// Whether a copy has what its source had when it began, and nothing that its source never had.
    fn check_copy(&self, client: &Client, copied: &Copied, writes: &[Write]) -> Result<()> {
        let (name, to) = (&self.names[copied.name], &copied.to);
        let Some(home) = &self.homes(copied.name)[copied.place] else { return Ok(()) };
        if name.is_spoiled || (name.is_unclear && copied.place + 1 >= name.aside.len()) {
            return Ok(());
        }
        let source: BTreeSet<String> = ids(client, home)?.into_iter().collect();
        let found: BTreeSet<String> = ids(client, to)?.into_iter().collect();
        let more: Vec<&String> = found.difference(&source).collect();
        ensure!(more.is_empty(), "{to} has {more:?}, which {home} has not");
        for write in writes.iter().filter(|write| write.name == copied.name && source.contains(&write.id)) {
            let is_before = write.answered.is_some_and(|answered| answered < copied.called);
            let id = &write.id;
            ensure!(!is_before || found.contains(id), "{id} was answered before {to} was copied from {home}");
        }
        Ok(())
    }
    /// Where what a name stood for is now, the oldest first, and what it stands for now.
    fn homes(&self, number: usize) -> Vec<Option<String>> {
        let aside = self.names[number].aside.iter().map(|it| it.home.clone());
        aside.chain([Some(self.name(number))]).collect()
    }
    /// Deletes everything.
    fn delete(&self, cluster: &Cluster) {
        let homes = (0..NAMES).flat_map(|number| self.homes(number)).flatten();
        for index in homes.chain(self.copies.iter().map(|copied| copied.to.clone())) {
            // the next round has names of its own
            drop(cluster.any().send("DELETE", &format!("/1/indexes/{index}"), &Value::Null));
        }
    }
}

impl Name {
    /// When its changes were called and published, since a moment.
    fn times(&self, since: Instant) -> Vec<(Duration, Option<Duration>)> {
        let time = |at: Instant| at.duration_since(since);
        self.aside.iter().map(|it| (time(it.called), it.published.map(time))).collect()
    }
    /// Whether a write may have gone to what the name stood for then.
    fn may_hold(&self, write: &Write, place: usize) -> bool {
        let ended = self.aside.get(place).and_then(|it| it.published);
        let is_late = ended.is_some_and(|published| write.called > published);
        // what nobody knows the end of may not have happened
        let before = place.checked_sub(1).map(|before| &self.aside[before]);
        let before = before.filter(|it| it.published.is_some());
        let is_early = before.is_some_and(|it| write.answered.is_some_and(|answered| answered < it.called));
        !is_late && !is_early
    }
}

/// A node that is there.
fn wait_for(nodes: &Nodes, chance: &mut Chance) -> Result<Client> {
    let begun = Instant::now();
    loop {
        if let Some((_, client)) = nodes.any(chance) {
            return Ok(client);
        }
        ensure!(begun.elapsed() < PATIENCE, "no node is there");
        std::thread::sleep(LOOK);
    }
}
/// Asks whichever node until the answer is what is waited for.
fn until(
    nodes: &Nodes,
    chance: &mut Chance,
    path: &str,
    mut is_it: impl FnMut(&Answer) -> bool,
) -> Result<()> {
    let begun = Instant::now();
    loop {
        let last = wait_for(nodes, chance)?.get(path);
        if last.as_ref().is_ok_and(&mut is_it) {
            return Ok(());
        }
        ensure!(begun.elapsed() < PATIENCE, "{path}: {last:?}");
        std::thread::sleep(LOOK);
    }
}

/// The user's records of an index.
fn ids(client: &Client, index: &str) -> Result<Vec<String>> {
    if client.get(&format!("/1/indexes/{index}/settings"))?.status == 404 {
        return Ok(vec![]);
    }
    let records = client.browse_all(index).with_context(|| format!("{index} has settings"))?;
    records.iter().map(|it| Ok(it["objectID"].as_str().context("objectID")?.to_string())).collect()
}

/// Assigns the user to a cluster, or begins to move it there.
fn assign(nodes: &Nodes, chance: &mut Chance, user: &str, cluster: &str) -> Result<()> {
    let begun = Instant::now();
    loop {
        let client = wait_for(nodes, chance)?.with_header(USER, user);
        // 400: it is on its way already
        let last = client.post("/1/clusters/mapping", &json!({"cluster": cluster}));
        if last.as_ref().is_ok_and(|answer| answer.status == 200) {
            return Ok(());
        }
        ensure!(begun.elapsed() < PATIENCE, "{user} is not assigned to {cluster}: {last:?}");
        std::thread::sleep(LOOK);
    }
}
const PENDING: &str = "/1/clusters/mapping/pending";
fn has_arrived(answer: &Answer) -> bool {
    answer.status == 200 && answer.body["pending"] == false
}

/// Writes to any of the names through any node until it is over.
fn write(round: &Writing, chance: &mut Chance) -> Result<Vec<Write>> {
    let mut writes = vec![];
    while !round.is_over.load(Ordering::Relaxed) {
        let client = wait_for(round.nodes, chance)?.with_header(USER, &round.user);
        let name = chance.below(NAMES as u64) as usize;
        let id = format!("w{}", round.counter.fetch_add(1, Ordering::Relaxed));
        let path = format!("/1/indexes/{}-{name}/{id}", round.prefix);
        let called = Instant::now();
        let answered = match client.put(&path, &json!({"name": name})) {
            Ok(answer) if answer.status < 300 => Some(Instant::now()),
            Ok(answer) if answer.status < 500 => bail!("{path}: {answer:?}"),
            Ok(_) | Err(_) => {
                std::thread::sleep(LOOK);
                None
            }
        };
        writes.push(Write { name, id, called, answered });
    }
    Ok(writes)
}
/// Moves the user there and back until it is over. Returns how often.
fn move_about(round: &Writing, chance: &mut Chance) -> Result<usize> {
    let mut moves = 0;
    while !round.is_over.load(Ordering::Relaxed) {
        if wait_for(round.nodes, chance)?.get(PENDING).is_ok_and(|answer| has_arrived(&answer)) {
            moves += 1;
            assign(round.nodes, chance, &round.user, CLUSTERS[moves % 2])?;
        }
        std::thread::sleep(LOOK);
    }
    Ok(moves)
}
/// What the threads of a round share.
struct Writing<'n> {
    nodes: &'n Nodes,
    user: String,
    prefix: String,
    is_over: AtomicBool,
    counter: AtomicU64,
}

/// Kills a node while a name is changed, and starts it again.
fn kill_meanwhile(cluster: &mut Cluster, chance: &mut Chance, round: &mut Round) -> Result<()> {
    let victim = chance.below(CLUSTERS.len() as u64) as usize;
    let (after, rest) = (chance.below(200), chance.below(1_500));
    let mut split = chance.split();
    let nodes = round.nodes;
    let outcome = std::thread::scope(|threads| {
        let change = threads.spawn(|| round.change(&mut split));
        std::thread::sleep(Duration::from_millis(after));
        nodes.forget(victim);
        let killed = cluster.kill(victim).and_then(|()| {
            std::thread::sleep(Duration::from_millis(rest));
            cluster.spawn(victim)?;
            cluster.wait_up(victim)?;
            nodes.look(cluster);
            Ok(())
        });
        killed.and(change.join().expect("a change does not panic"))
    });
    round.done.kills += 1;
    outcome
}

/// Names change while clients write and the user moves there and back; `kills` nodes die meanwhile, one after another.
///
/// Errors: what was answered and is not found, or is found where it cannot be.
pub fn round(cluster: &mut Cluster, chance: &mut Chance, number: u64, kills: usize) -> Result<Done> {
    let nodes = Nodes::of(cluster);
    let (user, prefix) = (format!("user{number}"), format!("r{number}"));
    let names = (0..NAMES).map(|_| Name::default()).collect();
    let (user_of, began, done) = (user.clone(), Instant::now(), Done::default());
    let mut round =
        Round { nodes: &nodes, user: user_of, prefix: prefix.clone(), began, names, copies: vec![], done };
    assign(&nodes, chance, &user, CLUSTERS[0])?;
    let (is_over, counter) = (AtomicBool::new(false), AtomicU64::new(0));
    let writing = Writing { nodes: &nodes, user: user.clone(), prefix, is_over, counter };
    let (writes, moves, outcome) = std::thread::scope(|threads| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let (writing, mut chance) = (&writing, chance.split());
                threads.spawn(move || write(writing, &mut chance))
            })
            .collect();
        let mut split = chance.split();
        let writing = &writing;
        let mover = threads.spawn(move || move_about(writing, &mut split));
        let begun = Instant::now();
        let mut outcome = Ok(());
        while (begun.elapsed() < ROUND || round.done.kills < kills) && outcome.is_ok() {
            let is_time = begun.elapsed() > ROUND.mul_f64((round.done.kills + 1) as f64 / (kills + 1) as f64);
            outcome = match round.done.kills < kills && is_time {
                true => kill_meanwhile(cluster, chance, &mut round),
                false => round.change(chance),
            };
            std::thread::sleep(Duration::from_millis(chance.below(150)));
        }
        writing.is_over.store(true, Ordering::Relaxed);
        let writes: Result<Vec<Vec<Write>>> =
            writers.into_iter().map(|it| it.join().expect("a writer does not panic")).collect();
        (writes, mover.join().expect("the mover does not panic"), outcome)
    });
    outcome?;
    let writes: Vec<Write> = writes?.into_iter().flatten().collect();
    round.done.moves = moves?;
    until(&nodes, chance, PENDING, has_arrived).with_context(|| format!("{user} does not arrive"))?;
    for node in 0..CLUSTERS.len() {
        let (client, begun) = (cluster.node(node)?.client().with_header(USER, &user), Instant::now());
        // the last writes are shown soon
        while let Err(error) = round.check(&client, &writes) {
            if begun.elapsed() >= Duration::from_secs(30) {
                let others = (0..CLUSTERS.len()).map(|other| {
                    let client = cluster.node(other)?.client().with_header(USER, &user);
                    Ok(format!("by node {other}: {:?}", round.check(&client, &writes)))
                });
                let others: Vec<String> = others.collect::<Result<_>>()?;
                bail!("by node {node}: {error:#}; then {}", others.join("; "));
            }
            std::thread::sleep(LOOK * 10);
        }
    }
    cluster.check_alike()?;
    let answered = writes.iter().filter(|write| write.answered.is_some()).count();
    round.done.answered = answered;
    round.done.unanswered = writes.len() - answered;
    round.done.copies = round.copies.len();
    round.delete(cluster);
    Ok(round.done)
}
