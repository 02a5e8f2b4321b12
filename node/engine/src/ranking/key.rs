//! In which order do the criteria compare? One integer per hit, laid out once per query.

use super::context::SegmentContext;
use super::criteria::{COUNT, CriterionScores, FIELDS, Field};
use quorate_model::settings::Criterion;

/// The place of each field in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    shifts: [u32; COUNT],
    masks: [u32; COUNT],
    /// Bits of each group number.
    group_bits: u32,
}
/// The group numbers, in the order in which they compare.
const GROUPS: [Field; 2] = [Field::SortKeys, Field::LaterSortKeys];
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
    /// Lays the criteria out in this order. Sort keys before other criteria become group numbers; document order
    /// decides the rest.
    pub fn new(order: &[Criterion], groupings: Groupings) -> Layout {
        let mut layout = Layout { shifts: [0; COUNT], masks: [0; COUNT], group_bits: groupings.bits };
        let mut fields: Vec<Field> = Vec::with_capacity(COUNT);
        for (i, criterion) in order.iter().enumerate() {
            for (field, grouping) in GROUPS.into_iter().zip(groupings.all) {
                if grouping.is_some_and(|grouping| grouping.at == i) {
                    fields.push(field);
                }
            }
            fields.extend(Field::of(criterion));
        }
        let mut shift = 0;
        for &field in fields.iter().rev() {
            if layout.acts(field) {
                continue;
            }
            layout.shifts[field as usize] = shift;
            layout.masks[field as usize] = u32::MAX;
            shift += if GROUPS.contains(&field) { groupings.bits } else { field.row().bits };
        }
        layout
    }
    /// The key of a document: a smaller key ranks higher.
    #[inline]
    pub fn key(&self, scores: &CriterionScores) -> u128 {
        FIELDS.into_iter().fold(0, |key, field| key | self.part(field, scores[field]))
    }
    /// The part of a key that shows one criterion.
    #[inline]
    pub fn part(&self, field: Field, value: u32) -> u128 {
        let shown = value.min(field.limit()) ^ field.flip();
        u128::from(shown & self.masks[field as usize]) << self.shifts[field as usize]
    }
    /// What a key shows of a criterion; its best when it does not act.
    pub fn shown(&self, field: Field, key: u128) -> u32 {
        if !self.acts(field) {
            return 0;
        }
        let shown = (key >> self.shifts[field as usize]) as u32;
        match GROUPS.contains(&field) {
            true => (u64::from(shown) & ((1 << self.group_bits) - 1)) as u32,
            false => shown & field.limit() ^ field.flip(),
        }
    }
    /// What a key shows of each criterion; groups are left out.
    pub fn scores(&self, key: u128) -> CriterionScores {
        let shown = FIELDS.into_iter().filter(|field| !GROUPS.contains(field));
        shown.fold(CriterionScores::default(), |scores, field| scores.with(field, self.shown(field, key)))
    }
    /// Whether a criterion ranks.
    pub fn acts(&self, field: Field) -> bool {
        self.masks[field as usize] != 0
    }
    /// Whether both criteria rank, `first` before `second`.
    pub fn is_before(&self, first: Field, second: Field) -> bool {
        let shift = |field: Field| self.shifts[field as usize];
        self.acts(first) && self.acts(second) && shift(first) > shift(second)
    }
    /// Whether the documents of a segment differ in something that ranks, beside what lists of single words say, for a query that has
    /// words or has none.
    pub fn orders(&self, context: &SegmentContext<'_>, has_words: bool) -> bool {
        self.varying(context, has_words).next().is_some()
    }
    /// Whether documents without words differ by their distance and nothing else.
    pub fn orders_by_distance_alone(&self, context: &SegmentContext<'_>) -> bool {
        self.varying(context, false).eq([Field::Geo])
    }
    fn varying(&self, context: &SegmentContext<'_>, has_words: bool) -> impl Iterator<Item = Field> {
        FIELDS.into_iter().filter(move |&field| self.acts(field) && field.varies(context, has_words))
    }
    /// The parts of a key before, between and behind the group numbers: numbers of different segments do not compare.
    pub fn around_groups(&self, key: u128) -> [u128; 3] {
        let (mut parts, mut left) = ([0; 3], key);
        for (part, field) in parts.iter_mut().zip(GROUPS) {
            let shift = self.shifts[field as usize];
            match self.acts(field) {
                true => (*part, left) = (left >> shift >> self.group_bits, left & ((1 << shift) - 1)),
                false => (*part, left) = (left, 0),
            }
        }
        parts[2] = left;
        parts
    }
}
/// Sort keys or the custom ranking that compare before some other criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grouping {
    /// Their place in the order.
    at: usize,
    /// How many keys of the document order they and what is sorted before them are.
    keys: usize,
}
/// The first of them, and the next ones behind other criteria.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groupings {
    all: [Option<Grouping>; 2],
    /// Bits that the number of a group takes.
    bits: u32,
}
impl Groupings {
    /// Finds such runs in the order; `custom` is the number of keys of the custom ranking, `docs_max` that of the documents of the
    /// largest segment. A third run, and a second one where a key has no place for the numbers of so many documents (C§7.9), act through
    /// the document order alone.
    pub fn of(order: &[Criterion], custom: usize, docs_max: u32) -> Groupings {
        let keys_of = |criterion: &Criterion| match criterion {
            Criterion::Sort(_) => Some(1),
            Criterion::Custom => Some(custom),
            _ => None,
        };
        let (mut at, mut keys) = (0, 0);
        let mut next = || {
            let begins = |criterion: &Criterion| keys_of(criterion).is_some_and(|keys| keys > 0);
            let begin = at + order[at..].iter().position(begins)?;
            let run: Vec<usize> = order[begin..].iter().map_while(keys_of).collect();
            (at, keys) = (begin + run.len(), keys + run.iter().sum::<usize>());
            (at < order.len()).then_some(Grouping { at: begin, keys })
        };
        let first = next();
        let later = first.and_then(|_| next());
        let number = u32::BITS - docs_max.leading_zeros();
        let others: u32 = order.iter().filter_map(Field::of).map(|field| field.row().bits).sum();
        match later {
            Some(_) if others + 2 * number <= u128::BITS => Groupings { all: [first, later], bits: number },
            Some(_) | None => Groupings { all: [first, None], bits: Field::SortKeys.row().bits },
        }
    }
    /// How many keys of the document order the members of a group are equal in.
    pub fn keys(&self) -> [Option<usize>; 2] {
        self.all.map(|grouping| grouping.map(|grouping| grouping.keys))
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use Criterion::*;

    fn score(values: &[(Field, u32)]) -> CriterionScores {
        values.iter().fold(CriterionScores::default(), |scores, &(field, value)| scores.with(field, value))
    }

    #[test]
    fn the_formula_decides() {
        let better_typo = score(&[(Field::Proximity, 8)]);
        let better_proximity = score(&[(Field::Typo, 1), (Field::Proximity, 1)]);
        for (order, first) in [
            (vec![Typo, Proximity], better_typo),
            (vec![Proximity, Typo], better_proximity),
            (vec![Typo, Geo, Words, Filters, Proximity, Attribute, Exact, Custom], better_typo),
            (vec![Proximity], better_proximity),
        ] {
            let layout = Layout::new(&order, Groupings::default());
            let second = if first == better_typo { better_proximity } else { better_typo };
            assert!(layout.key(&first) < layout.key(&second), "{order:?}");
        }
    }
    #[test]
    fn values_stand_in_the_order_of_the_criteria() {
        let order = [Typo, Geo, Words, Filters, Proximity, Attribute, Exact];
        let scores = score(&[
            (Field::Typo, 1),
            (Field::Geo, 2),
            (Field::Words, 3),
            (Field::Filters, 4),
            (Field::Proximity, 5),
            (Field::Attribute, 6),
            (Field::Exact, 7),
        ]);
        let most = (1u128 << 26) - 1;
        let parts = [(1, 6), (2, 22), (3, 4), (most - 4, 26), (5, 8), (6, 16), (7, 4)];
        let expected = parts.into_iter().fold(0, |key, (value, bits)| key << bits | value);
        let layout = Layout::new(&order, Groupings::default());
        assert_eq!(layout.key(&scores), expected);
        assert_eq!(layout.scores(expected), scores);
        let beyond = FIELDS.into_iter().fold(scores, |scores, field| scores.with(field, u32::MAX));
        let limits = [(63, 6), ((1 << 22) - 1, 22), (15, 4), (0, 26), (255, 8), (65_535, 16), (15, 4)];
        assert_eq!(layout.key(&beyond), limits.into_iter().fold(0, |key, (value, bits)| key << bits | value));
    }
    #[test]
    fn a_missing_criterion_does_not_act() {
        let layout = Layout::new(&[Words, Exact], Groupings::default());
        let a = score(&[(Field::Typo, 3), (Field::Attribute, 9)]);
        assert_eq!(layout.key(&a), layout.key(&CriterionScores::default()));
        assert!(layout.key(&score(&[(Field::Exact, 1)])) > 0);
    }
    #[test]
    fn keys_before_other_criteria_make_groups() {
        let sort = || Sort(quorate_model::settings::SortKey { path: "a".into(), descending: false });
        for (order, expected) in [
            (vec![Typo, Exact, Custom], [None, None]),
            (vec![Typo, sort()], [None, None]),
            (vec![sort(), Typo, Custom], [Some((0, 1)), None]),
            (vec![Typo, sort(), sort(), Exact], [Some((1, 2)), None]),
            (vec![Typo, Custom, sort(), Exact], [Some((1, 4)), None]),
            (vec![sort(), Typo, Custom, Exact], [Some((0, 1)), Some((2, 4))]),
            (vec![sort(), Typo, Custom, Exact, sort(), Words], [Some((0, 1)), Some((2, 4))]),
            (vec![], [None, None]),
        ] {
            let found = Groupings::of(&order, 3, 1_000).all.map(|it| it.map(|it| (it.at, it.keys)));
            assert_eq!(found, expected, "{order:?}");
        }
        let order = [Typo, sort(), Exact];
        let layout = Layout::new(&order, Groupings::of(&order, 0, 1_000));
        let key = layout.key(&score(&[(Field::Typo, 2), (Field::SortKeys, 77), (Field::Exact, 3)]));
        assert_eq!(layout.around_groups(key), [2, 3, 0]);
    }
    #[test]
    fn two_groups_find_place_where_documents_are_few_enough() {
        let sort = || Sort(quorate_model::settings::SortKey { path: "a".into(), descending: false });
        let all = [sort(), Typo, Geo, Words, Filters, sort(), Proximity, Attribute, Exact];
        for (docs_max, expected) in [(1, 2), ((1 << 21) - 1, 2), (1 << 21, 1), (u32::MAX, 1)] {
            let groupings = Groupings::of(&all, 0, docs_max);
            assert_eq!(groupings.keys().iter().flatten().count(), expected, "{docs_max}");
        }
        let groupings = Groupings::of(&all, 0, (1 << 21) - 1);
        let layout = Layout::new(&all, groupings);
        let last = (1 << 21) - 1;
        let scores = score(&[(Field::SortKeys, last), (Field::LaterSortKeys, last), (Field::Exact, 3)]);
        let [before, _, behind] = layout.around_groups(layout.key(&scores));
        assert_eq!((before, behind), (0, 3));
        for field in [Field::SortKeys, Field::LaterSortKeys] {
            assert_eq!(layout.shown(field, layout.key(&scores)), last);
        }
        // without a centre, and without filters, any number of documents fits
        let few = [sort(), Typo, Words, sort(), Proximity, Attribute, Exact];
        assert_eq!(Groupings::of(&few, 0, u32::MAX).keys(), [Some(1), Some(2)]);
    }
    #[test]
    fn more_score_is_better_and_filters_act_unnamed() {
        let order = acting_order(&[Typo, Geo, Words, Proximity, Custom]);
        assert_eq!(order, [Typo, Geo, Words, Filters, Proximity, Custom]);
        let layout = Layout::new(&order, Groupings::default());
        let scored = score(&[(Field::Filters, 2), (Field::Proximity, 5)]);
        assert!(layout.key(&scored) < layout.key(&score(&[(Field::Filters, 1)])));
    }
}
