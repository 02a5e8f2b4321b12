//! How is a large command of the meta group cut into chunks that fit into log entries, and how do they become one again?

use super::MetaCommand;
use quorate_model::{DictionaryKind, DictionaryOp, limits};

/// Cuts a command over the entry limit; [`join`] undoes it.
pub fn cut(command: MetaCommand) -> Vec<MetaCommand> {
    match command {
        MetaCommand::ChangeDictionary { kind, clear, ops } => cut_entries(kind, clear, ops),
        // no other one grows that large
        whole => vec![whole],
    }
}

/// Whether a command may be one of several chunks.
pub fn is_cut(command: &MetaCommand) -> bool {
    matches!(command, MetaCommand::ChangeDictionary { .. })
}

/// The first chunk removes earlier entries when that was asked for.
fn cut_entries(kind: DictionaryKind, clear: bool, ops: Vec<DictionaryOp>) -> Vec<MetaCommand> {
    let mut chunks: Vec<Vec<DictionaryOp>> = vec![vec![]];
    let mut bytes = 0;
    for op in ops {
        let op_bytes = op_bytes(&op);
        let chunk = chunks.last_mut().expect("never empty");
        if bytes + op_bytes > limits::ENTRY_BYTES && !chunk.is_empty() {
            chunks.push(vec![op]);
            bytes = op_bytes;
        } else {
            chunk.push(op);
            bytes += op_bytes;
        }
    }
    let chunk = |(at, ops)| MetaCommand::ChangeDictionary { kind, clear: clear && at == 0, ops };
    chunks.into_iter().enumerate().map(chunk).collect()
}

/// Puts chunks together again, in their order; `None` when they are not those of one command.
pub fn join(chunks: Vec<MetaCommand>) -> Option<MetaCommand> {
    let mut chunks = chunks.into_iter();
    let mut whole = chunks.next()?;
    for chunk in chunks {
        match (&mut whole, chunk) {
            (
                MetaCommand::ChangeDictionary { kind, ops, clear: _ },
                MetaCommand::ChangeDictionary { kind: next_kind, ops: next, clear: false },
            ) if *kind == next_kind => ops.extend(next),
            _ => return None,
        }
    }
    Some(whole)
}

/// About how many bytes an operation takes in an entry.
fn op_bytes(op: &DictionaryOp) -> usize {
    match op {
        DictionaryOp::Add(entry) => entry.bytes(),
        DictionaryOp::Delete { object_id } => object_id.len() + 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::dictionary::{DictionaryEntry, DictionaryWords};

    #[test]
    fn a_large_change_is_cut_and_removes_the_earlier_entries_once() {
        let add = |n: usize| {
            let words = DictionaryWords::StopWord { word: "x".repeat(500), is_enabled: true };
            DictionaryOp::Add(DictionaryEntry { object_id: format!("{n:06}"), language: "en", words })
        };
        let per_part = limits::ENTRY_BYTES / op_bytes(&add(1_000));
        for (count, chunks, clear) in
            [(0, 1, true), (10, 1, false), (2 * per_part + 1, 3, true), (per_part + 9, 2, false)]
        {
            let kind = DictionaryKind::StopWords;
            let whole = MetaCommand::ChangeDictionary { kind, clear, ops: (0..count).map(add).collect() };
            let cut = cut(whole.clone());
            assert_eq!(cut.len(), chunks, "{count}");
            for (at, chunk) in cut.iter().enumerate() {
                assert!(
                    matches!(chunk, MetaCommand::ChangeDictionary { clear: drops, .. } if *drops == (clear && at == 0))
                );
                assert!(is_cut(chunk));
            }
            assert_eq!(join(cut), Some(whole));
        }
        assert_eq!(join(vec![MetaCommand::StartNode, MetaCommand::StartNode]), None);
    }
}
