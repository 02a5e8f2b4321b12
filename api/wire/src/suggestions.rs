//! How do configurations of query suggestions and their builds look in JSON (C§16, C§14)?

use crate::json::{self, Object};

/// The answer to who wants a build.
pub fn asked_body(index: &str) -> Vec<u8> {
    let mut body = Vec::with_capacity(128);
    let mut object = Object::open(&mut body);
    let told = format!("{index} is built anew; GET /1/configs/{{indexName}}/status says when that has ended");
    object.string("message", &told);
    object.close();
    body
}

/// A configuration, which is an object of JSON, with the application.
pub fn config_body(app_id: &str, config: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(config.len() + 32);
    with_app(&mut body, app_id, config);
    body
}

/// Several of them.
pub fn configs_body(app_id: &str, configs: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut body = Vec::with_capacity(1_024);
    json::list(&mut body, configs, |out, config| with_app(out, app_id, &config));
    body
}

fn with_app(out: &mut Vec<u8>, app_id: &str, config: &[u8]) {
    out.extend_from_slice(b"{\"appID\":");
    json::string(out, app_id);
    if let Some(members) = config.strip_prefix(b"{").filter(|rest| *rest != b"}") {
        out.push(b',');
        out.extend_from_slice(members);
    } else {
        out.push(b'}');
    }
}

/// Lines of JSON as one list.
pub fn log_array(lines: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(lines.len() + 2);
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    json::list(&mut body, lines, |out, line| out.extend_from_slice(line));
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{SuggestionsStatus, bytes};

    fn text(body: Vec<u8>) -> String {
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn c14_configurations_have_the_application_and_states_what_is_known() {
        assert_eq!(text(config_body("A\"", b"{\"b\":1}")), r#"{"appID":"A\"","b":1}"#);
        assert_eq!(text(config_body("A", b"{}")), r#"{"appID":"A"}"#);
        assert_eq!(text(configs_body("A", [b"{\"b\":1}".to_vec()])), r#"[{"appID":"A","b":1}]"#);
        let mut status = SuggestionsStatus {
            index_name: "s".into(),
            is_running: true,
            last_built_at: None,
            last_successful_built_at: None,
            last_successful_build_duration: None,
        };
        assert_eq!(text(bytes(&status)), r#"{"indexName":"s","isRunning":true}"#);
        (status.is_running, status.last_built_at) = (false, Some("t".into()));
        status.last_successful_built_at = Some("u".into());
        status.last_successful_build_duration = Some("61.005s".into());
        let expected = r#"{"indexName":"s","isRunning":false,"lastBuiltAt":"t","lastSuccessfulBuiltAt":"u","lastSuccessfulBuildDuration":"61.005s"}"#;
        assert_eq!(text(bytes(&status)), expected);
    }

    #[test]
    fn lines_become_a_list() {
        assert_eq!(text(log_array(b"{\"a\":1}\n{\"a\":2}\n")), r#"[{"a":1},{"a":2}]"#);
        assert_eq!(text(log_array(b"")), "[]");
    }
}
