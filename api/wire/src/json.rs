//! How are JSON objects written without building a tree of values?

/// Appends `text` as a JSON string.
pub fn string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("writing text to memory cannot fail");
}

/// Appends a float in its shortest form; integral values without a fraction, as counts and prices are read.
pub fn number(out: &mut Vec<u8>, value: f64) {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT_MAX {
        out.extend_from_slice(format!("{}", value as i64).as_bytes());
    } else if value.is_finite() {
        serde_json::to_writer(out, &value).expect("a finite number is always written");
    } else {
        out.extend_from_slice(b"null");
    }
}

/// Appends a decimal integer.
pub fn integer(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Makes a list of values that stand one after another, each with its end, between two texts: in their own memory, since long ones
/// should not be there twice.
pub fn list_in_place(mut values: Vec<u8>, ends: &[u32], before: &[u8], after: &[u8]) -> Vec<u8> {
    let commas = ends.len().saturating_sub(1);
    let bytes = before.len() + values.len() + commas + after.len();
    values.reserve_exact(bytes - values.len());
    values.resize(bytes, 0);
    let mut to = bytes - after.len();
    values[to..].copy_from_slice(after);
    // the last one first: none is written over before it is moved
    for (number, end) in ends.iter().enumerate().rev() {
        let begin = if number == 0 { 0 } else { ends[number - 1] as usize };
        to -= *end as usize - begin;
        values.copy_within(begin..*end as usize, to);
        if number > 0 {
            to -= 1;
            values[to] = b',';
        }
    }
    values[..to].copy_from_slice(before);
    values
}

/// An open JSON object: writes the commas and the member names.
///
/// Shape: `Object::open` … members … `close`. Member names must need no escaping.
#[derive(Debug)]
pub struct Object<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> Object<'a> {
    /// Starts an object at the end of `out`.
    pub fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Object { out, first: true }
    }
    /// Writes a member name; the caller writes exactly one value to what is returned.
    pub fn member(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }
    /// A text member.
    pub fn string(&mut self, name: &str, value: &str) -> &mut Self {
        string(self.member(name), value);
        self
    }
    /// An integer member.
    pub fn integer(&mut self, name: &str, value: u64) -> &mut Self {
        integer(self.member(name), value);
        self
    }
    /// A member that is true or false.
    pub fn flag(&mut self, name: &str, value: bool) -> &mut Self {
        self.member(name).extend_from_slice(if value { b"true" } else { b"false" });
        self
    }
    /// A member that is already JSON.
    pub fn raw(&mut self, name: &str, json: &[u8]) -> &mut Self {
        self.member(name).extend_from_slice(json);
        self
    }
    /// A member that is a list of texts.
    pub fn strings<'t>(&mut self, name: &str, values: impl IntoIterator<Item = &'t str>) -> &mut Self {
        let out = self.member(name);
        list(out, values, string);
        self
    }
    /// Ends the object.
    pub fn close(self) {
        self.out.push(b'}');
    }
}

/// Appends a JSON array; `write` appends one element.
pub fn list<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, write: impl FnMut(&mut Vec<u8>, T)) {
    enclosed(out, [b'[', b']'], items, write);
}
/// Appends a JSON object; `write` appends one `"name":value`.
pub fn members<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, write: impl FnMut(&mut Vec<u8>, T)) {
    enclosed(out, [b'{', b'}'], items, write);
}
fn enclosed<T>(
    out: &mut Vec<u8>,
    [open, close]: [u8; 2],
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_shortest_form() {
        for (value, expected) in
            [(0.0, "0"), (-3.0, "-3"), (2.5, "2.5"), (1e300, "1e+300"), (f64::NAN, "null")]
        {
            let mut out = Vec::new();
            number(&mut out, value);
            let text = String::from_utf8(out).unwrap();
            assert!(text == expected || text == expected.replace('+', ""), "{value} gave {text}");
        }
        for value in [0, 9, 10, u64::MAX] {
            let mut out = Vec::new();
            integer(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }

    #[test]
    fn members_are_separated_and_escaped() {
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        object.string("a", "q\"\n").integer("b", 7).flag("c", false).strings("d", ["x", "y"]).raw("e", b"{}");
        object.close();
        assert_eq!(out, br#"{"a":"q\"\n","b":7,"c":false,"d":["x","y"],"e":{}}"#);
    }
}
