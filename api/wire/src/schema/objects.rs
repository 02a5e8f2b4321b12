//! Bodies of reads and writes of records.

use super::parameters::AnyJson;
use std::collections::BTreeMap;
use utoipa::openapi::schema::{AdditionalProperties, Schema, SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// A record: a JSON object of any shape.
pub struct Record;
impl PartialSchema for Record {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::Type(Type::Object))
            .description(Some("A record: any attributes; `objectID` names it in its index."))
            .property("objectID", AnyJson::schema())
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .into()
    }
}
impl ToSchema for Record {}

/// A write of one record that was added.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Created {
    pub created_at: String,
    pub updated_at: String,
    #[schema(rename = "taskID")]
    pub task_id: u64,
    #[schema(rename = "objectID")]
    pub object_id: String,
}
/// A change.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Updated {
    pub updated_at: String,
    #[schema(rename = "taskID")]
    pub task_id: u64,
}
/// A change of one thing that has an id.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct UpdatedObject {
    pub updated_at: String,
    #[schema(rename = "taskID")]
    pub task_id: u64,
    #[schema(rename = "objectID")]
    pub object_id: String,
}
/// A deletion.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Deleted {
    pub deleted_at: String,
    pub updated_at: String,
    #[schema(rename = "taskID")]
    pub task_id: u64,
}

/// What an operation of a batch does.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum Action {
    AddObject,
    UpdateObject,
    PartialUpdateObject,
    PartialUpdateObjectNoCreate,
    DeleteObject,
    Delete,
    Clear,
}
/// Operations on one index.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Batch {
    pub requests: Vec<BatchOperation>,
}
/// One operation on the index of the path.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct BatchOperation {
    pub action: Action,
    pub body: Option<Record>,
}
/// Operations on several indices.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct MultiBatch {
    pub requests: Vec<MultiBatchOperation>,
}
/// One operation on the index it names.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct MultiBatchOperation {
    pub index_name: String,
    pub action: Action,
    pub body: Option<Record>,
}
/// A batch on one index that was written.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct BatchWritten {
    #[schema(rename = "taskID")]
    pub task_id: u64,
    /// One for each operation that names a record.
    #[schema(rename = "objectIDs")]
    pub object_ids: Vec<String>,
}
/// A batch on several indices that was written.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct MultiBatchWritten {
    /// The task of each index.
    #[schema(rename = "taskID")]
    pub task_id: BTreeMap<String, u64>,
    #[schema(rename = "objectIDs")]
    pub object_ids: Vec<String>,
    pub created_at: String,
}

/// Which records are wanted.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct ObjectsWanted {
    #[schema(max_items = 1000)]
    pub requests: Vec<ObjectWanted>,
}
/// Which record is wanted.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct ObjectWanted {
    pub index_name: String,
    #[schema(rename = "objectID")]
    pub object_id: String,
    pub attributes_to_retrieve: Option<Vec<String>>,
    /// An earlier name of attributesToRetrieve.
    pub attributes: Option<Vec<String>>,
}
/// The records that were wanted, in order; null where there is none.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct ObjectsFound {
    pub results: Vec<Option<Record>>,
    pub message: Option<String>,
}
