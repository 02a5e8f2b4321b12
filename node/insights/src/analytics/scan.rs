//! What do searches say, when they are looked at one after another?

use super::failure::{Failure, LOOK};
use super::followed::{Events, add};
use super::groups::Groups;
use super::keys::Keys;
use super::users::Users;
use crate::error::Result as Read;
use crate::rollup::{Block, Columns, Labels, NamingEvent, Part, Search, Searches, Sums};
use quorate_model::analytics::{By, Figures, GROUPS_MAX, ReportQuery, TagFilter};
use rustc_hash::FxHashMap;

/// A scan of the searches of some days, block after block.
pub(super) struct Scan<'a> {
    pub asked: &'a ReportQuery,
    pub tags: Option<&'a TagFilter>,
    pub groups: Groups,
    pub users: Users,
    users_of_day: Users,
    /// Queries of the day: clickable searches, and whether any was clicked.
    of_day: FxHashMap<Box<str>, (u64, bool)>,
}

impl<'a> Scan<'a> {
    pub fn new(asked: &'a ReportQuery, tags: Option<&'a TagFilter>) -> Self {
        Scan {
            asked,
            tags,
            groups: Groups::default(),
            users: Users::default(),
            users_of_day: Users::default(),
            of_day: FxHashMap::default(),
        }
    }
    /// The figures of a day.
    pub fn day(
        &mut self,
        blocks: &[Block],
        events: &Events,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Figures, Failure> {
        let mut figures = Figures::default();
        for block in blocks {
            self.block(block, events, &mut figures, is_over)?;
        }
        figures.users = self.users_of_day.count();
        self.users_of_day.clear();
        let not_clicked = self.of_day.drain().filter(|(_, (_, is_clicked))| !is_clicked);
        figures.without_clicks = not_clicked.map(|(_, (searches, _))| searches).sum();
        Ok(figures)
    }
    fn block(
        &mut self,
        block: &Block,
        events: &Events,
        of_day: &mut Figures,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let asked = self.asked;
        let query = match &asked.search {
            None => None,
            Some(search) => match block.query(search)? {
                None => return Ok(()),
                query => query,
            },
        };
        let bytes = block.part(Part::Labels)?;
        let labels = Labels::parse(&bytes)?;
        let takes =
            |tags: &[&str]| self.tags.is_none_or(|filter| filter.takes(&|tag: &str| tags.contains(&tag)));
        let is_taken: Vec<bool> = labels.labels.iter().map(|label| takes(&label.tags)).collect();
        let columns = Columns { ids: asked.with_events, shown: asked.by == By::Hit };
        let searches = Searches::of(block, columns)?;
        let users = if asked.by == By::Nothing { block.users()? } else { vec![] };
        let is_by_query = matches!(asked.by, By::Query | By::QueryWithoutResults | By::QueryWithoutClicks);
        let texts = is_by_query.then(|| block.texts()).transpose()?;
        let mut local = Local::new(Keys::new(&asked.by, &labels, &searches, texts)?);
        let (mut followed, mut last) = (vec![], usize::MAX);
        for (number, search) in searches.iter().enumerate() {
            if number.is_multiple_of(LOOK) && is_over() {
                return Err(Failure::Stopped);
            }
            let search = search?;
            let is_asked = is_taken.get(search.label).is_some_and(|is_taken| *is_taken)
                && query.is_none_or(|query| query == search.query);
            if !is_asked {
                continue;
            }
            if asked.with_events && search.is_tracked {
                events.of(&search, &mut followed);
            } else {
                followed.clear();
            }
            if last != search.user
                && let Some(user) = users.get(search.user)
            {
                self.users.add(*user);
                self.users_of_day.add(*user);
            }
            last = search.user;
            local.add(&search, &followed);
        }
        local.sums.add_to(of_day);
        super::followed::add_events(of_day, &local.events);
        local.divide();
        self.merge(&local)?;
        Ok(())
    }
    fn merge(&mut self, local: &Local<'_>) -> Read<()> {
        for (number, sums) in local.of.iter().enumerate().filter(|(_, sums)| sums.searches > 0) {
            let (name, events) = (local.keys.name(number)?, local.events_of.get(&number));
            self.groups.add(name, sums, events);
            if self.asked.by == By::QueryWithoutClicks {
                if !self.of_day.contains_key(name) && self.of_day.len() < GROUPS_MAX {
                    self.of_day.insert(name.into(), (0, false));
                }
                if let Some((searches, is_clicked)) = self.of_day.get_mut(name) {
                    *searches += sums.clickable;
                    *is_clicked |= events.is_some_and(|events| events.clicks > 0);
                }
            }
        }
        Ok(())
    }
}

/// What the searches of one block say.
struct Local<'b> {
    keys: Keys<'b>,
    /// Of each list of records, when these are groups: then an event counts for the group of its record alone.
    of_lists: Vec<Sums>,
    sums: Sums,
    events: Figures,
    /// Of each group.
    of: Vec<Sums>,
    events_of: FxHashMap<usize, Figures>,
}

impl<'b> Local<'b> {
    fn new(keys: Keys<'b>) -> Self {
        let (of, of_lists) =
            (vec![Sums::default(); keys.len()], vec![Sums::default(); keys.lists().map_or(0, <[_]>::len)]);
        let (sums, events) = (Sums::default(), Figures::default());
        Local { keys, of_lists, sums, events, of, events_of: FxHashMap::default() }
    }
    fn add(&mut self, search: &Search<'_>, followed: &[&NamingEvent]) {
        let sums = Sums::of(search.hits, search.filters.is_some(), search.is_tracked);
        self.sums.add(&sums);
        if !followed.is_empty() {
            add(&mut self.events, followed.iter().copied());
        }
        let Local { keys, of, events_of, of_lists, .. } = self;
        let of_list = of_lists.get_mut(search.list);
        let is_by_record = of_list.is_some();
        if let Some(of_list) = of_list {
            of_list.add(&sums);
            if followed.is_empty() {
                return;
            }
        }
        keys.each(search, &mut |group| {
            let Some(of_group) = of.get_mut(group) else { return };
            if !is_by_record {
                of_group.add(&sums);
            }
            if followed.is_empty() {
                return;
            }
            let name = if is_by_record { keys.name(group).unwrap_or_default() } else { "" };
            let counts = |event: &&&NamingEvent| !is_by_record || *event.object == *name;
            add(events_of.entry(group).or_default(), followed.iter().filter(counts).copied());
        });
    }
    /// Adds the sums of lists to those of their records.
    fn divide(&mut self) {
        let Local { keys, of, of_lists, .. } = self;
        let lists = keys.lists().unwrap_or_default().iter().zip(of_lists.iter());
        for (list, sums) in lists.filter(|(_, sums)| sums.searches > 0) {
            list.iter().for_each(|record| of[*record].add(sums));
        }
    }
}
