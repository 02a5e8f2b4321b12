//! Which incarnations are being made for names, and for which ones that will stand for them as replicas?
//!
//! A replica that is made ready has the configuration that its name had at some moment. A change of that configuration which
//! was kept after that moment would go with what the name stood for; whoever makes one looks here before the caller is answered
//! (`write/replicas/settled.rs`). When the name stands for another index meanwhile, or is another one's replica or in another way,
//! what is made ready is given up: it has the configuration of something else.

use super::rows::{Row, RowChange, StateTable, group, number};
use super::{MetaState, Role, SharedMap};
use quorate_model::{GroupId, IndexName, level};
use quorate_node::ops::Incarnation;
use std::ops::{Deref, DerefMut};

/// A row for each incarnation that is reserved, with its group and the name that it is made ready for.
const RESERVED: u8 = b'r';

/// What is known of an incarnation that is reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Where it lies.
    pub group: GroupId,
    /// The name whose configuration it has, and which it, or what it is a partition of, will stand for. `None` for copies, and below
    /// [`level::RESERVED_FOR`].
    pub replica: Option<IndexName>,
}

/// The incarnations that are reserved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reserved(SharedMap<Incarnation, Reservation>);

impl Deref for Reserved {
    type Target = SharedMap<Incarnation, Reservation>;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
impl DerefMut for Reserved {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Reserved {
    /// Reserves an incarnation in a group.
    pub(super) fn add(
        &mut self,
        incarnation: Incarnation,
        group: GroupId,
        replica: Option<IndexName>,
    ) -> RowChange {
        let reservation = Reservation { group, replica };
        let change = RowChange::reserved(incarnation, &reservation);
        self.insert(incarnation, reservation);
        change
    }
    /// Whether it is reserved in this group.
    pub fn is_in(&self, incarnation: Incarnation, group: GroupId) -> bool {
        self.get(&incarnation).is_some_and(|it| it.group == group)
    }
    /// What is made ready with the configuration of this name. Cost: the number of what is reserved.
    pub fn made_for(&self, name: &IndexName) -> impl Iterator<Item = Incarnation> {
        self.iter().filter(|(_, it)| it.replica.as_ref() == Some(name)).map(|(incarnation, _)| *incarnation)
    }
}

/// What is made ready, and what its name stood for before a command.
pub(super) type Watched = Vec<(Incarnation, IndexName, Option<(Incarnation, Role)>)>;

impl MetaState {
    /// Whether an incarnation is made ready to follow an index in this group: that index may be another one than the one that it was
    /// made ready for. Below [`level::RESERVED_FOR`] it counted wherever it lies.
    pub(super) fn is_ready(&self, incarnation: Incarnation, group: GroupId) -> bool {
        match self.level() >= level::RESERVED_FOR {
            true => self.reserved.is_in(incarnation, group),
            false => self.reserved.contains_key(&incarnation),
        }
    }
    fn standing(&self, name: &IndexName) -> Option<(Incarnation, Role)> {
        self.catalogue.get(name).map(|row| (row.incarnation, row.role.clone()))
    }
    /// What is to be looked at again after a command. Cost: the number of what is reserved.
    pub(super) fn watched(&self) -> Watched {
        let made = self.reserved.iter().filter_map(|(made, it)| Some((*made, it.replica.clone()?)));
        made.map(|(made, name)| (made, name.clone(), self.standing(&name))).collect()
    }
    /// Gives up what has the configuration of a name that stands for something else than before the command.
    pub(super) fn give_up_outdated(&mut self, watched: Watched) -> Vec<RowChange> {
        let outdated = watched.into_iter().filter(|(_, name, before)| self.standing(name) != *before);
        let outdated: Vec<Incarnation> = outdated.map(|(made, _, _)| made).collect();
        outdated.into_iter().flat_map(|made| self.abandon_copy(made)).collect()
    }
}

impl StateTable for Reserved {
    fn kinds(&self) -> &'static [u8] {
        &[RESERVED]
    }
    fn hashed_as(&self) -> &'static str {
        "copies"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(self.iter().map(|(incarnation, reservation)| RowChange::reserved(*incarnation, reservation)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        let (number_of_group, name) = row.value.split_at_checked(size_of::<u16>())?;
        let replica = match name {
            [] => None,
            name => Some(IndexName::stored(std::str::from_utf8(name).ok()?).ok()?),
        };
        self.insert(number(row.rest)?, Reservation { group: group(number_of_group)?, replica });
        Some(())
    }
}

impl RowChange {
    fn reserved(incarnation: Incarnation, Reservation { group, replica }: &Reservation) -> RowChange {
        let mut value = group.0.to_be_bytes().to_vec();
        value.extend_from_slice(replica.as_ref().map_or("", IndexName::as_str).as_bytes());
        Self::put(RESERVED, &incarnation.to_be_bytes(), value)
    }
    pub(super) fn not_reserved(incarnation: Incarnation) -> RowChange {
        Self::delete(RESERVED, &incarnation.to_be_bytes())
    }
}
