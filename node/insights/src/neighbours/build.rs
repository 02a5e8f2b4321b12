//! How do interactions become a model?

use super::error::{Result, go_on};
use super::histories::{Baskets, baskets, histories};
use super::interactions::Interactions;
use super::lists::{Best, best_of, penalties_of, shrinkage};
use super::matrix::Matrix;
use super::report::Report;
use super::similarities::{Admission, Similarities};
use super::trial::choose;
use super::writer::{ModelWriter, SCORE_BEST};
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

/// Writes the model of what the same users click and convert. Ends within 100 ms when it is told to stop.
///
/// The same interactions give the same bytes, whatever their order was and on whatever machine.
/// Errors: `Stopped`, `Io`.
/// Cost: some 16 ns for each pair of items in a history. Memory: 8 bytes an interaction more than the interactions take, 16 while
/// exponents are tried, and some 40 an item; up to 112 MB for lists that are tried.
pub fn related_products(interactions: &Interactions, out: impl Write, stop: &AtomicBool) -> Result<Report> {
    let matrix = histories(interactions, stop)?;
    let users = matrix.histories.rows();
    build(interactions, matrix, Admission::Related, Counted { users, baskets: None }, out, stop)
}

/// Writes the model of what the same baskets hold: see [`related_products`].
pub fn bought_together(interactions: &Interactions, out: impl Write, stop: &AtomicBool) -> Result<Report> {
    let Baskets { matrix, users } = baskets(interactions, stop)?;
    let counted = Counted { users, baskets: Some(matrix.histories.rows()) };
    build(interactions, matrix, Admission::Together, counted, out, stop)
}

/// What the rows of a matrix are of.
struct Counted {
    users: u32,
    baskets: Option<u32>,
}

fn build(
    interactions: &Interactions,
    matrix: Matrix,
    admission: Admission,
    counted: Counted,
    out: impl Write,
    stop: &AtomicBool,
) -> Result<Report> {
    let (choice, held_out) = choose(&matrix, &interactions.names, admission, stop)?;
    let mut similarities = Similarities::new(&matrix, admission, [choice.alpha]);
    let penalties = penalties_of(&matrix, [choice.beta]);
    let (mut best, mut list) = (Best::new(), Vec::new());
    let mut writer = ModelWriter::new(Stoppable { out, stop })?;
    for item in 0..matrix.items.len() as u32 {
        go_on(stop)?;
        similarities.compute(item, stop)?;
        best_of(
            &similarities,
            &mut best,
            |pair| pair.sums[0] * penalties[pair.item as usize][0] * shrinkage(pair.common, choice.lambda()),
            &mut list,
        );
        list.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let highest = list.first().map_or(0.0, |(score, _)| *score);
        let scored = list.iter().map(|(score, other)| (*other, hundredths(*score, highest)));
        writer.list(matrix.users(item), scored)?;
    }
    let report = Report {
        rows: interactions.seen,
        robots: interactions.left_out,
        users: counted.users,
        baskets: counted.baskets,
        items: matrix.items.len() as u32,
        interactions: matrix.histories.cells() as u64,
        neighbours: u64::from(writer.neighbours()),
        parameters: choice.parameters(),
        held_out,
        is_uploaded: false,
    };
    let written = writer.finish(matrix.items.iter().map(|item| interactions.names.id(*item)), &report);
    go_on(stop)?;
    written.map(|_| report)
}

/// An output that takes nothing more once the build was told to stop: ids alone can take longer than 100 ms.
struct Stoppable<'a, W> {
    out: W,
    stop: &'a AtomicBool,
}

impl<W: Write> Write for Stoppable<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        go_on(self.stop).map_err(io::Error::other)?;
        self.out.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A score as part of the highest of its list. What is listed has one, however small.
fn hundredths(score: f32, highest: f32) -> u16 {
    (score / highest * f32::from(SCORE_BEST)).round().max(1.0) as u16
}
