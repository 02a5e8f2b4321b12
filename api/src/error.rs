//! Which HTTP status does an error have? The only place that knows.

use actix_web::http::StatusCode;
use quorate_model::ErrorKind;

/// The status of an answer that carries an error of this kind.
pub fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Invalid => StatusCode::BAD_REQUEST,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        // not 501: clients take a 5xx for a host that is down
        ErrorKind::NotFound | ErrorKind::NotImplemented => StatusCode::NOT_FOUND,
        ErrorKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::NotEnabled => StatusCode::PAYMENT_REQUIRED,
        ErrorKind::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
