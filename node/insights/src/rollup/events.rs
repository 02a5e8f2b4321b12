//! How do events that name searches lie in a block?

use super::block::{Block, Part};
use super::bytes::{Reader, malformed, put, put_text};
use crate::error::Result;
use crate::rows::{EventRow, RowKind, Text, user_hash};
use quorate_model::event::{EventKind, QueryId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// An event on a record that names a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamingEvent {
    pub kind: EventKind,
    pub time_ms: u64,
    pub object: Text,
    pub position: Option<u32>,
    /// What was paid, and its currency.
    pub revenue: Option<(Text, i128)>,
}

impl NamingEvent {
    /// The event of a row, and the search that it names.
    pub fn of(row: &EventRow) -> Option<(QueryId, NamingEvent)> {
        let (RowKind::Event(kind), Some(id), Some(object)) = (row.kind, row.query_id, &row.object) else {
            return None;
        };
        let object = object.clone();
        let (time_ms, position, revenue) = (row.time_ms, row.position, revenue(row));
        Some((id, NamingEvent { kind, time_ms, object, position, revenue }))
    }
}

/// Price times quantity, less the discount.
fn revenue(row: &EventRow) -> Option<(Text, i128)> {
    let price = row.price.filter(|_| row.kind == RowKind::Event(EventKind::Purchase))?;
    let quantity = row.quantity.map_or(1, i128::from);
    let discount = row.discount.map_or(0, |discount| discount.scaled());
    let paid = price.scaled().saturating_mul(quantity).saturating_sub(discount);
    Some((row.currency.clone()?, paid))
}

/// Events on their way into a block: those of one user and pseudonym one after another, behind who it was.
#[derive(Default)]
pub(super) struct Events {
    from_ms: u64,
    texts: FxHashMap<Text, usize>,
    names: Vec<Text>,
    tokens: Vec<u64>,
    /// The pseudonym that had a hash last: those of one user come one after another.
    last: Option<(Text, u64)>,
    run: Option<Run>,
    /// How many events the run has, and their bytes.
    count: u64,
    of_run: Vec<u8>,
    out: Vec<u8>,
}

impl Events {
    /// Those of a time that begins then, Unix milliseconds.
    pub fn new(from_ms: u64) -> Events {
        Events { from_ms, ..Events::default() }
    }
    /// About how many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        self.out.len() + self.of_run.len() + 64 * self.names.len() + 8 * self.tokens.len()
    }
    pub fn is_empty(&self) -> bool {
        self.run.is_none()
    }
    /// How many texts they have.
    pub fn texts(&self) -> usize {
        self.names.len()
    }
    /// Takes the row of an event. One that names no search says nothing of searches; of one that is on no record it is kept who it was,
    /// since it may let a search count.
    pub fn take(&mut self, row: &EventRow) {
        if row.query_id.is_none() {
            return;
        }
        let pseudonym = row.authenticated.as_ref().map(|pseudonym| {
            let known = self.last.take().filter(|(known, _)| known == pseudonym);
            let (text, hash) = known.unwrap_or_else(|| (pseudonym.clone(), user_hash(pseudonym)));
            self.last = Some((text, hash));
            hash
        });
        self.begin(Run { user: row.user_hash, pseudonym });
        if let Some((id, event)) = NamingEvent::of(row) {
            self.put(id, &event);
        }
    }
    /// What follows is of somebody.
    pub(super) fn begin(&mut self, run: Run) {
        if self.run == Some(run) {
            return;
        }
        self.end();
        self.tokens.extend([run.user].into_iter().chain(run.pseudonym));
        self.run = Some(run);
    }
    fn end(&mut self) {
        let Some(Run { user, pseudonym }) = self.run.take() else { return };
        self.out.extend_from_slice(&user.to_le_bytes());
        put(&mut self.out, self.count << 1 | u64::from(pseudonym.is_some()));
        pseudonym.iter().for_each(|hash| self.out.extend_from_slice(&hash.to_le_bytes()));
        self.out.append(&mut self.of_run);
        self.count = 0;
    }
    /// Adds an event of who was begun last.
    pub(super) fn put(&mut self, id: QueryId, event: &NamingEvent) {
        self.count += 1;
        let kind = EventKind::ALL.iter().position(|kind| *kind == event.kind).unwrap_or_default();
        let object = self.text(&event.object);
        let currency = event.revenue.as_ref().map(|(currency, paid)| (self.text(currency), *paid));
        let out = &mut self.of_run;
        out.extend_from_slice(&id.0.to_le_bytes());
        put(out, event.time_ms.saturating_sub(self.from_ms));
        put(out, kind as u64);
        put(out, object as u64);
        put(out, event.position.map_or(0, |position| u64::from(position) + 1));
        match currency {
            None => put(out, 0),
            Some((currency, paid)) => {
                put(out, currency as u64 + 1);
                out.extend_from_slice(&paid.to_le_bytes());
            }
        }
    }
    fn text(&mut self, text: &Text) -> usize {
        let next = self.names.len();
        let number = *self.texts.entry(text.clone()).or_insert(next);
        if number == next {
            self.names.push(text.clone());
        }
        number
    }
    /// The regions of [`Part::Tokens`] and [`Part::Events`].
    pub fn finish(mut self) -> [Vec<u8>; 2] {
        self.end();
        let Events { names, mut tokens, out, .. } = self;
        tokens.sort_unstable();
        tokens.dedup();
        let mut events = vec![];
        put(&mut events, names.len() as u64);
        names.iter().for_each(|name| put_text(&mut events, name));
        events.extend_from_slice(&out);
        [tokens.iter().flat_map(|token| token.to_le_bytes()).collect(), events]
    }
}

/// Who it was: hashes of the user and of the pseudonym.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub user: u64,
    pub pseudonym: Option<u64>,
}

/// Events of a block by who it was, of those of whom there are any.
pub(super) fn each_run<'b>(
    bytes: &'b [u8],
    give: &mut dyn FnMut(Run, usize, &mut Reader<'b>, &[Text]) -> Result<bool>,
) -> Result<()> {
    let mut reader = Reader(bytes);
    if reader.is_empty() {
        return Ok(());
    }
    let names: Vec<Text> = reader.texts()?.into_iter().map(Arc::from).collect();
    while !reader.is_empty() {
        let (user, count) = (u64::from_le_bytes(reader.array()?), reader.index()?);
        let pseudonym = if count & 1 > 0 { Some(u64::from_le_bytes(reader.array()?)) } else { None };
        if !give(Run { user, pseudonym }, count >> 1, &mut reader, &names)? {
            break;
        }
    }
    Ok(())
}
/// Takes an event, and the search that it names.
pub(super) fn take_event(
    reader: &mut Reader<'_>,
    names: &[Text],
    from_ms: u64,
) -> Result<(QueryId, NamingEvent)> {
    let name =
        |number: usize| names.get(number).cloned().ok_or_else(|| malformed("a name that is not there"));
    let id = QueryId(u128::from_le_bytes(reader.array()?));
    let time_ms = from_ms.saturating_add(reader.number()?);
    let kind = EventKind::ALL.get(reader.index()?).copied().ok_or_else(|| malformed("a kind"))?;
    let object = name(reader.index()?)?;
    let position = reader.number()?.checked_sub(1).map(|position| position as u32);
    let revenue = match reader.index()?.checked_sub(1) {
        None => None,
        Some(currency) => Some((name(currency)?, i128::from_le_bytes(reader.array()?))),
    };
    Ok((id, NamingEvent { kind, time_ms, object, position, revenue }))
}

/// Gives the events of a block, each with the search that it names, as long as `give` wants more.
pub(crate) fn each_event(
    block: &Block,
    give: &mut dyn FnMut(QueryId, NamingEvent) -> Result<bool>,
) -> Result<()> {
    each_run(&block.part(Part::Events)?, &mut |run, count, reader, names| {
        let is_left_out = block.leaves_out(run.user);
        for _ in 0..count {
            let (id, event) = take_event(reader, names, block.facts.from_ms)?;
            if !is_left_out && !give(id, event)? {
                return Ok(false);
            }
        }
        Ok(true)
    })
}
