//! How do suggestions get into their index?

use super::log::{BuildLog, Level};
use crate::clock::write_deadline;
use crate::context::NodeContext;
use crate::types::CallerOp;
use crate::write::{self, Reach, tasks};
use quorate_model::{Error, IndexName, RecordOp, Result, limits};
use quorate_node::suggestions::Suggestion;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Bytes of all records: they are one command.
const BYTES_MAX: usize = 48 << 20;
/// How often it is looked whether readers see them.
const LOOK: Duration = Duration::from_millis(20);

/// Replaces all records of the index, as one command: readers see those before or these. An index that is not there yet is made with
/// the settings of C§16.3; those of one that is there stay.
pub async fn replace(
    context: &NodeContext,
    index: &IndexName,
    suggestions: Vec<Suggestion>,
    log: &mut BuildLog,
) -> Result<()> {
    let (mut ops, mut bytes, mut left_out) = (vec![CallerOp::Ready(RecordOp::Clear)], 0, 0);
    for suggestion in suggestions {
        let record = suggestion.record();
        if record.len() > limits::RECORD_BYTES_MAX {
            let told =
                format!("skipping query \"{}\": its record takes {} bytes", suggestion.text, record.len());
            log.add(Level::Skip, 0, &told);
            continue;
        }
        bytes += record.len();
        if bytes > BYTES_MAX {
            left_out += 1;
            continue;
        }
        ops.push(CallerOp::Put { object_id: Some(suggestion.text), record });
    }
    if left_out > 0 {
        log.add(
            Level::Info,
            0,
            &format!("{left_out} less popular suggestions are left out: there is no room"),
        );
    }
    if context.meta().catalogue.get(index).is_none() {
        write::settings(context, index, settings(), Reach::Index).await?;
    }
    let task = write::records(context, index, ops).await?.task_id;
    // who asks for the state of the build finds them once it has ended
    let until = write_deadline();
    while !tasks::is_published(context, task).await {
        if Instant::now() >= until {
            return Err(Error::unavailable(
                "the suggestions are written, but not every reader sees them in time",
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// C§16.3.
fn settings() -> Map<String, Value> {
    let settings = json!({
        "searchableAttributes": ["query"],
        "customRanking": ["desc(popularity)"],
        "attributesToHighlight": ["query"],
        "numericAttributesForFiltering": ["nb_words"],
        "removeWordsIfNoResults": "lastWords",
        "snippetEllipsisText": "",
    });
    match settings {
        Value::Object(settings) => settings,
        _ => Map::new(),
    }
}
