//! Does a JSON value have the shape that a schema of the document says?
//!
//! Knows the keywords that the document uses, and fails on any other: what is not looked at must not seem to be right.

use serde_json::{Map, Value};

/// What of a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// All of it: answers are exactly as they are described, and have no members that are not.
    Answer,
    /// The names of members: the values of calls may have other forms than the one that is described.
    Call,
}

/// The schemas of a document.
#[derive(Clone, Copy)]
pub struct Shapes<'d> {
    pub document: &'d Value,
    pub compared: Compared,
}

impl<'d> Shapes<'d> {
    /// Says where a value differs from its schema.
    pub fn check(&self, schema: &'d Value, value: &Value, at: &str) -> Result<(), String> {
        let keywords = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Object(keywords) => keywords,
            _ => return Err(format!("{at}: {schema} allows nothing")),
        };
        let is_answer = self.compared == Compared::Answer;
        for (keyword, said) in keywords {
            let holds = match keyword.as_str() {
                "$ref" => self.check(self.referred(said), value, at).map(|()| true)?,
                "type" if is_answer => has_type(said, value),
                "type" => said != "null" || value.is_null(),
                "oneOf" => self.count(list(said), value, at)? == 1 || !is_answer,
                "anyOf" => self.count(list(said), value, at)? > 0,
                "items" => self.each(said, value, at).map(|()| true)?,
                "properties" | "additionalProperties" => true,
                "description" | "format" | "propertyNames" => true,
                _ if !is_answer => true,
                "enum" => list(said).contains(value),
                "required" => list(said).iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
                "minimum" => value.as_f64().is_none_or(|number| number >= said.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|number| number <= said.as_f64().unwrap()),
                "maxItems" => value.as_array().is_none_or(|list| list.len() as u64 <= said.as_u64().unwrap()),
                "maxLength" => value.as_str().is_none_or(|text| text.len() as u64 <= said.as_u64().unwrap()),
                unknown => panic!("{at}: {unknown} is a keyword that nobody compares"),
            };
            if !holds {
                return Err(format!("{at}: {value:.200} is not {keyword} {said:.200}"));
            }
        }
        match value {
            Value::Object(members) => self.members(keywords, members, at),
            _ => Ok(()),
        }
    }

    /// Members are those that are listed. Others only where the schema says which, or says nothing of members at all.
    fn members(
        &self,
        keywords: &'d Map<String, Value>,
        members: &Map<String, Value>,
        at: &str,
    ) -> Result<(), String> {
        let listed = keywords.get("properties").and_then(Value::as_object);
        let others = keywords.get("additionalProperties");
        for (name, value) in members {
            let schema = listed.and_then(|listed| listed.get(name)).or(others);
            match schema {
                Some(schema) => self.check(schema, value, &format!("{at}.{name}"))?,
                None if listed.is_some() => return Err(format!("{at}.{name} is not documented")),
                None => {}
            }
        }
        Ok(())
    }

    fn each(&self, schema: &'d Value, value: &Value, at: &str) -> Result<(), String> {
        let mut entries = value.as_array().into_iter().flatten().enumerate();
        entries.try_for_each(|(number, entry)| self.check(schema, entry, &format!("{at}[{number}]")))
    }

    /// How many of the schemas a value has. Errors: none of them, and why.
    fn count(&self, schemas: &'d [Value], value: &Value, at: &str) -> Result<usize, String> {
        let (fits, errors): (Vec<_>, Vec<_>) =
            schemas.iter().map(|schema| self.check(schema, value, at)).partition(Result::is_ok);
        let errors: Vec<String> = errors.into_iter().filter_map(Result::err).collect();
        if fits.is_empty() { Err(errors.join(" and ")) } else { Ok(fits.len()) }
    }

    fn referred(&self, place: &Value) -> &'d Value {
        let pointer = place.as_str().unwrap().strip_prefix('#').unwrap();
        self.document.pointer(pointer).unwrap_or_else(|| panic!("{place} is not in the document"))
    }
}

fn list(said: &Value) -> &Vec<Value> {
    said.as_array().unwrap()
}

fn has_type(said: &Value, value: &Value) -> bool {
    let one = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        unknown => panic!("{unknown} is no type"),
    };
    match said {
        Value::String(name) => one(name),
        said => list(said).iter().any(|name| one(name.as_str().unwrap())),
    }
}
