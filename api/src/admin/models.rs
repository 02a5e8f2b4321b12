//! What do operators ask and change of models of recommendations?

use super::told;
use crate::call::Call;
use crate::reply::Reply;
use quorate_cluster::{ModelFigures, rfc3339};
use quorate_model::{Error, IndexName, RecommendModel, Result};
use serde_json::{Map, Value, json};

/// `GET /admin/recommend`: the models of all indices, or why there are none.
pub async fn list(call: &Call<'_>) -> Result<Reply> {
    let models = call.service().models().await?;
    let models: Vec<Value> = models.into_iter().map(shown).collect();
    let body = serde_json::to_vec(&json!({"models": models}));
    Ok(Reply::ok(body.map_err(|error| Error::internal(error.to_string()))?))
}

/// `POST /admin/recommend/{indexName}/{model}/build`: it is built soon.
pub async fn build(call: &Call<'_>) -> Result<Reply> {
    let (index, model) = named(call)?;
    call.service().build_model(&index, model).await?;
    Ok(told(&format!("{model} of {index} is built next; GET /admin/recommend shows what became of it")))
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
