//! How is a large command cut into parts that fit into log entries, and how do they become one command again?

use quorate_model::{DocumentKind, RecordOp, limits};
use quorate_node::ops::{Follower, Incarnation, IndexCommand, RawDocument};

/// Cuts a command over the entry limit at record boundaries; [`join`] undoes it.
pub fn cut(command: IndexCommand) -> Vec<IndexCommand> {
    match command {
        IndexCommand::Records { index, ops } => cut_records(index, ops),
        IndexCommand::Sequence { commands } => {
            let bytes: usize = commands.iter().map(command_bytes).sum();
            if bytes <= limits::ENTRY_BYTES {
                return vec![IndexCommand::Sequence { commands }];
            }
            commands.into_iter().flat_map(cut).collect()
        }
        IndexCommand::SaveDocuments { index, kind, documents, replace } => {
            cut_documents(index, kind, documents, replace)
        }
        IndexCommand::Forward { command } => {
            let forward = |part| IndexCommand::Forward { command: Box::new(part) };
            cut(*command).into_iter().map(forward).collect()
        }
        whole @ (IndexCommand::Settings { .. }
        | IndexCommand::DeleteDocument { .. }
        | IndexCommand::Copy { .. }
        | IndexCommand::Drop { .. }
        // whoever makes one keeps it below the limit
        | IndexCommand::ForUser { .. }
        | IndexCommand::Replicas { .. }
        | IndexCommand::Compare) => vec![whole],
    }
}

fn cut_records(index: Incarnation, ops: Vec<RecordOp>) -> Vec<IndexCommand> {
    let mut parts = Vec::new();
    let (mut part, mut bytes) = (Vec::new(), 0);
    for op in ops {
        let op_bytes = op_bytes(&op);
        if bytes + op_bytes > limits::ENTRY_BYTES && !part.is_empty() {
            parts.push(IndexCommand::Records { index, ops: std::mem::take(&mut part) });
            bytes = 0;
        }
        bytes += op_bytes;
        part.push(op);
    }
    if parts.is_empty() || !part.is_empty() {
        parts.push(IndexCommand::Records { index, ops: part });
    }
    parts
}

/// The first part drops earlier documents when that was asked for, the others add to it.
fn cut_documents(
    index: Incarnation,
    kind: DocumentKind,
    documents: Vec<RawDocument>,
    replace: bool,
) -> Vec<IndexCommand> {
    let mut parts: Vec<Vec<RawDocument>> = vec![Vec::new()];
    let mut bytes = 0;
    for document in documents {
        let document_bytes = raw_bytes(&document);
        let part = parts.last_mut().expect("never empty");
        if bytes + document_bytes > limits::ENTRY_BYTES && !part.is_empty() {
            parts.push(vec![document]);
            bytes = document_bytes;
        } else {
            part.push(document);
            bytes += document_bytes;
        }
    }
    let part =
        |(at, documents)| IndexCommand::SaveDocuments { index, kind, documents, replace: replace && at == 0 };
    parts.into_iter().enumerate().map(part).collect()
}

/// Puts the parts of a cut command together again, in their order.
pub fn join(parts: Vec<IndexCommand>) -> IndexCommand {
    let mut commands: Vec<IndexCommand> = Vec::with_capacity(parts.len());
    for part in parts {
        let apart = match commands.last_mut() {
            Some(last) => merge(last, part),
            None => Some(part),
        };
        commands.extend(apart);
    }
    match commands.len() {
        1 => commands.remove(0),
        _ => IndexCommand::Sequence { commands },
    }
}

/// Lets `command` also do what `next` does if that is more of the same; gives `next` back otherwise.
fn merge(command: &mut IndexCommand, next: IndexCommand) -> Option<IndexCommand> {
    match (command, next) {
        (
            IndexCommand::Records { index, ops },
            IndexCommand::Records { index: next_index, ops: next_ops },
        ) if *index == next_index => {
            ops.extend(next_ops);
            None
        }
        (
            IndexCommand::SaveDocuments { index, kind, documents, replace: _ },
            IndexCommand::SaveDocuments {
                index: next_index,
                kind: next_kind,
                documents: next,
                replace: false,
            },
        ) if *index == next_index && *kind == next_kind => {
            documents.extend(next);
            None
        }
        (IndexCommand::Forward { command }, IndexCommand::Forward { command: next }) => {
            merge(command, *next).map(|next| IndexCommand::Forward { command: Box::new(next) })
        }
        (_, next) => Some(next),
    }
}

/// About how many bytes an operation takes in an entry.
fn op_bytes(op: &RecordOp) -> usize {
    const FRAME: usize = 32;
    FRAME
        + match op {
            RecordOp::Put { object_id, record } => object_id.len() + record.len(),
            RecordOp::Partial { object_id, changes, create: _ } => object_id.len() + changes.len(),
            RecordOp::Delete { object_id } => object_id.len(),
            RecordOp::DeleteBy { params } => params.len(),
            RecordOp::Clear => 0,
        }
}

fn raw_bytes(document: &RawDocument) -> usize {
    const FRAME: usize = 32;
    FRAME + document.object_id.len() + document.document.len()
}

fn command_bytes(command: &IndexCommand) -> usize {
    match command {
        IndexCommand::Records { index: _, ops } => ops.iter().map(op_bytes).sum(),
        IndexCommand::Settings { index: _, changes, replace: _ } => changes.len(),
        IndexCommand::Forward { command } => command_bytes(command),
        IndexCommand::ForUser { user, epoch: _, command } => user.as_str().len() + command_bytes(command),
        IndexCommand::Sequence { commands } => commands.iter().map(command_bytes).sum(),
        IndexCommand::SaveDocuments { index: _, kind: _, documents, replace: _ } => {
            documents.iter().map(raw_bytes).sum()
        }
        IndexCommand::DeleteDocument { index: _, kind: _, object_id } => object_id.len(),
        IndexCommand::Replicas { primary: _, revision: _, followers } => {
            followers.len() * std::mem::size_of::<Follower>()
        }
        IndexCommand::Copy { .. } | IndexCommand::Drop { .. } | IndexCommand::Compare => 0,
    }
}
