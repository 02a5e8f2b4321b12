//! How do answers about events look in JSON (§4.15)?

use crate::json::Object;

/// The answer to events that were taken.
pub fn taken_body() -> Vec<u8> {
    let mut body = Vec::with_capacity(32);
    let mut object = Object::open(&mut body);
    object.integer("status", 200).string("message", "OK");
    object.close();
    body
}
