//! What do record operations do to the records of an open shard?

use super::open::OpenShard;
use crate::error::{Error, Result, is_outcome};
use bytes::Bytes;
use quorate_model::record::{PartialOutcome, apply_partial};
use quorate_model::user::OWNER;
use quorate_model::{Filter, RecordOp, SearchParams, UserId};
use std::sync::Arc;

impl OpenShard {
    /// Carries out the operations of one command in their order.
    pub(super) fn run(&mut self, ops: &[RecordOp]) -> Result<()> {
        let mut resolved: Option<Vec<RecordOp>> = None;
        let mut too_large = 0;
        for (number, op) in ops.iter().enumerate() {
            match (op, &mut resolved) {
                (RecordOp::DeleteBy { .. }, None) => resolved = Some(ops[..number].to_vec()),
                (RecordOp::DeleteBy { .. }, Some(_)) | (_, None) => {}
                (other, Some(resolved)) => resolved.push(other.clone()),
            }
            match op {
                RecordOp::Put { object_id, record } => {
                    self.writer.put(object_id, Bytes::copy_from_slice(record)).map_err(|e| self.engine(e))?;
                }
                RecordOp::Partial { object_id, changes, create } => {
                    self.update(object_id, changes, *create, None)?;
                }
                RecordOp::PartialUpTo { object_id, changes, create, bytes_max } => {
                    too_large += usize::from(!self.update(object_id, changes, *create, Some(*bytes_max))?);
                }
                RecordOp::Delete { object_id } => {
                    self.writer.delete(object_id);
                }
                RecordOp::DeleteBy { params } => {
                    let deleted = self.delete_by(params)?;
                    let ops = deleted.into_iter().map(|object_id| RecordOp::Delete { object_id });
                    resolved.get_or_insert_default().extend(ops);
                }
                RecordOp::Clear => self.writer.clear(),
            }
        }
        if too_large > 0 {
            let index = self.state.incarnation;
            tracing::warn!(
                index,
                updates = too_large,
                "records would have become too large, and stay as they are"
            );
        }
        self.resolved = resolved.map(Arc::new);
        Ok(())
    }

    /// Carries out a partial update. Returns whether the record may become as large as it makes it.
    fn update(
        &mut self,
        object_id: &str,
        changes: &[u8],
        create: bool,
        bytes_max: Option<u64>,
    ) -> Result<bool> {
        let current = self.writer.get(object_id).map_err(|e| self.engine(e))?;
        match apply_partial(current.as_deref(), changes, create, object_id, bytes_max) {
            Ok(PartialOutcome::Write(record)) => {
                self.writer.put(object_id, Bytes::from(record)).map_err(|e| self.engine(e))?;
            }
            Ok(PartialOutcome::TooLarge(_)) => return Ok(false),
            // an update that cannot be carried out changes nothing, on every node alike
            Ok(PartialOutcome::Ignore) => {}
            Err(error) if is_outcome(error.kind) => {}
            Err(error) => return Err(Error::Model(error)),
        }
        Ok(true)
    }

    /// Deletes what a query selects and returns what that was.
    fn delete_by(&mut self, params: &[u8]) -> Result<Vec<String>> {
        let parsed = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(params)
            .map_err(|e| quorate_model::Error::invalid(e.to_string()))
            .and_then(|mut params| {
                let owner = params.remove(OWNER);
                let parsed = SearchParams::from_json(&params)?;
                match owner.as_ref().and_then(serde_json::Value::as_str).map(UserId::new).transpose()? {
                    Some(owner) => Ok(SearchParams {
                        filter: parsed.filter.meant_by(&owner).and(Filter::owned_by(&owner)),
                        ..parsed
                    }),
                    None => Ok(parsed),
                }
            });
        let view = self.writer.publish().map_err(|e| self.engine(e))?;
        let matching =
            parsed.and_then(|params| quorate_engine::matching_ids(&view, self.shown.settings(), &params));
        match matching {
            Ok(object_ids) => {
                for object_id in &object_ids {
                    self.writer.delete(object_id);
                }
                Ok(object_ids)
            }
            // it was checked before it was proposed; should it be wrong all the same, it is on every node alike
            Err(error) if is_outcome(error.kind) => {
                tracing::warn!(index = self.state.incarnation, %error, "a deleteByQuery had no effect");
                Ok(vec![])
            }
            // what this node alone meets: it is tried again, and nothing comes before it
            Err(error) => Err(Error::Model(error)),
        }
    }
}
