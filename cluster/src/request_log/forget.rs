//! Which calls name a user who is to be forgotten (C§18.4)?

use super::LoggedCall;
use aho_corasick::AhoCorasick;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use quorate_node::ForgottenUsers;

/// What clients leave as it is in a URL.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// What `encodeURIComponent` leaves as it is.
const ENCODED_IN_PAGES: AsciiSet =
    ENCODED.remove(b'.').remove(b'~').remove(b'!').remove(b'*').remove(b'\'').remove(b'(').remove(b')');

/// No call takes longer.
const CALL_MS_MAX: u64 = 10 * 60 * 1_000;

/// Finds users in calls.
pub(super) enum Users {
    /// These.
    Some(AhoCorasick),
    /// More than are looked for: every call may name one.
    Any,
}

impl Users {
    /// Nothing when there are none.
    pub fn new(forgotten: ForgottenUsers) -> Option<Users> {
        let tokens = match forgotten {
            ForgottenUsers::TooMany => return Some(Users::Any),
            ForgottenUsers::These(tokens) if tokens.is_empty() => return None,
            ForgottenUsers::These(tokens) => tokens,
        };
        // as it is, in a URL, and in JSON that escapes a slash
        let ways = |(token, _): (&String, &u64)| {
            let encoded = |set| utf8_percent_encode(token, set).to_string();
            [token.clone(), encoded(&ENCODED), encoded(&ENCODED_IN_PAGES), token.replace('/', "\\/")]
        };
        match AhoCorasick::builder().ascii_case_insensitive(true).build(tokens.iter().flat_map(ways)) {
            Ok(finder) => Some(Users::Some(finder)),
            Err(error) => {
                tracing::warn!(%error, "all calls are taken out of the request log: users who are forgotten cannot be looked for");
                Some(Users::Any)
            }
        }
    }
    /// Whether a call may name one of them. Cost: a few nanoseconds a byte.
    pub fn may_be_in(&self, call: &LoggedCall) -> bool {
        let Users::Some(finder) = self else { return true };
        call.texts().any(|text| is_named(finder, text))
    }
}

/// Users of whom calls may be answered that began before they were forgotten.
#[derive(Default)]
pub(super) struct Lately {
    users: ForgottenUsers,
    finder: Option<Users>,
    /// When this node was told last, Unix milliseconds.
    told_ms: u64,
}

impl Lately {
    /// Adds some, of whom this node was told by now (Unix milliseconds).
    pub fn add(&mut self, others: ForgottenUsers, now_ms: u64) {
        if others == ForgottenUsers::default() {
            return;
        }
        self.users.add(others);
        (self.finder, self.told_ms) = (Users::new(self.users.clone()), now_ms);
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.finder.is_none()
    }
    /// Lets them go when no call can be under way any more that began before.
    pub fn expire(&mut self, now_ms: u64) {
        if now_ms > self.told_ms.saturating_add(CALL_MS_MAX) {
            *self = Lately::default();
        }
    }
    /// Whether a call may name one of them that began before this node was told.
    pub fn may_be_in(&self, call: &LoggedCall) -> bool {
        let began_before = call.began_ms() <= self.told_ms;
        began_before && self.finder.as_ref().is_some_and(|users| users.may_be_in(call))
    }
}

/// Whether one of the users that `finder` looks for stands in a text, and not within a longer word.
fn is_named(finder: &AhoCorasick, text: &[u8]) -> bool {
    finder.find_overlapping_iter(text).any(|found| {
        let (before, behind) = (&text[..found.start()], &text[found.end()..]);
        !continues(behind.first()) && (!continues(before.last()) || is_escape(before))
    })
}
/// Whether a token goes on with this character. What else may stand in a token stands around one, too.
fn continues(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
/// Whether bytes end with a character that a URL has escaped.
fn is_escape(bytes: &[u8]) -> bool {
    bytes
        .last_chunk::<3>()
        .is_some_and(|[percent, digits @ ..]| *percent == b'%' && digits.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_however_written_and_not_in_longer_words() {
        let tokens = ["ann", "a/b+c=", "x_1", "eve@example.org"].map(|token| (token.to_owned(), 0));
        let users = Users::new(ForgottenUsers::These(tokens.into())).unwrap();
        // one whose parts stand side by side, as they would in a file
        let in_url =
            |text: &str| LoggedCall { url: text.into(), headers: "a: b".into(), ..LoggedCall::default() };
        let in_body =
            |text: &str| LoggedCall { body: text.into(), answer: "ab".into(), ..LoggedCall::default() };
        let names = |text: &str| [in_url(text), in_body(text)].map(|call| users.may_be_in(&call));
        for call in [
            "ann",
            r#"{"userToken":"ann"}"#,
            "query=a&userToken=ann&x=1",
            "%22userToken%22%3A%22ann%22",
            "/1/usertokens/ann",
            r#""a/b+c=""#,
            r#""a\/b+c=""#,
            "userToken=a%2Fb%2Bc%3D&",
            "userToken=a%2fb%2bc%3d",
            "userToken=x_1",
            "userToken=eve%40example.org&",
            "userToken=eve%40example%2Eorg",
            r#"{"userToken":"eve@example.org"}"#,
        ] {
            assert_eq!(names(call), [true; 2], "{call}");
        }
        for call in ["", "anna", "joann", "ann_b", "b-ann", "a/b+c", "x_12", "x-1"] {
            assert_eq!(names(call), [false; 2], "{call}");
        }
        assert!(Users::new(ForgottenUsers::These([].into())).is_none());
        assert!(Users::new(ForgottenUsers::TooMany).unwrap().may_be_in(&LoggedCall::default()));
    }
}
