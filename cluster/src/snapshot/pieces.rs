//! What is asked for at once: a piece of a large file, or pieces of many small ones together.

use super::PieceName;
use super::manifest::FileRow;
use quorate_store::files::FileWriter;
use std::path::PathBuf;

/// A file of a manifest, with its place in it.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'r> {
    /// Its place.
    pub place: u32,
    /// What the manifest says of it.
    pub row: &'r FileRow,
}

/// A file that is not whole.
pub struct Gap<'r> {
    /// Which.
    pub listed: Listed<'r>,
    /// Where it is here.
    pub path: PathBuf,
    /// Bytes that are there.
    pub have: u64,
    /// Of those.
    pub crc: crc32fast::Hasher,
    /// Open once the first piece has arrived.
    pub file: Option<Box<dyn FileWriter>>,
    /// Of what is there, what the disk was told to write.
    pub synced: u64,
}

/// A piece that fills a gap, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of its gap.
    pub gap: usize,
    /// What is asked for.
    pub name: PieceName,
}

impl Gap<'_> {
    /// What is missing, in pieces of `most` bytes; one of none when the file is empty.
    fn pieces(&self, gap: usize, most: u64) -> impl Iterator<Item = Piece> + use<> {
        let (file, bytes, have) = (self.listed.place, self.listed.row.bytes, self.have);
        let count = (bytes - have).div_ceil(most).max(1);
        (0..count).map(move |n| {
            let offset = have + n * most;
            Piece { gap, name: PieceName { file, offset, bytes: most.min(bytes - offset) as u32 } }
        })
    }
}

/// What to ask for, in order: each question for at most `most_bytes` in at most `most_pieces`.
pub fn questions(gaps: &[Gap], most_bytes: u32, most_pieces: usize) -> Vec<Vec<Piece>> {
    let all = gaps.iter().enumerate().flat_map(|(n, gap)| gap.pieces(n, most_bytes.max(1).into()));
    let (mut questions, mut open, mut bytes): (Vec<Vec<Piece>>, Vec<Piece>, u32) = (vec![], vec![], 0);
    for piece in all {
        if !open.is_empty() && (open.len() >= most_pieces || bytes + piece.name.bytes > most_bytes) {
            questions.push(std::mem::take(&mut open));
            bytes = 0;
        }
        bytes += piece.name.bytes;
        open.push(piece);
    }
    questions.extend((!open.is_empty()).then_some(open));
    questions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_travel_together_and_large_ones_in_pieces() {
        // lengths of files, of which so many bytes are there; `place@offset+bytes` of each question
        for (files, pieces, expected) in [
            (&[] as &[(u64, u64)], 9, ""),
            (&[(3, 0), (4, 0), (3, 0)], 9, "0@0+3 1@0+4 2@0+3"),
            (&[(3, 0), (4, 0), (4, 0)], 9, "0@0+3 1@0+4|2@0+4"),
            (&[(3, 0), (4, 0), (3, 0)], 2, "0@0+3 1@0+4|2@0+3"),
            (&[(3, 0), (4, 0), (3, 0)], 1, "0@0+3|1@0+4|2@0+3"),
            (&[(0, 0), (0, 0)], 9, "0@0+0 1@0+0"),
            (&[(25, 0), (2, 1)], 9, "0@0+10|0@10+10|0@20+5 1@1+1"),
            (&[(25, 17)], 9, "0@17+8"),
        ] {
            let rows = files.iter().map(|&(bytes, _)| FileRow { path: String::new(), bytes, crc: 0 });
            let rows: Vec<FileRow> = rows.collect();
            let mut gaps = vec![];
            for (place, row) in rows.iter().enumerate() {
                let listed = Listed { place: place as u32, row };
                let (have, crc) = (files[place].1, crc32fast::Hasher::new());
                gaps.push(Gap { listed, path: PathBuf::new(), have, crc, file: None, synced: 0 });
            }
            let piece = |it: &Piece| format!("{}@{}+{}", it.name.file, it.name.offset, it.name.bytes);
            let question = |it: &Vec<Piece>| it.iter().map(piece).collect::<Vec<_>>().join(" ");
            let shown: Vec<String> = questions(&gaps, 10, pieces).iter().map(question).collect();
            assert_eq!(shown.join("|"), expected, "{files:?}");
        }
    }
}
