//! What do operators ask and change of models of recommendations?

use super::told;
use crate::call::Call;
use crate::reply::Reply;
use actix_web::web;
use quorate_cluster::{ModelFigures, rfc3339};
use quorate_model::{Error, ErrorKind, IndexName, RecommendModel, Result};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Models of a page, also without `hitsPerPage`.
const ROWS_MAX: u64 = 1_000;

/// `GET /admin/recommend`: the models of all indices, or why there are none.
pub async fn list(call: &Call<'_>) -> Result<Reply> {
    let page = call.query.integer("page")?.unwrap_or(0);
    let hits_per_page = call.query.integer("hitsPerPage")?.unwrap_or(ROWS_MAX);
    if !(1..=ROWS_MAX).contains(&hits_per_page) {
        return Err(Error::parameter("hitsPerPage", &format!("integer between 1 and {ROWS_MAX}")));
    }
    let models = call.service().models().await?;
    let (hits, first) = (models.len() as u64, page.saturating_mul(hits_per_page));
    let of_page = models.into_iter().skip(usize::try_from(first).unwrap_or(usize::MAX));
    let models: Vec<Value> = of_page.take(hits_per_page as usize).map(shown).collect();
    let body = serde_json::to_vec(&json!({"models": models, "page": page, "nbHits": hits,
        "nbPages": hits.div_ceil(hits_per_page), "hitsPerPage": hits_per_page}));
    Ok(Reply::ok(body.map_err(|error| Error::internal(error.to_string()))?))
}

/// `POST /admin/recommend/{indexName}/{model}/build`: it is built soon.
pub async fn build(call: &Call<'_>) -> Result<Reply> {
    let (index, model) = named(call)?;
    call.service().build_model(&index, model).await?;
    Ok(told(&format!("{model} of {index} is built next; GET /admin/recommend shows what became of it")))
}

/// `PUT /admin/recommend/{indexName}/{model}`: a model that was made elsewhere, as JSON lines.
pub async fn put(call: &Call<'_>) -> Result<Reply> {
    let (index, model) = named(call)?;
    if let Some(expected) = call.query.get("sha256").filter(|text| !text.is_empty()) {
        let is_digest = expected.len() == 64 && expected.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_digest {
            return Err(Error::parameter("sha256", "64 hexadecimal digits"));
        }
        let (body, expected) = (call.body.clone(), expected.to_ascii_lowercase());
        let digest = web::block(move || Sha256::digest(&body)).await;
        let digest = digest.map_err(|_| Error::unavailable("the node is stopping"))?;
        let found: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        if found != expected {
            let message = format!("the body has the SHA-256 {found}, {expected} was announced");
            return Err(Error::new(ErrorKind::Unprocessable, message));
        }
    }
    call.service().put_model(&index, model, call.body.clone()).await?;
    Ok(told(&format!("{model} of {index} goes by what was brought, until a build is asked for")))
}

fn named(call: &Call<'_>) -> Result<(IndexName, RecommendModel)> {
    let known = || RecommendModel::ALL.map(RecommendModel::name).join(", ");
    let model = RecommendModel::parse(&call.names[1]);
    let model = model.ok_or_else(|| Error::parameter("model", &format!("one of {}", known())))?;
    Ok((call.index_name()?, model))
}

fn shown(figures: ModelFigures) -> Value {
    let ModelFigures { index, model, installed, report, is_awaited, last_build } = figures;
    let mut shown = Map::new();
    let mut put = |name: &str, value: Value| drop(shown.insert(name.to_owned(), value));
    put("index", json!(index.as_str()));
    put("model", json!(model.name()));
    put("isAwaited", json!(is_awaited));
    if let Some(installed) = installed {
        put("seq", json!(installed.seq));
        put("bytes", json!(installed.length));
        put("installedAt", json!(rfc3339(installed.time_ms)));
    }
    if let Some(report) = report {
        if report.is_uploaded {
            put("isUploaded", json!(true));
        }
        put("rows", json!(report.rows));
        put("robots", json!(report.robots));
        put("users", json!(report.users));
        if let Some(baskets) = report.baskets {
            put("baskets", json!(baskets));
        }
        put("items", json!(report.items));
        put("interactions", json!(report.interactions));
        put("neighbours", json!(report.neighbours));
        put("parameters", json!(report.parameters));
        put("heldOut", json!(report.held_out));
    }
    if let Some(build) = last_build {
        put("builtAt", json!(rfc3339(build.at_ms)));
        put("tookMs", json!(build.took_ms));
        if let Some(reason) = build.reason {
            put("reason", json!(reason));
        }
    }
    Value::Object(shown)
}
