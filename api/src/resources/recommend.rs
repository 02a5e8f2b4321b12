//! How are the rules of models of recommendations saved, read and searched (C§17.4)?

use crate::call::Call;
use crate::reply::Reply;
use crate::{resources, tasks};
use quorate_model::{Error, RecommendModel, ResourceKind, Result};

/// `POST …/{model}/recommend/rules/batch`: all or none; earlier ones stay unless the query string drops them.
pub async fn save_many(call: &Call<'_>) -> Result<Reply> {
    resources::save_many(call, kind(call)?).await
}

/// `GET …/{model}/recommend/rules/{objectID}`: as it was given.
pub async fn get(call: &Call<'_>) -> Result<Reply> {
    resources::get(call, kind(call)?).await
}

/// `DELETE …/{model}/recommend/rules/{objectID}`: a missing one is no error (C§2).
pub async fn delete(call: &Call<'_>) -> Result<Reply> {
    resources::delete(call, kind(call)?).await
}

/// `POST …/{model}/recommend/rules/search`.
pub async fn search(call: &Call<'_>) -> Result<Reply> {
    resources::search(call, kind(call)?).await
}

/// `GET …/{model}/task/{taskID}`.
pub async fn task(call: &Call<'_>) -> Result<Reply> {
    kind(call)?;
    tasks::state_of(call, &call.names[2]).await
}

/// The rules of the model that the path names.
fn kind(call: &Call<'_>) -> Result<ResourceKind> {
    let model = RecommendModel::parse(&call.names[1]).ok_or_else(|| {
        let known = RecommendModel::ALL.map(RecommendModel::name).join(", ");
        Error::not_found(format!("Model does not exist, expected one of {known}"))
    })?;
    Ok(ResourceKind::Recommend(model))
}
