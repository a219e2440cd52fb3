//! Words by which the kind of a sentence is recognised, all in lower case, and finding them in a sentence, all in one
//! pass.

use std::sync::LazyLock;

use crate::cue_table::CueTable;

/// The beginnings of sentences that state a decision.
pub(super) const DECISION_START: [&str; 27] = [
    "agreed:",
    "agreed,",
    "amended:",
    "changed:",
    "changed,",
    "concluded",
    "decided",
    "decision",
    "final decision",
    "in place:",
    "noted:",
    "noted,",
    "recorded as",
    "replaced:",
    "rule:",
    "set:",
    "settled",
    "then:",
    "updated:",
    "verdict",
    "new plan",
    "new programme",
    "programme:",
    "beschluss",
    "entscheidung",
    "geändert:",
    "umgestellt:",
];

/// Parts of sentences that state a decision.
const DECISION: [&str; 38] = [
    "we decided",
    "is decided",
    "was decided",
    "it was agreed",
    "decision ",
    "is amended",
    "from now on",
    "no longer",
    "not any more",
    "we use ",
    "we will use",
    "we keep",
    "we stay with",
    "we go with",
    "going with",
    "supersede",
    "ab jetzt",
    "beschlossen",
    "entschieden",
    "festgelegt",
    "nicht mehr",
    "wir nehmen",
    "décidé",
    "désormais",
    "retenu",
    "decidido",
    "acordado",
    "deciso",
    "besloten",
    "voortaan",
    "решен",
    "больше не",
    "决定",
    "改为",
    "改成",
    "不再",
    "決定",
    "決め",
];

/// Parts of sentences that give a cause, even in a report.
const CAUSE: [&str; 39] = [
    "because",
    "caused by",
    "the cause",
    "root cause",
    "due to",
    "the reason",
    "the problem was",
    "the bug was",
    "turns out",
    "turned out",
    "that is why",
    "that's why",
    "which is why",
    "therefore",
    "as a result",
    "which means",
    "means that",
    "weil ",
    "wegen ",
    "liegt an",
    "lag an",
    "lag daran",
    "ursache",
    "deshalb",
    "daher",
    "parce que",
    "à cause",
    "porque",
    "debido",
    "perché",
    "a causa",
    "omdat",
    "потому что",
    "из-за",
    "因为",
    "由于",
    "原因",
    "ため",
    "ので",
];

/// Parts of sentences that give a consequence or a new state; a report that contains one stays a report.
const CONSEQUENCE: [&str; 6] = [", so ", "; so ", "instead of", " is now ", " are now ", "statt "];

/// The beginnings of sentences that plan, offer or address the reader.
pub(super) const TALK_START: [&str; 58] = [
    "all set",
    "alright",
    "anything else",
    "do you",
    "feel free",
    "first, i'll",
    "first i'll",
    "good catch",
    "good idea",
    "good point",
    "great,",
    "great.",
    "great!",
    "happy to",
    "hello",
    "here are",
    "here is",
    "here's",
    "hi ",
    "hi,",
    "hi!",
    "i need to",
    "i want to",
    "i will",
    "i'll",
    "i'm going",
    "i am going",
    "if you",
    "let me",
    "let us",
    "let's",
    "next, i",
    "now i",
    "now let",
    "of course",
    "perfect,",
    "perfect.",
    "perfect!",
    "please",
    "remaining:",
    "shall i",
    "should i",
    "sure,",
    "sure.",
    "sure!",
    "tell me",
    "thank",
    "todo:",
    "want me",
    "would you",
    "you're right",
    "you are right",
    "ich werde",
    "ich schaue",
    "je vais",
    "voy a",
    "让我",
    "我来",
];

/// The beginnings of sentences about work in progress. Such a sentence is a plan unless it gives a cause.
pub(super) const DOING_START: [&str; 6] = ["checking", "looking", "reading", "running", "searching", "starting with"];

/// The beginnings of sentences that propose something. Whether it was done is stated by another sentence.
pub(super) const PROPOSAL_START: [&str; 7] =
    ["i propose", "i recommend", "i suggest", "i would", "i'd ", "options:", "two options"];

/// Whole sentences without content, without their full stop.
pub(super) const COURTESIES: [&str; 20] = [
    "done",
    "fixed",
    "finished",
    "good",
    "no",
    "ok",
    "okay",
    "pushed",
    "ready",
    "yes",
    "all done",
    "all good",
    "committed",
    "it is done",
    "it works",
    "erledigt",
    "fertig",
    "gerne",
    "完了です",
    "好的",
];

/// The subjects at the beginning of a report.
pub(super) const SUBJECTS: [&str; 22] = [
    "i have also ",
    "i've also ",
    "i have now ",
    "i've now ",
    "i also ",
    "i then ",
    "i now ",
    "i have ",
    "i've ",
    "i ",
    "we have ",
    "we've ",
    "we ",
    "also ",
    "and ",
    "both ",
    "now ",
    "then ",
    "done: ",
    "done. ",
    "fixed: ",
    "successfully ",
];

/// The first verb of a report.
pub(super) const REPORT_VERBS: [&str; 63] = [
    "added",
    "adjusted",
    "amended",
    "applied",
    "bumped",
    "changed",
    "checked",
    "cleaned",
    "closed",
    "committed",
    "completed",
    "converted",
    "copied",
    "created",
    "deleted",
    "deployed",
    "documented",
    "done",
    "dropped",
    "edited",
    "exposed",
    "extended",
    "extracted",
    "filed",
    "fixed",
    "formatted",
    "implemented",
    "imported",
    "installed",
    "introduced",
    "made",
    "marked",
    "merged",
    "migrated",
    "moved",
    "noted",
    "opened",
    "ported",
    "pushed",
    "put",
    "ran",
    "rebased",
    "refactored",
    "regenerated",
    "registered",
    "released",
    "removed",
    "renamed",
    "replaced",
    "reran",
    "rewrote",
    "split",
    "switched",
    "tagged",
    "tested",
    "tidied",
    "updated",
    "verified",
    "wired",
    "wrapped",
    "wrote",
    "habe",
    "erledigt",
];

/// Parts of sentences that report an edit without naming who made it.
const PASSIVE_REPORT: [&str; 16] = [
    "has been added",
    "has been created",
    "has been removed",
    "has been renamed",
    "has been updated",
    "have been added",
    "have been created",
    "have been removed",
    "have been renamed",
    "have been updated",
    "is updated",
    "are updated",
    "ich habe",
    "hinzugefügt",
    "aktualisiert",
    "已添加",
];

/// Parts of sentences that only report that checks succeed.
const TEST_RESULT: [&str; 9] = [
    "tests pass",
    "tests still pass",
    "tests are green",
    "tests passed",
    "ci is green",
    "ci passes",
    "build is green",
    "build passes",
    "clippy is clean",
];

/// The ends of reports, without the full stop, in languages whose verb comes last.
pub(super) const REPORT_END: [&str; 6] =
    ["追加しました", "ようにしました", "変更しました", "修正しました", "更新しました", "已更新"];

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
    use super::{CAUSE, CONSEQUENCE, CueKinds, DECISION, PASSIVE_REPORT, TEST_RESULT};

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
