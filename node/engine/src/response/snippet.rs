//! Which words of a text does its snippet show? (C§9.4)
//!
//! Cost: one pass over the words, however many of them are shown.

use super::marks::Span;

/// The first of `wanted` words, of which there are at least so many: the earliest window with the most different query words,
/// centred on them.
pub fn first_word(spans: &[Span], wanted: usize) -> usize {
    let from = best_window(spans, wanted);
    let mut matched = (from..from + wanted).filter(|&i| spans[i].words != 0);
    let Some(first) = matched.next() else { return 0 };
    let last = matched.next_back().unwrap_or(first);
    let lead = (wanted - (last - first + 1)) / 2;
    first.saturating_sub(lead).min(spans.len() - wanted)
}
/// The earliest window with the most different query words.
fn best_window(spans: &[Span], wanted: usize) -> usize {
    let mut inside = Inside::default();
    let mut best = (0, 0);
    for (end, span) in spans.iter().enumerate() {
        inside.enters(span.words);
        let Some(start) = (end + 1).checked_sub(wanted) else { continue };
        if inside.different > best.0 {
            best = (inside.different, start);
        }
        inside.leaves(spans[start].words);
    }
    best.1
}
/// How often each query word is in a window.
#[derive(Default)]
struct Inside {
    times: [u32; u16::BITS as usize],
    /// Query words that are there at all.
    different: u32,
}
impl Inside {
    fn enters(&mut self, words: u16) {
        each_bit(words, |word| {
            self.different += u32::from(self.times[word] == 0);
            self.times[word] += 1;
        });
    }
    fn leaves(&mut self, words: u16) {
        each_bit(words, |word| {
            self.times[word] -= 1;
            self.different -= u32::from(self.times[word] == 0);
        });
    }
}
#[inline]
fn each_bit(mut bits: u16, mut visit: impl FnMut(usize)) {
    while bits != 0 {
        visit(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Span, first_word};
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    fn spans(words: impl IntoIterator<Item = u16>) -> Vec<Span> {
        words.into_iter().enumerate().map(|(i, words)| Span { start: i, end: i, words }).collect()
    }
    /// Query words that a word of a text matches: mostly none.
    fn matched() -> impl Strategy<Value = u16> {
        prop_oneof![4 => Just(0), 1 => any::<u16>(), 2 => (0..10u32).prop_map(|bit| 1 << bit)]
    }
    /// The same by looking at every window.
    fn by_windows(spans: &[Span], wanted: usize) -> usize {
        let mut best = (0, 0);
        for start in 0..=spans.len() - wanted {
            let words = spans[start..start + wanted].iter().fold(0, |bits, span| bits | span.words);
            if words.count_ones() > best.0 {
                best = (words.count_ones(), start);
            }
        }
        let matched: Vec<usize> =
            (best.1..best.1 + wanted).filter(|&place| spans[place].words != 0).collect();
        let (Some(first), Some(last)) = (matched.first(), matched.last()) else { return 0 };
        first.saturating_sub((wanted - (last - first + 1)) / 2).min(spans.len() - wanted)
    }

    proptest! {
        #[test]
        fn it_is_the_window_that_looking_at_all_of_them_finds(
            words in proptest::collection::vec(matched(), 1..60),
            wanted in 1usize..60,
        ) {
            let spans = spans(words);
            let wanted = wanted.min(spans.len());
            prop_assert_eq!(first_word(&spans, wanted), by_windows(&spans, wanted));
        }
    }

    #[test]
    fn a_wide_window_over_a_long_text_takes_one_pass() {
        let spans = spans((0..400_000).map(|i| 1 << (i % 10)));
        let began = Instant::now();
        for wanted in [1, 5_000, 200_000, 399_999] {
            first_word(&spans, wanted);
        }
        // window by window these are forty thousand million looks
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
