//! Which HTTP status does an error have? The only place that knows (style: invariant 1).

use actix_web::http::StatusCode;
use quorate_model::ErrorKind;

/// The status of an answer that carries an error of this kind.
pub fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Invalid => StatusCode::BAD_REQUEST,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::NotImplemented => StatusCode::NOT_IMPLEMENTED,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::NotEnabled => StatusCode::PAYMENT_REQUIRED,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
