//! What becomes of writes that are under way while their index gets another name, is replaced or ends?
//!
//! Clients of [`super::clients`] wait then; these do not. Each of their writes puts a record of its own under the name that the
//! index has when it begins. What is answered is afterwards in that index, whatever its name is by then, or in the one that
//! has the name: in one of the two, and only there.

use super::clients::written;
use super::executor::NOBODY;
use super::truth::Truth;
use super::world::World;
use parking_lot::Mutex;
use quorate_model::user::owned_id;
use quorate_model::{IndexName, RecordOp, TaskId};
use quorate_node::ops::Incarnation;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Clients of each user that write at a time.
const CLIENTS: usize = 2;
/// Writes of each of them at most.
const WRITES: u64 = 12;

/// One write.
struct Single {
    truth: Arc<Truth>,
    number: u64,
    /// `None` when nobody knows what became of it.
    answer: Option<Answer>,
    has_strays: bool,
}

#[derive(Clone, Copy)]
struct Answer {
    task: TaskId,
    /// The index that it went to, if that is there.
    life: Option<Incarnation>,
}

/// Writes under one name while something is done to its index.
pub struct Hasty {
    name: IndexName,
    is_over: AtomicBool,
    left: AtomicUsize,
    written: Mutex<Vec<Single>>,
}

impl Hasty {
    /// Begins to write for all users whose time is not over, and who may write to these indices, which the name stands for now or
    /// soon.
    pub fn begin(
        world: &Arc<World>,
        truths: &[Arc<Truth>],
        name: &IndexName,
        lives: &[Incarnation],
    ) -> Arc<Hasty> {
        let writes =
            |truth: &&Arc<Truth>| !truth.is_over() && !lives.iter().any(|life| truth.has_given_up(*life));
        let writers: Vec<Arc<Truth>> = truths.iter().filter(writes).cloned().collect();
        let left = AtomicUsize::new(writers.len() * CLIENTS);
        let (is_over, written) = (AtomicBool::new(false), Mutex::default());
        let hasty = Arc::new(Hasty { name: name.clone(), is_over, left, written });
        for truth in writers.iter().flat_map(|truth| std::iter::repeat_n(truth, CLIENTS)) {
            let (world, hasty, truth) = (world.clone(), hasty.clone(), truth.clone());
            world.clone().clock.spawn(NOBODY, async move {
                for number in 0..WRITES {
                    world.clock.sleep(world.clock.between(0, 10 * (number + 1))).await;
                    if hasty.is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    hasty.write(&world, &truth).await;
                }
                hasty.left.fetch_sub(1, Ordering::Relaxed);
            });
        }
        hasty
    }
    async fn write(&self, world: &Arc<World>, truth: &Arc<Truth>) {
        let number = truth.single();
        let object_id = owned_id(&truth.user, &number.to_string());
        let op = RecordOp::Put { object_id, record: b"1".to_vec() };
        let (accepted, has_strays) = written(world, truth, self.name.clone(), op).await;
        world.count(|counts| match accepted.is_some() {
            true => counts.hasty += 1,
            false => counts.unknown += 1,
        });
        let answer = accepted.map(|accepted| Answer { task: accepted.task_id, life: None });
        self.written.lock().push(Single { truth: truth.clone(), number, answer, has_strays });
    }
    /// Lets nobody begin another write, and returns when none is under way.
    pub async fn end(&self, world: &World) {
        self.is_over.store(true, Ordering::Relaxed);
        while self.left.load(Ordering::Relaxed) > 0 {
            world.clock.sleep(3).await;
        }
        for answer in self.written.lock().iter_mut().filter_map(|single| single.answer.as_mut()) {
            answer.life = world.life_written(answer.task);
        }
    }
    /// Whether something may still come that nobody knows of.
    pub fn has_unknown(&self) -> bool {
        self.written.lock().iter().any(|single| single.answer.is_none())
    }
    /// The records of a user.
    pub fn numbers(&self, truth: &Truth) -> BTreeSet<u64> {
        let written = self.written.lock();
        let own = written.iter().filter(|single| single.truth.user == truth.user);
        own.map(|single| single.number).collect()
    }
    /// Notes what must be found in an index that has, or had, the name; nobody writes or reads it yet. It has ended.
    pub async fn settle(&self, world: &World, life: Incarnation) {
        let mut shown = vec![];
        for Single { truth, number, answer, has_strays } in &*self.written.lock() {
            let key = (life, *number);
            match answer {
                None => {
                    truth.begin_write(key);
                    truth.register(key, |register| register.is_over = true);
                }
                Some(answer) if answer.life == Some(life) => {
                    let states = BTreeMap::from([(key, truth.begin_write(key))]);
                    truth.answered(&states, false);
                    shown.push((truth.clone(), states, answer.task));
                }
                Some(_) => {}
            }
            if *has_strays {
                truth.register(key, |register| register.has_strays = true);
            }
        }
        for (truth, states, task) in shown {
            while !world.is_shown(task.group(), task.log_index()) {
                world.clock.sleep(3).await;
            }
            truth.published(&states, false);
        }
    }
    /// Checks that everything that was answered went to one of these indices.
    pub fn check_kept(&self, lives: [Option<Incarnation>; 2]) {
        for Single { truth, number, answer, .. } in &*self.written.lock() {
            let is_kept = answer.is_none_or(|Answer { life, .. }| life.is_some() && lives.contains(&life));
            assert!(is_kept, "at last: record {number} of {} is in no index named {}", truth.user, self.name);
        }
    }
    /// How many went to an index.
    pub fn count_in(&self, life: Incarnation) -> u64 {
        let is_there = |single: &&Single| single.answer.is_some_and(|answer| answer.life == Some(life));
        self.written.lock().iter().filter(is_there).count() as u64
    }
}
