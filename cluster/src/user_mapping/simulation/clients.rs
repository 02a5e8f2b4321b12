//! What do clients write, move and read, and what must they see of it?
//!
//! Each record of a user is a register with numbered states, written one after another; every fourth state is that there is no
//! record. A read must show each record in a state that is not older than what was published when it began, and not newer than
//! what was begun when it ended. When nobody knows what became of a write, its record is written no more.

use super::executor::NOBODY;
use super::seat::{Role, Seat};
use super::world::{NODES, World};
use crate::command::MetaCommand;
use crate::disk::Purpose;
use crate::user_mapping::means::Means;
use crate::user_mapping::{place, write};
use parking_lot::Mutex;
use quorate_model::user::{owned_id, owner_of};
use quorate_model::{IndexName, RecordOp, Result, UserId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::oneshot;

/// Records of a user that are written at a time.
const RECORDS: u64 = 5;

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
}

fn is_absent(state: u64) -> bool {
    state.is_multiple_of(4)
}

/// What became of one user.
pub struct Truth {
    pub user: UserId,
    registers: Mutex<BTreeMap<u64, Register>>,
    pub is_over: AtomicBool,
    pub writes_under_way: AtomicBool,
}

pub fn index() -> IndexName {
    IndexName::new("i").expect("valid")
}

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
            is_over: AtomicBool::new(false),
            writes_under_way: AtomicBool::new(false),
        })
    }
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
    fn check(&self, before: &BTreeMap<u64, Register>, found: &Shown, what: &str) {
        let after = self.registers.lock().clone();
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
        let registers = self.registers.lock().clone();
        let meta = world.with(NODES[0].0, |machine| machine.meta.clone());
        let row = meta.users.map.get(&self.user).copied();
        for (node, cluster) in NODES {
            let part = meta.part_of(&index(), cluster).expect("a name");
            let part = meta.catalogue.get(&part).expect("a part").clone();
            let all = world.records_at_last(node, part.group);
            let own = all.into_iter().filter(|((_, id), _)| owner_of(id).0 == Some(self.user.as_str()));
            let found = shown(&own.map(|((_, id), record)| (id, record)).collect());
            for (number, register) in &registers {
                let is_here = row.is_some_and(|row| row.cluster == cluster);
                let state = found.get(number).copied();
                let fits = |wanted: u64| state == (!is_absent(wanted)).then_some(wanted);
                match (is_here, register.is_over || !is_here && register.has_strays) {
                    (true, false) => {
                        assert!(
                            fits(register.answered),
                            "at last: {} {number} {state:?} {register:?}",
                            self.user
                        );
                    }
                    (true, true) => {
                        let fits = fits(register.answered) || fits(register.begun);
                        assert!(fits, "at last: {} {number} {state:?} {register:?}", self.user);
                    }
                    (false, false) => {
                        assert_eq!(state, None, "at last: {} is in two clusters, record {number}", self.user);
                    }
                    // it was written when everything had been deleted there
                    (false, true) => {}
                }
            }
        }
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

/// A node that is up.
fn some_node(world: &World) -> u64 {
    let state = world.state();
    let up: Vec<u64> =
        state.machines.iter().filter(|(_, machine)| machine.is_up).map(|(node, _)| *node).collect();
    up[world.clock.below(up.len() as u64) as usize]
}

/// Writes one record after another until the user's time is over.
pub async fn write(world: Arc<World>, truth: Arc<Truth>) {
    let mut numbers: Vec<u64> = (0..RECORDS).collect();
    loop {
        world.clock.sleep(world.clock.between(1, 100)).await;
        if truth.is_over() {
            break;
        }
        let place = world.clock.below(RECORDS) as usize;
        let number = numbers[place];
        let state = {
            let mut registers = truth.registers.lock();
            let register = registers.entry(number).or_default();
            register.begun += 1;
            register.begun
        };
        truth.writes_under_way.store(true, Ordering::Relaxed);
        let id = owned_id(&truth.user, &number.to_string());
        let op = match is_absent(state) {
            true => RecordOp::Delete { object_id: id },
            false => RecordOp::Put { object_id: id, record: state.to_string().into_bytes() },
        };
        let (node, user) = (some_node(&world), truth.user.clone());
        let answer = call(&world, node, |seat| async move {
            let answer = write::with_user(&seat, &user, &index(), vec![op]).await;
            (answer, seat.proposals() > 1)
        });
        let (answer, is_stray) = answer.await.map_or((None, false), |(answer, again)| (Some(answer), again));
        truth.registers.lock().get_mut(&number).expect("begun").has_strays |= is_stray;
        world.count(|counts| counts.done_again += u64::from(is_stray));
        if let Some(Err(error)) = &answer {
            assert!(!world.climate.is_calm(), "a write of {} is refused: {error}", truth.user);
        }
        let Some(Ok(accepted)) = answer else {
            truth.registers.lock().get_mut(&number).expect("begun").is_over = true;
            world.count(|counts| counts.unknown += 1);
            numbers[place] = numbers.iter().max().map_or(0, |most| most + 1);
            continue;
        };
        truth.registers.lock().get_mut(&number).expect("begun").answered = state;
        world.count(|counts| match is_absent(state) {
            true => counts.deletions += 1,
            false => counts.writes += 1,
        });
        let task = accepted.task_id;
        while !world.is_shown(task.group(), task.log_index()) {
            world.clock.sleep(3).await;
        }
        truth.registers.lock().get_mut(&number).expect("begun").published = state;
        truth.writes_under_way.store(false, Ordering::Relaxed);
    }
    truth.writes_under_way.store(false, Ordering::Relaxed);
}

/// Reads all records of a user until its time is over.
pub async fn read(world: Arc<World>, truth: Arc<Truth>) {
    loop {
        world.clock.sleep(world.clock.between(1, 150)).await;
        if truth.is_over() {
            return;
        }
        let node = some_node(&world);
        read_once(&world, &truth, node).await;
    }
}

/// Reads all records of a user by one node, and checks them.
pub async fn read_once(world: &Arc<World>, truth: &Arc<Truth>, node: u64) {
    let before = truth.registers.lock().clone();
    let user = truth.user.clone();
    let answer = call(world, node, |seat| async move {
        let (asker, whose) = (seat.clone(), user.clone());
        let ask = move |cluster| {
            let (seat, user) = (asker.clone(), whose.clone());
            async move { seat.read_part(cluster, &user).await }
        };
        let found = place::read(&seat, &user, ask).await;
        (found, seat.is_cut_off())
    });
    match answer.await {
        Some((Ok(found), false)) => {
            world.count(|counts| counts.reads += 1);
            truth.check(&before, &shown(&found), &format!("at {} ms by node {node}", world.clock.now_ms()));
        }
        Some((Err(error), false)) => panic!("a read of {} by node {node} is refused: {error}", truth.user),
        // what a node knows that is cut off from the others has to do
        Some((_, true)) => world.count(|counts| counts.cut_off += 1),
        None => {}
    }
}

impl Seat {
    /// What a replica of a cluster's part shows of a user now.
    async fn read_part(&self, cluster: u16, user: &UserId) -> Result<BTreeMap<String, Vec<u8>>> {
        let row = self.row(&self.meta().part_of(&index(), cluster)?)?;
        self.world.clock.sleep(self.world.clock.below(4)).await;
        let holder = self.replica_of(row.group).expect("one node is down at a time");
        let now_ms = self.world.clock.now_ms();
        let mutant = self.world.mutant;
        let found = self.world.state().replica(holder, row.group, now_ms, mutant).of(row.incarnation, user);
        self.world.clock.sleep(self.world.clock.below(4)).await;
        Ok(found)
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
                let to = world.clock.below(2) as u16;
                decide(&world, MetaCommand::MoveUser { user: user.clone(), to }).await;
            }
            left.fetch_sub(1, Ordering::Relaxed);
        });
    }
    left
}
