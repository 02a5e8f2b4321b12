//! In which order do the criteria compare? One integer per hit, laid out once per query.

use quorate_model::settings::Criterion;

/// What the criteria say about one document; smaller is better except for `filters`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuple {
    /// Typos over all matched words (C§7.2).
    pub typos: u32,
    /// Distance bucket (C§7.3).
    pub geo: u32,
    /// Query words without a match (C§7.4).
    pub missing: u32,
    /// Score of the satisfied filters, more is better (C§7.5).
    pub filters: u32,
    /// Sum of the distances of neighbouring words (C§7.6).
    pub proximity: u32,
    /// Attribute number × 1024 + word position of the best match (C§7.7).
    pub attribute: u32,
    /// Query words without an exact match (C§7.8).
    pub inexact: u32,
    /// Number of the group of documents with equal leading sort keys.
    pub group: u32,
}
/// Bits of each member, in the order of [`Tuple`]. Values above the width act as the highest.
const WIDTHS: [u32; 8] = [6, 22, 4, 26, 8, 16, 4, 32];

/// The place of each member in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    shifts: [u32; 8],
    masks: [u32; 8],
}
fn place(criterion: &Criterion) -> Option<usize> {
    match criterion {
        Criterion::Typo => Some(0),
        Criterion::Geo => Some(1),
        Criterion::Words => Some(2),
        Criterion::Filters => Some(3),
        Criterion::Proximity => Some(4),
        Criterion::Attribute => Some(5),
        Criterion::Exact => Some(6),
        Criterion::Custom | Criterion::Sort(_) => None,
    }
}
/// The order of the criteria as it acts: `filters` follows `words` when the list does not name it (C§21).
pub fn acting_order(ranking: &[Criterion]) -> Vec<Criterion> {
    let mut order: Vec<Criterion> = ranking.to_vec();
    if !order.contains(&Criterion::Filters) {
        let after_words = order.iter().position(|c| *c == Criterion::Words).map(|i| i + 1);
        let before = |c: &Criterion| {
            matches!(c, Criterion::Proximity | Criterion::Attribute | Criterion::Exact | Criterion::Custom)
        };
        let at = after_words.or_else(|| order.iter().position(before)).unwrap_or(order.len());
        order.insert(at, Criterion::Filters);
    }
    order
}
impl Layout {
    /// Lays the criteria out in this order. Sort keys before other criteria become the group number; document order
    /// decides the rest.
    pub fn new(order: &[Criterion], grouping: Option<Grouping>) -> Layout {
        let mut layout = Layout { shifts: [0; 8], masks: [0; 8] };
        let mut members: Vec<usize> = Vec::with_capacity(8);
        for (i, criterion) in order.iter().enumerate() {
            if grouping.is_some_and(|grouping| grouping.at == i) {
                members.push(7);
            }
            members.extend(place(criterion));
        }
        let mut shift = 0;
        for &member in members.iter().rev() {
            if layout.masks[member] != 0 {
                continue;
            }
            layout.shifts[member] = shift;
            layout.masks[member] = u32::MAX;
            shift += WIDTHS[member];
        }
        layout
    }
    /// The key of a document: a smaller key ranks higher.
    #[inline]
    pub fn key(&self, tuple: &Tuple) -> u128 {
        let values = [
            tuple.typos,
            tuple.geo,
            tuple.missing,
            limit(3) - tuple.filters.min(limit(3)),
            tuple.proximity,
            tuple.attribute,
            tuple.inexact,
            tuple.group,
        ];
        let mut key = 0;
        for (i, value) in values.into_iter().enumerate() {
            key |= u128::from(value.min(limit(i)) & self.masks[i]) << self.shifts[i];
        }
        key
    }
    /// The part of a key that shows the attribute criterion.
    #[inline]
    pub fn attribute(&self, attribute: u32) -> u128 {
        u128::from(attribute.min(limit(5)) & self.masks[5]) << self.shifts[5]
    }
    /// What a key shows of each criterion; those that do not act show as their best. The group is left out.
    pub fn tuple(&self, key: u128) -> Tuple {
        let shown = |member: usize| (key >> self.shifts[member]) as u32 & limit(member) & self.masks[member];
        let filters = if self.masks[3] == 0 { 0 } else { limit(3) - shown(3) };
        Tuple {
            typos: shown(0),
            geo: shown(1),
            missing: shown(2),
            filters,
            proximity: shown(4),
            attribute: shown(5),
            inexact: shown(6),
            group: 0,
        }
    }
    /// The number of typos a key shows.
    pub fn typos(&self, key: u128) -> u32 {
        (key >> self.shifts[0]) as u32 & limit(0) & self.masks[0]
    }
    /// Whether distances rank.
    pub fn acts_on_geo(&self) -> bool {
        self.masks[1] != 0
    }
    /// Whether scores of filters rank.
    pub fn acts_on_filters(&self) -> bool {
        self.masks[3] != 0
    }
    /// Whether the attribute ranks before exactness, as in ready lists of the best documents.
    pub fn attribute_before_exact(&self) -> bool {
        self.masks[5] != 0 && self.masks[6] != 0 && self.shifts[5] > self.shifts[6]
    }
    /// The part of a key that compares before the group number, and the part that compares after it: numbers of
    /// different segments do not compare.
    pub fn around_group(&self, key: u128) -> (u128, u128) {
        if self.masks[7] == 0 {
            return (key, 0);
        }
        let after = (1u128 << self.shifts[7]) - 1;
        (key >> self.shifts[7] >> WIDTHS[7], key & after)
    }
}
/// Sort keys or the custom ranking that compare before some other criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// Their place in the order.
    at: usize,
    /// How many keys of the document order they and what is sorted before them are.
    pub keys: usize,
}
impl Grouping {
    /// Finds the first such run in the order; `custom` is the number of keys of the custom ranking. A second run after
    /// other criteria acts only through the document order.
    pub fn of(order: &[Criterion], custom: usize) -> Option<Grouping> {
        let keys_of = |criterion: &Criterion| match criterion {
            Criterion::Sort(_) => Some(1),
            Criterion::Custom => Some(custom),
            _ => None,
        };
        let at = order.iter().position(|criterion| keys_of(criterion).is_some_and(|keys| keys > 0))?;
        let run: Vec<usize> = order[at..].iter().map_while(keys_of).collect();
        let followed = at + run.len() < order.len();
        followed.then_some(Grouping { at, keys: run.iter().sum() })
    }
}
/// The highest value a member can show.
fn limit(member: usize) -> u32 {
    u32::MAX >> (32 - WIDTHS[member])
}

#[cfg(test)]
mod tests {
    use super::*;
    use Criterion::*;

    #[test]
    fn the_formula_decides() {
        let better_typo = Tuple { proximity: 8, ..Tuple::default() };
        let better_proximity = Tuple { typos: 1, proximity: 1, ..Tuple::default() };
        for (order, first) in [
            (vec![Typo, Proximity], better_typo),
            (vec![Proximity, Typo], better_proximity),
            (vec![Typo, Geo, Words, Filters, Proximity, Attribute, Exact, Custom], better_typo),
            (vec![Proximity], better_proximity),
        ] {
            let layout = Layout::new(&order, None);
            let second = if first == better_typo { better_proximity } else { better_typo };
            assert!(layout.key(&first) < layout.key(&second), "{order:?}");
        }
    }
    #[test]
    fn a_missing_criterion_does_not_act() {
        let layout = Layout::new(&[Words, Exact], None);
        let a = Tuple { typos: 3, attribute: 9, ..Tuple::default() };
        assert_eq!(layout.key(&a), layout.key(&Tuple::default()));
        assert!(layout.key(&Tuple { inexact: 1, ..Tuple::default() }) > 0);
    }
    #[test]
    fn keys_before_other_criteria_make_groups() {
        let sort = || Sort(quorate_model::settings::SortKey { path: "a".into(), descending: false });
        for (order, expected) in [
            (vec![Typo, Exact, Custom], None),
            (vec![Typo, sort()], None),
            (vec![sort(), Typo, Custom], Some((0, 1))),
            (vec![Typo, sort(), sort(), Exact], Some((1, 2))),
            (vec![Typo, Custom, sort(), Exact], Some((1, 4))),
            (vec![], None),
        ] {
            assert_eq!(Grouping::of(&order, 3).map(|g| (g.at, g.keys)), expected, "{order:?}");
        }
        let order = [Typo, sort(), Exact];
        let layout = Layout::new(&order, Grouping::of(&order, 0));
        let key = layout.key(&Tuple { typos: 2, group: 77, inexact: 3, ..Tuple::default() });
        assert_eq!(layout.around_group(key), (2, 3));
    }
    #[test]
    fn more_score_is_better_and_filters_act_unnamed() {
        let order = acting_order(&[Typo, Geo, Words, Proximity, Custom]);
        assert_eq!(order, [Typo, Geo, Words, Filters, Proximity, Custom]);
        let layout = Layout::new(&order, None);
        let scored = Tuple { filters: 2, proximity: 5, ..Tuple::default() };
        assert!(layout.key(&scored) < layout.key(&Tuple { filters: 1, ..Tuple::default() }));
    }
}
