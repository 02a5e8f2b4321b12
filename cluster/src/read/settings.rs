//! The settings of an index as a caller sees them.

use super::call::{Location, ReadCall};
use super::{known_row, row, serves, virtual_primary};
use crate::context::NodeContext;
use crate::meta::{IndexRow, Link, Role};
use quorate_model::{Error, IndexName, Result, Settings};
use quorate_node::Node;
use quorate_node::ops::Incarnation;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// See [`crate::Service::settings`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetSettings {
    /// The index.
    pub index: IndexName,
}

/// Settings as a caller sees them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SentSettings", into = "SentSettings")]
pub struct ShownSettings(pub Arc<Settings>);

/// Settings on their way between nodes: their document, and what is not in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SentSettings {
    document: Map<String, Value>,
    /// The primary of a replica.
    primary: Option<String>,
}

impl From<ShownSettings> for SentSettings {
    fn from(ShownSettings(settings): ShownSettings) -> SentSettings {
        SentSettings { document: settings.document.clone(), primary: settings.index.primary.clone() }
    }
}
impl TryFrom<SentSettings> for ShownSettings {
    type Error = Error;
    fn try_from(SentSettings { document, primary }: SentSettings) -> Result<ShownSettings> {
        let mut settings = Settings::from_document(&document)?;
        settings.index.primary = primary;
        Ok(ShownSettings(Arc::new(settings)))
    }
}

impl ReadCall for GetSettings {
    const NAME: &'static str = "Settings";
    type Answer = ShownSettings;
    type Source = IndexRow;

    async fn locate(&self, context: &NodeContext) -> Result<Location<IndexRow>> {
        let row = known_row(context, &self.index).await?;
        Ok(match serves(context, row.group).await {
            true => Location::Local(row),
            false => Location::Remote(row.group),
        })
    }
    async fn read(self, context: &NodeContext, found: IndexRow) -> Result<ShownSettings> {
        let of_primary = match virtual_primary(&found) {
            Some(primary) => Some(applied(context.node(), row(context, primary)?.incarnation)),
            None => None,
        };
        shown(&found, applied(context.node(), found.incarnation), of_primary.as_deref()).map(ShownSettings)
    }
}

/// The settings of an index as applied here; the defaults before anything was written to it.
pub fn applied(node: &Node, incarnation: Incarnation) -> Arc<Settings> {
    node.index(incarnation).map_or_else(Arc::default, |index| index.settings.load_full())
}

/// The settings of an index as a caller sees them: a virtual replica has its primary's, which are `of_primary`, where they
/// shape the index, and the links are those of the catalogue.
pub fn shown(row: &IndexRow, own: Arc<Settings>, of_primary: Option<&Settings>) -> Result<Arc<Settings>> {
    match &row.role {
        Role::Alone => Ok(own),
        Role::Primary(links) => {
            let replicas: Vec<String> = links.iter().map(Link::shown).collect();
            let changes = Map::from_iter([("replicas".to_owned(), Value::from(replicas))]);
            Ok(Arc::new(own.merge(&changes)?))
        }
        Role::Replica(Link { name: primary, kind: _ }) => {
            let mut shown = match of_primary {
                None => (*own).clone(),
                Some(of_primary) => Settings::from_document(&of_primary.on_virtual(&own.document))?,
            };
            shown.index.primary = Some(primary.partition().0.to_owned());
            Ok(Arc::new(shown))
        }
    }
}
