//! How is a filter written as a `filters` text that reads back as the same filter?

use super::{AnyOf, Atom, Filter, FilterAtom, NumericOp};
use std::fmt;

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, group) in self.all.iter().filter(|group| !group.any.is_empty()).enumerate() {
            if place > 0 {
                f.write_str(" AND ")?;
            }
            write!(f, "{group}")?;
        }
        Ok(())
    }
}

impl fmt::Display for AnyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = self.any.len() > 1;
        f.write_str(if several { "(" } else { "" })?;
        for (place, atom) in self.any.iter().enumerate() {
            write!(f, "{}{atom}", if place > 0 { " OR " } else { "" })?;
        }
        f.write_str(if several { ")" } else { "" })
    }
}

impl fmt::Display for FilterAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negated {
            f.write_str("NOT ")?;
        }
        match &self.atom {
            Atom::Facet { attribute, value } => write!(f, "{}:{}", Quoted(attribute), Quoted(value))?,
            Atom::Tag { value } => write!(f, "_tags:{}", Quoted(value))?,
            Atom::Numeric { attribute, op, value } => {
                write!(f, "{}{}{value}", Quoted(attribute), op.symbol())?
            }
            Atom::Range { attribute, from, to } => write!(f, "{}:{from} TO {to}", Quoted(attribute))?,
        }
        if self.score != 1 {
            write!(f, "<score={}>", self.score)?;
        }
        Ok(())
    }
}

impl NumericOp {
    /// The operator as written in filters.
    pub fn symbol(self) -> &'static str {
        match self {
            NumericOp::Eq => "=",
            NumericOp::Ne => "!=",
            NumericOp::Lt => "<",
            NumericOp::Le => "<=",
            NumericOp::Gt => ">",
            NumericOp::Ge => ">=",
        }
    }
}

struct Quoted<'a>(&'a str);
impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            if matches!(c, '"' | '\\') {
                f.write_str("\\")?;
            }
            write!(f, "{c}")?;
        }
        f.write_str("\"")
    }
}
