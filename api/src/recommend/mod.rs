//! What is recommended (C§17)?

mod asked;

use crate::auth::unauthorized;
use crate::call::Call;
use crate::reply::Reply;
use crate::search::AnswerMembers;
use crate::search::several::{self, Body, check_time};
use asked::RecommendRequest;
use quorate_cluster::ReadRights;
use quorate_model::{IndexName, Recommendation, Result};

/// `POST /1/indexes/*/recommendations`.
pub async fn post(call: &Call<'_>) -> Result<Reply> {
    answer(call).await.map_err(unauthorized)
}

async fn answer(call: &Call<'_>) -> Result<Reply> {
    let body: Body = call.typed().await?;
    let elements = several::requests(body.requests)?;
    let wanted = several::read(
        call,
        elements,
        async |members| RecommendRequest::read(call, members).await,
        RecommendRequest::parameters,
    )
    .await?;
    for RecommendRequest { index, asked, .. } in &wanted {
        call.note.asks(index, asked.params.user_token.as_deref());
    }
    let run = async |number, wanted, bytes_max| run(call, number, wanted, bytes_max).await;
    several::in_order(call, &wanted, run).await?.into_reply().await
}

async fn run(call: &Call<'_>, number: usize, wanted: RecommendRequest, bytes_max: usize) -> Result<Vec<u8>> {
    check_time(call.started.elapsed())?;
    let RecommendRequest { index, asked, presentation } = wanted;
    let candidates = call.service().candidates(&index, asked.model, asked.object_id.as_deref()).await?;
    let asked = Recommendation { candidates, ..asked };
    let rights = ReadRights { bytes_max: bytes_max.max(1), ..call.read_rights() };
    let recommend = async |index: &IndexName, asked| call.service().recommend(index, asked, rights).await;
    let results = call.read(&index, asked, recommend).await?;
    let place = AnswerMembers { query: number, index: Some(index.as_str()), ..AnswerMembers::default() };
    let query_id = presentation.query_id(call, &results, place);
    Ok(presentation.body(call, results, place, query_id).await?.0)
}
