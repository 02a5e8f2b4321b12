//! Bodies of events (C§18).

use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Events of users, 1 to 1,000.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct EventBatch {
    #[schema(min_items = 1, max_items = 1_000)]
    pub events: Vec<UserEvent>,
}
/// What a user did.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct UserEvent {
    #[schema(min_length = 1, max_length = 64)]
    pub event_name: String,
    pub event_type: EventType,
    /// What kind of conversion it is.
    pub event_subtype: Option<EventSubtype>,
    /// The index, which need not exist.
    pub index: String,
    /// Who it was.
    #[schema(pattern = "^[A-Za-z0-9_=+/-]{1,129}$")]
    pub user_token: String,
    /// Who it was, by a pseudonym.
    #[schema(pattern = "^[A-Za-z0-9_=+/-]{1,129}$")]
    pub authenticated_user_token: Option<String>,
    /// When, in milliseconds since 1970; when it is received, if it is not said.
    pub timestamp: Option<i64>,
    /// The search that the event follows.
    #[schema(rename = "queryID", pattern = "^[0-9a-f]{32}$")]
    pub query_id: Option<String>,
    /// The records that it is about.
    #[schema(rename = "objectIDs", max_items = 20)]
    pub object_ids: Option<Vec<String>>,
    /// Where the records stood among all hits, from 1 on. Clicks on records have it.
    #[schema(max_items = 20)]
    pub positions: Option<Vec<u32>>,
    /// What is known of each record.
    #[schema(max_items = 20)]
    pub object_data: Option<Vec<EventObjectData>>,
    /// The filters that it is about, `attribute:value`.
    #[schema(max_items = 10)]
    pub filters: Option<Vec<String>>,
    /// What it was worth.
    pub value: Option<Amount>,
    /// Of the amounts, such as EUR.
    pub currency: Option<String>,
}
/// What kind of event it is.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum EventType {
    Click,
    Conversion,
    View,
}
/// What kind of conversion it is.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum EventSubtype {
    AddToCart,
    Purchase,
}
/// What is known of a record that an event is about.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct EventObjectData {
    #[schema(rename = "queryID", pattern = "^[0-9a-f]{32}$")]
    pub query_id: Option<String>,
    pub price: Option<Amount>,
    pub quantity: Option<u32>,
    pub discount: Option<Amount>,
}
/// An amount: a number, or a decimal as text, of at most 16 characters.
pub struct Amount;
impl PartialSchema for Amount {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String).max_length(Some(16));
        OneOfBuilder::new().item(ObjectBuilder::new().schema_type(Type::Number)).item(text).into()
    }
}
impl ToSchema for Amount {}
/// That all is well.
#[derive(ToSchema, Serialize)]
#[allow(missing_docs)]
pub struct EventsTaken {
    pub status: u16,
    pub message: String,
}
