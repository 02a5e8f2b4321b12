//! Which tokens does a `filters` text consist of (C§5.2)?

use crate::error::shortened;
use std::fmt;

/// One token of a `filters` text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Open,
    Close,
    Colon,
    Op(&'static str),
    And,
    Or,
    Not,
    To,
    /// `<score=N>` with the digits of N.
    Score(String),
    /// An unquoted word that is a number.
    Number(String),
    /// Any other unquoted word.
    Word(String),
    /// A quoted text without its quotes and escapes.
    Quoted(String),
    EmptyQuoted,
    /// A quote without its end.
    Incomplete,
    End,
}
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Open => f.write_str("'('"),
            Token::Close => f.write_str("')'"),
            Token::Colon => f.write_str("':'"),
            Token::Op(op) => f.write_str(op),
            Token::And => f.write_str("'AND'"),
            Token::Or => f.write_str("'OR'"),
            Token::Not => f.write_str("'NOT'"),
            Token::To => f.write_str("'TO'"),
            Token::Score(score) => write!(f, "<score={}>", shortened(score)),
            Token::Number(text) => write!(f, "numeric({})", shortened(text)),
            Token::Word(text) | Token::Quoted(text) => write!(f, "string({})", shortened(text)),
            Token::EmptyQuoted => f.write_str("empty string"),
            Token::Incomplete => f.write_str("incomplete string"),
            Token::End => f.write_str("end of filter"),
        }
    }
}

/// A token and the byte offset at which it starts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) at: usize,
}

/// Splits `text` into tokens, the last of which is [`Token::End`]. Linear in the length of the text.
pub(super) fn tokens(text: &str) -> Vec<Placed> {
    let mut lexer = Lexer { text, at: 0, found: Vec::new() };
    lexer.run();
    lexer.found
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | 0x0c)
}

/// Whether `text` is a number: optional sign, digits with an optional fraction, optional exponent.
pub(super) fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') && text.parse::<f64>().is_ok()
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    found: Vec<Placed>,
}
impl Lexer<'_> {
    fn run(&mut self) {
        loop {
            self.skip_space();
            let at = self.at;
            let Some(byte) = self.byte(self.at) else {
                self.push(at, Token::End);
                return;
            };
            match byte {
                b'(' => self.symbol(1, Token::Open),
                b')' => self.symbol(1, Token::Close),
                b':' => self.symbol(1, Token::Colon),
                b'=' => self.symbol(1, Token::Op("=")),
                b'!' if self.byte(at + 1) == Some(b'=') => self.symbol(2, Token::Op("!=")),
                b'>' if self.byte(at + 1) == Some(b'=') => self.symbol(2, Token::Op(">=")),
                b'>' => self.symbol(1, Token::Op(">")),
                b'<' if self.byte(at + 1) == Some(b'=') => self.symbol(2, Token::Op("<=")),
                b'<' => match self.score() {
                    Some((score, end)) => {
                        self.push(at, Token::Score(score));
                        self.at = end;
                    }
                    None => self.symbol(1, Token::Op("<")),
                },
                b'"' | b'\'' => self.quoted(byte),
                _ => self.word(),
            }
        }
    }

    fn symbol(&mut self, bytes: usize, token: Token) {
        self.push(self.at, token);
        self.at += bytes;
    }

    /// The digits and the end of a `<score=N>` that starts here, if one does.
    fn score(&self) -> Option<(String, usize)> {
        let mut at = self.after_space(self.at + 1);
        at = self.text[at..].starts_with("score").then_some(at + 5)?;
        at = self.after_space(at);
        at = (self.byte(at) == Some(b'=')).then_some(at + 1)?;
        let start = self.after_space(at);
        let mut end = start;
        while self.byte(end).is_some_and(|byte| byte.is_ascii_digit()) {
            end += 1;
        }
        let close = self.after_space(end);
        (end > start && self.byte(close) == Some(b'>')).then(|| (self.text[start..end].to_owned(), close + 1))
    }

    fn quoted(&mut self, quote: u8) {
        let start = self.at;
        let mut text = String::new();
        let mut escaped = false;
        for (offset, c) in self.text[start + 1..].char_indices() {
            let is_quote = c == char::from(quote);
            if escaped {
                if !is_quote && c != '\\' {
                    text.push('\\');
                }
                text.push(c);
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if is_quote {
                self.at = start + 1 + offset + 1;
                self.push(start, if text.is_empty() { Token::EmptyQuoted } else { Token::Quoted(text) });
                return;
            } else {
                text.push(c);
            }
        }
        self.at = self.text.len();
        self.push(start, Token::Incomplete);
    }

    fn word(&mut self) {
        let start = self.at;
        let mut end = start;
        while let Some(byte) = self.byte(end) {
            let not_equal = byte == b'!' && self.byte(end + 1) == Some(b'=');
            if is_space(byte) || matches!(byte, b'(' | b')' | b':' | b'=' | b'<' | b'>') || not_equal {
                break;
            }
            end += 1;
        }
        self.at = end;
        let word = &self.text[start..end];
        match word {
            "AND" => self.push(start, Token::And),
            "OR" => self.push(start, Token::Or),
            "NOT" => self.push(start, Token::Not),
            "TO" => self.push(start, Token::To),
            _ if is_number(word) => self.push(start, Token::Number(word.to_owned())),
            _ => match word.split_once("TO").filter(|(from, to)| is_number(from) && is_number(to)) {
                Some((from, to)) => {
                    self.push(start, Token::Number(from.to_owned()));
                    self.push(start + from.len(), Token::To);
                    self.push(start + from.len() + 2, Token::Number(to.to_owned()));
                }
                None => self.push(start, Token::Word(word.to_owned())),
            },
        }
    }

    fn push(&mut self, at: usize, token: Token) {
        self.found.push(Placed { token, at });
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn skip_space(&mut self) {
        self.at = self.after_space(self.at);
    }

    fn after_space(&self, mut at: usize) -> usize {
        while self.byte(at).is_some_and(is_space) {
            at += 1;
        }
        at
    }
}
