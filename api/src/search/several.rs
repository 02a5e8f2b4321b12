//! How are several things answered in one call, within the bytes and the time that one call has?

use crate::away::away_if_long;
use crate::call::Call;
use crate::reply::Reply;
use crate::room::Taken;
use futures_util::{StreamExt, stream};
use quorate_cluster::Payer;
use quorate_model::filter::Filter;
use quorate_model::params::LatLng;
use quorate_model::{Error, ErrorKind, Result, SearchParams, limits};
use quorate_wire::json;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::cell::Cell;
use std::time::Duration;

/// What is asked in one call that is worked on at a time, at most. No more than its caller has threads: parts of a call that wait
/// for each other would be refused for waiting.
const AT_A_TIME_MAX: usize = 8;

/// The answers so far, bounded together and charged as answers under way.
pub struct Bodies {
    all: Vec<Vec<u8>>,
    /// Bytes that the others may have.
    left: Cell<usize>,
    bytes_max: usize,
    held: Taken,
}
impl Bodies {
    /// None so far, of a call.
    pub fn of(call: &Call<'_>) -> Self {
        Bodies::new(call.state.limits().answer_bytes_max, call.state.answers().enter(Payer::current()))
    }
    fn new(bytes_max: usize, held: Taken) -> Self {
        Bodies { all: vec![], left: Cell::new(bytes_max), bytes_max, held }
    }
    /// Bytes that the others may have.
    pub fn left(&self) -> usize {
        self.left.get()
    }
    /// One more. Errors: `Invalid` when it is too many bytes; `Unavailable` when others hold all there is for answers.
    pub fn push(&mut self, body: Vec<u8>) -> Result<()> {
        let left = self.left.get().checked_sub(body.len()).ok_or_else(|| {
            Error::invalid(format!(
                "The answer is too big: the results may have {} bytes together, ask for fewer queries or for fewer hits with \
                 hitsPerPage",
                self.bytes_max
            ))
        })?;
        self.held.grow(body.len())?;
        self.left.set(left);
        self.all.push(body);
        Ok(())
    }
    /// The answer of which these are the results. Each is given back as soon as it stands there.
    pub async fn into_reply(self) -> Result<Reply> {
        let bytes = self.bytes_max - self.left.get() + self.all.len() + 16;
        let written = away_if_long(bytes, move || {
            let mut out = Vec::with_capacity(bytes);
            let mut object = json::Object::open(&mut out);
            json::list(object.member("results"), self.all, |out, body| out.extend_from_slice(&body));
            object.close();
            Ok(out)
        });
        Ok(Reply::ok(written.await?))
    }
}

/// A body of several.
#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// What is asked.
    pub requests: Option<Value>,
    /// How.
    pub strategy: Option<Value>,
    #[serde(rename = "apiKey")]
    _api_key: Option<IgnoredAny>,
}

/// The elements of `requests`, bounded.
pub fn requests(given: Option<Value>) -> Result<Vec<Map<String, Value>>> {
    let Some(Value::Array(list)) = given else {
        return Err(Error::invalid("requests is required: a list of queries"));
    };
    if list.len() > limits::MULTI_MAX {
        return Err(Error::invalid(format!("requests has too many queries: at most {}", limits::MULTI_MAX)));
    }
    let objects = list.into_iter().map(|item| match item {
        Value::Object(members) => Ok(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Error::invalid("requests must be a list of objects"))
        }
    });
    objects.collect()
}

/// Reads each element with `read`. Errors: those of `read`; `Invalid` when the filters of all, which `parameters` have, are too many
/// together; `Unavailable` when there is no memory for them.
pub async fn read<T>(
    call: &Call<'_>,
    elements: Vec<Map<String, Value>>,
    read: impl AsyncFn(Map<String, Value>) -> Result<T>,
    parameters: impl Fn(&T) -> [Option<&SearchParams>; 2],
) -> Result<Vec<T>> {
    let (mut all, mut filters) = (Vec::with_capacity(elements.len()), 0);
    for members in elements {
        let_others_on().await;
        let one = read(members).await?;
        let given = parameters(&one).into_iter().flatten();
        let own: usize = given.map(|params| params.filter.len() + params.optional_filter.len()).sum();
        filters += own;
        if filters > limits::MULTI_FILTERS_MAX {
            return Err(Error::invalid(format!(
                "requests has too many filters: at most {} together",
                limits::MULTI_FILTERS_MAX
            )));
        }
        let given = parameters(&one).into_iter().flatten();
        let points: usize = given.flat_map(|params| &params.inside_polygon).flatten().map(Vec::len).sum();
        call.hold(Filter::bytes_of(own) + points * size_of::<LatLng>())?;
        all.push(one);
    }
    Ok(all)
}

/// Answers each of `asked`, in order. `run` is given the number of one, it, and the bytes that its hits may have.
pub async fn in_order<T: Clone>(
    call: &Call<'_>,
    asked: &[T],
    run: impl AsyncFn(usize, T, usize) -> Result<Vec<u8>>,
) -> Result<Bodies> {
    let mut bodies = Bodies::of(call);
    let at_a_time = call.service().search_threads().min(AT_A_TIME_MAX);
    let (run, left) = (&run, &Cell::new(bodies.left()));
    let small = |(number, one): (usize, &T)| {
        let one = one.clone();
        async move {
            let_others_on().await;
            // what is worked on at a time has no more together than what is left by what is done
            run(number, one, left.get() / at_a_time).await
        }
    };
    let mut answers = stream::iter(asked.iter().enumerate().map(small)).buffered(at_a_time);
    let mut again = asked.iter().enumerate();
    while let (Some(answered), Some((number, one))) = (answers.next().await, again.next()) {
        let body = match answered {
            // if it is too big: alone it may have what the others have left; whatever else is wrong stays so
            Err(error) if error.kind == ErrorKind::Invalid => run(number, one.clone(), bodies.left()).await?,
            answered => answered?,
        };
        bodies.push(body)?;
        left.set(bodies.left());
    }
    drop(answers);
    Ok(bodies)
}

/// Lets the other calls of this thread go on: what one of many is asked to do may take milliseconds.
pub async fn let_others_on() {
    tokio::task::yield_now().await;
}

/// Refuses to start another query of a call that has taken long already. Not 503: another node has no more time.
pub fn check_time(since: Duration) -> Result<()> {
    if since < Duration::from_secs(limits::MULTI_S) {
        return Ok(());
    }
    Err(Error::invalid("The queries take too long together: ask for fewer in one call"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::Room;
    use serde_json::json;

    #[test]
    fn the_time_is_bounded_together() {
        assert!(check_time(Duration::from_secs(limits::MULTI_S - 1)).is_ok());
        let refused = check_time(Duration::from_secs(limits::MULTI_S)).unwrap_err();
        assert!(refused.message.starts_with("The queries take too long together"), "{refused}");
    }

    #[actix_web::test]
    async fn answers_are_bounded_together() {
        let room = Room::new("answers", 10_000, 0);
        let mut bodies = Bodies::new(1_000, room.enter(Payer::default()));
        let half = || vec![b' '; 500];
        assert!(bodies.push(half()).is_ok() && bodies.push(half()).is_ok());
        let refused = bodies.push(vec![b' ']).unwrap_err();
        assert!(refused.message.starts_with("The answer is too big: "), "{refused}");
        assert_eq!(room.bytes(), 1_000, "they are charged while they are collected");
        assert_eq!(bodies.into_reply().await.unwrap().body.len(), 1_000 + r#"{"results":[,]}"#.len());
        assert_eq!(room.bytes(), 0);
    }

    #[test]
    fn the_list_of_queries_is_bounded_and_typed() {
        let read = |body: Value| {
            let body: Body = serde_json::from_value(body).expect("an object was written");
            requests(body.requests).map(|list| list.len()).map_err(|error| error.message)
        };
        assert_eq!(read(json!({"requests": []})), Ok(0));
        assert_eq!(read(json!({"requests": [{"indexName": "a"}]})), Ok(1));
        assert_eq!(read(json!({})), Err("requests is required: a list of queries".into()));
        assert_eq!(read(json!({"requests": [1]})), Err("requests must be a list of objects".into()));
        let many = vec![json!({}); limits::MULTI_MAX + 1];
        assert_eq!(
            read(json!({"requests": many})),
            Err("requests has too many queries: at most 1000".into())
        );
    }
}
