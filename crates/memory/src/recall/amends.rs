//! Whether a text states a decision, or changes one.

use std::sync::LazyLock;

use super::beginnings::{Beginnings, two_bytes};

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
    let lower = beginning_in_lower_case(text);
    DECIDES_CUES.are_in(&lower) || SAYS_SO_CUES.are_in(&lower)
}

/// Returns whether a text says that an earlier decision no longer holds.
///
/// This is a hint, not a proof: it only decides which of two passages about the same subject comes first.
pub fn amends(text: &str) -> bool {
    SAYS_SO_CUES.are_in(&beginning_in_lower_case(text))
}

fn beginning_in_lower_case(text: &str) -> String {
    text[..text.floor_char_boundary(LOOKED_AT)].to_lowercase()
}

static DECIDES_CUES: LazyLock<Cues> = LazyLock::new(|| Cues::new(&DECIDES));
static SAYS_SO_CUES: LazyLock<Cues> = LazyLock::new(|| Cues::new(&SAYS_SO));

/// Texts that are looked for all at once: every passage that is ranked is asked for them.
struct Cues {
    /// The texts, ordered by their beginnings.
    texts: Vec<&'static [u8]>,
    /// The first two bytes of each.
    beginnings: Beginnings,
}

impl Cues {
    fn new(texts: &[&'static str]) -> Self {
        let mut texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        texts.sort_unstable();
        let mut beginnings = Beginnings::default();
        texts.iter().for_each(|text| beginnings.insert(two_bytes(text)));
        Self { texts, beginnings }
    }

    /// Returns whether a text has one of them at the beginning of a word. Scripts without spaces have it anywhere.
    fn are_in(&self, lower: &str) -> bool {
        let bytes = lower.as_bytes();
        let mut before = b' ';
        for (at, byte) in bytes[..bytes.len().saturating_sub(1)].iter().enumerate() {
            if !(before.is_ascii_alphanumeric() && byte.is_ascii()) && self.is_one_at(&bytes[at..]) {
                return true;
            }
            before = *byte;
        }
        false
    }

    fn is_one_at(&self, rest: &[u8]) -> bool {
        if !self.beginnings.contains(two_bytes(rest)) {
            return false;
        }
        let first = self.texts.partition_point(|text| text[..2] < rest[..2]);
        self.texts[first..].iter().take_while(|text| text[..2] == rest[..2]).any(|text| rest.starts_with(text))
    }
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
        assert!(!amends("this office"), "a cue is the beginning of a word");
        assert!(!amends("") && !amends("x") && !decides("The importer holds the lock for as long as it runs."));
    }
}
