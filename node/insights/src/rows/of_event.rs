//! How does an event become rows?

use super::{EventRow, RowKind, Text, first_eight, user_hash};
use quorate_model::event::{Event, EventObject, EventTarget};
use quorate_store::codec;
use sha2::{Digest, Sha256};

/// The rows of an event that the log has at `log_index` and that was received at `received_ms` (Unix milliseconds). Texts go through
/// `share`, which may give one that is there already. Cost: a digest of the event, and one of some bytes for each further record.
pub fn of_event(
    event: &Event,
    log_index: u64,
    received_ms: u64,
    share: &mut dyn FnMut(&str) -> Text,
) -> Vec<EventRow> {
    let whole = Sha256::digest(codec::encode(event));
    let fingerprint = |place: usize| match place {
        0 => first_eight(whole),
        place => first_eight(Sha256::new().chain_update(whole).chain_update(place.to_le_bytes()).finalize()),
    };
    let row = EventRow {
        index: share(event.index.as_str()),
        user_hash: user_hash(&event.user),
        user: share(&event.user),
        authenticated: event.authenticated.as_deref().map(&mut *share),
        time_ms: event.time_ms.unwrap_or(received_ms),
        is_timed: event.time_ms.is_some(),
        kind: RowKind::Event(event.kind),
        event: Some(share(&event.name)),
        object: None,
        position: None,
        query_id: event.query_id,
        value: event.value,
        price: None,
        quantity: None,
        discount: None,
        currency: event.currency.as_deref().map(&mut *share),
        filter: None,
        search: None,
        fingerprint: 0,
        log_index,
    };
    match &event.target {
        EventTarget::Objects(objects) => {
            let with_object = |(place, object): (usize, &EventObject)| EventRow {
                object: Some(share(&object.object_id)),
                position: object.position,
                query_id: object.query_id.or(row.query_id),
                // an event is worth something once
                value: row.value.filter(|_| place == 0),
                price: object.price,
                quantity: object.quantity,
                discount: object.discount,
                fingerprint: fingerprint(place),
                ..row.clone()
            };
            objects.iter().enumerate().map(with_object).collect()
        }
        EventTarget::Filters(filters) => {
            let with_filter = |(place, filter): (usize, &String)| EventRow {
                filter: Some(share(filter)),
                value: row.value.filter(|_| place == 0),
                fingerprint: fingerprint(place),
                ..row.clone()
            };
            filters.iter().enumerate().map(with_filter).collect()
        }
    }
}
