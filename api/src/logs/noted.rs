//! How is a call noted, so that its caller pays little, and read when its entry is to be kept or shown?
//!
//! Most entries are pushed out by later ones before anybody looks. So what is copied are the texts as they came, keys among them,
//! which never leave the memory of the process: whoever reads makes the entry, without keys, and of at most as many calls as are
//! kept. What has to be looked at as a whole to find the keys in it, a long body or one about keys, is masked when it is noted.

use super::mask::{self, LINE_BYTES_MAX, OwnKey, TEXT_BYTES_MAX};
use super::packed::{Reader, Writer};
use super::{Answered, CallNote, kind, secret};
use crate::reply::Reply;
use crate::table::ROUTES;
use actix_web::HttpRequest;
use percent_encoding::percent_decode_str;
use quorate_cluster::ReadRights;
use quorate_cluster::request_log::{InnerCall, LoggedCall};
use std::borrow::Cow;
use std::cell::RefCell;

/// Bytes of headers that are copied: more than are kept of them, since those that are keys become short.
const HEADERS_BYTES_MAX: usize = 2 * LINE_BYTES_MAX;

/// Writes a call behind `out`. Cost: a copy of its texts.
pub fn write(
    out: &mut Vec<u8>,
    request: &HttpRequest,
    (note, rights): (&CallNote, ReadRights),
    reply: &Reply,
    answered: &Answered<'_>,
) {
    let (body, inner, hits) = (note.body.borrow(), note.inner.borrow(), note.hits.get());
    let is_about_keys = answered.route.is_about_keys;
    let is_masked = is_about_keys || body.len() > TEXT_BYTES_MAX;
    let sent = if is_masked { mask::body(&body, is_about_keys) } else { Cow::Borrowed(&body[..]) };
    let shown = match is_about_keys {
        true => mask::answer(&reply.body, true),
        false => Cow::Borrowed(mask::beginning(&reply.body)),
    };
    let whole = request.uri().path_and_query().map_or("", |it| it.as_str());
    let url = &whole[..whole.floor_char_boundary(LINE_BYTES_MAX)];
    let mut out = Writer(out);
    out.number(answered.number as u64);
    out.number(note.began_ms + answered.took.as_millis() as u64);
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
    out.text(note.key.borrow().as_bytes());
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
    let mut left = HEADERS_BYTES_MAX;
    for (name, value) in request.headers() {
        let (name, value) = (name.as_str().as_bytes(), value.as_bytes());
        let Some(less) = left.checked_sub(name.len() + value.len()) else { break };
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
    let answer = mask::answer(shown, false);
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
        answer: without(own, &answer, shown_is_cut || answer.len() < shown.len()).into(),
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
fn without<'a>(own: Option<&OwnKey>, text: &'a [u8], is_cut: bool) -> Cow<'a, [u8]> {
    match own {
        Some(own) => own.taken_out(text, is_cut),
        None => Cow::Borrowed(text),
    }
}
