//! How a node leaves a group so that a start can finish it: the log forgets the group first, files and the metadata store come after.
//!
//! What a start finds of a group that the log does not know is either left over, or the copy of a node that lost its log, which
//! must not be removed. The position in the metadata store says the first, and a mark says so where the store is rebuilt.

use super::group::DumpPlace;
use super::{Failure, Machine};
use quorate_model::GroupId;
use quorate_store::StoreError;
use quorate_store::files::Files;
use quorate_store::layout::Layout;
use std::io::ErrorKind;
use std::path::Path;

/// Says durably that this node leaves a group.
pub fn mark(files: &dyn Files, data: &Layout, group: GroupId) -> Result<(), StoreError> {
    let mark = data.left(group);
    files.write_atomic(&mark, b"").map_err(|e| StoreError::io("write", &mark, e))
}

/// Whether that is said.
pub fn is_marked(files: &dyn Files, data: &Layout, group: GroupId) -> Result<bool, StoreError> {
    let mark = data.left(group);
    files.exists(&mark).map_err(|e| StoreError::io("look for", &mark, e))
}

/// Takes the mark away, durably: a later life of the group here must not find it.
pub fn unmark(files: &dyn Files, data: &Layout, group: GroupId) -> Result<(), StoreError> {
    remove_file(files, &data.left(group))?;
    let folder = data.dumps();
    files.sync_dir(&folder).map_err(|e| StoreError::io("sync", &folder, e))
}

/// Removes what a node has of a group that it has left: files first, then the metadata store and its dump. Begun again by the
/// next start when it is cut off.
pub fn remove<M: Machine>(machine: &mut M, place: &DumpPlace) -> Result<(), Failure> {
    machine.leave()?;
    let DumpPlace { group, tree, data, files, found: _ } = place;
    // none of that may come back once nothing says that it is left
    for folder in [data.indices(), data.events()] {
        match files.sync_dir(&folder) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(StoreError::io("sync", &folder, e).into());
            }
            _ => {}
        }
    }
    remove_file(&**files, &data.dump(*group))?;
    // last: these two tell a start that something is left
    tree.restore(0, &mut std::iter::empty())?;
    Ok(unmark(&**files, data, *group)?)
}

fn remove_file(files: &dyn Files, path: &Path) -> Result<(), StoreError> {
    match files.remove(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(StoreError::io("remove", path, e)),
        _ => Ok(()),
    }
}
