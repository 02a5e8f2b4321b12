//! What does a virtual replica show: its primary's records, with its own configuration over the primary's (C§7.11)?

use crate::error::Result;
use crate::index::{IndexState, IndexView};
use crate::virtual_configuration::VirtualConfiguration;
use quorate_engine::ranking::relevant::RelevantSort;
use quorate_engine::{Configuration, Schema};
use quorate_model::Settings;
use std::sync::Arc;

impl IndexState {
    /// What reads of this virtual replica see on a view of its primary.
    ///
    /// Cost: three comparisons and one allocation while neither's configuration changes.
    pub fn over(&self, primary: &IndexView) -> Result<IndexView> {
        let shard = primary.shard.clone();
        let theirs = &primary.configuration.schema;
        let (own, resources) = (self.settings.load_full(), self.resources.load_full());
        if let Some(known) = &*self.virtual_configuration.load()
            && known.primary.is(theirs)
            && Arc::ptr_eq(&known.own, &own)
            && Arc::ptr_eq(&known.resources, &resources)
        {
            return Ok(IndexView { configuration: known.configuration.clone(), shard });
        }
        let mut settings = Settings::from_document(&theirs.settings().on_virtual(&own.document))?;
        // the primary's own order stays in force beneath
        let custom_ranking = std::mem::replace(
            &mut settings.index.custom_ranking,
            theirs.settings().index.custom_ranking.clone(),
        );
        let relevant_sort = Some(Arc::new(RelevantSort::new(theirs.settings(), &custom_ranking)));
        // files and dictionaries are the primary's
        let schema = Schema::new(Arc::new(settings), theirs.dictionaries().clone());
        let configuration = Configuration { relevant_sort, ..self.configuration(schema) };
        let virtual_configuration = VirtualConfiguration {
            primary: theirs.clone(),
            own,
            resources,
            configuration: configuration.clone(),
        };
        self.virtual_configuration.store(Some(Arc::new(virtual_configuration)));
        Ok(IndexView { configuration, shard })
    }
}
