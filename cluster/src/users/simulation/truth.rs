//! What must clients see of what they wrote?
//!
//! Each record of a user is a register with numbered states, written one after another; every fourth state is that there is no
//! record. A read must show each record in a state that is not older than what was published when it began, and not newer than
//! what was begun when it ended. When nobody knows what became of a write, its record is written no more. A copy of an index has
//! all records of a user as they were at one moment of the copy.

use super::groups::Records;
use super::world::{NODES, World};
use crate::meta::{IndexRow, UserState};
use parking_lot::Mutex;
use quorate_model::user::owner_of;
use quorate_model::{IndexName, UserId};
use quorate_node::ops::Incarnation;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Records of a user that are written at a time.
pub const RECORDS: u64 = 5;
/// The parameter of a deletion that is for the records of one place.
pub const PLACE: &str = "place";
/// States of which one is that there is no record.
const STATES: u64 = 4;

/// Records that are written once have numbers from here on.
const FIRST_SINGLE: u64 = 1 << 40;

/// The states of one record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Register {
    /// The last state that somebody began to write.
    pub begun: u64,
    /// The last one whose write was answered.
    pub answered: u64,
    /// The last one that was published.
    pub published: u64,
    /// What became of the last write is not known.
    pub is_over: bool,
    /// A write was done again because the user had been moved: what it wrote first stays where nobody reads it, until the
    /// user comes back or is removed.
    pub has_strays: bool,
    /// It was copied while it was written: any state between the two is right.
    pub is_copied: bool,
}

/// Something that happened to a record.
#[derive(Clone, Copy, Debug)]
enum Event {
    Begun(u64),
    Answered(u64),
}

/// The moment at which something begins that copies an index.
pub struct Mark {
    /// The records of the index.
    registers: BTreeMap<u64, Register>,
    /// How much had happened.
    events: usize,
}

pub fn is_absent(state: u64) -> bool {
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
    /// What has happened, in order.
    journal: Mutex<Vec<(Key, Event)>>,
    /// Numbers of records that are written once.
    next_single: AtomicU64,
    pub is_over: AtomicBool,
    pub writes_under_way: AtomicBool,
}

/// An index, and the number of a record in it.
pub type Key = (Incarnation, u64);

/// What a read showed: each record of the user by its number with its state.
type Shown = BTreeMap<u64, u64>;

pub fn shown(records: &BTreeMap<String, Vec<u8>>) -> Shown {
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
            journal: Mutex::default(),
            next_single: AtomicU64::new(FIRST_SINGLE),
            is_over: AtomicBool::new(false),
            writes_under_way: AtomicBool::new(false),
        })
    }
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
    /// The records of an index.
    pub fn registers(&self, life: Incarnation) -> BTreeMap<u64, Register> {
        let registers = self.registers.lock();
        let of_it = registers.range((life, 0)..=(life, u64::MAX));
        of_it.map(|((_, number), register)| (*number, *register)).collect()
    }
    /// To be called before something that copies an index begins.
    pub fn mark(&self, life: Incarnation) -> Mark {
        let events = self.journal.lock().len();
        Mark { registers: self.registers(life), events }
    }
    /// Checks that what a copy shows first is what its source had at one moment since the mark.
    pub fn check_copy(&self, from: Incarnation, mark: &Mark, found: &Shown, what: &str) {
        let bounds = mark.registers.iter().map(|(number, it)| (*number, (it.answered, it.begun)));
        let mut bounds: BTreeMap<u64, (u64, u64)> = bounds.collect();
        let was_so = |bounds: &BTreeMap<u64, (u64, u64)>| {
            let fits = |(number, (least, most)): (&u64, &(u64, u64))| match found.get(number) {
                Some(state) => (least..=most).contains(&state),
                None => (*least..=*most).any(is_absent),
            };
            bounds.iter().all(fits) && found.keys().all(|number| bounds.contains_key(number))
        };
        let journal = self.journal.lock();
        let since = journal[mark.events..].iter().filter(|((life, _), _)| *life == from);
        let is_right = was_so(&bounds)
            || since.into_iter().any(|((_, number), event)| {
                let (answered, begun) = bounds.entry(*number).or_default();
                match event {
                    Event::Begun(state) => *begun = *state,
                    Event::Answered(state) => *answered = *state,
                }
                was_so(&bounds)
            });
        assert!(
            is_right,
            "{what}: {} shows records of different moments: {found:?}, from {:?} to {bounds:?}, since then {:?}",
            self.user,
            mark.registers,
            &journal[mark.events..]
        );
    }
    /// Takes over what a copy of an index may have: what was answered when it began, up to what is begun by now.
    pub fn copied(&self, from: Incarnation, to: Incarnation, mark: &Mark) {
        let source = self.registers(from);
        let mut registers = self.registers.lock();
        for (number, Register { begun, is_over, has_strays, .. }) in source {
            let least = mark.registers.get(&number).map_or(0, |register| register.answered);
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
    /// Begins to write a record. Returns the state that it gets.
    pub fn begin_write(&self, key: Key) -> u64 {
        let mut state = 0;
        self.register(key, |register| {
            register.begun += 1;
            state = register.begun;
        });
        self.journal.lock().push((key, Event::Begun(state)));
        state
    }
    /// Begins to delete the records of an index, of all places or of one. Returns the state that each gets.
    pub fn begin_deletion(&self, life: Incarnation, place: Option<u64>) -> BTreeMap<Key, u64> {
        let mut registers = self.registers.lock();
        let of_it = registers.range_mut((life, 0)..=(life, u64::MAX));
        let meant = of_it.filter(|((_, number), _)| place.is_none_or(|place| number % RECORDS == place));
        let begun = meant.map(|(key, register)| {
            register.begun = (register.begun / STATES + 1) * STATES;
            // what nobody knows the end of may come after the deletion
            register.is_copied |= register.is_over;
            (*key, register.begun)
        });
        let begun: BTreeMap<Key, u64> = begun.collect();
        self.journal.lock().extend(begun.iter().map(|(key, state)| (*key, Event::Begun(*state))));
        begun
    }
    /// Notes that what was begun is answered.
    pub fn answered(&self, states: &BTreeMap<Key, u64>, is_deletion: bool) {
        for (key, state) in states {
            self.register(*key, |register| {
                if !(is_deletion && register.is_over) {
                    register.answered = *state;
                    self.journal.lock().push((*key, Event::Answered(*state)));
                }
            });
        }
    }
    /// Notes that it is published.
    pub fn published(&self, states: &BTreeMap<Key, u64>, is_deletion: bool) {
        for (key, state) in states {
            self.register(*key, |register| {
                if !(is_deletion && register.is_over) {
                    (register.published, register.is_copied) = (*state, false);
                }
            });
        }
    }
    /// Whether nothing is written in an index any more.
    pub fn has_given_up(&self, life: Incarnation) -> bool {
        self.given_up.lock().contains(&life)
    }
    pub fn give_up(&self, life: Incarnation) {
        self.given_up.lock().insert(life);
    }
    /// The number of a record that is written once.
    pub fn single(&self) -> u64 {
        self.next_single.fetch_add(1, Ordering::Relaxed)
    }
    pub fn register(&self, key: Key, change: impl FnOnce(&mut Register)) {
        change(self.registers.lock().entry(key).or_default());
    }
    /// The number of the record at a place of an index; of another one when nobody knows what became of the last.
    pub fn number(&self, life: Incarnation, place: u64) -> u64 {
        let mut numbers = self.numbers.lock();
        let registers = self.registers.lock();
        let number = numbers.entry((life, place)).or_insert(place);
        while registers.get(&(life, *number)).is_some_and(|register| register.is_over) {
            *number += RECORDS;
        }
        *number
    }
    pub fn check(&self, life: Incarnation, before: &BTreeMap<u64, Register>, found: &Shown, what: &str) {
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
    /// The records of an index as they are decided now, where the user is; `None` of a user who is nowhere, or removed.
    pub fn written(&self, world: &World, name: &IndexName) -> Option<Shown> {
        let meta = world.state().decided.clone();
        let row = meta.users.map.get(&self.user).filter(|row| row.state != UserState::Removing)?;
        let partition = meta.catalogue.get(&meta.partition_of(name, row.cluster).ok()?).cloned();
        Some(partition.map_or_else(Shown::new, |row| {
            let all = world.records_written(row.group);
            self.own(all, row.incarnation)
        }))
    }
    fn found_at_last(&self, world: &Arc<World>, node: u64, partition: &IndexRow) -> Shown {
        self.own(world.records_at_last(node, partition.group), partition.incarnation)
    }
    fn own(&self, all: Records, index: Incarnation) -> Shown {
        let is_own = |of: Incarnation, id: &str| of == index && owner_of(id).0 == Some(self.user.as_str());
        let own = all.into_iter().filter(|((of, id), _)| is_own(*of, id));
        shown(&own.map(|((_, id), record)| (id, record)).collect())
    }
}
