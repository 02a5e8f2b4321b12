//! How is the meta state made of the rows of its tree?

use super::MetaState;
use super::rows::Row;

/// A row that does not say what its key promises.
#[derive(Debug, thiserror::Error)]
#[error("row {0:?} of the meta state cannot be read")]
pub struct RowError(String);

impl MetaState {
    /// Builds the state from the rows of its tree. Errors: a row that no table of the state can read.
    pub fn from_rows(rows: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<MetaState, RowError> {
        let mut state = MetaState::default();
        let mut tables = state.tables_mut();
        for (key, value) in rows {
            let taken = Row::new(&key, &value).and_then(|row| {
                let table = tables.iter_mut().find(|table| table.kinds().contains(&row.kind))?;
                table.take(row)
            });
            taken.ok_or_else(|| RowError(String::from_utf8_lossy(&key).into_owned()))?;
        }
        drop(tables);
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_nobody_can_read_is_named() {
        for (key, value) in [(&b""[..], &b""[..]), (b"?", b""), (b"L", b"too long"), (b"R", b"")] {
            let error = MetaState::from_rows([(key.to_vec(), value.to_vec())]).unwrap_err().to_string();
            let named = format!("row {:?} ", String::from_utf8_lossy(key));
            assert!(error.starts_with(&named), "{error}");
        }
    }

    #[test]
    fn every_kind_of_row_is_of_one_table() {
        let state = MetaState::default();
        let mut kinds: Vec<u8> = state.tables().iter().flat_map(|table| table.kinds()).copied().collect();
        kinds.sort_unstable();
        let mut different = kinds.clone();
        different.dedup();
        let taken = String::from_utf8_lossy(&kinds);
        assert_eq!(different, kinds, "two tables have the same first byte; all that are taken: {taken}");
    }
}
