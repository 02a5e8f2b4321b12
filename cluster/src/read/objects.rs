//! Records by id.

use super::call::{Location, ReadCall, read_deadline};
use super::search::rights_of;
use super::{remote, view};
use crate::context::NodeContext;
use crate::types::{ObjectRequest, ReadRights};
use futures_util::future::try_join_all;
use quorate_model::wire::Text;
use quorate_model::{Error, Filter, GroupId, IndexName, Result, limits};
use quorate_node::objects::ObjectReader;
use quorate_node::{IndexView, Node};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Records of one group, in request order; see [`crate::Service::objects`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetObjects {
    /// The records.
    pub requests: Vec<ObjectRequest>,
    /// What they may show.
    pub rights: ReadRights,
    /// What they must pass.
    pub filter: Filter,
}

impl ReadCall for GetObjects {
    const NAME: &'static str = "Objects";
    type Answer = Vec<Option<Text>>;
    type Source = Views;

    async fn locate(&self, context: &NodeContext) -> Result<Location<Views>> {
        let (views, elsewhere) = views(context, &self.requests).await?;
        Ok(match elsewhere.into_values().next() {
            Some(group) => Location::Remote(group),
            None => Location::Local(views),
        })
    }
    async fn read(self, context: &NodeContext, views: Views) -> Result<Vec<Option<Text>>> {
        let GetObjects { requests, rights, filter } = self;
        let found = fetch(context.node(), views, requests, rights, filter).await?;
        Ok(found.into_iter().map(|it| it.map(Text)).collect())
    }
}

/// Records by id, in request order; those that do not pass `filter` as if they were not there. Each comes from where its
/// index is.
pub async fn objects(
    context: &NodeContext,
    requests: Vec<ObjectRequest>,
    rights: ReadRights,
    filter: Filter,
) -> Result<Vec<Option<Vec<u8>>>> {
    let (views, elsewhere) = views(context, &requests).await?;
    if elsewhere.is_empty() {
        return fetch(context.node(), views, requests, rights, filter).await;
    }
    let mut records = vec![None; requests.len()];
    let (mut here, mut there) = (vec![], BTreeMap::<GroupId, Vec<(usize, ObjectRequest)>>::new());
    for (number, request) in requests.into_iter().enumerate() {
        match elsewhere.get(&request.index) {
            Some(group) => there.entry(*group).or_default().push((number, request)),
            None => here.push((number, request)),
        }
    }
    let fetched = async {
        let (numbers, requests): (Vec<_>, Vec<_>) = here.into_iter().unzip();
        Ok::<_, Error>((numbers, fetch(context.node(), views, requests, rights, filter.clone()).await?))
    };
    let deadline = read_deadline();
    let sent = there.into_iter().flat_map(|(group, requests)| {
        let calls: Vec<_> = requests.chunks(OBJECTS_OF_CALL).map(<[_]>::to_vec).collect();
        calls.into_iter().map(move |calls| (group, calls))
    });
    let asked = sent.map(async |(group, calls)| {
        let (numbers, requests): (Vec<usize>, Vec<ObjectRequest>) = calls.into_iter().unzip();
        let call = GetObjects { requests, rights, filter: filter.clone() };
        let texts: Vec<Option<Text>> = remote::ask(context, group, &call, deadline).await?;
        let found: Vec<Option<Vec<u8>>> = texts.into_iter().map(|text| text.map(|it| it.0)).collect();
        Ok::<_, Error>((numbers, found))
    });
    let (fetched, asked) = tokio::try_join!(fetched, try_join_all(asked))?;
    let (mut bytes, bytes_max) = (0, rights_of(rights).bytes_max());
    for (numbers, found) in asked.into_iter().chain([fetched]) {
        for (number, record) in numbers.into_iter().zip(found) {
            check_bytes(&mut bytes, record.as_ref(), bytes_max)?;
            records[number] = record;
        }
    }
    Ok(records)
}

/// How long reading the records of one call may take: less than the node that asks another one for them waits.
const WORK: Duration = Duration::from_millis(limits::SEARCH_MS * 3 / 2);
/// Records that one call to another node asks for at most, so that their sum stays far below what a message may take.
const OBJECTS_OF_CALL: usize = 250;

/// What reads of indices see, by their names.
pub type Views = BTreeMap<IndexName, Arc<IndexView>>;

/// The views of the indices that can be read here, and the groups of the others. Errors: `NotFound`.
async fn views(
    context: &NodeContext,
    requests: &[ObjectRequest],
) -> Result<(Views, BTreeMap<IndexName, GroupId>)> {
    let (mut views, mut elsewhere) = (Views::new(), BTreeMap::new());
    for ObjectRequest { index, .. } in requests {
        if views.contains_key(index) || elsewhere.contains_key(index) {
            continue;
        }
        match view(context, index).await? {
            Location::Local(view) => drop(views.insert(index.clone(), view)),
            Location::Remote(group) => drop(elsewhere.insert(index.clone(), group)),
        }
    }
    Ok((views, elsewhere))
}

/// Errors: `Invalid` when the records are too many bytes together, or are not all read within [`WORK`] or before
/// the caller has gone.
async fn fetch(
    node: &Node,
    views: Views,
    requests: Vec<ObjectRequest>,
    rights: ReadRights,
    filter: Filter,
) -> Result<Vec<Option<Vec<u8>>>> {
    let rights = rights_of(rights);
    node.pool()
        .run(move |turn| {
            let deadline = turn.deadline(Instant::now() + WORK);
            let reader = |(name, view)| (name, ObjectReader::new(view, &filter, rights));
            let mut readers: BTreeMap<&IndexName, ObjectReader<'_>> =
                views.iter().map(|(name, view)| (name, &**view)).map(reader).collect();
            let (mut bytes, mut records) = (0, Vec::with_capacity(requests.len()));
            for ObjectRequest { index, object_id, attributes_to_retrieve } in &requests {
                if deadline.is_over() {
                    return Err(late());
                }
                let reader = readers.get_mut(index);
                let record = reader.and_then(|it| it.object(object_id, attributes_to_retrieve.as_deref()));
                check_bytes(&mut bytes, record.as_ref(), rights.bytes_max())?;
                records.push(record);
            }
            Ok(records)
        })
        .await
}

/// Not 503: another node has no more time.
fn late() -> Error {
    Error::invalid(
        "The records take too long together: ask for fewer in one call, or for fewer attributes with attributesToRetrieve",
    )
}

/// Adds a record to what an answer holds. Errors: `Invalid` when that is too much.
fn check_bytes(bytes: &mut usize, record: Option<&Vec<u8>>, bytes_max: usize) -> Result<()> {
    *bytes += record.map_or(0, Vec::len);
    match *bytes <= bytes_max {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "The answer is too big: its records may take {bytes_max} bytes together. Ask for fewer of them, or for fewer \
             attributes with attributesToRetrieve"
        ))),
    }
}
