//! How is a call noted, so that its caller pays little, and read when its entry is to be kept or shown?
//!
//! Most entries are pushed out by later ones before anybody looks. So what is copied are the texts as they came, keys among them,
//! which never leave the memory of the process: whoever reads makes the entry, without keys, and of at most as many calls as are
//! kept. What has to be looked at as a whole to find the keys in it, a long body or one about keys, is masked when it is noted.

use super::mask::{self, LINE_BYTES_MAX, TEXT_BYTES_MAX};
use super::own_key::OwnKey;
use super::packed::{self, Reader, Writer};
use super::{Answered, CallNote, kind, secret};
use crate::reply::Reply;
use crate::table::ROUTES;
use actix_web::HttpRequest;
use percent_encoding::percent_decode_str;
use quorate_cluster::ReadRights;
use quorate_cluster::request_log::{InnerCall, LoggedCall};
use std::borrow::Cow;
use std::cell::RefCell;

/// Bytes of a URL and of all headers that are copied: more than are kept of them, since keys in them become short. What goes beyond is
/// left out, so that all of a call stays below the bound of the log.
const COPIED_BYTES_MAX: usize = 2 * LINE_BYTES_MAX;
/// Bytes of the key that are copied: as many as any text has in which the key may stand.
const KEY_BYTES_MAX: usize = COPIED_BYTES_MAX;

/// What a call takes beside its URL, body and answer as a rule: headers above all.
const OTHERS_BYTES: usize = 1_536;

/// Writes a call that is answered at a time, Unix milliseconds, behind `out`. Cost: a copy of its texts.
pub fn write(
    out: &mut Vec<u8>,
    request: &HttpRequest,
    (note, rights): (&CallNote, ReadRights),
    reply: &Reply,
    answered: &Answered<'_>,
    time_ms: u64,
) {
    let (body, inner, hits) = (note.body.borrow(), note.inner.borrow(), note.hits.get());
    let is_about_keys = answered.route.is_about_keys;
    let is_masked = is_about_keys || body.len() > TEXT_BYTES_MAX;
    let sent = if is_masked { mask::body(&body, is_about_keys) } else { Cow::Borrowed(&body[..]) };
    let shown = mask::answer(&reply.body, is_about_keys);
    let whole = request.uri().path_and_query().map_or("", |it| it.as_str());
    let url = &whole[..whole.floor_char_boundary(COPIED_BYTES_MAX)];
    out.reserve(OTHERS_BYTES + url.len() + sent.len() + shown.len());
    let mut out = Writer(out);
    out.number(answered.number as u64);
    out.number(time_ms);
    out.number(answered.took.as_micros() as u64);
    out.number(u64::from(reply.status.as_u16()));
    out.flags([
        rights.sees_unretrievable,
        hits.is_some_and(|(_, is_exhaustive)| is_exhaustive),
        inner.has_more,
        is_masked,
        url.len() < whole.len(),
        sent.len() < body.len(),
        shown.len() < reply.body.len(),
    ]);
    out.optional(hits.map(|(count, _)| count), Writer::number);
    out.optional(answered.address, Writer::address);
    out.text(answered.id.as_bytes());
    let key = note.key.borrow();
    out.text(&key.as_bytes()[..key.len().min(KEY_BYTES_MAX)]);
    out.text(request.method().as_str().as_bytes());
    out.text(url.as_bytes());
    out.text(&sent);
    out.text(&shown);
    out.number(inner.calls.len() as u64);
    for InnerCall { index, user_token, query_id } in &inner.calls {
        out.text(index.as_bytes());
        for text in [user_token, query_id] {
            out.optional(text.as_deref(), |out, text| out.text(text.as_bytes()));
        }
    }
    let mut left = COPIED_BYTES_MAX;
    for (name, value) in request.headers() {
        let (name, value) = (name.as_str().as_bytes(), value.as_bytes());
        if value.len() > LINE_BYTES_MAX && !mask::is_secret_header(name) {
            // there is no room for it, and shall be for others
            continue;
        }
        let Some(less) = left.checked_sub(packed::text_bytes(name) + packed::text_bytes(value)) else {
            continue;
        };
        left = less;
        out.text(name);
        out.text(value);
    }
}

/// Reads what [`write`] wrote, and masks the keys in it.
pub fn read(bytes: &[u8]) -> Option<LoggedCall> {
    thread_local! {
        /// The key of the call before, which is that of the next one as a rule.
        static OWN: RefCell<Option<OwnKey>> = RefCell::default();
    }
    OWN.with_borrow_mut(|own| read_with(own, Reader(bytes)))
}
fn read_with(own: &mut Option<OwnKey>, mut from: Reader<'_>) -> Option<LoggedCall> {
    let route = ROUTES.get(from.number()? as usize)?;
    let [time_ms, took_us, status] = [from.number()?, from.number()?, from.number()?];
    let [sees_unretrievable, is_exhaustive, has_more, is_masked, url_is_cut, sent_is_cut, shown_is_cut] =
        from.flags()?;
    let hits = from.optional(Reader::number)?;
    let address = from.optional(Reader::address)?;
    let (id, key, method) = (from.line()?, from.text()?, from.line()?);
    let own = OwnKey::of(key, own);
    let (asked, sent, shown) = (from.line()?, from.text()?, from.text()?);
    let mut inner = Vec::new();
    for _ in 0..from.number()? {
        let index = from.line()?.into_owned();
        let user_token = from.optional(Reader::line)?.map(|token| mask_token(own, &token));
        let query_id = from.optional(Reader::line)?.map(Cow::into_owned);
        inner.push(InnerCall { index, user_token, query_id });
    }
    let (path, query) = asked.split_once('?').map_or((&*asked, None), |(path, query)| (path, Some(query)));
    let (mut url, mut headers) = (String::new(), Vec::new());
    mask::url(route, path, query, &mut url);
    // a character may be cut off with what follows it
    let url_is_cut = url_is_cut || url.len() + 3 >= LINE_BYTES_MAX;
    let pairs = std::iter::from_fn(|| from.text().zip(from.text()));
    mask::headers(pairs, &mut headers);
    let seen = if is_masked { Cow::Borrowed(sent) } else { mask::body(sent, false) };
    let sent_is_cut = sent_is_cut || seen.len() < sent.len();
    Some(LoggedCall {
        time_ms,
        kind: kind(route),
        status: status as u16,
        took_us,
        address,
        hits,
        is_exhaustive: hits.map(|_| is_exhaustive),
        id: id.into_owned(),
        method: method.into_owned(),
        index: route.names_index().then(|| first_name(path)),
        inner,
        has_more,
        secret: secret(route, sees_unretrievable),
        url: String::from_utf8_lossy(&without(own, url.as_bytes(), url_is_cut)).into_owned(),
        headers: without(own, &headers, false).into(),
        body: without(own, &seen, sent_is_cut).into(),
        answer: without(own, shown, shown_is_cut).into(),
    })
}

/// The name that stands behind `/1/indexes/` in a path.
fn first_name(path: &str) -> String {
    let rest = path.get("/1/indexes/".len()..).unwrap_or_default();
    let name = &rest[..memchr::memchr(b'/', rest.as_bytes()).unwrap_or(rest.len())];
    percent_decode_str(name).decode_utf8_lossy().into_owned()
}
fn mask_token(own: Option<&OwnKey>, token: &str) -> String {
    match own.filter(|own| own.is_in(token.as_bytes())) {
        Some(own) => own.masked(),
        None => token.to_owned(),
    }
}
/// A text without keys: its own first, which may hold what ends another one.
fn without<'a>(own: Option<&OwnKey>, text: &'a [u8], is_cut: bool) -> Cow<'a, [u8]> {
    match own.map(|own| own.taken_out(text.into(), is_cut)) {
        Some(Cow::Owned(text)) => Cow::Owned(mask::named_taken_out(&text).into_owned()),
        Some(Cow::Borrowed(_)) | None => mask::named_taken_out(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Caller;
    use crate::routes::Verb;
    use crate::table::ROUTER;
    use actix_web::http::Method;
    use actix_web::test::TestRequest;
    use actix_web::web::Bytes;
    use std::time::Duration;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    /// A call as it is read again; it has the key in a header.
    fn noted(key: &str, path: &str, body: &str, answer: &str) -> LoggedCall {
        let request = TestRequest::post().uri(path).insert_header(("X-Algolia-API-Key", key.to_owned()));
        let request = request.insert_header(("X-Other", key.to_owned())).to_http_request();
        let note = CallNote::of(1_000);
        note.known(&Caller::Nobody, Some(key));
        note.body(&Bytes::from(body.to_owned()));
        let found = ROUTER.find(Some(Verb::Post), path.split('?').next().unwrap()).unwrap();
        let (number, route) = (found.number, found.route);
        let address = Some([10, 0, 0, 1].into());
        let answered = Answered { number, route, address, id: "an id", took: Duration::from_millis(7) };
        let reply = Reply::ok(answer.as_bytes());
        let (mut bytes, rights) = (vec![1, 2, 3], note.caller.get().unwrap());
        write(&mut bytes, &request, (&note, rights), &reply, &answered, 1_007);
        assert!(bytes.len() < 40 << 10, "{}", bytes.len());
        for end in 3..bytes.len() {
            // one that is cut off is none, unless only headers are missing
            read(&bytes[3..end]);
        }
        let call = read(&bytes[3..]).expect("a call");
        let text = format!("{call:?} {} {} {}", call.headers.show(), call.body.show(), call.answer.show());
        assert!(!text.contains(key) && !text.contains(&key[..key.len().min(30)]), "{text}");
        call
    }

    #[test]
    fn a_call_is_read_as_it_was_noted_without_its_key() {
        let call = noted(KEY, "/1/indexes/a%2Fb/query?x=1", r#"{"query":"é"}"#, "an answer");
        let expected = LoggedCall {
            time_ms: 1_007,
            kind: quorate_cluster::request_log::CallKind::Query,
            status: 200,
            took_us: 7_000,
            address: Some([10, 0, 0, 1].into()),
            id: "an id".into(),
            method: Method::POST.to_string(),
            index: Some("a/b".into()),
            url: "/1/indexes/a%2Fb/query?x=1".into(),
            headers: call.headers.clone(),
            body: r#"{"query":"é"}"#.into(),
            answer: "an answer".into(),
            ..LoggedCall::default()
        };
        assert_eq!(call, expected);
        assert_eq!(call.headers.show().matches(": 012***\n").count(), 2, "{}", call.headers.show());
    }

    #[test]
    fn long_texts_show_their_beginning_and_nothing_of_the_key() {
        let query = "/1/indexes/i/query?x=";
        for letter in ["a", "é", "日"] {
            let long = letter.repeat(5_000);
            // the key begins before the cut and ends behind it, or stands before or behind it
            for at in [0, 960, 980, 990, 999, 1_000, 1_001] {
                let text = [letter.repeat(at).as_str(), KEY, &long].concat();
                let body = noted(KEY, query, &text, &text);
                for shown in [body.body.show(), body.answer.show()] {
                    let chars = shown.chars().count();
                    assert!(shown.starts_with(&letter.repeat(at.min(960))) && chars <= 1_000, "{at} {chars}");
                }
            }
        }
        for at in [4_000, 4_060, 4_070, 4_075, 4_090, 8_100, 8_150, 8_165, 8_180] {
            let url = [query, &"x".repeat(at), KEY, "&y=", &"z".repeat(5_000)].concat();
            let shown = noted(KEY, &url, "", "").url;
            // what stands for the key is longer than what was there of it
            assert!(
                shown.len() < LINE_BYTES_MAX + "012***".len() && shown.starts_with(&url[..4_000]),
                "{at}"
            );
        }
    }

    #[test]
    fn keys_of_any_length_let_a_call_be_noted() {
        let key = KEY.repeat(2_000);
        let path = format!("/1/indexes/i/query?x-algolia-api-key={}&query=shoes", KEY.repeat(128));
        let url = noted(&key, &path, &format!(r#"{{"apiKey":"{key}"}}"#), &key).url;
        assert_eq!(url, "/1/indexes/i/query?x-algolia-api-key=012***&query=shoes");
    }
}
