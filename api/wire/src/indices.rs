//! What does the list of indices answer (C§3.1)?

use crate::json::{self, Object};

/// One row of the list.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct IndexRow<'a> {
    pub name: &'a str,
    pub created_at: &'a str,
    pub updated_at: &'a str,
    pub entries: u64,
    pub data_size: u64,
    pub file_size: u64,
    pub last_build_time_s: u64,
    pub pending_tasks: u64,
    pub primary: Option<&'a str>,
    pub replicas: &'a [String],
    pub is_virtual: bool,
}

/// Which part of the list was asked for: `None` = all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexPage {
    /// Zero-based.
    pub page: Option<u64>,
    /// Rows a page; the interface's default is 100.
    pub rows: u64,
}

/// Rows of a page when the request does not say (C§20).
pub const PAGE_ROWS: u64 = 100;

impl IndexPage {
    /// The slice of `total` rows this page covers, and how many pages there are.
    pub fn slice(&self, total: usize) -> (std::ops::Range<usize>, u64) {
        let Some(page) = self.page else {
            return (0..total, 1);
        };
        let rows = self.rows.max(1);
        let pages = (total as u64).div_ceil(rows);
        let start = page.saturating_mul(rows).min(total as u64) as usize;
        let end = (start as u64).saturating_add(rows).min(total as u64) as usize;
        (start..end, pages)
    }
}

/// `items` and `nbPages`.
pub fn index_list_body<'a>(rows: impl IntoIterator<Item = IndexRow<'a>>, pages: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    let mut object = Object::open(&mut out);
    json::list(object.member("items"), rows, row);
    object.integer("nbPages", pages);
    object.close();
    out
}

fn row(out: &mut Vec<u8>, row: IndexRow<'_>) {
    let IndexRow {
        name,
        created_at,
        updated_at,
        entries,
        data_size,
        file_size,
        last_build_time_s,
        pending_tasks,
        primary,
        replicas,
        is_virtual,
    } = row;
    let mut object = Object::open(out);
    object
        .string("name", name)
        .string("createdAt", created_at)
        .string("updatedAt", updated_at)
        .integer("entries", entries)
        .integer("dataSize", data_size)
        .integer("fileSize", file_size)
        .integer("lastBuildTimeS", last_build_time_s)
        .integer("numberOfPendingTask", pending_tasks)
        .integer("numberOfPendingTasks", pending_tasks)
        .flag("pendingTask", pending_tasks > 0);
    if let Some(primary) = primary {
        object.string("primary", primary);
    }
    if !replicas.is_empty() {
        object.strings("replicas", replicas.iter().map(String::as_str));
    }
    if is_virtual {
        object.flag("virtual", true);
    }
    object.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_cut_the_list() {
        for (page, rows, total, range, pages) in [
            (None, 100, 250, 0..250, 1),
            (Some(0), 100, 250, 0..100, 3),
            (Some(2), 100, 250, 200..250, 3),
            (Some(9), 100, 250, 250..250, 3),
            (Some(u64::MAX), 100, 250, 250..250, 3),
            (Some(0), 100, 0, 0..0, 0),
        ] {
            assert_eq!(IndexPage { page, rows }.slice(total), (range, pages));
        }
    }

    #[test]
    fn rows_carry_both_spellings_of_the_pending_count() {
        let row = IndexRow {
            name: "a",
            created_at: "c",
            updated_at: "u",
            entries: 1,
            data_size: 2,
            file_size: 3,
            last_build_time_s: 4,
            pending_tasks: 5,
            primary: Some("p"),
            replicas: &[],
            is_virtual: false,
        };
        let text = String::from_utf8(index_list_body([row], 1)).unwrap();
        assert_eq!(
            text,
            r#"{"items":[{"name":"a","createdAt":"c","updatedAt":"u","entries":1,"dataSize":2,"fileSize":3,"lastBuildTimeS":4,"numberOfPendingTask":5,"numberOfPendingTasks":5,"pendingTask":true,"primary":"p"}],"nbPages":1}"#
        );
    }
}
