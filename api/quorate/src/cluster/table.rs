//! How is a table printed so that it fits a terminal?

/// Characters of a line at most.
pub const WIDTH: usize = 100;
/// A cell is never made narrower than this.
const CELL_MIN: usize = 6;

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// Rows of text under headings.
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub fn new(columns: &[(&'static str, Align)]) -> Table {
        Table { columns: columns.to_vec(), rows: vec![] }
    }
    /// Adds a row with a cell for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }
    /// The lines, none of which is longer than [`WIDTH`]: the widest texts are cut.
    pub fn render(&self) -> String {
        let widths = self.widths();
        let headings: Vec<String> = self.columns.iter().map(|(heading, _)| (*heading).to_owned()).collect();
        let mut text = String::new();
        for cells in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, width), (_, align)) in cells.iter().zip(&widths).zip(&self.columns) {
                let cell = cut(cell, *width);
                line.push_str(&match align {
                    Align::Left => format!("{cell:<width$}  "),
                    Align::Right => format!("{cell:>width$}  "),
                });
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
    fn widths(&self) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.chain([self.columns[column].0.chars().count()]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        while widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1) > WIDTH {
            match widths.iter_mut().max() {
                Some(widest) if *widest > CELL_MIN => *widest -= 1,
                Some(_) | None => break,
            }
        }
        widths
    }
}

fn cut(cell: &str, width: usize) -> String {
    match cell.chars().count() > width {
        true => cell.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => cell.to_owned(),
    }
}

/// `1.2 GB` and the like.
pub fn bytes(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 1_000.0 {
            let digits = usize::from(unit != "B" && value < 100.0);
            return format!("{value:.digits$} {unit}");
        }
        value /= 1_000.0;
    }
    format!("{value:.1} TB")
}

/// `3d 4h`, `4h 5m`, `5m 6s`, `6s`.
pub fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m {}s", seconds % 60),
        (0, hours, minutes) => format!("{hours}h {minutes}m"),
        (days, hours, _) => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_too_long_and_numbers_stand_on_the_right() {
        let mut table = Table::new(&[("name", Align::Left), ("count", Align::Right)]);
        table.row(vec!["a".into(), "7".into()]);
        assert_eq!(table.render(), "name  count\na         7\n");
        table.row(vec!["x".repeat(200), "1234567".into()]);
        let text = table.render();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains('…') && text.contains("1234567"), "{text}");
    }

    #[test]
    fn sizes_and_times_are_short() {
        for (count, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_500, "1.5 kB"),
            (250_000_000, "250 MB"),
            (4_200_000_000_000, "4.2 TB"),
        ] {
            assert_eq!(bytes(count), expected);
        }
        for (seconds, expected) in [(6, "6s"), (306, "5m 6s"), (14_700, "4h 5m"), (273_600, "3d 4h")] {
            assert_eq!(duration(seconds), expected);
        }
    }
}
