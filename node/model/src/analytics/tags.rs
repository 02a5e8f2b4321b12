//! Which tags does a search have to have?

use percent_encoding::percent_decode_str;

/// Bytes of the text of a filter.
const BYTES_MAX: usize = 4 << 10;
/// Nesting of parentheses.
const NESTING_MAX: usize = 32;

/// Tags joined by AND and OR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagFilter {
    /// Has this tag.
    Tag(String),
    /// Passes all of them.
    All(Vec<TagFilter>),
    /// Passes one of them.
    Any(Vec<TagFilter>),
}

impl TagFilter {
    /// Reads tags with `AND`, `OR` and parentheses, of which `AND` binds more. A tag may be in quotes, or percent-encoded.
    ///
    /// Errors: what was expected.
    pub fn parse(text: &str) -> Result<TagFilter, String> {
        if text.len() > BYTES_MAX {
            return Err(format!("at most {BYTES_MAX} bytes"));
        }
        let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
        let filter = parser.any()?;
        match parser.tokens.get(parser.at) {
            None => Ok(filter),
            Some(_) => {
                Err("tags joined by AND and OR, with as many closing parentheses as opening ones".to_owned())
            }
        }
    }
    /// Whether tags pass.
    pub fn takes(&self, has: &impl Fn(&str) -> bool) -> bool {
        match self {
            TagFilter::Tag(tag) => has(tag),
            TagFilter::All(all) => all.iter().all(|one| one.takes(has)),
            TagFilter::Any(any) => any.iter().any(|one| one.takes(has)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    And,
    Or,
    Word(String),
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let (mut all, mut rest) = (vec![], text.trim_start());
    while let Some(first) = rest.chars().next() {
        let (token, end) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '"' => {
                let length = rest[1..].find('"').ok_or("a quote at the end of a tag that begins with one")?;
                (Token::Word(rest[1..=length].to_owned()), length + 2)
            }
            _ => {
                let end =
                    rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')').unwrap_or(rest.len());
                let token = match &rest[..end] {
                    "AND" => Token::And,
                    "OR" => Token::Or,
                    word => Token::Word(percent_decode_str(word).decode_utf8_lossy().into_owned()),
                };
                (token, end)
            }
        };
        all.push(token);
        rest = rest[end..].trim_start();
    }
    Ok(all)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn takes(&mut self, token: &Token) -> bool {
        let is_next = self.tokens.get(self.at) == Some(token);
        self.at += usize::from(is_next);
        is_next
    }
    fn any(&mut self) -> Result<TagFilter, String> {
        let mut any = vec![self.all()?];
        while self.takes(&Token::Or) {
            any.push(self.all()?);
        }
        Ok(if any.len() == 1 { any.remove(0) } else { TagFilter::Any(any) })
    }
    fn all(&mut self) -> Result<TagFilter, String> {
        let mut all = vec![self.one()?];
        while self.takes(&Token::And) {
            all.push(self.one()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { TagFilter::All(all) })
    }
    fn one(&mut self) -> Result<TagFilter, String> {
        if self.takes(&Token::Open) {
            self.depth += 1;
            if self.depth > NESTING_MAX {
                return Err(format!("at most {NESTING_MAX} parentheses in each other"));
            }
            let inner = self.any()?;
            self.depth -= 1;
            return match self.takes(&Token::Close) {
                true => Ok(inner),
                false => Err("a closing parenthesis for each opening one".to_owned()),
            };
        }
        // blanks between words are part of a tag
        let mut words = vec![];
        while let Some(Token::Word(word)) = self.tokens.get(self.at) {
            words.push(word.clone());
            self.at += 1;
        }
        match words.is_empty() {
            true => Err("a tag on each side of AND and OR".to_owned()),
            false => Ok(TagFilter::Tag(words.join(" "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_pass_as_they_are_joined() {
        for (filter, passing, failing) in [
            ("a", vec!["a", "a b"], vec!["", "b"]),
            ("a AND b", vec!["a b"], vec!["a", "b"]),
            ("a OR b AND c", vec!["a", "b c"], vec!["b", "c"]),
            ("(a OR b) AND c", vec!["a c", "b c"], vec!["a", "c", "a b"]),
            ("device:desktop", vec!["device:desktop"], vec!["device"]),
            (r#""a" OR (b)"#, vec!["a", "b"], vec!["c"]),
        ] {
            let read = TagFilter::parse(filter).expect(filter);
            let takes = |tags: &str| read.takes(&|tag: &str| tags.split(' ').any(|has| has == tag));
            assert!(
                passing.iter().all(|tags| takes(tags)) && !failing.iter().any(|tags| takes(tags)),
                "{filter}"
            );
        }
        for of_two_words in ["new user", "\"new user\"", "new%20user"] {
            assert_eq!(TagFilter::parse(of_two_words), Ok(TagFilter::Tag("new user".into())));
        }
        for wrong in
            ["", "AND", "a AND", "(a", "a)", "a OR OR b", "\"a", "()", &"(".repeat(1_000), &"a".repeat(5_000)]
        {
            assert!(TagFilter::parse(wrong).is_err(), "{wrong}");
        }
    }
}
