//! How does the list of allowed sources look in JSON (§2.11)?

use crate::json::{self, Object};

/// `GET /1/security/sources`: each source with its description, if it has one.
pub fn sources_body<'a>(sources: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Vec<u8> {
    let mut body = Vec::with_capacity(128);
    json::list(&mut body, sources, |out, (source, description)| {
        let mut object = Object::open(out);
        object.string("source", source);
        if let Some(description) = description {
            object.string("description", description);
        }
        object.close();
    });
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_without_a_description_has_no_such_member() {
        let body = sources_body([("10.0.0.0/8", Some("the \"office\"")), ("::1/128", None)]);
        let expected = r#"[{"source":"10.0.0.0/8","description":"the \"office\""},{"source":"::1/128"}]"#;
        assert_eq!(String::from_utf8(body).unwrap(), expected);
        assert_eq!(sources_body([]), b"[]");
    }
}
