//! What does a `filters` text mean (C§5.1), and which words say what is wrong with it (C§19)?

use super::lex::{Placed, Token, tokens};
use super::{AnyOf, Atom, Filter, FilterAtom, NumericOp};
use crate::error::{Error, Result};
use crate::limits::{FILTER_NESTING_MAX, FILTER_SCORE_MAX, FILTERS_MAX, FILTERS_TEXT_BYTES_MAX};

/// Parses a `filters` text; an empty one restricts nothing.
///
/// Errors: `Invalid` with the texts of C§19, which start with `filters: `.
pub fn parse_filters(text: &str) -> Result<Filter> {
    if text.len() > FILTERS_TEXT_BYTES_MAX {
        return Err(Error::parameter("filters", "string shorter than 65536 bytes"));
    }
    let mut parser = Parser { text, tokens: tokens(text), next: 0, atoms: 0 };
    if parser.peek() == &Token::End {
        return Ok(Filter::default());
    }
    let filter = parser.and(0)?;
    match parser.peek() {
        Token::End => Ok(filter),
        _ => Err(parser.unexpected("end of filter")),
    }
}

/// The kind that all members of one OR share.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tag,
    Facet,
    Numeric,
}
impl Kind {
    fn of(atom: &Atom) -> Kind {
        match atom {
            Atom::Tag { .. } => Kind::Tag,
            Atom::Facet { .. } => Kind::Facet,
            Atom::Numeric { .. } | Atom::Range { .. } => Kind::Numeric,
        }
    }

    /// C§19 "Mixed OR"; the kind named is that of the first operand.
    fn mixed(self) -> Error {
        let (expected, forms): (&str, &[&str]) = match self {
            Kind::Tag => ("a tag filter which needs to have this form", &["_tags:tag_value", "tag_value"]),
            Kind::Facet => ("a facet filter which needs to have this form", &["facet_name:facet_value"]),
            Kind::Numeric => (
                "a numeric filter which needs to have one of the following form",
                &[
                    "numeric_attr_name=10",
                    "numeric_attr_name>10",
                    "numeric_attr_name>=10",
                    "numeric_attr_name<10",
                    "numeric_attr_name<=10",
                    "numeric_attr_name!=10",
                    "numeric_attr_name:10 TO 20",
                ],
            ),
        };
        let forms: String = forms.iter().map(|form| format!("\n - {form}")).collect();
        Error::invalid(format!(
            "filters: Different types are not allowed in the same OR.\nExpected {expected}:{forms}"
        ))
    }
}

const AND_BEFORE_OR: &str = "filters: filter (X AND Y) OR Z is not allowed, only (X OR Y) AND Z is allowed";
const OR_BEFORE_AND: &str = "filters: filter X OR (Y AND Z) is not allowed, only X AND (Y OR Z) is allowed";

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Placed>,
    next: usize,
    atoms: usize,
}
impl Parser<'_> {
    /// `and := or ( "AND" or )*`
    fn and(&mut self, depth: usize) -> Result<Filter> {
        let mut filter = self.or(depth)?;
        while self.take(&Token::And) {
            filter.all.append(&mut self.or(depth)?.all);
        }
        Ok(filter)
    }

    /// `or := term ( "OR" term )*`; a conjunction inside a disjunction is refused.
    fn or(&mut self, depth: usize) -> Result<Filter> {
        let mut first = self.term(depth)?;
        if self.peek() != &Token::Or {
            return Ok(first);
        }
        if first.all.len() > 1 {
            return Err(Error::invalid(AND_BEFORE_OR));
        }
        let mut any = first.all.pop().unwrap_or_default().any;
        let kind = any.first().map(|atom| Kind::of(&atom.atom));
        while self.take(&Token::Or) {
            let mut operand = self.term(depth)?;
            if operand.all.len() > 1 {
                return Err(Error::invalid(OR_BEFORE_AND));
            }
            let mut alternatives = operand.all.pop().unwrap_or_default().any;
            let other = alternatives.first().map(|atom| Kind::of(&atom.atom));
            if let (Some(kind), true) = (kind, kind != other) {
                return Err(kind.mixed());
            }
            any.append(&mut alternatives);
        }
        Ok(Filter { all: vec![AnyOf { any }] })
    }

    /// `term := "(" and ")" | ["NOT"] atom`
    fn term(&mut self, depth: usize) -> Result<Filter> {
        if !self.take(&Token::Open) {
            let atom = self.signed_atom()?;
            return Ok(Filter { all: vec![AnyOf { any: vec![atom] }] });
        }
        if depth == FILTER_NESTING_MAX {
            return Err(Error::invalid(format!(
                "filters: parentheses are nested more than {FILTER_NESTING_MAX} levels deep"
            )));
        }
        let inner = self.and(depth + 1)?;
        if !self.take(&Token::Close) {
            return Err(self.unexpected("')'"));
        }
        Ok(inner)
    }

    fn signed_atom(&mut self) -> Result<FilterAtom> {
        let negated = self.take(&Token::Not);
        self.atoms += 1;
        if self.atoms > FILTERS_MAX {
            return Err(Error::parameter("filters", &format!("at most {FILTERS_MAX} filters")));
        }
        let (name, quoted) = match self.peek() {
            Token::Word(text) | Token::Number(text) => (text.clone(), false),
            Token::Quoted(text) => (text.clone(), true),
            _ => return Err(self.unexpected("filter")),
        };
        self.next += 1;
        let atom = match *self.peek() {
            Token::Op(op) => {
                self.next += 1;
                Atom::Numeric { attribute: name, op: operator(op), value: self.number()? }
            }
            Token::Colon => {
                self.next += 1;
                self.range_or_value(name)?
            }
            _ => match name.split_once(':') {
                Some((attribute, value)) if quoted && !attribute.is_empty() && !value.is_empty() => {
                    named_value(attribute.to_owned(), value.to_owned())
                }
                _ => Atom::Tag { value: name },
            },
        };
        let score = self.score(&atom)?;
        Ok(FilterAtom { atom, negated, score })
    }

    /// What follows `name:`: a range of two numbers or one value.
    fn range_or_value(&mut self, attribute: String) -> Result<Atom> {
        if matches!(self.peek(), Token::Number(_)) && self.tokens[self.next + 1].token == Token::To {
            let from = self.number()?;
            self.next += 1;
            let to = self.number()?;
            return Ok(Atom::Range { attribute, from, to });
        }
        match self.peek() {
            Token::Word(text) | Token::Number(text) | Token::Quoted(text) => {
                let value = text.clone();
                self.next += 1;
                Ok(named_value(attribute, value))
            }
            _ => Err(self.unexpected("string")),
        }
    }

    fn number(&mut self) -> Result<f64> {
        if let Token::Number(text) = self.peek()
            && let Ok(value) = text.parse::<f64>()
            && value.is_finite()
        {
            self.next += 1;
            return Ok(value);
        }
        Err(self.unexpected("numeric"))
    }

    fn score(&mut self, atom: &Atom) -> Result<u32> {
        let Token::Score(digits) = self.peek() else {
            return Ok(1);
        };
        match (Kind::of(atom), digits.parse::<u32>()) {
            (Kind::Numeric, _) => Err(self.unexpected("end of filter")),
            (Kind::Tag | Kind::Facet, Ok(score)) if score <= FILTER_SCORE_MAX => {
                self.next += 1;
                Ok(score)
            }
            (Kind::Tag | Kind::Facet, _) => {
                Err(self.unexpected(&format!("score between 0 and {FILTER_SCORE_MAX}")))
            }
        }
    }

    /// The next token; the last one, [`Token::End`], is never stepped over.
    fn peek(&self) -> &Token {
        &self.tokens[self.next].token
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        self.next += usize::from(found);
        found
    }

    fn unexpected(&self, expected: &str) -> Error {
        let Placed { token, at } = &self.tokens[self.next];
        let column = self.text[..*at].chars().count();
        Error::invalid(format!("filters: Unexpected token {token} expected {expected} at col {column}"))
    }
}

/// `name:value`, which is a tag when the name is `_tags`.
pub(super) fn named_value(attribute: String, value: String) -> Atom {
    if attribute == "_tags" { Atom::Tag { value } } else { Atom::Facet { attribute, value } }
}

pub(super) fn operator(text: &str) -> NumericOp {
    match text {
        "!=" => NumericOp::Ne,
        "<" => NumericOp::Lt,
        "<=" => NumericOp::Le,
        ">" => NumericOp::Gt,
        ">=" => NumericOp::Ge,
        _ => NumericOp::Eq,
    }
}
