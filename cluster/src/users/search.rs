//! Which users does a few letters mean (C§15)? A small index of the words of all user ids, in memory.
//!
//! Building it takes one sort of all words; a query takes two binary searches for each of its words. Only a word that
//! begins none is compared with all of them, for typing errors.

use super::usage::{Figures, Usage};
use crate::meta::UserMap;
use quorate_model::UserId;
use std::collections::BTreeSet;
use std::ops::Range;

/// Words of a query that count.
const QUERY_WORDS_MAX: usize = 10;
/// Letters from which one error in a word is forgiven, and from which two.
const TYPO_LETTERS: [usize; 2] = [4, 8];

/// A user as the index knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Indexed {
    /// The user.
    pub user: UserId,
    /// Number of the cluster.
    pub cluster: u16,
    /// What the user had.
    pub figures: Figures,
}

/// A user that a query found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundUser {
    /// The user.
    pub indexed: Indexed,
    /// Parts of the user id that match, in order, apart from each other.
    pub marks: Vec<Range<usize>>,
    /// The words of the query that match.
    pub words: Vec<String>,
}

/// All users by the words of their ids, those with most records first.
#[derive(Debug, Default)]
pub struct UserIndex {
    users: Vec<Indexed>,
    /// Sorted: a word and whose it is.
    words: Vec<(Box<str>, u32)>,
}

impl UserIndex {
    /// Indexes all users.
    pub fn build(map: &UserMap, usage: &Usage) -> UserIndex {
        let indexed = |(user, row): (&UserId, &crate::meta::UserRow)| Indexed {
            user: user.clone(),
            cluster: row.cluster,
            figures: usage.of(user),
        };
        let mut users: Vec<Indexed> = map.iter().map(indexed).collect();
        users.sort_by(|a, b| (b.figures.records, &a.user).cmp(&(a.figures.records, &b.user)));
        let mut words = Vec::with_capacity(users.len() * 2);
        for (number, indexed) in users.iter().enumerate() {
            let id = indexed.user.as_str();
            words.extend(split(id).map(|at| (id[at].to_ascii_lowercase().into_boxed_str(), number as u32)));
        }
        words.sort_unstable();
        UserIndex { users, words }
    }

    /// How many users match, and those of one page.
    pub fn search(&self, query: &str, cluster: Option<u16>, page: Range<usize>) -> (usize, Vec<FoundUser>) {
        let asked: Vec<String> =
            split(query).take(QUERY_WORDS_MAX).map(|at| query[at].to_ascii_lowercase()).collect();
        let meant: Vec<Vec<&str>> = asked.iter().map(|word| self.meant(word)).collect();
        let mut numbers: Option<BTreeSet<u32>> = None;
        for words in &meant {
            let with = |word: &&str| self.words[self.exactly(word)].iter().map(|(_, number)| *number);
            let found: BTreeSet<u32> = words.iter().flat_map(with).collect();
            numbers = Some(match numbers {
                Some(before) => before.intersection(&found).copied().collect(),
                None => found,
            });
        }
        let fits =
            |number: &u32| cluster.is_none_or(|cluster| self.users[*number as usize].cluster == cluster);
        let matching: Vec<u32> = match numbers {
            Some(numbers) => numbers.into_iter().filter(fits).collect(),
            None => (0..self.users.len() as u32).filter(fits).collect(),
        };
        let range = page.start.min(matching.len())..page.end.min(matching.len());
        let found = |number: &u32| self.found(&self.users[*number as usize], &asked, &meant);
        (matching.len(), matching[range].iter().map(found).collect())
    }

    /// The words of the index that a word of a query stands for: those it begins, otherwise those it nearly begins.
    fn meant(&self, asked: &str) -> Vec<&str> {
        let from = self.words.partition_point(|(word, _)| **word < *asked);
        let begun = self.words[from..].iter().take_while(|(word, _)| word.starts_with(asked));
        let mut meant: Vec<&str> = begun.map(|(word, _)| &**word).collect();
        let typos = TYPO_LETTERS.iter().filter(|&&letters| asked.len() >= letters).count();
        if meant.is_empty() && typos > 0 {
            let close =
                self.words.iter().filter(|(word, _)| nearly_begins(asked.as_bytes(), word.as_bytes(), typos));
            meant.extend(close.map(|(word, _)| &**word));
        }
        meant.dedup();
        meant
    }
    fn exactly(&self, word: &str) -> Range<usize> {
        let from = self.words.partition_point(|(other, _)| **other < *word);
        let length = self.words[from..].partition_point(|(other, _)| **other == *word);
        from..from + length
    }

    fn found(&self, indexed: &Indexed, asked: &[String], meant: &[Vec<&str>]) -> FoundUser {
        let id = indexed.user.as_str();
        let mut marks = vec![];
        let mut words: Vec<String> = vec![];
        for at in split(id) {
            let word = id[at.clone()].to_ascii_lowercase();
            let by = meant.iter().zip(asked).filter(|(meant, _)| meant.binary_search(&word.as_str()).is_ok());
            let mut length = None;
            for (_, asked) in by {
                let marked = if word.starts_with(asked.as_str()) { asked.len() } else { word.len() };
                length = length.max(Some(marked));
                if !words.contains(asked) {
                    words.push(asked.clone());
                }
            }
            marks.extend(length.map(|length| at.start..at.start + length));
        }
        FoundUser { indexed: indexed.clone(), marks, words }
    }
}

/// Where the words of a text are: runs of letters and digits.
fn split(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut end = 0;
    std::iter::from_fn(move || {
        let from = end + text[end..].find(char::is_alphanumeric)?;
        let rest = &text[from..];
        end = from + rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        Some(from..end)
    })
}

/// Whether some beginning of `word` differs from `asked` in at most `typos` letters put in, left out, changed or swapped with the next.
fn nearly_begins(asked: &[u8], word: &[u8], typos: usize) -> bool {
    let word = &word[..word.len().min(asked.len() + typos)];
    let mut row: Vec<usize> = (0..=word.len()).collect();
    let (mut before, mut two_before) = (row.clone(), row.clone());
    for (number, letter) in asked.iter().enumerate() {
        std::mem::swap(&mut two_before, &mut before);
        before.clone_from(&row);
        row[0] = number + 1;
        for (at, other) in word.iter().enumerate() {
            let changed = before[at] + usize::from(letter != other);
            let mut least = changed.min(row[at] + 1).min(before[at + 1] + 1);
            if number > 0 && at > 0 && asked[number - 1] == *other && word[at - 1] == *letter {
                least = least.min(two_before[at - 1] + 1);
            }
            row[at + 1] = least;
        }
        if row.iter().all(|&distance| distance > typos) {
            return false;
        }
    }
    row.iter().any(|&distance| distance <= typos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::{UserRow, UserState};

    fn index() -> UserIndex {
        let (mut map, mut usage) = (UserMap::default(), Usage::default());
        for (number, (id, cluster, records)) in
            [("jane-doe", 0, 5), ("jane.roe", 1, 9), ("John Doe", 0, 0), ("x7", 1, 0), ("jan", 0, 0)]
                .into_iter()
                .enumerate()
        {
            let user = UserId::new(id).expect("valid");
            let row = UserRow { cluster, epoch: number as u64, state: UserState::Assigned };
            map.put(user.clone(), row);
            usage.add(cluster, user, Figures { records, bytes: 0 });
        }
        UserIndex::build(&map, &usage)
    }

    #[test]
    fn users_are_found_by_beginnings_and_despite_errors() {
        let index = index();
        for (query, cluster, expected) in [
            ("", None, "jane.roe jane-doe John Doe jan x7"),
            ("jan", None, "jane.roe jane-doe jan"),
            ("JANE", None, "jane.roe jane-doe"),
            ("jane", Some(0), "jane-doe"),
            ("doe j", None, "jane-doe John Doe"),
            ("jone", None, "jane.roe jane-doe"),
            ("dooe", None, "jane-doe John Doe"),
            ("7", None, ""),
            ("x7", Some(1), "x7"),
            ("zz", None, ""),
            ("-", None, "jane.roe jane-doe John Doe jan x7"),
        ] {
            let (total, found) = index.search(query, cluster, 0..10);
            let ids: Vec<&str> = found.iter().map(|found| found.indexed.user.as_str()).collect();
            assert_eq!(ids.join(" "), expected, "{query}");
            assert_eq!(total, found.len(), "{query}");
        }
        assert_eq!(index.search("jane", None, 1..2).0, 2);
        assert_eq!(index.search("jane", None, 1..2).1[0].indexed.user.as_str(), "jane-doe");
        assert!(index.search("jane", None, 7..9).1.is_empty());
    }

    #[test]
    fn one_error_in_four_letters_and_two_in_eight() {
        for (asked, word, typos, expected) in [
            ("jane", "jane", 1, true),
            ("jone", "jane", 1, true),
            ("jne", "janet", 1, true),
            ("jaane", "jane", 1, true),
            ("abcdefgh", "abxdexgh", 2, true),
            ("abcdefgh", "abxdexgh", 1, false),
            ("zzzz", "jane", 1, false),
            ("alcie", "alice", 1, true),
            ("amrtin", "martin", 1, true),
            ("amrtni", "martin", 1, false),
            ("amrtni", "martin", 2, true),
        ] {
            assert_eq!(nearly_begins(asked.as_bytes(), word.as_bytes(), typos), expected, "{asked} {word}");
        }
    }

    #[test]
    fn what_matches_is_marked() {
        let index = index();
        let marks = |query: &str| {
            let (_, found) = index.search(query, Some(0), 0..1);
            found[0].marks.clone()
        };
        assert_eq!(marks("jan doe"), [0..3, 5..8]);
        assert!(marks("").is_empty());
    }
}
