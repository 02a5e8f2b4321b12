//! What does a reader say of a file that is not as it was written?

use super::super::writer::{HEADER, TRAILER, frame_crc};
use super::*;
use proptest::prelude::*;
use std::sync::LazyLock;

static WRITTEN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut chance = Chance(11);
    let any = |chance: &mut Chance| Event {
        user: spread(chance.below(40)),
        item: chance.below(60) as u32,
        kind: Kind::Click,
        second: 0,
    };
    let events: Vec<Event> = (0..600).map(|_| any(&mut chance)).collect();
    bytes(&events, Build::Related)
});

/// Looks at everything there is to look at. None of it may panic.
fn read_all(model: &Model<'_>) {
    for item in 0..62 {
        let _ = model.lookup(&name(item));
    }
    let _ = model.iter().filter(|entry| entry.is_ok()).count();
    let _ = model.report();
}
/// The file with a trailer whose checksums fit what the file is now: as somebody would write it who means harm.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let trailer = bytes.len() - TRAILER;
    let body = crc32fast::hash(&bytes[HEADER..trailer]);
    bytes[trailer + 16..trailer + 20].copy_from_slice(&body.to_le_bytes());
    let frame = frame_crc(&bytes[..HEADER], &bytes[trailer..trailer + 20]);
    bytes[trailer + 20..trailer + 24].copy_from_slice(&frame.to_le_bytes());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn flipped_bits_are_found(at: prop::sample::Index, flip in 1..=255u8) {
        let mut bytes = WRITTEN.clone();
        bytes[at.index(WRITTEN.len())] ^= flip;
        if let Ok(model) = Model::open(&bytes) {
            read_all(&model);
            prop_assert!(model.check().is_err());
        }
    }
    #[test]
    fn what_was_cut_is_found(from: prop::sample::Index, length: prop::sample::Index) {
        let from = from.index(WRITTEN.len());
        let length = 1 + length.index(WRITTEN.len() - from);
        let mut bytes = WRITTEN.clone();
        bytes.drain(from..from + length);
        if let Ok(model) = Model::open(&bytes) {
            read_all(&model);
            prop_assert!(model.check().is_err());
        }
        prop_assert!(Model::open(&WRITTEN[..from]).is_err());
    }
    #[test]
    fn what_is_wrong_under_right_checksums_does_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = WRITTEN.clone();
        for (at, byte) in changes {
            bytes[at.index(WRITTEN.len())] = byte;
        }
        if let Ok(model) = Model::open(&resealed(bytes)) {
            read_all(&model);
            let _ = model.check();
        }
    }
    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Model::open(&bytes).is_err());
    }
}

#[test]
fn every_length_is_checked() {
    let trailer = WRITTEN.len() - TRAILER;
    for field in [0, 4, 8, 12] {
        for number in [0, 1, 1 << 20, u32::MAX / 4, u32::MAX] {
            let mut bytes = WRITTEN.clone();
            bytes[trailer + field..trailer + field + 4].copy_from_slice(&number.to_le_bytes());
            assert!(
                matches!(Model::open(&resealed(bytes)), Err(NeighboursError::Damaged(_))),
                "{number} at {field}"
            );
        }
    }
}
#[test]
fn a_later_version_is_named() {
    let mut bytes = WRITTEN.clone();
    bytes[8..12].copy_from_slice(&7u32.to_le_bytes());
    assert!(matches!(Model::open(&resealed(bytes)), Err(NeighboursError::Version(7))));
}
/// What a check lets through has to be read without an error.
#[test]
fn a_check_finds_what_does_not_fit_together() {
    let wrong: [(&str, &[&str], Vec<(u32, u16)>); 6] = [
        ("scores that rise", &["a", "b"], vec![(0, 1), (1, 2)]),
        ("a score of none", &["a", "b"], vec![(1, 0)]),
        ("a score beyond the best", &["a", "b"], vec![(1, 10_001)]),
        ("an item that is none", &["a", "b"], vec![(2, 10_000)]),
        ("ids that do not ascend", &["b", "a"], vec![]),
        ("the same id twice", &["a", "a"], vec![]),
    ];
    let written = |ids: &[&str], list: Vec<(u32, u16)>| {
        let mut writer = ModelWriter::new(Vec::new()).unwrap();
        writer.list(1, list).unwrap();
        writer.list(1, []).unwrap();
        let report = Model::open(&WRITTEN).unwrap().report().unwrap();
        writer.finish(ids.iter().map(|id| id.as_bytes()), &report).unwrap()
    };
    for (what, ids, list) in wrong {
        let bytes = written(ids, list);
        assert!(matches!(Model::open(&bytes).unwrap().check(), Err(NeighboursError::Damaged(_))), "{what}");
    }
    Model::open(&written(&["a", "b"], vec![(1, 10_000)])).unwrap().check().unwrap();
}
