//! How does a block become one without some users? By numbers: what only they had goes, the rest moves up.

use super::block::{Block, Built, Part, SHARDS};
use super::build::{Content, Search};
use super::bytes::{malformed, put};
use super::events::{Events, each_run, take_event};
use super::searches::{Columns, Labels, Searches};
use super::sums::Sums;
use crate::error::Result;

/// Which of some things are left, and their new numbers.
struct Left {
    numbers: Vec<Option<u32>>,
}

impl Left {
    fn of(count: usize) -> Left {
        Left { numbers: vec![None; count] }
    }
    /// Keeps a thing.
    fn keep(&mut self, number: usize) -> Result<()> {
        let kept = self.numbers.get_mut(number).ok_or_else(|| malformed("a number of nothing"))?;
        *kept = Some(0);
        Ok(())
    }
    /// Gives new numbers to what is kept, in the order of the old ones.
    fn number(&mut self) {
        let kept = self.numbers.iter_mut().filter_map(Option::as_mut);
        kept.zip(0..).for_each(|(number, next)| *number = next);
    }
    fn get(&self, number: usize) -> Result<u32> {
        self.numbers.get(number).copied().flatten().ok_or_else(|| malformed("a number of nothing"))
    }
    /// Those of some things that are kept.
    fn of_all<T>(&self, all: Vec<T>) -> Vec<T> {
        all.into_iter().zip(&self.numbers).filter_map(|(thing, kept)| kept.map(|_| thing)).collect()
    }
}

/// What is left of what searches share.
struct LeftOf {
    queries: Left,
    labels: Left,
    filters: Left,
    lists: Left,
}

impl LeftOf {
    /// Keeps what searches have.
    fn look_at(&mut self, searches: &Searches) -> Result<()> {
        for search in searches.iter() {
            let search = search?;
            self.queries.keep(search.query)?;
            self.labels.keep(search.label)?;
            search.filters.map_or(Ok(()), |filters| self.filters.keep(filters))?;
            self.lists.keep(search.list)?;
        }
        for left in [&mut self.queries, &mut self.labels, &mut self.filters, &mut self.lists] {
            left.number();
        }
        Ok(())
    }
}

/// Searches that are left, by new numbers.
#[derive(Default)]
struct Kept {
    users: Vec<(u64, u64)>,
    searches: Vec<Search>,
    tracked: Vec<u8>,
    /// Fingerprint and sums of each query, by the old number.
    queries: Vec<(u64, Sums)>,
}

impl Kept {
    fn of(block: &Block, searches: &Searches, left: &LeftOf) -> Result<Kept> {
        let mut kept = Kept { queries: block.queries()?, ..Kept::default() };
        kept.queries.iter_mut().for_each(|(_, sums)| *sums = Sums::default());
        let (hashes, from_ms, mut last) = (block.users()?, block.facts.from_ms, usize::MAX);
        for search in searches.iter() {
            let search = search?;
            if std::mem::replace(&mut last, search.user) != search.user {
                let user = hashes.get(search.user).ok_or_else(|| malformed("a user without a hash"))?;
                kept.users.push((*user, 0));
            }
            kept.users.iter_mut().next_back().into_iter().for_each(|(_, count)| *count += 1);
            let query =
                kept.queries.get_mut(search.query).ok_or_else(|| malformed("a query without sums"))?;
            query.1.add(&Sums::of(search.hits, search.filters.is_some(), search.is_tracked));
            if search.is_tracked {
                put(&mut kept.tracked, search.time_ms.saturating_sub(from_ms));
                put(&mut kept.tracked, search.ids().count() as u64);
                search.ids().for_each(|id| kept.tracked.extend_from_slice(&id.0.to_le_bytes()));
            }
            kept.searches.push(Search {
                query: left.queries.get(search.query)?,
                hits: search.hits,
                label: left.labels.get(search.label)?,
                filters: search.filters.map(|filters| left.filters.get(filters)).transpose()?,
                is_tracked: search.is_tracked,
                list: left.lists.get(search.list)?,
            });
        }
        Ok(kept)
    }
}

impl Block {
    /// A block of what is left when these users are left out, whose hashes are sorted. `None`: nothing. Cost: some ten nanoseconds for each search
    /// and record.
    pub(super) fn stripped(&self, users: &[u64]) -> Result<Option<Built>> {
        let block = self.except(users)?;
        let searches = Searches::of(&block, Columns { ids: true, shown: true })?;
        let (texts, records) = (block.texts()?, searches.records()?);
        let bytes = block.part(Part::Labels)?;
        let Labels { labels, filters } = Labels::parse(&bytes)?;
        let mut left = LeftOf {
            queries: Left::of(texts.len()),
            labels: Left::of(labels.len()),
            filters: Left::of(filters.len()),
            lists: Left::of(records.lists.len()),
        };
        left.look_at(&searches)?;
        let lists = left.lists.of_all(records.lists);
        let mut of_records = Left::of(records.names.len());
        lists.iter().flatten().try_for_each(|record| of_records.keep(*record))?;
        of_records.number();
        let in_new = |list: Vec<usize>| list.into_iter().map(|record| of_records.get(record)).collect();
        let lists: Vec<Vec<u32>> = lists.into_iter().map(in_new).collect::<Result<_>>()?;

        let kept = Kept::of(&block, &searches, &left)?;
        let events = block.events_left()?;
        if kept.searches.is_empty() && events.is_empty() {
            return Ok(None);
        }
        let queries = kept.queries.into_iter().enumerate().filter(|(_, (_, sums))| sums.searches > 0);
        let content = Content {
            from_ms: block.facts.from_ms,
            users: kept.users,
            searches: kept.searches,
            queries: queries
                .map(|(number, (fingerprint, sums))| Ok((fingerprint, texts.get(number)?, sums)))
                .collect::<Result<_>>()?,
            labels: left.labels.of_all(labels).into_iter().map(|label| (label.country, label.tags)).collect(),
            filters: left.filters.of_all(filters),
            records: of_records.of_all(records.names),
            lists: lists.iter().map(|list| &**list).collect(),
            tracked: &kept.tracked,
            events,
        };
        Ok(Some(content.built(&block.facts.index)))
    }
    /// Fingerprint and sums of each query, by number, also of those of whom nothing is left.
    fn queries(&self) -> Result<Vec<(u64, Sums)>> {
        let (mut all, plain) = (vec![], self.leaving_out(super::without::Without::default()));
        for shard in 0..SHARDS {
            plain.sums(shard, &mut |fingerprint, _, sums| all.push((fingerprint, *sums)))?;
        }
        Ok(all)
    }
    /// Events of those who are not left out.
    fn events_left(&self) -> Result<Events> {
        let mut events = Events::new(self.facts.from_ms);
        each_run(&self.part(Part::Events)?, &mut |run, count, reader, names| {
            let is_left = !self.leaves_out(run.user);
            if is_left {
                events.begin(run);
            }
            for _ in 0..count {
                let (id, event) = take_event(reader, names, self.facts.from_ms)?;
                if is_left {
                    events.put(id, &event);
                }
            }
            Ok(true)
        })?;
        Ok(events)
    }
}
