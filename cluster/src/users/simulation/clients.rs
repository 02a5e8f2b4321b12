//! What do clients write, move and read, and what must they see of it?
//!
//! Each record of a user is a register with numbered states, written one after another; every fourth state is that there is no
//! record. A read must show each record in a state that is not older than what was published when it began, and not newer than
//! what was begun when it ended. When nobody knows what became of a write, its record is written no more.

use super::executor::NOBODY;
use super::seat::{Role, Seat};
use super::world::{NODES, World};
use crate::command::MetaCommand;
use crate::context::proposer::Accepted;
use crate::disk::Purpose;
use crate::meta::IndexRow;
use crate::users::records::deletion_of;
use crate::users::{routing, write};
use crate::write::env::Env;
use parking_lot::Mutex;
use quorate_model::user::{owned_id, owner_of};
use quorate_model::{IndexName, NodeId, RecordOp, Result, UserId};
use quorate_node::ops::Incarnation;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::oneshot;

/// Records of a user that are written at a time.
pub const RECORDS: u64 = 5;
/// The parameter of a deletion that is for the records of one place.
pub const PLACE: &str = "place";
/// States of which one is that there is no record.
const STATES: u64 = 4;

/// The states of one record.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    /// The last state that somebody began to write.
    begun: u64,
    /// The last one whose write was answered.
    answered: u64,
    /// The last one that was published.
    published: u64,
    /// What became of the last write is not known.
    is_over: bool,
    /// A write was done again because the user had been moved: what it wrote first stays where nobody reads it, until the
    /// user comes back or is removed.
    has_strays: bool,
    /// It was copied while it was written: any state between the two is right.
    is_copied: bool,
}

fn is_absent(state: u64) -> bool {
    state.is_multiple_of(STATES)
}

/// What became of one user.
pub struct Truth {
    pub user: UserId,
    registers: Mutex<BTreeMap<Key, Register>>,
    /// The records that are written now, by index and place.
    numbers: Mutex<BTreeMap<Key, u64>>,
    /// Indices of which nobody knows what became of a deletion of many records: it may come late and take those with it that
    /// are written meanwhile, so that nothing is written there any more.
    given_up: Mutex<BTreeSet<Incarnation>>,
    pub is_over: AtomicBool,
    pub writes_under_way: AtomicBool,
}

/// An index, and the number of a record in it.
type Key = (Incarnation, u64);

/// What a read showed: each record of the user by its number with its state.
type Shown = BTreeMap<u64, u64>;

fn shown(records: &BTreeMap<String, Vec<u8>>) -> Shown {
    let number = |id: &String, record: &Vec<u8>| {
        let text = std::str::from_utf8(record).expect("own text");
        Some((owner_of(id).1.parse().ok()?, text.parse().ok()?))
    };
    let found: Shown = records.iter().filter_map(|(id, record)| number(id, record)).collect();
    assert_eq!(found.len(), records.len(), "records of somebody else: {records:?}");
    found
}

impl Truth {
    pub fn new(user: &str) -> Arc<Truth> {
        Arc::new(Truth {
            user: UserId::new(user).expect("valid"),
            registers: Mutex::default(),
            numbers: Mutex::default(),
            given_up: Mutex::default(),
            is_over: AtomicBool::new(false),
            writes_under_way: AtomicBool::new(false),
        })
    }
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
    /// The records of an index.
    fn registers(&self, life: Incarnation) -> BTreeMap<u64, Register> {
        let registers = self.registers.lock();
        let of_it = registers.range((life, 0)..=(life, u64::MAX));
        of_it.map(|((_, number), register)| (*number, *register)).collect()
    }
    /// What was answered of an index before something that copies it begins.
    pub fn answered(&self, life: Incarnation) -> BTreeMap<u64, u64> {
        self.registers(life).into_iter().map(|(number, register)| (number, register.answered)).collect()
    }
    /// Takes over what a copy of an index may have: what was answered when it began, up to what is begun by now.
    pub fn copied(&self, from: Incarnation, to: Incarnation, before: &BTreeMap<u64, u64>) {
        let source = self.registers(from);
        let mut registers = self.registers.lock();
        for (number, Register { begun, is_over, has_strays, .. }) in source {
            let least = before.get(&number).copied().unwrap_or(0);
            let has_strays = has_strays || is_over;
            let copied = Register {
                begun,
                answered: least,
                published: least,
                is_over: false,
                has_strays,
                is_copied: true,
            };
            registers.insert((to, number), copied);
        }
    }
    /// Begins to delete the records of an index, of all places or of one. Returns the state that each gets.
    fn begin_deletion(&self, life: Incarnation, place: Option<u64>) -> BTreeMap<Key, u64> {
        let mut registers = self.registers.lock();
        let of_it = registers.range_mut((life, 0)..=(life, u64::MAX));
        let meant = of_it.filter(|((_, number), _)| place.is_none_or(|place| number % RECORDS == place));
        let begun = meant.map(|(key, register)| {
            register.begun = (register.begun / STATES + 1) * STATES;
            // what nobody knows the end of may come after the deletion
            register.is_copied |= register.is_over;
            (*key, register.begun)
        });
        begun.collect()
    }
    fn register(&self, key: Key, change: impl FnOnce(&mut Register)) {
        change(self.registers.lock().entry(key).or_default());
    }
    /// The number of the record at a place of an index; of another one when nobody knows what became of the last.
    fn number(&self, life: Incarnation, place: u64) -> u64 {
        let mut numbers = self.numbers.lock();
        let registers = self.registers.lock();
        let number = numbers.entry((life, place)).or_insert(place);
        while registers.get(&(life, *number)).is_some_and(|register| register.is_over) {
            *number += RECORDS;
        }
        *number
    }
    fn check(&self, life: Incarnation, before: &BTreeMap<u64, Register>, found: &Shown, what: &str) {
        let after = self.registers(life);
        for number in found.keys() {
            assert!(after.contains_key(number), "{what}: {} shows a record that nobody wrote", self.user);
        }
        for (number, after) in after {
            let least = before.get(&number).map_or(0, |before| before.published);
            let mut allowed = least..=after.begun;
            let fits = match found.get(&number) {
                Some(state) => allowed.contains(state) && !is_absent(*state),
                None => allowed.any(is_absent),
            };
            assert!(
                fits,
                "{what}: {} shows record {number} in state {:?}, expected one of {least} to {}",
                self.user,
                found.get(&number),
                after.begun
            );
        }
    }
    /// What every node shows in the end: exactly what was answered, and nothing where the user is not.
    pub fn check_at_last(&self, world: &Arc<World>) {
        for (name, life) in world.indices.all() {
            self.check_index_at_last(world, &name, life);
        }
    }
    fn check_index_at_last(&self, world: &Arc<World>, name: &IndexName, life: Incarnation) {
        let registers = self.registers(life);
        let meta = world.with(NODES[0].0, |machine| machine.meta.clone());
        let is_it = meta.catalogue.get(name).is_some_and(|row| row.incarnation == life);
        assert!(is_it, "at last: {name} is another index");
        let row = meta.users.map.get(&self.user).copied();
        for (node, cluster) in NODES {
            let partition = meta.partition_of(name, cluster).expect("a name");
            let is_here = row.is_some_and(|row| row.cluster == cluster);
            let found = match meta.catalogue.get(&partition) {
                Some(partition) => self.found_at_last(world, node, partition),
                // the cluster came after the index, and nothing was written there
                None => Shown::new(),
            };
            for (number, register) in &registers {
                let state = found.get(number).copied();
                let fits = |wanted: u64| state == (!is_absent(wanted)).then_some(wanted);
                let is_right = match is_here {
                    true if register.is_copied => (register.published..=register.begun).any(fits),
                    true if register.is_over => fits(register.answered) || fits(register.begun),
                    true => fits(register.answered),
                    // it was written when everything had been deleted there
                    false => state.is_none() || register.is_over || register.has_strays,
                };
                assert!(
                    is_right,
                    "at last: {} {name} {number} in cluster {cluster}, {row:?}: {state:?} {register:?}",
                    self.user
                );
            }
            for number in found.keys() {
                assert!(registers.contains_key(number), "at last: {name} has {number}, which nobody wrote");
            }
        }
    }
    fn found_at_last(&self, world: &Arc<World>, node: u64, partition: &IndexRow) -> Shown {
        let all = world.records_at_last(node, partition.group).into_iter();
        let is_own = |of: Incarnation, id: &str| {
            of == partition.incarnation && owner_of(id).0 == Some(self.user.as_str())
        };
        let own = all.filter(|((of, id), _)| is_own(*of, id));
        shown(&own.map(|((_, id), record)| (id, record)).collect())
    }
}

/// Somebody's call on a node; `None` when the node dies.
pub async fn call<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    world: &Arc<World>,
    node: u64,
    work: impl FnOnce(Seat) -> F,
) -> Option<T> {
    let seat = Seat::new(world, node, Role::Call);
    let (tell, told) = oneshot::channel();
    let (life, work) = (seat.life, work(seat));
    world.clock.spawn(life, async move {
        let answer = work.await;
        // the caller may have gone away
        let _is_heard = tell.send(answer);
    });
    told.await.ok()
}

/// A node that is up and has joined.
pub fn some_node(world: &World) -> u64 {
    let state = world.state();
    let is_there = |node: u64| state.machines[&node].is_up && state.decided.nodes.contains_key(&NodeId(node));
    let up: Vec<u64> = state.machines.keys().copied().filter(|node| is_there(*node)).collect();
    up[world.clock.below(up.len() as u64) as usize]
}

/// Writes one record after another until the user's time is over.
pub async fn write(world: Arc<World>, truth: Arc<Truth>) {
    loop {
        world.clock.sleep(world.clock.between(1, 100)).await;
        if truth.is_over() {
            break;
        }
        let Some((name, life)) = world.indices.begin_write(&world.clock) else { continue };
        if !truth.given_up.lock().contains(&life) {
            truth.writes_under_way.store(true, Ordering::Relaxed);
            write_one(&world, &truth, (name, life)).await;
            truth.writes_under_way.store(false, Ordering::Relaxed);
        }
        world.indices.end_write(life);
    }
}

async fn write_one(world: &Arc<World>, truth: &Arc<Truth>, (name, life): (IndexName, Incarnation)) {
    let is_deletion = world.clock.below(12) == 0;
    let (op, states) = match is_deletion {
        true => {
            // as `clear` and `deleteBy` do
            let place = [None, Some(world.clock.below(RECORDS))][world.clock.below(2) as usize];
            let params = place.map_or(json!({}), |place| json!({PLACE: place})).to_string();
            let params = deletion_of(&truth.user, params.as_bytes()).expect("own parameters");
            (RecordOp::DeleteBy { params }, truth.begin_deletion(life, place))
        }
        false => {
            let key = (life, truth.number(life, world.clock.below(RECORDS)));
            let mut state = 0;
            truth.register(key, |register| {
                register.begun += 1;
                state = register.begun;
            });
            let object_id = owned_id(&truth.user, &key.1.to_string());
            let op = match is_absent(state) {
                true => RecordOp::Delete { object_id },
                false => RecordOp::Put { object_id, record: state.to_string().into_bytes() },
            };
            (op, BTreeMap::from([(key, state)]))
        }
    };
    let change = |change: &dyn Fn(&mut Register, u64)| {
        states.iter().for_each(|(key, state)| truth.register(*key, |register| change(register, *state)));
    };
    let (accepted, is_stray) = written(world, truth, name, op).await;
    change(&|register, _| register.has_strays |= is_stray);
    world.count(|counts| counts.done_again += u64::from(is_stray));
    let Some(accepted) = accepted else {
        change(&|register, _| register.is_over = true);
        if is_deletion {
            truth.given_up.lock().insert(life);
        }
        world.count(|counts| counts.unknown += 1);
        return;
    };
    let settled = |register: &Register| !(is_deletion && register.is_over);
    change(&|register, state| {
        if settled(register) {
            register.answered = state;
        }
    });
    world.count(|counts| match is_deletion {
        true => counts.wiped += 1,
        false if states.values().all(|state| is_absent(*state)) => counts.deletions += 1,
        false => counts.writes += 1,
    });
    let task = accepted.task_id;
    while !world.is_shown(task.group(), task.log_index()) {
        world.clock.sleep(3).await;
    }
    change(&|register, state| {
        if settled(register) {
            (register.published, register.is_copied) = (state, false);
        }
    });
}

/// One write by any node: what was answered, and whether it was done again.
async fn written(
    world: &Arc<World>,
    truth: &Arc<Truth>,
    name: IndexName,
    op: RecordOp,
) -> (Option<Accepted>, bool) {
    let (node, user) = (some_node(world), truth.user.clone());
    let answer = call(world, node, |seat| async move {
        let answer = write::with_user(&seat, &user, &name, vec![op]).await;
        (answer, seat.proposals() > 1)
    });
    let (answer, is_stray) = answer.await.map_or((None, false), |(answer, again)| (Some(answer), again));
    if let Some(Err(error)) = &answer {
        assert!(!world.climate.is_calm(), "a write of {} is refused: {error}", truth.user);
    }
    (answer.and_then(Result::ok), is_stray)
}

/// Reads all records of a user until its time is over.
pub async fn read(world: Arc<World>, truth: Arc<Truth>) {
    loop {
        world.clock.sleep(world.clock.between(1, 150)).await;
        if truth.is_over() {
            return;
        }
        let node = some_node(&world);
        if let Some(index) = world.indices.some(&world.clock) {
            read_once(&world, &truth, node, index).await;
        }
    }
}

/// Reads all records of a user in an index by one node, and checks them.
pub async fn read_once(
    world: &Arc<World>,
    truth: &Arc<Truth>,
    node: u64,
    (name, life): (IndexName, Incarnation),
) {
    let before = truth.registers(life);
    let (user, named) = (truth.user.clone(), name.clone());
    let answer = call(world, node, |seat| async move {
        let (asker, whose) = (seat.clone(), user.clone());
        let ask = move |cluster| {
            let (seat, user, name) = (asker.clone(), whose.clone(), named.clone());
            async move { seat.read_partition(cluster, &user, (&name, life)).await }
        };
        let found = routing::read(&seat, &user, ask).await;
        (found, seat.is_cut_off())
    });
    let answer = answer.await;
    if !world.indices.is_still(&name, life) {
        return;
    }
    match answer {
        Some((Ok(Some(found)), false)) => {
            world.count(|counts| counts.reads += 1);
            let what = format!("at {} ms by node {node} in {name}", world.clock.now_ms());
            truth.check(life, &before, &shown(&found), &what);
        }
        // the node knows another index of that name
        Some((Ok(None), false)) => {}
        Some((Err(error), false)) => panic!("a read of {} by node {node} is refused: {error}", truth.user),
        // what a node knows that is cut off from the others has to do
        Some((_, true)) => world.count(|counts| counts.cut_off += 1),
        None => {}
    }
}

impl Seat {
    /// What a replica of a cluster's partition shows of a user now.
    async fn read_partition(
        &self,
        cluster: u16,
        user: &UserId,
        (name, life): (&IndexName, Incarnation),
    ) -> Result<Option<BTreeMap<String, Vec<u8>>>> {
        self.look_again(name).await;
        let partition = routing::partition_for_read(self, name, cluster).await?;
        let meta = self.meta();
        if meta.catalogue.get(name).is_none_or(|row| row.incarnation != life) {
            return Ok(None);
        }
        if partition == *name && meta.partition_of(name, cluster)? != *name {
            // the cluster came after the index: its users see the public records of the home until something is written there
            return Ok(Some(BTreeMap::new()));
        }
        let Some(row) = meta.catalogue.get(&partition) else { return Ok(None) };
        self.world.clock.sleep(self.world.clock.below(4)).await;
        let holder = self.replica_of(row.group).expect("one node is down at a time");
        let now_ms = self.world.clock.now_ms();
        let mutant = self.world.mutant;
        let found = self.world.state().replica(holder, row.group, now_ms, mutant).of(row.incarnation, user);
        self.world.clock.sleep(self.world.clock.below(4)).await;
        Ok(Some(found))
    }
}

/// Has something decided by any node, again until one has done it.
pub async fn decide(world: &Arc<World>, command: MetaCommand) {
    loop {
        let (node, command) = (some_node(world), command.clone());
        let decided = call(world, node, |seat| async move {
            seat.decide(command, Purpose::Add, seat.write_deadline()).await.is_ok()
        });
        if decided.await == Some(true) {
            return;
        }
        world.clock.sleep(50).await;
    }
}

/// Moves users to and fro until the time is over; returns how many are still being moved about.
pub fn move_about(world: &Arc<World>, truths: &[Arc<Truth>], is_over: Arc<AtomicBool>) -> Arc<AtomicUsize> {
    let left = Arc::new(AtomicUsize::new(truths.len()));
    for truth in truths {
        let (world, user, is_over) = (world.clone(), truth.user.clone(), is_over.clone());
        let left = left.clone();
        world.clone().clock.spawn(NOBODY, async move {
            while !is_over.load(Ordering::Relaxed) {
                world.clock.sleep(world.clock.between(10, 1_500)).await;
                let to = world.clock.below(3) as u16;
                decide(&world, MetaCommand::MoveUser { user: user.clone(), to }).await;
            }
            left.fetch_sub(1, Ordering::Relaxed);
        });
    }
    left
}
