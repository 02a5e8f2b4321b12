//! How many bytes does a command take, and which programs know all that it holds?

use super::{Content, IndexCommand, RawResource, Row};
use quorate_model::RecordOp;
use quorate_model::event::{CountedSearch, Event, EventTarget};
use quorate_model::level::{self, Needs};

impl IndexCommand {
    /// The lowest level of programs that know the command and all that it holds, and what needs that. Cost: settings and
    /// resources are parsed once anything of them began after the first level.
    pub fn needs(&self) -> Needs {
        let Row { level, content, .. } = self.row();
        let all = |each: &mut dyn Iterator<Item = Needs>| each.fold(Needs::NOTHING, Needs::or);
        Needs::level(level).or(match content {
            Content::Names(_) | Content::Followers(_) | Content::Events(_) | Content::Searches(_) => {
                Needs::NOTHING
            }
            Content::Operations(ops) => all(&mut ops.iter().map(operation_needs)),
            Content::Settings(changes) => level::of_settings(changes),
            Content::Resources(kind, resources) => {
                all(&mut resources.iter().map(|document| level::of_document(kind, &document.document)))
            }
            Content::Commands(commands) => all(&mut commands.iter().map(IndexCommand::needs)),
        })
    }

    /// About how many bytes it takes in an entry.
    pub fn bytes(&self) -> usize {
        match self.row().content {
            Content::Names(bytes) => bytes,
            Content::Operations(ops) => ops.iter().map(operation_bytes).sum(),
            Content::Settings(changes) => changes.len(),
            Content::Resources(_, resources) => resources.iter().map(RawResource::bytes).sum(),
            Content::Followers(followers) => std::mem::size_of_val(followers),
            Content::Events(events) => events.iter().map(event_bytes).sum(),
            Content::Searches(searches) => searches.iter().map(CountedSearch::bytes).sum(),
            Content::Commands(commands) => commands.iter().map(IndexCommand::bytes).sum(),
        }
    }
}

impl RawResource {
    /// About how many bytes it takes in an entry.
    pub fn bytes(&self) -> usize {
        FRAME + self.object_id.len() + self.document.len()
    }
}

/// Bytes around each operation and document, at most.
const FRAME: usize = 32;

/// About how many bytes an operation takes in an entry.
pub fn operation_bytes(op: &RecordOp) -> usize {
    FRAME
        + match op {
            RecordOp::Put { object_id, record } => object_id.len() + record.len(),
            RecordOp::Partial { object_id, changes, .. }
            | RecordOp::PartialUpTo { object_id, changes, .. } => object_id.len() + changes.len(),
            RecordOp::Delete { object_id } => object_id.len(),
            RecordOp::DeleteBy { params } => params.len(),
            RecordOp::Clear => 0,
        }
}

/// About how many bytes an event takes in an entry.
fn event_bytes(event: &Event) -> usize {
    let of_target = match &event.target {
        EventTarget::Objects(objects) => {
            objects.iter().map(|object| 2 * FRAME + object.object_id.len()).sum::<usize>()
        }
        EventTarget::Filters(filters) => filters.iter().map(|filter| FRAME + filter.len()).sum(),
    };
    let authenticated = event.authenticated.as_deref().map_or(0, str::len);
    4 * FRAME + event.name.len() + event.index.as_str().len() + event.user.len() + authenticated + of_target
}

fn operation_needs(op: &RecordOp) -> Needs {
    match op {
        RecordOp::DeleteBy { params } => level::of_delete_by(params),
        RecordOp::PartialUpTo { .. } => Needs::level(level::BOUNDED_GROWTH),
        // the built-in operations are those of the first level
        RecordOp::Put { .. } | RecordOp::Partial { .. } | RecordOp::Delete { .. } | RecordOp::Clear => {
            Needs::NOTHING
        }
    }
}
