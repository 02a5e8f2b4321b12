//! How is a large command cut into chunks that fit into log entries, and how do they become one command again?

use super::{Command, meta_chunks};
use quorate_model::{RecordOp, ResourceKind, limits};
use quorate_node::ops::{Incarnation, IndexCommand, RawResource, operation_bytes};

/// Cuts a command over the entry limit at record boundaries; [`join`] undoes it.
pub fn cut(command: IndexCommand) -> Vec<IndexCommand> {
    match command {
        IndexCommand::Records { index, ops } => cut_records(index, ops),
        IndexCommand::Sequence { commands } => {
            let bytes: usize = commands.iter().map(IndexCommand::bytes).sum();
            if bytes <= limits::ENTRY_BYTES {
                return vec![IndexCommand::Sequence { commands }];
            }
            commands.into_iter().flat_map(cut).collect()
        }
        IndexCommand::SaveResources { index, kind, resources, replace } => {
            cut_resources(index, kind, resources, replace)
        }
        IndexCommand::Forward { command } => {
            let forward = |chunk| IndexCommand::Forward { command: Box::new(chunk) };
            cut(*command).into_iter().map(forward).collect()
        }
        // whoever makes one keeps it below the limit
        whole => vec![whole],
    }
}

fn cut_records(index: Incarnation, ops: Vec<RecordOp>) -> Vec<IndexCommand> {
    let mut chunks = Vec::new();
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    for op in ops {
        let op_bytes = operation_bytes(&op);
        if bytes + op_bytes > limits::ENTRY_BYTES && !chunk.is_empty() {
            chunks.push(IndexCommand::Records { index, ops: std::mem::take(&mut chunk) });
            bytes = 0;
        }
        bytes += op_bytes;
        chunk.push(op);
    }
    if chunks.is_empty() || !chunk.is_empty() {
        chunks.push(IndexCommand::Records { index, ops: chunk });
    }
    chunks
}

/// The first chunk drops earlier resources when that was asked for, the others add to it.
fn cut_resources(
    index: Incarnation,
    kind: ResourceKind,
    resources: Vec<RawResource>,
    replace: bool,
) -> Vec<IndexCommand> {
    let mut chunks: Vec<Vec<RawResource>> = vec![Vec::new()];
    let mut bytes = 0;
    for document in resources {
        let document_bytes = document.bytes();
        let chunk = chunks.last_mut().expect("never empty");
        if bytes + document_bytes > limits::ENTRY_BYTES && !chunk.is_empty() {
            chunks.push(vec![document]);
            bytes = document_bytes;
        } else {
            chunk.push(document);
            bytes += document_bytes;
        }
    }
    let chunk =
        |(at, resources)| IndexCommand::SaveResources { index, kind, resources, replace: replace && at == 0 };
    chunks.into_iter().enumerate().map(chunk).collect()
}

/// Puts the chunks of a cut command together again, in their order; `None` when they are not those of one.
pub fn join(chunks: Vec<Command>) -> Option<Command> {
    let (mut of_index, mut of_meta) = (vec![], vec![]);
    for chunk in chunks {
        match chunk {
            Command::Index(chunk) => of_index.push(chunk),
            Command::Meta(chunk) => of_meta.push(chunk),
        }
    }
    match (of_index.is_empty(), of_meta.is_empty()) {
        (false, true) => Some(Command::Index(join_index(of_index))),
        (true, false) => meta_chunks::join(of_meta).map(Command::Meta),
        (true, true) | (false, false) => None,
    }
}

fn join_index(chunks: Vec<IndexCommand>) -> IndexCommand {
    let mut commands: Vec<IndexCommand> = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let apart = match commands.last_mut() {
            Some(last) => merge(last, chunk),
            None => Some(chunk),
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
            IndexCommand::SaveResources { index, kind, resources, replace: _ },
            IndexCommand::SaveResources {
                index: next_index,
                kind: next_kind,
                resources: next,
                replace: false,
            },
        ) if *index == next_index && *kind == next_kind => {
            resources.extend(next);
            None
        }
        (IndexCommand::Forward { command }, IndexCommand::Forward { command: next }) => {
            merge(command, *next).map(|next| IndexCommand::Forward { command: Box::new(next) })
        }
        (_, next) => Some(next),
    }
}
