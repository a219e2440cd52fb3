//! Whether a text says that something was decided, or decided anew.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// Words and beginnings of words that say so, in lower case, in the languages of [`crate::Language`] and some others.
const SAYS_SO: [&str; 62] = [
    "abolished",
    "abweichend",
    "amend",
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

/// How much of a text is looked at, in bytes.
const LOOKED_AT: usize = 4_096;

/// Words and beginnings of words that say that something was decided.
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

/// Returns whether a text says that something was decided.
pub fn decides(text: &str) -> bool {
    has_any(text, &DECIDES_FINDERS) || amends(text)
}

/// Returns whether a text says that something is not any more as it was decided before.
///
/// A hint, no proof: it decides only which of two passages about the same comes first.
pub fn amends(text: &str) -> bool {
    has_any(text, &SAYS_SO_FINDERS)
}

/// Every passage that is ranked is asked, so what can be prepared for it is prepared once.
static DECIDES_FINDERS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| DECIDES.iter().map(finder).collect());
static SAYS_SO_FINDERS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| SAYS_SO.iter().map(finder).collect());

fn finder(words: &&'static str) -> Finder<'static> {
    Finder::new(*words)
}

fn has_any(text: &str, finders: &[Finder<'_>]) -> bool {
    let text = text[..text.floor_char_boundary(LOOKED_AT)].to_lowercase();
    finders.iter().any(|finder| finder.find(text.as_bytes()).is_some())
}
