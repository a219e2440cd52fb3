//! Finds the cues in a sentence, all in one pass.

use std::sync::LazyLock;

use super::cues::{CAUSE, CONSEQUENCE, DECISION, PASSIVE_REPORT, TEST_RESULT};
use crate::cue_table::CueTable;

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
        let (table, bytes) = (&*TABLE, lower.as_bytes());
        let kinds = (0..bytes.len()).flat_map(|at| table.at(bytes, at));
        Self(kinds.fold(0, |found, kind| found | kind.0))
    }
}

static TABLE: LazyLock<CueTable<CueKinds>> = LazyLock::new(|| {
    let kinds: [(&[&'static str], CueKinds); 5] = [
        (&DECISION, CueKinds::DECISION),
        (&CAUSE, CueKinds::CAUSE),
        (&CONSEQUENCE, CueKinds::CONSEQUENCE),
        (&PASSIVE_REPORT, CueKinds::REPORT),
        (&TEST_RESULT, CueKinds::REPORT),
    ];
    CueTable::new(kinds.into_iter().flat_map(|(cues, kind)| cues.iter().map(move |cue| (*cue, kind))))
});

#[cfg(test)]
mod tests {
    use super::super::cues::{CAUSE, CONSEQUENCE, DECISION, PASSIVE_REPORT, TEST_RESULT};
    use super::CueKinds;

    #[test]
    fn every_cue_is_found_wherever_it_stands() {
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
