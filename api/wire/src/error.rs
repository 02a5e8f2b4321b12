//! What does a failed call answer (C§1.4, C§19)?

use crate::json::Object;
use quorate_model::Error;

/// The body of a failed call: `message`, `status`, and what else the error knows.
pub fn error_body(error: &Error, status: u16) -> Vec<u8> {
    let mut out = Vec::with_capacity(error.message.len() + 48);
    let mut object = Object::open(&mut out);
    object.string("message", &error.message).integer("status", u64::from(status));
    if let Some(position) = error.position {
        object.integer("position", position);
    }
    if let Some(object_id) = &error.object_id {
        object.string("objectID", object_id);
    }
    object.close();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carries_position_and_object_id_when_known() {
        assert_eq!(
            error_body(&Error::invalid("say \"what\""), 400),
            br#"{"message":"say \"what\"","status":400}"#
        );
        let mut error = Error::invalid("big");
        error.position = Some(3);
        error.object_id = Some("a".into());
        assert_eq!(error_body(&error, 400), br#"{"message":"big","status":400,"position":3,"objectID":"a"}"#);
    }
}
