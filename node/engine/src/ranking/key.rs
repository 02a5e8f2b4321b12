//! In which order do the criteria compare? One integer per hit, laid out once per query.

use super::context::SegmentContext;
use super::criteria::{COUNT, CriterionScores, FIELDS, Field};
use quorate_model::settings::Criterion;

/// The place of each field in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    shifts: [u32; COUNT],
    masks: [u32; COUNT],
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
        let mut layout = Layout { shifts: [0; COUNT], masks: [0; COUNT] };
        let mut fields: Vec<Field> = Vec::with_capacity(COUNT);
        for (i, criterion) in order.iter().enumerate() {
            if grouping.is_some_and(|grouping| grouping.at == i) {
                fields.push(Field::SortKeys);
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
            shift += field.row().bits;
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
        (key >> self.shifts[field as usize]) as u32 & field.limit() ^ field.flip()
    }
    /// What a key shows of each criterion; the group is left out.
    pub fn scores(&self, key: u128) -> CriterionScores {
        let shown = FIELDS.into_iter().filter(|field| *field != Field::SortKeys);
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
    /// Whether the documents of a segment differ in something that ranks, beside what lists of single words say.
    pub fn orders(&self, context: &SegmentContext<'_>) -> bool {
        self.varying(context).next().is_some()
    }
    /// Whether documents without words differ by their distance and nothing else.
    pub fn orders_by_distance_alone(&self, context: &SegmentContext<'_>) -> bool {
        self.varying(context).eq([Field::Geo])
    }
    fn varying(&self, context: &SegmentContext<'_>) -> impl Iterator<Item = Field> {
        FIELDS.into_iter().filter(|&field| self.acts(field) && (field.row().varies)(context))
    }
    /// The part of a key that compares before the group number, and the part that compares after it: numbers of
    /// different segments do not compare.
    pub fn around_group(&self, key: u128) -> (u128, u128) {
        if !self.acts(Field::SortKeys) {
            return (key, 0);
        }
        let shift = self.shifts[Field::SortKeys as usize];
        let after = (1u128 << shift) - 1;
        (key >> shift >> Field::SortKeys.row().bits, key & after)
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
            let layout = Layout::new(&order, None);
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
        let layout = Layout::new(&order, None);
        assert_eq!(layout.key(&scores), expected);
        assert_eq!(layout.scores(expected), scores);
        let beyond = FIELDS.into_iter().fold(scores, |scores, field| scores.with(field, u32::MAX));
        let limits = [(63, 6), ((1 << 22) - 1, 22), (15, 4), (0, 26), (255, 8), (65_535, 16), (15, 4)];
        assert_eq!(layout.key(&beyond), limits.into_iter().fold(0, |key, (value, bits)| key << bits | value));
    }
    #[test]
    fn a_missing_criterion_does_not_act() {
        let layout = Layout::new(&[Words, Exact], None);
        let a = score(&[(Field::Typo, 3), (Field::Attribute, 9)]);
        assert_eq!(layout.key(&a), layout.key(&CriterionScores::default()));
        assert!(layout.key(&score(&[(Field::Exact, 1)])) > 0);
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
        let key = layout.key(&score(&[(Field::Typo, 2), (Field::SortKeys, 77), (Field::Exact, 3)]));
        assert_eq!(layout.around_group(key), (2, 3));
    }
    #[test]
    fn more_score_is_better_and_filters_act_unnamed() {
        let order = acting_order(&[Typo, Geo, Words, Proximity, Custom]);
        assert_eq!(order, [Typo, Geo, Words, Filters, Proximity, Custom]);
        let layout = Layout::new(&order, None);
        let scored = score(&[(Field::Filters, 2), (Field::Proximity, 5)]);
        assert!(layout.key(&scored) < layout.key(&score(&[(Field::Filters, 1)])));
    }
}
