//! How does a command talk to a node? Address, credentials and one small JSON client.

use crate::config::{Values, read_key, read_small};
use crate::roots;
use anyhow::{Context, Result, anyhow, bail};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use ureq::{Agent, RequestBuilder};

/// File in the data folder that holds the address the node listens on.
pub const ADDRESS_FILE: &str = "address";
/// File in the data folder that holds the application id.
pub const APP_ID_FILE: &str = "app-id";
/// File in the data folder that holds the admin key.
pub const ADMIN_KEY_FILE: &str = "admin-key";
/// File in the data folder that holds the search key that was made at the first start.
pub const SEARCH_KEY_FILE: &str = "search-key";

const DEFAULT_URL: &str = "http://127.0.0.1:7700";
const CONNECT_S: u64 = 5;
const ANSWER_S: u64 = 60;
/// Bytes of an answer that a command reads.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// What may stand in a path segment as it is (RFC 3986, unreserved).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A node and the right to use it.
pub struct Client {
    agent: Agent,
    /// `http://HOST:PORT` without a slash at the end.
    pub url: String,
    /// Application id.
    pub app_id: String,
    api_key: String,
    /// The user whose records are meant, where records belong to users.
    user_id: Option<String>,
}

/// What a node answered.
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The body as it came.
    pub text: String,
    /// The same as it is read; `Null` when it is empty, a string when it is not JSON.
    pub body: Value,
    /// Seconds after which to try again, when the node said so.
    pub retry_after_s: Option<u64>,
}

/// Whether a command needs credentials.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// Refuse to start without them.
    Required,
    /// The routes used need none.
    Unneeded,
}

impl Client {
    /// Finds address and credentials. Errors name what is missing and where it may be given.
    pub fn find(values: &Values, credentials: Credentials) -> Result<Client> {
        let data_dir = values.data_dir();
        let url = values.text("url");
        // a folder that is of no concern may be closed to who calls
        let local = match local_address(&data_dir) {
            Err(_) if url.is_some() => None,
            found => found?,
        };
        let url = match (url, &local) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, Some(address)) => format!("http://{address}"),
            (None, None) if values.is_given("data-dir") && data_dir.is_dir() => bail!(
                "no node serves with the folder {} (it was stopped, or it still waits to join: its log says which); \
                 start it, or name another one with --url",
                data_dir.display()
            ),
            (None, None) => DEFAULT_URL.to_owned(),
        };
        let is_local = local.is_some_and(|address| url == format!("http://{address}"));
        let from_folder = |name: &str| match is_local {
            true => read_key(&data_dir.join(name)).ok(),
            false => None,
        };
        let app_id = values.text("app-id").map(str::to_owned).or_else(|| from_folder(APP_ID_FILE));
        let api_key = values.text("api-key").map(str::to_owned).or_else(|| from_folder(ADMIN_KEY_FILE));
        if credentials == Credentials::Required && (app_id.is_none() || api_key.is_none()) {
            bail!(
                "no credentials for {url}: set QUORATE_APP_ID and QUORATE_API_KEY, \
                 or point --data-dir at the folder of a running local node (now {})",
                data_dir.display()
            );
        }
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(CONNECT_S)))
            .timeout_global(Some(Duration::from_secs(ANSWER_S)))
            .tls_config(roots::tls(values)?)
            .user_agent(concat!("quorate/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Client {
            agent,
            url,
            app_id: app_id.unwrap_or_default(),
            api_key: api_key.unwrap_or_default(),
            user_id: values.text("user-id").map(str::to_owned),
        })
    }

    /// Whether the node runs on this machine, so that compression would only cost time.
    pub fn is_loopback(&self) -> bool {
        let host = self.url.split("://").nth(1).unwrap_or_default();
        host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]")
    }

    /// `GET path`.
    pub fn get(&self, path: &str) -> Result<Answer> {
        self.answer(self.signed(self.agent.get(format!("{}{path}", self.url))).call())
    }

    /// `DELETE path`.
    pub fn delete(&self, path: &str) -> Result<Answer> {
        self.answer(self.signed(self.agent.delete(format!("{}{path}", self.url))).call())
    }

    /// `PUT path` with a JSON body.
    pub fn put(&self, path: &str, body: &Value) -> Result<Answer> {
        let request = self.signed(self.agent.put(format!("{}{path}", self.url)));
        let request = request.header("Content-Type", "application/json");
        self.answer(request.send(body.to_string().as_bytes()))
    }

    /// `POST path` with a JSON body that may be compressed already.
    pub fn post(&self, path: &str, body: &[u8], encoding: Encoding) -> Result<Answer> {
        let request = self.signed(self.agent.post(format!("{}{path}", self.url)));
        let mut request = request.header("Content-Type", "application/json");
        if encoding == Encoding::Gzip {
            request = request.header("Content-Encoding", "gzip");
        }
        self.answer(request.send(body))
    }

    /// The request with who calls, and for whom.
    fn signed<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        let request = request
            .header("X-Service-Application-Id", &self.app_id)
            .header("X-Service-API-Key", &self.api_key);
        match &self.user_id {
            Some(user) => request.header("X-Service-User-ID", user),
            None => request,
        }
    }

    fn answer(&self, sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Answer> {
        let mut response = sent.map_err(|error| {
            let hint = match error.to_string().contains("CaUsedAsEndEntity") {
                true => ": its certificate says that it is an authority's own; make it with basicConstraints=CA:FALSE",
                false => "",
            };
            anyhow::Error::new(error).context(format!("cannot reach {}{hint}", self.url))
        })?;
        let status = response.status().as_u16();
        let retry_after_s = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.parse().ok());
        let text = response
            .body_mut()
            .with_config()
            .limit(ANSWER_BYTES_MAX)
            .read_to_string()
            .with_context(|| format!("the answer of {} broke off", self.url))?;
        let body = match text.is_empty() {
            true => Value::Null,
            false => serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.clone())),
        };
        Ok(Answer { status, text, body, retry_after_s })
    }
}

/// How a request body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Plain,
    /// Compressed by the caller.
    Gzip,
}

impl Answer {
    /// The body of a 2xx answer. Errors: the message of any other.
    pub fn ok(self) -> Result<Value> {
        match self.status {
            200..=299 => Ok(self.body),
            _ => Err(anyhow!("{}", self.message())),
        }
    }

    /// What went wrong, in the words of the node.
    pub fn message(&self) -> String {
        match self.body.get("message").and_then(Value::as_str) {
            Some(message) => format!("{message} (status {})", self.status),
            None => format!("the node answered with status {}", self.status),
        }
    }
}

/// A name as a path segment.
pub fn segment(name: &str) -> String {
    utf8_percent_encode(name, SEGMENT).to_string()
}

/// Keys are sent to where the file says: nobody else may have written it. Errors: somebody could.
#[cfg(unix)]
fn check_owner(path: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let of = |path: &Path| {
        let found = std::fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
        Ok::<_, anyhow::Error>((found.uid(), found.mode()))
    };
    let me = rustix::process::geteuid().as_raw();
    match is_believed(me, of(path)?, of(path.parent().unwrap_or(path))?) {
        true => Ok(()),
        false => bail!(
            "{} is another user's, or can be written by others: keys are not sent to the address in it. Name the node with --url, \
             or put owner and modes right (folder 0700, file 0600)",
            path.display()
        ),
    }
}
/// Whether a user believes a file in a folder, of which owner and mode are given. The superuser, who looks after nodes of others,
/// believes whoever the folder belongs to.
#[cfg(unix)]
fn is_believed(me: u32, (of_file, file_mode): (u32, u32), (of_folder, folder_mode): (u32, u32)) -> bool {
    let is_right = |owner: u32| owner == 0 || owner == if me == 0 { of_folder } else { me };
    is_right(of_file) && is_right(of_folder) && (file_mode | folder_mode) & 0o022 == 0
}
#[cfg(not(unix))]
fn check_owner(_: &Path) -> Result<()> {
    Ok(())
}

/// Whether the node of a folder is gone without having said so: its process holds the lock as long as it lives. Whoever listens at
/// the address now is somebody else.
fn is_left(data_dir: &Path) -> bool {
    std::fs::File::open(data_dir.join("lock")).is_ok_and(|lock| lock.try_lock_shared().is_ok())
}

fn local_address(data_dir: &Path) -> Result<Option<String>> {
    let path = data_dir.join(ADDRESS_FILE);
    // whoever may not look into the folder is not told that no node serves there
    let is_there = path.try_exists().with_context(|| format!("cannot look at {}", path.display()))?;
    match is_there && !is_left(data_dir) {
        true => {
            check_owner(&path)?;
            Ok(Some(read_small(&path)?.trim().to_owned()))
        }
        false => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_one_segment() {
        let check = |name: &str, expected: &str| assert_eq!(segment(name), expected);
        check("products", "products");
        check("a b/c%", "a%20b%2Fc%25");
        check("größe", "gr%C3%B6%C3%9Fe");
    }

    #[cfg(unix)]
    #[test]
    fn an_address_that_others_could_have_written_is_not_believed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ADDRESS_FILE);
        std::fs::write(&path, "127.0.0.1:1\n").unwrap();
        let allow = |path: &Path, mode: u32| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for (of_folder, of_file, is_believed) in
            [(0o700, 0o600, true), (0o755, 0o644, true), (0o700, 0o666, false), (0o777, 0o600, false)]
        {
            allow(folder.path(), of_folder);
            allow(&path, of_file);
            assert_eq!(local_address(folder.path()).is_ok(), is_believed, "{of_folder:o} {of_file:o}");
        }
        // whoever calls commands in a folder of somebody else's making does not send a key to that one
        for (me, of_file, of_folder, expected) in [
            (7, 7, 7, true),
            (7, 8, 8, false),
            (7, 8, 7, false),
            (7, 7, 8, false),
            (7, 0, 0, true),
            (7, 7, 0, true),
            (0, 8, 8, true),
            (0, 8, 9, false),
            (0, 0, 8, true),
        ] {
            assert_eq!(
                is_believed(me, (of_file, 0o600), (of_folder, 0o755)),
                expected,
                "{me} {of_file} {of_folder}"
            );
        }
    }

    #[test]
    fn the_address_of_a_node_that_was_killed_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(ADDRESS_FILE), "127.0.0.1:7700\n").unwrap();
        let lock = std::fs::File::create(folder.path().join("lock")).unwrap();
        lock.lock().unwrap();
        let found = || local_address(folder.path()).unwrap();
        assert_eq!(found().as_deref(), Some("127.0.0.1:7700"));
        drop(lock);
        assert_eq!(found(), None);
    }
}
