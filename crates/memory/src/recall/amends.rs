//! Whether a text states a decision, or changes one.

use std::sync::LazyLock;

use crate::cue_table::CueTable;
use crate::terms::is_without_spaces;

/// Words and beginnings of words that say so, in lower case, in the languages of [`crate::Language`] and some others.
const SAYS_SO: [&str; 63] = [
    "abolished",
    "abweichend",
    "amend",
    "anstatt",
    "anymore",
    "any more",
    "aufgehoben",
    "cambiad",
    "cambiat",
    "change of plan",
    "changed",
    "changement",
    "discard",
    "doch lieber",
    "dropped",
    "ersetzt",
    "from now on",
    "geändert",
    "gewijzigd",
    "instead of",
    "is gone",
    "is off",
    "moved to",
    "new date",
    "new plan",
    "new programme",
    "nicht mehr",
    "no longer",
    "not any more",
    "now on",
    "now per",
    "nur noch",
    "obsolete",
    "on second thought",
    "overrule",
    "planänderung",
    "postponed",
    "regret",
    "remplac",
    "replaced",
    "replaces",
    "rescheduled",
    "revers",
    "revise",
    "revisit",
    "rewritten",
    "scrap",
    "sostituit",
    "statt",
    "supersede",
    "switch",
    "umgestellt",
    "updated",
    "verschoben",
    "we move to",
    "изменен",
    "заменен",
    "不再",
    "取消",
    "变更",
    "変更",
    "改为",
    "改成",
];

/// Maximum number of bytes of a text that are read.
const LOOKED_AT: usize = 4_096;

/// Words and beginnings of words that state a decision.
const DECIDES: [&str; 26] = [
    "agreed",
    "concluded",
    "decided",
    "decision",
    "noted:",
    "recorded as",
    "settled",
    "set:",
    "we will use",
    "we use",
    "we go with",
    "beschlossen",
    "entschieden",
    "festgelegt",
    "wir nehmen",
    "décidé",
    "retenu",
    "decidido",
    "acordado",
    "deciso",
    "besloten",
    "решен",
    "决定",
    "決定",
    "決め",
    "採用",
];

/// Returns whether a text states a decision.
pub fn decides(text: &str) -> bool {
    any_in(text, |_| true)
}

/// Returns whether a text says that an earlier decision no longer holds.
///
/// This is a hint, not a proof: it only decides which of two passages about the same subject comes first.
pub fn amends(text: &str) -> bool {
    any_in(text, |cue| cue == Cue::Amends)
}

/// What a cue says of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cue {
    Decides,
    /// Something was decided anew.
    Amends,
}

static CUES: LazyLock<CueTable<Cue>> = LazyLock::new(|| {
    let amending = SAYS_SO.into_iter().map(|text| (text, Cue::Amends));
    CueTable::new(amending.chain(DECIDES.into_iter().map(|text| (text, Cue::Decides))))
});

/// Whether a byte is an ASCII letter or digit, in a table: every byte of every passage that is ranked is looked up.
static IS_LETTER: [bool; 256] = {
    let mut is_letter = [false; 256];
    let mut byte: u8 = 0;
    while byte.is_ascii() {
        is_letter[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    is_letter
};

/// Returns whether a word can begin at a position. In scripts without spaces, it can anywhere.
fn begins_word(text: &str, at: usize) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() && !is_without_spaces(c);
    let (before, after) = (text[..at].chars().next_back(), text[at..].chars().next());
    !(before.is_some_and(is_letter) && after.is_some_and(is_letter))
}

/// Returns whether the beginning of a text has a cue that is wanted, at the beginning of a word. Scripts without spaces
/// have it anywhere.
fn any_in(text: &str, is_wanted: impl Fn(Cue) -> bool) -> bool {
    let lower = text[..text.floor_char_boundary(LOOKED_AT)].to_lowercase();
    let (cues, bytes) = (&*CUES, lower.as_bytes());
    let mut is_after_letter = false;
    for (at, byte) in bytes.iter().enumerate() {
        let is_letter = IS_LETTER[usize::from(*byte)];
        if !(is_after_letter && is_letter) && cues.at(bytes, at).any(&is_wanted) && begins_word(&lower, at) {
            return true;
        }
        is_after_letter = is_letter;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{DECIDES, SAYS_SO, amends, decides};

    #[test]
    fn every_cue_is_found_wherever_it_stands() {
        for (cues, is_in) in [(&SAYS_SO[..], amends as fn(&str) -> bool), (&DECIDES[..], decides)] {
            for cue in cues {
                assert!(is_in(cue) && is_in(&format!("so: {} it", cue.to_uppercase())), "{cue}");
            }
        }
        assert!(amends("对API不再使用") && amends("Redis取消") && decides("v2决定") && !decides("v2decided"));
        assert!(decides("решено") && !decides("разрешение") && !amends("неизменен") && !decides("éset: x"));
        assert!(!amends("this office"), "a cue is the beginning of a word");
        assert!(!amends("") && !amends("x") && !decides("The importer holds the lock for as long as it runs."));
    }
}
