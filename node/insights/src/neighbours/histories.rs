//! What did each user have to do with, and what was taken together?

use super::error::{Result, go_on};
use super::exact::spread;
use super::interactions::{Interactions, Kind, Row};
use super::matrix::{Matrix, MatrixBuilder};
use std::cmp::Reverse;
use std::sync::atomic::AtomicBool;

/// Items of one history, or basket: the newest.
pub(super) const HISTORY_ITEMS_MAX: usize = 500;
/// Clicks and conversions from which on views say nothing that they do not say better.
const ROWS_WITHOUT_VIEWS: usize = 5_000;
/// Baskets of purchases from which on other conversions are left out.
const PURCHASE_BASKETS: usize = 1_000;
/// How long after its first conversion a basket takes more.
const BASKET_SECONDS: u32 = 24 * 60 * 60;

/// What a user had to do with an item: the strongest kind, and the newest time.
#[derive(Clone, Copy)]
struct Had {
    item: u32,
    kind: Kind,
    second: u32,
}

/// A row for each user: the items of its clicks and conversions, of its views, too, while there are few of those.
pub(super) fn histories(interactions: &Interactions, stop: &AtomicBool) -> Result<Matrix> {
    let mut stronger = 0;
    for piece in interactions.rows().chunks(1 << 16) {
        go_on(stop)?;
        stronger += piece.iter().filter(|row| row.kind() > Kind::View).count();
    }
    let weakest = if stronger < ROWS_WITHOUT_VIEWS { Kind::View } else { Kind::Click };
    let mut matrix = MatrixBuilder::new(interactions.names.len());
    let mut had = Vec::new();
    for (user, rows) in interactions.by_user() {
        go_on(stop)?;
        collapse(rows.iter().filter(|row| row.kind() >= weakest), &mut had);
        if !had.is_empty() {
            matrix.push(user, had.iter().map(|had| (had.item, had.kind)));
        }
    }
    matrix.finish(stop)
}

/// Baskets of conversions, and how many users they are of.
pub(super) struct Baskets {
    pub matrix: Matrix,
    pub users: u32,
}

/// A row for each basket: what one user converted within a day; bought, once there are enough purchases.
pub(super) fn baskets(interactions: &Interactions, stop: &AtomicBool) -> Result<Baskets> {
    let mut pairs = 0;
    each_basket(interactions, Kind::Purchase, stop, |_, _, items| pairs += usize::from(items.len() > 1))?;
    let weakest = if pairs >= PURCHASE_BASKETS { Kind::Purchase } else { Kind::Cart };
    let mut matrix = MatrixBuilder::new(interactions.names.len());
    let (mut users, mut latest) = (0, None);
    each_basket(interactions, weakest, stop, |user, second, items| {
        users += u32::from(latest != Some(user));
        latest = Some(user);
        matrix.push(spread(user) ^ u64::from(second), items.iter().map(|had| (had.item, had.kind)));
    })?;
    Ok(Baskets { matrix: matrix.finish(stop)?, users })
}

/// Calls `take` with the user, the first second and the items of each basket.
fn each_basket(
    interactions: &Interactions,
    weakest: Kind,
    stop: &AtomicBool,
    mut take: impl FnMut(u64, u32, &[Had]),
) -> Result<()> {
    let (mut rows, mut had) = (Vec::<Row>::new(), Vec::new());
    for (user, all) in interactions.by_user() {
        go_on(stop)?;
        rows.clear();
        rows.extend(all.iter().filter(|row| row.kind() >= weakest));
        rows.sort_unstable_by_key(|row| row.second);
        let mut rest = &rows[..];
        while let Some(first) = rest.first() {
            let length = rest.partition_point(|row| row.second - first.second < BASKET_SECONDS);
            let (basket, later) = rest.split_at(length);
            collapse(basket.iter(), &mut had);
            take(user, first.second, &had);
            rest = later;
        }
    }
    Ok(())
}

/// One entry an item, the newest if there are too many, in the order of the items.
fn collapse<'a>(rows: impl Iterator<Item = &'a Row>, had: &mut Vec<Had>) {
    had.clear();
    had.extend(rows.map(|row| Had { item: row.item(), kind: row.kind(), second: row.second }));
    had.sort_unstable_by_key(|had| had.item);
    had.dedup_by(|next, kept| {
        let is_same = next.item == kept.item;
        if is_same {
            kept.kind = kept.kind.max(next.kind);
            kept.second = kept.second.max(next.second);
        }
        is_same
    });
    if had.len() > HISTORY_ITEMS_MAX {
        had.sort_unstable_by_key(|had| (Reverse(had.second), had.item));
        had.truncate(HISTORY_ITEMS_MAX);
        had.sort_unstable_by_key(|had| had.item);
    }
}
