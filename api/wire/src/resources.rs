//! What do the endpoints of synonyms and rules answer (C§11, C§10, C§3.1)?

use crate::json::{self, Object};
use quorate_model::{ResourceHits, TaskId};

/// The answer to a saved synonym: `id` is its objectID.
pub fn saved_synonym_body(task: TaskId, at: &str, object_id: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(96 + object_id.len());
    let mut object = Object::open(&mut out);
    object.string("updatedAt", at).integer("taskID", task.0).string("id", object_id);
    object.close();
    out
}

/// A page of synonyms or rules.
pub fn resource_hits_body(found: &ResourceHits) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + found.hits.iter().map(|hit| hit.len() + 1).sum::<usize>());
    let mut object = Object::open(&mut out);
    json::list(object.member("hits"), &found.hits, |out, hit| out.extend_from_slice(hit));
    object.integer("nbHits", found.nb_hits).integer("page", found.page).integer("nbPages", found.nb_pages);
    object.close();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_the_members_strict_clients_read() {
        let body = saved_synonym_body(TaskId(7), "2024-01-01T00:00:00.000Z", "a\"b");
        let expected = r#"{"updatedAt":"2024-01-01T00:00:00.000Z","taskID":7,"id":"a\"b"}"#;
        assert_eq!(String::from_utf8(body).unwrap(), expected);
        let hits = vec![br#"{"objectID":"b"}"#.to_vec(), br#"{"objectID":"a"}"#.to_vec()];
        let found = ResourceHits { hits, nb_hits: 5, page: 1, nb_pages: 3 };
        let expected = r#"{"hits":[{"objectID":"b"},{"objectID":"a"}],"nbHits":5,"page":1,"nbPages":3}"#;
        assert_eq!(String::from_utf8(resource_hits_body(&found)).unwrap(), expected);
    }
}
