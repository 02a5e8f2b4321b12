//! What a node asks another one that has a replica of an index, and what that one answers: as JSON, since nodes of two versions
//! talk, and parameters describe themselves.

use crate::types::Whose;
use crate::types::{ObjectRequest, ReadRights};
use quorate_model::document::DocumentQuery;
use quorate_model::{DocumentKind, Error, ErrorKind, Filter, GroupId, IndexName, SearchParams};
use quorate_node::Payer;
use quorate_node::RawDocument;
use quorate_node::ops::Incarnation;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Which group a call reads, and what was seen of it. Who answers says how far it was with the group's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOf {
    /// The group.
    pub group: GroupId,
    /// Through where the asker's clients may have seen it; 0 = no further than the node that is asked has shown.
    pub seen: u64,
}

/// Bytes of a call or an answer at most: what a lane of the transport takes, with room for what is put around it.
pub const BYTES_MAX: usize = 120 << 20;

/// A call, and what the asker knew when it made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Through where the asker had applied the meta log: who answers must know as much.
    pub meta: u64,
    /// What is read, and was seen of it; older programs do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadOf>,
    /// Whom the work is charged to; older programs do not say it.
    #[serde(default)]
    pub payer: Payer,
    /// The call.
    pub call: ServiceCall,
}

/// A read of one group. All of them can be repeated on another node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ServiceCall {
    /// [`crate::Service::search`]; answered with `SearchResults`.
    Search {
        /// The index.
        index: IndexName,
        /// What is searched.
        params: Box<SearchParams>,
        /// What it may show.
        rights: ReadRights,
    },
    /// [`crate::Service::browse`]; answered with `SearchResults`.
    Browse {
        /// The index.
        index: IndexName,
        /// What is browsed.
        params: Box<SearchParams>,
        /// Where the page before ended.
        after: Option<Vec<u8>>,
        /// What it may show.
        rights: ReadRights,
    },
    /// [`crate::Service::search_facet`]; answered with `FacetHits`.
    SearchFacet {
        /// The index.
        index: IndexName,
        /// The facet.
        facet: String,
        /// What its values are searched for.
        facet_query: String,
        /// Which records count.
        params: Box<SearchParams>,
        /// What it may show; of an older program nothing that is hidden.
        #[serde(default)]
        rights: ReadRights,
    },
    /// [`crate::Service::objects`] of one group; answered with `Vec<Option<Text>>`.
    Objects {
        /// The records.
        requests: Vec<ObjectRequest>,
        /// What they may show.
        rights: ReadRights,
        /// What they must pass.
        filter: Filter,
    },
    /// [`crate::Service::settings`]; answered with [`SentSettings`].
    Settings {
        /// The index.
        index: IndexName,
    },
    /// [`crate::Service::document`]; answered with `Text`.
    Document {
        /// The index.
        index: IndexName,
        /// Synonyms or rules.
        kind: DocumentKind,
        /// The document.
        object_id: String,
    },
    /// [`crate::Service::search_documents`]; answered with `DocumentHits`.
    SearchDocuments {
        /// The index.
        index: IndexName,
        /// Synonyms or rules.
        kind: DocumentKind,
        /// What is looked for.
        asked: DocumentQuery,
    },
    /// The figures of indices of a group; answered with `Vec<IndexStats>`, in order.
    Figures {
        /// The group.
        group: GroupId,
        /// The indices.
        incarnations: Vec<Incarnation>,
    },
    /// What an index has beside its records, as of every write that was answered before; answered with [`SentParts`].
    Parts {
        /// The group.
        group: GroupId,
        /// The index.
        incarnation: Incarnation,
        /// The documents that are wanted beside the settings.
        kinds: Vec<DocumentKind>,
        /// Milliseconds until the asker gives up.
        within_ms: u64,
    },
    /// How many documents an index has, and how many of some ids are among them; answered with `(usize, usize)`.
    Count {
        /// The group.
        group: GroupId,
        /// The index.
        incarnation: Incarnation,
        /// Synonyms or rules.
        kind: DocumentKind,
        /// The ids.
        ids: Vec<String>,
    },
    /// Whether reads see the records that a command wrote, even if they wait for settings; answered with `bool`.
    ShowsRecords {
        /// The group.
        group: GroupId,
        /// The place of the command in its log.
        log_index: u64,
    },
    /// The records of an owner as of every write that was answered before; answered with [`crate::types::OwnedDigest`].
    Owned {
        /// The group.
        group: GroupId,
        /// The index.
        incarnation: Incarnation,
        /// Which records.
        whose: Whose,
        /// Milliseconds until the asker gives up.
        within_ms: u64,
    },
    /// Records by their stored ids as of every write that was answered before, whoever may see them; answered with
    /// `Vec<Option<Text>>`, in order.
    Stored {
        /// The group.
        group: GroupId,
        /// The index.
        incarnation: Incarnation,
        /// The ids.
        ids: Vec<String>,
        /// Milliseconds until the asker gives up.
        within_ms: u64,
    },
    /// What every owner has in an index; answered with [`crate::types::Owners`].
    Owners {
        /// The group.
        group: GroupId,
        /// The index.
        incarnation: Incarnation,
    },
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answered<T> {
    /// The answer, to who does not say what it reads.
    Done(T),
    /// The node that was asked cannot serve it either.
    NotHere,
    /// It can, and this is what the caller hears.
    Failed(SentError),
    /// The answer to who says what it reads.
    DoneAt {
        /// Nothing behind this index of the group's log can be seen in it.
        applied: u64,
        /// The answer.
        answer: T,
    },
}

/// An error on its way between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentError {
    kind: ErrorKind,
    message: String,
    position: Option<u64>,
    object_id: Option<String>,
}

impl From<Error> for SentError {
    fn from(error: Error) -> Self {
        let Error { kind, message, position, object_id } = error;
        SentError { kind, message, position, object_id }
    }
}
impl From<SentError> for Error {
    fn from(sent: SentError) -> Self {
        let SentError { kind, message, position, object_id } = sent;
        Error { kind, message, position, object_id }
    }
}

/// Settings on their way between nodes: their document, and what is not in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentSettings {
    /// What was set.
    pub document: Map<String, Value>,
    /// The primary of a replica.
    pub primary: Option<String>,
}

/// What an index has beside its records, on its way between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentParts {
    /// What was set.
    pub settings: Map<String, Value>,
    /// The documents that were asked for.
    pub documents: Vec<(DocumentKind, Vec<SentDocument>)>,
}

/// A synonym or a rule on its way between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentDocument {
    object_id: String,
    #[serde(with = "quorate_model::wire::text")]
    document: Vec<u8>,
}

impl From<RawDocument> for SentDocument {
    fn from(RawDocument { object_id, document }: RawDocument) -> Self {
        SentDocument { object_id, document }
    }
}
impl From<SentDocument> for RawDocument {
    fn from(SentDocument { object_id, document }: SentDocument) -> Self {
        RawDocument { object_id, document }
    }
}

/// The bytes of a call. Errors: `TooLarge`.
pub fn encode_call(asked: &Asked) -> Result<Vec<u8>, Error> {
    let bytes = serde_json::to_vec(asked);
    let bytes = bytes.map_err(|error| Error::internal(format!("a call cannot be sent: {error}")))?;
    within_bounds(bytes, BYTES_MAX)
}

/// The bytes of an answer: that of an error when it is too large to be sent.
pub fn encode_answer<T: Serialize>(answered: &Answered<T>) -> Vec<u8> {
    encode_answer_within(answered, BYTES_MAX)
}

fn encode_answer_within<T: Serialize>(answered: &Answered<T>, bytes_max: usize) -> Vec<u8> {
    let encoded = serde_json::to_vec(answered)
        .map_err(|error| Error::internal(format!("an answer cannot be sent to another node: {error}")))
        .and_then(|bytes| within_bounds(bytes, bytes_max));
    encoded.unwrap_or_else(|error| {
        let failed: Answered<()> = Answered::Failed(error.into());
        serde_json::to_vec(&failed).expect("an error always serialises")
    })
}

fn within_bounds(bytes: Vec<u8>, bytes_max: usize) -> Result<Vec<u8>, Error> {
    match bytes.len() <= bytes_max {
        true => Ok(bytes),
        false => Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "this takes {} bytes between two nodes, at most {bytes_max} are allowed; ask for less at once",
                bytes.len()
            ),
        )),
    }
}

/// An answer from its bytes; `None` when they are none that this node knows.
pub fn decode_answer<T: DeserializeOwned>(bytes: &[u8]) -> Option<Answered<T>> {
    serde_json::from_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::wire::Text;
    use quorate_model::{FacetHits, filter};
    use quorate_node::IndexStats;
    use serde_json::json;
    use std::fmt::Debug;

    fn all() -> Vec<ServiceCall> {
        let index = IndexName::new("ä \"1\"").unwrap();
        let rights = ReadRights { sees_unretrievable: true, max_hits_per_query: 7, bytes_max: 9 };
        let body = json!({"query": "a", "filters": "p > 0.1 OR p: 1 TO 2", "aroundLatLng": "1.5,-2.25"});
        let params = Box::new(SearchParams::from_json(body.as_object().unwrap()).unwrap());
        let request = |id: &str, attributes: Option<&[&str]>| ObjectRequest {
            index: index.clone(),
            object_id: id.into(),
            attributes_to_retrieve: attributes.map(|list| list.iter().map(|it| (*it).into()).collect()),
        };
        let (group, incarnation, kind) = (GroupId(3), u64::MAX, DocumentKind::Rules);
        vec![
            ServiceCall::Search { index: index.clone(), params: params.clone(), rights },
            ServiceCall::Browse {
                index: index.clone(),
                params: params.clone(),
                after: Some(vec![0, 200, 255]),
                rights: ReadRights::default(),
            },
            ServiceCall::SearchFacet {
                index: index.clone(),
                facet: "f".into(),
                facet_query: "q".into(),
                params,
                rights,
            },
            ServiceCall::Objects {
                requests: vec![request("1", None), request("\u{7f}\n", Some(&["a", "b"]))],
                rights,
                filter: filter::parse_filters("a:b AND NOT n <= 0.3").unwrap(),
            },
            ServiceCall::Settings { index: index.clone() },
            ServiceCall::Document { index: index.clone(), kind, object_id: "r".into() },
            ServiceCall::SearchDocuments { index, kind, asked: DocumentQuery::default() },
            ServiceCall::Figures { group, incarnations: vec![incarnation, 0] },
            ServiceCall::Parts { group, incarnation, kinds: DocumentKind::ALL.to_vec(), within_ms: 5 },
            ServiceCall::Count { group, incarnation, kind, ids: vec!["a".into()] },
            ServiceCall::ShowsRecords { group, log_index: 1 << 40 },
        ]
    }

    #[test]
    fn every_call_survives() {
        for call in all() {
            let payer = Payer { key: u64::MAX, address: 7 };
            let asked = Asked { meta: 1 << 50, read: None, payer, call };
            let bytes = encode_call(&asked).unwrap();
            assert_eq!(serde_json::from_slice::<Asked>(&bytes).unwrap(), asked);
        }
    }

    #[track_caller]
    fn survives<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
        let answered = Answered::Done(value);
        assert_eq!(decode_answer::<T>(&encode_answer(&answered)).as_ref(), Some(&answered));
        assert_eq!(decode_answer::<T>(&encode_answer(&Answered::<T>::NotHere)), Some(Answered::NotHere));
    }

    #[test]
    fn every_answer_survives() {
        survives(FacetHits { hits: vec![("a".into(), "b".into(), 1)], exhaustive: true });
        survives(vec![Some(Text(b"{\"a\":\"\\u0000\"}".to_vec())), None]);
        survives(Text(b"{}".to_vec()));
        let document = json!({"searchableAttributes": ["a"]}).as_object().unwrap().clone();
        survives(SentSettings { document: document.clone(), primary: Some("p".into()) });
        let raw = RawDocument { object_id: "r".into(), document: "{\"ü\":1}".as_bytes().to_vec() };
        let documents =
            vec![(DocumentKind::Rules, vec![raw.clone().into()]), (DocumentKind::Synonyms, vec![])];
        survives(SentParts { settings: document, documents });
        assert_eq!(RawDocument::from(SentDocument::from(raw.clone())), raw);
        survives(vec![IndexStats { records: 1, updated_ms: u64::MAX, ..IndexStats::default() }]);
        survives((3_usize, 2_usize));
        survives(true);
    }

    #[test]
    fn an_error_keeps_all_its_members() {
        for kind in [ErrorKind::Invalid, ErrorKind::NotFound, ErrorKind::Forbidden, ErrorKind::TooLarge] {
            let error = Error {
                position: Some(4),
                object_id: Some("x".into()),
                ..Error::new(kind, "Record at the position 4 …")
            };
            let answered: Answered<()> = Answered::Failed(error.clone().into());
            let Some(Answered::Failed(sent)) = decode_answer::<()>(&encode_answer(&answered)) else {
                panic!("no error")
            };
            assert_eq!(Error::from(sent), error);
        }
    }

    #[test]
    fn what_is_too_large_becomes_an_error() {
        let answered = Answered::Done(Text(vec![b'a'; 100]));
        let Some(Answered::Failed(sent)) = decode_answer::<Text>(&encode_answer_within(&answered, 99)) else {
            panic!("no error")
        };
        assert_eq!(Error::from(sent).kind, ErrorKind::TooLarge);
        let no_text = Answered::Done(Text(vec![0xff]));
        assert!(matches!(decode_answer::<Text>(&encode_answer(&no_text)), Some(Answered::Failed(_))));
        assert_eq!(decode_answer::<Text>(b"{\"Later\":1}"), None);
    }
}
