//! How is one index searched (C§2, query POST and GET)?

use super::{AnswerMembers, Presentation, SearchRequest, bounded, search};
use crate::call::Call;
use crate::reply::Reply;
use quorate_model::Result;

/// `POST /1/indexes/{indexName}/query`.
pub async fn post(call: &Call<'_>) -> Result<Reply> {
    let asked = SearchRequest::of_members(call, call.object().await?).await?;
    answer(call, asked).await
}

/// `GET /1/indexes/{indexName}`.
pub async fn get(call: &Call<'_>) -> Result<Reply> {
    let asked = SearchRequest::of_pairs(call, &call.query.pairs().collect::<Vec<_>>())?;
    answer(call, asked).await
}

async fn answer(call: &Call<'_>, mut asked: SearchRequest) -> Result<Reply> {
    let index = call.index_name()?;
    let presentation = Presentation::new(&mut asked);
    call.note.asks(&index, asked.params.user_token.as_deref());
    let results = search(call, &index, asked.params, call.read_rights()).await?;
    call.note.found(&results);
    let body = presentation.answer(call, &index, results, AnswerMembers::default()).await?;
    Ok(Reply::ok(bounded(call, body)?))
}
