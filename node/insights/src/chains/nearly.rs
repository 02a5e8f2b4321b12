//! Are two queries steps of typing one?

/// Letters from which on two edits are allowed.
const LONG: usize = 8;

/// Whether one of two normalised queries begins with the other, or with something that is one edit away from the other (two edits
/// when that has eight letters or more). An edit is a letter that is added, left out, another one, or swapped with its neighbour.
///
/// Cost: none to speak of when one begins with the other, otherwise some five steps a letter.
pub fn belong_together(one: &str, other: &str) -> bool {
    if one.starts_with(other) || other.starts_with(one) {
        return true;
    }
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let edits = if short.len() >= LONG { 2 } else { 1 };
    begins_nearly_with(&long, &short, edits)
}

/// Whether some beginning of `long` is at most `edits` edits away from `short`.
fn begins_nearly_with(long: &[char], short: &[char], edits: usize) -> bool {
    let far = edits + 1;
    // row i: edits between the first i letters of `short` and each beginning of `long`, those within `edits` of its length
    let width = long.len().min(short.len() + edits);
    let mut before: Vec<usize> = vec![far; width + 1];
    let mut row: Vec<usize> = (0..=width).map(|at| at.min(far)).collect();
    let mut next = vec![far; width + 1];
    for i in 1..=short.len() {
        let (first, last) = (i.saturating_sub(edits), width.min(i + edits));
        next.fill(far);
        for j in first..=last {
            next[j] = if j == 0 {
                i.min(far)
            } else {
                let same = short[i - 1] == long[j - 1];
                let mut least = (row[j - 1] + usize::from(!same)).min(row[j] + 1).min(next[j - 1] + 1);
                let is_swap =
                    i > 1 && j > 1 && short[i - 1] == long[j - 2] && short[i - 2] == long[j - 1] && !same;
                if is_swap {
                    least = least.min(before[j - 2] + 1);
                }
                least.min(far)
            };
        }
        if next[first..=last].iter().all(|&distance| distance >= far) {
            return false;
        }
        std::mem::swap(&mut before, &mut row);
        std::mem::swap(&mut row, &mut next);
    }
    row.iter().any(|&distance| distance <= edits)
}
