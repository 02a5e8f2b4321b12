//! What the interface calls for query suggestions (C§16.4).

use super::Service;
use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::context::proposer::Accepted;
use crate::context::{NodeContext, abreast};
use crate::disk::Purpose;
use crate::meta::{IndexRow, MetaState, SuggestionsRow};
use crate::suggestions;
use quorate_model::{Error, ErrorKind, IndexName, Result, SuggestionConfig, limits};
use quorate_node::suggestions::Exclusions;
use std::sync::Arc;

impl Service {
    /// Creates a configuration and has its index built. Errors: `Unprocessable` when there is one for the index, `Invalid` for one
    /// that cannot be, or when there are too many; `NotEnabled` where records are placed by user.
    pub async fn create_suggestions(&self, config: SuggestionConfig) -> Result<()> {
        let context = open(self)?;
        abreast::learn(context).await?;
        let exists = || {
            let text = format!("Configuration already exists for index: {}", config.index_name);
            Error::new(ErrorKind::Unprocessable, text)
        };
        if context.meta().suggestions.contains_key(&config.index_name) {
            return Err(exists());
        }
        check(&context.meta(), &config)?;
        let command = MetaCommand::PutSuggestions { config: config.to_json(), is_new: true };
        let at = propose(context, command, Purpose::Add).await?.task_id.log_index();
        // others may have changed what there is meanwhile
        match context.meta().suggestions.get(&config.index_name) {
            Some(row) if row.created == at => Ok(()),
            Some(row) if row.created < at => Err(exists()),
            // it was there, and is deleted, or made anew
            _ => check(&context.meta(), &config),
        }
    }
    /// Replaces a configuration, or creates it, and has its index built. Returns whether it is new. Errors: as of
    /// [`Service::create_suggestions`].
    pub async fn set_suggestions(&self, config: SuggestionConfig) -> Result<bool> {
        let context = open(self)?;
        abreast::learn(context).await?;
        check(&context.meta(), &config)?;
        let command = MetaCommand::PutSuggestions { config: config.to_json(), is_new: false };
        let at = propose(context, command, Purpose::Add).await?.task_id.log_index();
        match context.meta().suggestions.get(&config.index_name) {
            Some(row) if row.asked >= at => Ok(row.created == at),
            _ => check(&context.meta(), &config).map(|()| false),
        }
    }
    /// Deletes a configuration; the index stays as it is. Errors: `NotFound`.
    pub async fn delete_suggestions(&self, index: &IndexName) -> Result<()> {
        self.suggestions_of(index).await?;
        let command = MetaCommand::DeleteSuggestions { index: index.clone() };
        propose(open(self)?, command, Purpose::Remove).await.map(drop)
    }
    /// Has a suggestions index built now. Errors: `NotFound`.
    pub async fn build_suggestions(&self, index: &IndexName) -> Result<()> {
        self.suggestions_of(index).await?;
        let command = MetaCommand::AskForSuggestions { index: index.clone() };
        propose(open(self)?, command, Purpose::Add).await.map(drop)
    }
    /// A configuration, and how its builds are. Errors: `NotFound`.
    pub async fn suggestions_of(&self, index: &IndexName) -> Result<Arc<SuggestionsRow>> {
        let context = open(self)?;
        abreast::learn(context).await?;
        let row = context.meta().suggestions.get(index).cloned();
        row.ok_or_else(|| Error::not_found("Not Found"))
    }
    /// All configurations, by the names of their indices.
    pub async fn all_suggestions(&self) -> Result<Vec<Arc<SuggestionsRow>>> {
        let context = open(self)?;
        abreast::learn(context).await?;
        Ok(context.meta().suggestions.values().cloned().collect())
    }
    /// The log of the last build, a JSON object in each line; empty before the first. Errors: `NotFound`.
    pub async fn suggestions_log(&self, index: &IndexName) -> Result<Vec<u8>> {
        let row = self.suggestions_of(index).await?;
        let Some(built) = row.built.as_ref() else { return Ok(vec![]) };
        let compressed = built.log.clone();
        let opened = tokio::task::spawn_blocking(move || suggestions::log::open(&compressed)).await;
        opened.map_err(|_| Error::internal("reading the log of a build broke off"))?
    }
}

fn open(service: &Service) -> Result<&Arc<NodeContext>> {
    let context = service.open_context()?;
    match context.meta().users.is_enabled {
        true => Err(Error::new(
            ErrorKind::NotEnabled,
            "Query suggestions are not available where records are placed by user",
        )),
        false => Ok(context),
    }
}

async fn propose(context: &NodeContext, command: MetaCommand, purpose: Purpose) -> Result<Accepted> {
    context.proposer().propose_meta(command, purpose, write_deadline()).await
}

/// Errors: `Invalid` for a configuration that there may not be, and for a replica, which nothing is written to.
fn check(meta: &MetaState, config: &SuggestionConfig) -> Result<()> {
    let is_known = meta.suggestions.contains_key(&config.index_name);
    if !is_known && meta.suggestions.len() >= limits::SUGGESTION_CONFIGS_MAX {
        let most = limits::SUGGESTION_CONFIGS_MAX;
        return Err(Error::invalid(format!(
            "There may be at most {most} configurations of query suggestions"
        )));
    }
    if let Some(primary) = meta.catalogue.get(&config.index_name).and_then(IndexRow::primary) {
        let (index, primary) = (&config.index_name, &primary.name);
        return Err(Error::invalid(format!(
            "Invalid body \"indexName {index} is a replica of {primary}: unlink it there first\"."
        )));
    }
    Exclusions::new(&config.exclude).map_err(|what| Error::parameter("exclude", &what))?;
    match meta.leads_back(config) {
        true => Err(Error::invalid(format!(
            "Invalid body \"sourceIndices must not lead to the suggestions index {}\".",
            config.index_name
        ))),
        false => Ok(()),
    }
}
