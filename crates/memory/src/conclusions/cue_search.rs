//! Finds the cues in a sentence in one pass. A summary reads tens of kilobytes, and there are a hundred cues.

use std::sync::LazyLock;

use super::cues::{CAUSE, CONSEQUENCE, DECISION, PASSIVE_REPORT, TEST_RESULT};

/// The kinds of cues that a sentence has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CueKinds(u8);

impl CueKinds {
    pub(super) const DECISION: Self = Self(1);
    pub(super) const CAUSE: Self = Self(2);
    pub(super) const CONSEQUENCE: Self = Self(4);
    pub(super) const REPORT: Self = Self(8);

    /// Returns whether a cue of this kind was found.
    pub(super) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }

    /// Returns the kinds of all cues in a sentence, which is in lower case.
    pub(super) fn in_sentence(lower: &str) -> Self {
        let table = &*TABLE;
        let bytes = lower.as_bytes();
        let mut found = Self::default();
        for (at, byte) in bytes.iter().enumerate() {
            let (first, end) = table.ranges[usize::from(*byte)];
            for (cue, kind) in &table.cues[usize::from(first)..usize::from(end)] {
                // The second byte excludes nearly all of them, and is compared faster than a text.
                if cue.get(1) == bytes.get(at + 1) && bytes[at..].starts_with(cue) {
                    found.0 |= kind.0;
                }
            }
        }
        found
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// All cues, ordered by their texts.
struct Table {
    cues: Vec<(&'static [u8], CueKinds)>,
    /// For each first byte, the range of the cues that begin with it.
    ranges: [(u8, u8); 256],
}

impl Table {
    fn new() -> Self {
        let kinds: [(&[&'static str], CueKinds); 5] = [
            (&DECISION, CueKinds::DECISION),
            (&CAUSE, CueKinds::CAUSE),
            (&CONSEQUENCE, CueKinds::CONSEQUENCE),
            (&PASSIVE_REPORT, CueKinds::REPORT),
            (&TEST_RESULT, CueKinds::REPORT),
        ];
        let mut cues: Vec<(&'static [u8], CueKinds)> =
            kinds.iter().flat_map(|(cues, kind)| cues.iter().map(|cue| (cue.as_bytes(), *kind))).collect();
        cues.sort_unstable_by_key(|(cue, _)| *cue);
        let mut ranges = [(0, 0); 256];
        for (place, (cue, _)) in cues.iter().enumerate() {
            let (first, end) = &mut ranges[usize::from(cue[0])];
            *first = if *end == 0 { place as u8 } else { *first };
            *end = place as u8 + 1;
        }
        Self { cues, ranges }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cues::{CAUSE, CONSEQUENCE, DECISION, PASSIVE_REPORT, TEST_RESULT};
    use super::{CueKinds, TABLE};

    #[test]
    fn every_cue_is_found_wherever_it_stands() {
        assert!(TABLE.cues.len() < usize::from(u8::MAX), "a place in the table is a byte");
        for (cues, kind) in [
            (&DECISION[..], CueKinds::DECISION),
            (&CAUSE, CueKinds::CAUSE),
            (&CONSEQUENCE, CueKinds::CONSEQUENCE),
            (&PASSIVE_REPORT, CueKinds::REPORT),
            (&TEST_RESULT, CueKinds::REPORT),
        ] {
            for cue in cues {
                for sentence in [(*cue).to_owned(), format!("x{cue}x"), format!("wé {cue}")] {
                    assert!(CueKinds::in_sentence(&sentence).has(kind), "{sentence:?}");
                }
                let cut = &cue[..cue.floor_char_boundary(cue.len() - 1)];
                let is_other = cues.iter().any(|other| cut.contains(other));
                assert!(is_other || !CueKinds::in_sentence(cut).has(kind), "{cut:?}");
            }
        }
        assert_eq!(CueKinds::in_sentence("the importer holds the lock"), CueKinds::default());
        assert_eq!(CueKinds::in_sentence(""), CueKinds::default());
    }
}
