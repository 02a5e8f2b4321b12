//! Which exponents find most of what was held out?

use super::error::{Result, go_on};
use super::exact::spread;
use super::lists::{Best, best_of, penalties_of, shrinkage};
use super::matrix::Matrix;
use super::names::Names;
use super::parameters::{CHOICES, Choice, chosen, is_held_out};
use super::report::HeldOut;
use super::similarities::{Admission, Similarities};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::AtomicBool;

/// Users that exponents are tried with.
const USERS_MAX: usize = 3_000;
/// Interactions below which nothing is tried.
const INTERACTIONS_MIN: usize = 5_000;
/// Items that the best exponents have to find: of fewer, which find most is chance.
pub(super) const HITS_MIN: u32 = 100;
/// What is recommended to a user.
const RECOMMENDED: usize = 20;
/// Neighbours that are kept for users to come, 28 bytes each. When there are more, fewer users have to do.
const KEPT_MAX: usize = 4_000_000;

/// Chooses the exponents: the items held out of some histories are to be found from what is left of them.
pub(super) fn choose(
    matrix: &Matrix,
    names: &Names,
    admission: Admission,
    stop: &AtomicBool,
) -> Result<(Choice, Option<HeldOut>)> {
    if matrix.histories.cells() < INTERACTIONS_MIN {
        return Ok((Choice::DEFAULT, None));
    }
    let users = users(matrix, names, stop)?;
    let held: FxHashMap<u32, &[u32]> = users.iter().map(|user| (user.row, &user.held[..])).collect();
    let is_held = |row: u32, item: u32| held.get(&row).is_some_and(|items| items.contains(&item));
    let left = matrix.without(is_held, stop)?;
    let mut trial = Trial::new(&left, admission, &users);
    let mut tried = HeldOut { users: 0, interactions: 0, recall: 0.0 };
    let (mut recalls, mut found) = ([0.0; CHOICES], [0; CHOICES]);
    for user in &users {
        if !trial.prepare(user.row, stop)? {
            break;
        }
        let hits = trial.hits(user, stop)?;
        tried.users += 1;
        tried.interactions += user.held.len() as u32;
        for (number, hits) in hits.into_iter().enumerate() {
            found[number] += hits;
            recalls[number] += f64::from(hits) / user.held.len() as f64;
        }
    }
    let recalls = recalls.map(|sum| sum / f64::from(tried.users.max(1)));
    let is_enough = found.iter().any(|found| *found >= HITS_MIN);
    let choice = if is_enough { chosen(&recalls) } else { Choice::DEFAULT };
    Ok((choice, Some(HeldOut { recall: recalls[choice.number()], ..tried })))
}

/// A user that exponents are tried with.
struct TrialUser {
    row: u32,
    held: Vec<u32>,
}

/// As if by chance, but the same in every build: users of whose items some, but not all, are held out.
fn users(matrix: &Matrix, names: &Names, stop: &AtomicBool) -> Result<Vec<TrialUser>> {
    let rows = 0..matrix.histories.rows();
    let several = rows.filter(|row| matrix.histories.row(*row).len() > 1);
    let mut drawn: BinaryHeap<Reverse<(u64, u32)>> =
        several.map(|row| Reverse((spread(matrix.keys[row as usize]), row))).collect();
    let mut users = Vec::new();
    while let (true, Some(Reverse((_, row)))) = (users.len() < USERS_MAX, drawn.pop()) {
        go_on(stop)?;
        let items = matrix.histories.row(row).iter().map(|cell| cell >> 3);
        let id = |item: &u32| names.id(matrix.items[*item as usize]);
        let held: Vec<u32> = items.filter(|item| is_held_out(matrix.keys[row as usize], id(item))).collect();
        if !held.is_empty() && held.len() < matrix.histories.row(row).len() {
            users.push(TrialUser { row, held });
        }
    }
    Ok(users)
}

/// A neighbour of an item by at least one of the choices.
struct Kept {
    item: u32,
    /// A bit for each choice whose list has it.
    choices: u32,
    common: u32,
    sums: [f32; 4],
}

/// Lists of items, by all choices, and what they recommend.
struct Trial<'a> {
    matrix: &'a Matrix,
    similarities: Similarities<'a, 4>,
    penalties: Vec<[f32; 3]>,
    best: Best,
    list: Vec<(f32, u32)>,
    /// The choices whose list has an item; all 0 between two items.
    choices: Vec<u32>,
    /// Lists of items that users to come have, too.
    kept: FxHashMap<u32, Vec<Kept>>,
    neighbours: usize,
    /// How many users still have an item.
    uses: FxHashMap<u32, u32>,
    /// Where the sums of an item are, plus one; all 0 between two users.
    places: Vec<u32>,
    candidates: Vec<Candidate>,
}

struct Candidate {
    item: u32,
    scores: [f32; CHOICES],
}

impl<'a> Trial<'a> {
    fn new(matrix: &'a Matrix, admission: Admission, users: &[TrialUser]) -> Self {
        let mut uses = FxHashMap::default();
        for cell in users.iter().flat_map(|user| matrix.histories.row(user.row)) {
            *uses.entry(cell >> 3).or_insert(0) += 1;
        }
        Trial {
            matrix,
            similarities: Similarities::new(matrix, admission, [0, 1, 2, 3]),
            penalties: penalties_of(matrix, [0, 1, 2]),
            best: Best::new(),
            list: Vec::new(),
            choices: vec![0; matrix.items.len()],
            kept: FxHashMap::default(),
            neighbours: 0,
            uses,
            places: vec![0; matrix.items.len()],
            candidates: Vec::new(),
        }
    }
    /// Computes the lists of all items of a history. Returns false when they do not fit beside those that are kept.
    fn prepare(&mut self, row: u32, stop: &AtomicBool) -> Result<bool> {
        for cell in self.matrix.histories.row(row) {
            let item = cell >> 3;
            if self.kept.contains_key(&item) {
                continue;
            }
            if self.neighbours > KEPT_MAX {
                return Ok(false);
            }
            self.similarities.compute(item, stop)?;
            let list = self.by_all_choices(stop)?;
            self.neighbours += list.len();
            self.kept.insert(item, list);
        }
        Ok(true)
    }
    /// The lists of the row that was computed.
    fn by_all_choices(&mut self, stop: &AtomicBool) -> Result<Vec<Kept>> {
        for (number, choice) in Choice::all().into_iter().enumerate() {
            go_on(stop)?;
            let lambda = choice.lambda();
            let penalties = &self.penalties;
            best_of(
                &self.similarities,
                &mut self.best,
                |pair| {
                    let penalty = penalties[pair.item as usize][choice.beta];
                    pair.sums[choice.alpha] * penalty * shrinkage(pair.common, lambda)
                },
                &mut self.list,
            );
            for (_, item) in &self.list {
                self.choices[*item as usize] |= 1 << number;
            }
        }
        let mut kept = Vec::new();
        for pair in self.similarities.pairs.iter().chain(&self.similarities.fillers) {
            let choices = std::mem::take(&mut self.choices[pair.item as usize]);
            if choices != 0 {
                kept.push(Kept { item: pair.item, choices, common: pair.common, sums: pair.sums });
            }
        }
        Ok(kept)
    }
    /// How many of the items held out each choice recommends. Forgets lists that no other user needs.
    fn hits(&mut self, user: &TrialUser, stop: &AtomicBool) -> Result<[u32; CHOICES]> {
        let history = self.matrix.histories.row(user.row);
        for cell in history {
            go_on(stop)?;
            let item = cell >> 3;
            self.add(item);
            let uses = self.uses.get_mut(&item).expect("the items of all users were counted");
            *uses -= 1;
            if *uses == 0 {
                let list = self.kept.remove(&item);
                self.neighbours -= list.map_or(0, |list| list.len());
            }
        }
        // what the user has is not recommended
        for cell in history {
            if let Some(place) = self.places[(cell >> 3) as usize].checked_sub(1) {
                self.candidates[place as usize].scores = [0.0; CHOICES];
            }
        }
        let mut hits = [0; CHOICES];
        for (number, hits) in hits.iter_mut().enumerate() {
            self.best.begin(RECOMMENDED);
            let scored = self.candidates.iter().filter(|candidate| candidate.scores[number] > 0.0);
            scored.for_each(|candidate| self.best.push(candidate.scores[number], candidate.item));
            *hits = self.best.take().filter(|(_, item)| user.held.contains(item)).count() as u32;
        }
        for candidate in self.candidates.drain(..) {
            self.places[candidate.item as usize] = 0;
        }
        Ok(hits)
    }
    /// Adds the lists of an item, each divided by its sum, to what is recommended.
    fn add(&mut self, item: u32) {
        let list = &self.kept[&item];
        let mut sums = [0.0; CHOICES];
        for kept in list {
            each_choice(kept, &self.penalties, |number, score| sums[number] += score);
        }
        for kept in list {
            let place = &mut self.places[kept.item as usize];
            if *place == 0 {
                self.candidates.push(Candidate { item: kept.item, scores: [0.0; CHOICES] });
                *place = self.candidates.len() as u32;
            }
            let scores = &mut self.candidates[*place as usize - 1].scores;
            each_choice(kept, &self.penalties, |number, score| scores[number] += score / sums[number]);
        }
    }
}

/// Calls `take` with the number and the score of each choice whose list has the neighbour.
fn each_choice(kept: &Kept, penalties: &[[f32; 3]], mut take: impl FnMut(usize, f32)) {
    let penalties = penalties[kept.item as usize];
    for (number, choice) in Choice::all().into_iter().enumerate() {
        if kept.choices & 1 << number != 0 {
            let shrunk = shrinkage(kept.common, choice.lambda());
            take(number, kept.sums[choice.alpha] * penalties[choice.beta] * shrunk);
        }
    }
}
