//! Many machines agreeing: commands, placement, the paths of a write and of a read.

pub mod service;

pub use service::{
    CallerOp, Health, IndexInfo, IndexOperation, ObjectRequest, ReadRights, Receipt, Service, ServiceOptions, Started,
};
