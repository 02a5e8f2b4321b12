//! Which parts of a record do lists of dotted paths select?

use crate::query::plan::covers;

/// How much of the value at a path is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Nothing.
    Nothing,
    /// Something inside it.
    Inside,
    /// All of it.
    All,
}
/// What a list of paths says about a path.
pub fn part_of<'a>(listed: impl Iterator<Item = &'a str>, path: &str) -> Part {
    let mut part = Part::Nothing;
    for entry in listed {
        if covers(entry, path) {
            return Part::All;
        }
        if covers(path, entry) {
            part = Part::Inside;
        }
    }
    part
}
/// What remains of a path when a list of paths is taken away.
pub fn part_without<'a>(removed: impl Iterator<Item = &'a str>, path: &str) -> Part {
    match part_of(removed, path) {
        Part::All => Part::Nothing,
        Part::Inside => Part::Inside,
        Part::Nothing => Part::All,
    }
}
/// Appends a member name to a dotted path and answers the length to cut it back to.
pub fn descend(path: &mut String, raw_key: &str) -> usize {
    let before = path.len();
    if before > 0 {
        path.push('.');
    }
    if raw_key.contains('\\') {
        let quoted = format!("\"{raw_key}\"");
        path.push_str(&serde_json::from_str::<String>(&quoted).unwrap_or_default());
    } else {
        path.push_str(raw_key);
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_select_children_and_show_in_part() {
        let list = ["a.b", "c"];
        for (path, expected) in [
            ("a", Part::Inside),
            ("a.b", Part::All),
            ("a.b.x", Part::All),
            ("a.c", Part::Nothing),
            ("c.d", Part::All),
            ("ab", Part::Nothing),
        ] {
            assert_eq!(part_of(list.into_iter(), path), expected, "{path}");
        }
        assert_eq!(part_without(list.into_iter(), "a"), Part::Inside);
        assert_eq!(part_without(list.into_iter(), "c"), Part::Nothing);
        assert_eq!(part_without(list.into_iter(), "z"), Part::All);
    }
}
