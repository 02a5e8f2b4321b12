//! How does each attribute fall into words? What camelCaseAttributes and decompoundedAttributes say about a path.

use super::TokenOptions;
use crate::language::{Language, Languages};
use quorate_model::Settings;

/// The options of every attribute of an index.
#[derive(Clone, Debug, Default)]
pub struct AttributeOptions {
    camel_case: Vec<String>,
    compounds: Vec<(Language, Vec<String>)>,
}
impl AttributeOptions {
    /// Reads the settings.
    pub fn new(settings: &Settings) -> AttributeOptions {
        let index = &settings.index;
        let by_language = index.decompounded_attributes.iter();
        AttributeOptions {
            camel_case: index.camel_case_attributes.clone(),
            compounds: by_language
                .filter_map(|(code, paths)| Some((Language::of(code)?, paths.clone())))
                .collect(),
        }
    }
    /// The options of the attribute at a path; what is said of an object holds for its members.
    pub fn of(&self, path: &str) -> TokenOptions {
        let listed = |paths: &[String]| {
            paths.iter().any(|listed| {
                path.strip_prefix(listed.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let compounds = self.compounds.iter().filter(|(_, paths)| listed(paths));
        TokenOptions {
            camel_case: listed(&self.camel_case),
            compounds: compounds.fold(Languages::NONE, |all, (language, _)| all.with(*language)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_said_of_an_object_holds_for_its_members() {
        let document = json!({
            "camelCaseAttributes": ["code", "a"], "decompoundedAttributes": {"de": ["name"], "nl": ["name", "x.y"]}
        });
        let settings = Settings::from_document(document.as_object().unwrap()).unwrap();
        let options = AttributeOptions::new(&settings);
        assert!(options.of("code").camel_case && options.of("a.b").camel_case);
        assert!(!options.of("codes").camel_case && !options.of("name").camel_case);
        assert_eq!(options.of("name").compounds, Languages::listed(&["de", "nl"]));
        assert_eq!(options.of("x.y").compounds, Languages::listed(&["nl"]));
        assert_eq!(options.of("x"), TokenOptions::default());
    }
}
