//! Which actions may a batch carry, and which right does each need (C§3.5, C§13.2)?

use crate::error::{Error, Result, shortened};
use crate::key::Acl;

/// The `action` of one operation of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchAction {
    /// Adds or replaces a record; makes an id when there is none.
    AddObject,
    /// Replaces a record; needs an id.
    UpdateObject,
    /// Changes a record, creating it when it is missing; needs an id.
    PartialUpdateObject,
    /// Changes a record if it exists; needs an id.
    PartialUpdateObjectNoCreate,
    /// Removes a record; needs an id.
    DeleteObject,
    /// Removes the index.
    Delete,
    /// Removes all records.
    Clear,
}
impl BatchAction {
    /// Every action.
    pub const ALL: [BatchAction; 7] = [
        BatchAction::AddObject,
        BatchAction::UpdateObject,
        BatchAction::PartialUpdateObject,
        BatchAction::PartialUpdateObjectNoCreate,
        BatchAction::DeleteObject,
        BatchAction::Delete,
        BatchAction::Clear,
    ];

    /// Reads the name of an action. Errors: `Invalid`, naming it.
    pub fn parse(name: &str) -> Result<BatchAction> {
        let found = BatchAction::ALL.into_iter().find(|action| action.name() == name);
        found.ok_or_else(|| {
            let known = BatchAction::ALL.map(BatchAction::name).join(", ");
            let name = shortened(name);
            Error::invalid(format!("Invalid batch action: {name}, expected one of {known}"))
        })
    }

    /// The name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            BatchAction::AddObject => "addObject",
            BatchAction::UpdateObject => "updateObject",
            BatchAction::PartialUpdateObject => "partialUpdateObject",
            BatchAction::PartialUpdateObjectNoCreate => "partialUpdateObjectNoCreate",
            BatchAction::DeleteObject => "deleteObject",
            BatchAction::Delete => "delete",
            BatchAction::Clear => "clear",
        }
    }

    /// The right that the action needs.
    pub fn acl(self) -> Acl {
        match self {
            BatchAction::AddObject
            | BatchAction::UpdateObject
            | BatchAction::PartialUpdateObject
            | BatchAction::PartialUpdateObjectNoCreate => Acl::AddObject,
            BatchAction::DeleteObject => Acl::DeleteObject,
            BatchAction::Delete | BatchAction::Clear => Acl::DeleteIndex,
        }
    }

    /// Whether the operation must name a record.
    pub fn needs_object_id(self) -> bool {
        match self {
            BatchAction::UpdateObject
            | BatchAction::PartialUpdateObject
            | BatchAction::PartialUpdateObjectNoCreate
            | BatchAction::DeleteObject => true,
            BatchAction::AddObject | BatchAction::Delete | BatchAction::Clear => false,
        }
    }
}
