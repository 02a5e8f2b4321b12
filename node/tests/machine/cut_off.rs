//! Whether a replay is the same as the first time: scripts of all commands, cut off at any moment of any durable write,
//! twice in a row, give the contents of a machine that never stopped.
//!
//! The log is what a cluster keeps: everything behind the last cut, through the command that was under way. The small
//! state is that of the last dump, the shards are as far as each of them came.

use crate::compared::Compared;
use crate::dictionaries::{learn, revision_of};
use crate::scripts::{IDS, MANY_RECORDS, Script, crash_mode};
use crate::*;
use quorate_model::chance::Chance;
use quorate_store::dump;
use quorate_store::recorder::{CrashMode, RecordingFiles};
use std::collections::{BTreeMap, BTreeSet};

/// Cuts of each script in every test run.
pub const CUTS: usize = 6;
/// Scripts in every test run.
const SCRIPTS: u64 = 4;
/// Commands of a script.
const COMMANDS: usize = 28;
/// The longest time for many more scripts.
pub const LONG: Duration = Duration::from_secs(4 * 3600);

/// Everything that callers see of an index.
type Contents = BTreeMap<u64, (Vec<String>, String, String)>;

/// What a machine that never stopped had.
struct Expected {
    /// After each command.
    contents: Vec<Contents>,
    /// Where the log says that replicas are to be compared.
    compared: BTreeMap<u64, Compared>,
}

/// A machine on a file layer that notes what is written.
struct Life {
    node: Node,
    machine: PlacementMachine,
    tree: Tree,
    /// The metadata store knew everything through here.
    known: u64,
    /// The working store, which a power cut takes with it.
    _state: tempfile::TempDir,
    /// Dumps written so far: how much was noted by then, and through where the log may be cut.
    cuts: Vec<(usize, u64)>,
    /// How much was noted when each command began.
    begun: Vec<(usize, u64)>,
    files: RecordingFiles,
}

impl Life {
    /// With dictionaries of this revision, which others tell the node of.
    fn open(folder: &Path, dictionaries: u64) -> Life {
        std::fs::create_dir_all(folder).unwrap();
        let files = RecordingFiles::new(folder).unwrap();
        let shared: Arc<dyn Files> = Arc::new(files.clone());
        let layout = Layout::new(folder);
        shared.create_dir_durable(&layout.indices()).unwrap();
        shared.create_dir_durable(&layout.dumps()).unwrap();
        let state = tempfile::tempdir().unwrap();
        let (kv, _) = Kv::open(state.path(), RealFiles::shared(), 1 << 20).unwrap();
        let tree = kv.tree(&quorate_store::layout::tree(GROUP)).unwrap();
        if let Some(dump) = dump::read_dump(&layout.dump(GROUP)).unwrap() {
            dump.restore_into(&tree).unwrap();
        }
        let options = NodeOptions {
            layout,
            files: shared,
            kv,
            search_threads: 1,
            writer_threads: 1,
            writer_memory_bytes: 16 << 20,
            writer_spill_bytes: MEMORY.spill_bytes,
            room: Room::boundless(),
            pace: Pace::default(),
            level: LevelInForce::default(),
            dictionaries: quorate_node::SharedDictionaries::default(),
            events_kept: std::time::Duration::from_secs(90 * 24 * 3_600),
        };
        let node = Node::open(options).unwrap();
        learn(&node, dictionaries);
        let machine = node.machine(GROUP).unwrap();
        let known = machine.applied();
        Life { node, machine, tree, known, _state: state, cuts: vec![], begun: vec![], files }
    }
    fn apply(&mut self, log_index: u64, command: &IndexCommand) {
        self.begun.push((self.files.points(), log_index));
        let told = revision_of(command);
        // a node may know them before its group is told of them, or not yet
        if log_index.is_multiple_of(2) {
            learn(&self.node, told);
        }
        self.machine.apply(position(log_index), command.clone()).unwrap();
        learn(&self.node, told);
    }
    /// As a group does it: never while known commands are replayed.
    fn dump(&mut self) {
        if self.machine.applied() < self.known || self.begun.last().is_some_and(|(_, at)| *at < self.known) {
            return;
        }
        let durable = self.machine.durable_through();
        self.machine.checkpoint().unwrap();
        let path = self.node.layout().dump(GROUP);
        let head = dump::write_tree(&self.files, &path, GROUP.0, &self.tree, &mut |_| 1).unwrap();
        self.cuts.push((self.files.points(), head.applied_index.min(durable)));
    }
    /// What happens beside the commands, by chance: single shards become durable, the metadata store is dumped.
    fn chores(&mut self, chance: &mut Chance) {
        for index in self.machine.incarnations() {
            if chance.once_in(4) {
                self.node.index(index).unwrap().commit_writer().unwrap();
            }
        }
        if chance.once_in(4) {
            self.machine.seal_events().unwrap();
        }
        if chance.once_in(4) {
            self.dump();
        }
    }
    fn wait(&self, log_index: u64) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.node.visible_through(GROUP) < log_index || !self.node.is_visible(GROUP, log_index) {
            if Instant::now() >= deadline {
                let shown = self.node.visible_through(GROUP);
                return Err(format!("nothing but {shown} of {log_index} is shown"));
            }
            std::thread::yield_now();
        }
        Ok(())
    }
    fn contents(&mut self, script: &Script, log_index: u64) -> Result<Contents, String> {
        if log_index >= self.known {
            // as a group does after every turn: rebuilds that were cut off go on
            self.machine.resume_work().unwrap();
        }
        self.wait(log_index)?;
        let mut all = Contents::new();
        for index in (0..script.end).filter(|&index| self.node.index(index).is_some()) {
            let state = self.node.index(index).unwrap();
            let records = match script.hollow[log_index as usize].contains(&index) {
                true => vec![],
                false => self.records(index)?,
            };
            let apart = match records.is_empty() {
                true => String::new(),
                false => format!("{:?}", dictionaries::taken_apart(&self.node, index)),
            };
            let settings = serde_json::to_string(&state.settings.load().document).unwrap();
            let resources = state.resources.load();
            let saved = ResourceKind::ALL.map(|kind| format!("{:?}", resources.saved(kind)));
            all.insert(index, (records, settings + &apart, saved.concat()));
        }
        all.insert(
            OF_EVENTS,
            (
                events::seen(&self.node),
                models::installed(&self.node),
                format!("{} {:?}", self.node.sent_through(GROUP), self.node.dictionaries().told(GROUP)),
            ),
        );
        Ok(all)
    }
    /// How many there are, and some of them.
    fn records(&self, index: u64) -> Result<Vec<String>, String> {
        let shard = &self.node.view(index).map_err(|error| format!("index {index}: {error}"))?.shard;
        let many = [0, 1, 500, MANY_RECORDS - 1].map(|n| format!("r{n}"));
        let ids = IDS.iter().map(ToString::to_string).chain(many);
        let some = ids.filter_map(|id| Some(String::from_utf8(shard.get(&id)?.to_vec()).unwrap()));
        Ok(std::iter::once(shard.record_count().to_string()).chain(some).collect())
    }
    /// What a power cut at `point` leaves: the folder, the last command that had begun, and where the log may begin.
    fn cut(&self, point: usize, mode: CrashMode, into: &Path, before: Cut) -> Cut {
        self.files.crash_image(point, mode, into).unwrap();
        let begun = self.begun.iter().filter(|(at, _)| *at <= point).map(|(_, log_index)| *log_index).max();
        let cut = self.cuts.iter().filter(|(at, _)| *at <= point).map(|(_, log_index)| *log_index).max();
        Cut { begun: before.begun.max(begun.unwrap_or(0)), log_from: before.log_from.max(cut.unwrap_or(0)) }
    }
    fn end(self) {
        for index in self.machine.incarnations() {
            self.node.index(index).unwrap().abandon_writer();
        }
    }
}

/// Stands for the events of the group among its indices.
const OF_EVENTS: u64 = u64::MAX;

/// What is left of a life beside its folder.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    /// The last command that had begun.
    begun: u64,
    /// The log has what is behind this index.
    log_from: u64,
}

/// Contents after each command on a machine that never stops.
fn never_stopped(script: &Script) -> Expected {
    let dir = tempfile::tempdir().unwrap();
    let mut life = Life::open(dir.path(), 0);
    let (mut contents, mut compared) = (vec![Contents::new()], BTreeMap::new());
    for (at, command) in script.log.iter().enumerate() {
        let log_index = at as u64 + 1;
        life.apply(log_index, command);
        compared.extend(Compared::take(&life.node).map(|it| (log_index, it)));
        contents.push(life.contents(script, log_index).unwrap());
    }
    life.end();
    Expected { contents, compared }
}

/// Runs a life on `folder` behind `cut`; contents are compared with those of `expected` as soon as nothing of the earlier
/// life can be missing, and at the end.
fn live(
    folder: &Path,
    cut: Cut,
    script: &Script,
    expected: &Expected,
    chance: &mut Chance,
) -> Result<Life, String> {
    // those that the group was told of, at once or late
    let known = script.log[..cut.begun as usize].iter().map(revision_of).max().unwrap_or(0);
    let mut life = Life::open(folder, if chance.once_in(2) { known } else { 0 });
    let from = life.machine.replay_from().unwrap();
    if from < cut.log_from {
        return Err(format!("it asks for the log from {from}, which was cut through {}", cut.log_from));
    }
    let last = script.log.len() as u64;
    for log_index in from + 1..=last {
        if log_index >= cut.begun {
            learn(&life.node, known);
        }
        let command = &script.log[log_index as usize - 1];
        match log_index <= cut.begun && matches!(command, IndexCommand::Compare) {
            // as a group does it: a replay goes through states that were never there, as that of an index whose files a later
            // command has removed already
            true => life.machine.pass(log_index),
            false => life.apply(log_index, command),
        }
        if log_index >= cut.begun {
            life.machine.replayed();
        }
        let differs = Compared::take(&life.node)
            .and_then(|compared| compared.difference(&expected.compared[&log_index]));
        if let Some(differs) = differs {
            life.end();
            return Err(format!("compared at {log_index}: {differs}"));
        }
        let is_compared = log_index == cut.begun || log_index == last || chance.once_in(4);
        if log_index >= cut.begun && is_compared {
            let expected = &expected.contents[log_index as usize];
            let differs = match life.contents(script, log_index) {
                Ok(found) if found == *expected => None,
                Ok(found) => Some(difference(log_index, &found, expected)),
                Err(stuck) => Some(stuck),
            };
            if let Some(differs) = differs {
                life.end();
                return Err(differs);
            }
        }
        life.chores(chance);
    }
    Ok(life)
}

fn difference(log_index: u64, found: &Contents, expected: &Contents) -> String {
    let indices: BTreeSet<&u64> = found.keys().chain(expected.keys()).collect();
    let differ = indices.into_iter().filter(|index| found.get(index) != expected.get(index));
    let each = differ.map(|index| {
        format!("index {index}:\n  found    {:?}\n  expected {:?}", found.get(index), expected.get(index))
    });
    format!("after {log_index}: {}", each.collect::<Vec<_>>().join("\n"))
}

/// Cuts a script off at `cuts` moments, and what follows a cut again; returns what differed first.
pub fn try_script(script: &Script, seed: u64, cuts: usize, plant: fn(&Path)) -> Result<usize, String> {
    let expected = never_stopped(script);
    let mut chance = Chance::new(seed ^ 0xc0ffee);
    let dir = tempfile::tempdir().unwrap();
    let first = live(&dir.path().join("first"), Cut::default(), script, &expected, &mut chance)
        .map_err(|e| format!("seed {seed}, never cut off: {e}"))?;
    let points = first.files.points();
    let picked: Vec<usize> = (0..cuts).map(|_| chance.index(points + 1)).collect();
    for &point in &picked {
        let mode = crash_mode(&mut chance);
        let failed = |what: &str, e: String| {
            let line = |(n, command)| format!("{:3} {command:?}", n + 1).chars().take(600).collect();
            let log: Vec<String> = script.log.iter().enumerate().map(line).collect();
            format!("seed {seed}, cut at {point} ({mode:?}){what}: {e}\n{}", log.join("\n"))
        };
        let folder = dir.path().join(format!("second{point}"));
        let cut = first.cut(point, mode, &folder, Cut::default());
        plant(&folder);
        let what = format!(" with {cut:?}");
        let second = live(&folder, cut, script, &expected, &mut chance).map_err(|e| failed(&what, e))?;
        let (again, mode) = (chance.index(second.files.points() + 1), crash_mode(&mut chance));
        let folder = dir.path().join(format!("third{point}"));
        let twice = second.cut(again, mode, &folder, cut);
        plant(&folder);
        let what = format!(" with {cut:?} and again at {again} ({mode:?}) with {twice:?}");
        second.end();
        live(&folder, twice, script, &expected, &mut chance).map_err(|e| failed(&what, e))?.end();
        for used in ["second", "third"] {
            std::fs::remove_dir_all(dir.path().join(format!("{used}{point}"))).unwrap();
        }
    }
    first.end();
    Ok(picked.len())
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn a_replay_gives_what_the_first_time_gave_wherever_it_was_cut_off() {
    in_system_for(LONG, || {
        let scripts = number("QUORATE_REPLAY_SCRIPTS").unwrap_or(SCRIPTS);
        let cuts = number("QUORATE_REPLAY_CUTS").map_or(CUTS, |cuts| cuts as usize);
        let first = number("QUORATE_REPLAY_FROM").unwrap_or(0);
        // with the first of the last ones the node came to know dictionaries when the log had been cut through the entry about them, with
        // the other a dump during a replay counted what its shards had not been given again
        let tried: usize = (first..first + scripts)
            .chain([105, 161])
            .map(|seed| try_script(&Script::new(seed, COMMANDS), seed, cuts, |_| {}))
            .map(|tried| tried.unwrap_or_else(|e| panic!("{e}")))
            .sum();
        println!("{tried} cuts of {scripts} scripts");
    });
}
