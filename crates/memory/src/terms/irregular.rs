//! Irregular inflections of English words, which a stemmer cannot know: `bought` is `buy`.
//!
//! Only a query is extended by them, so the index does not depend on this table.

/// Forms of the same word. Words as common as `have` are not searched for and not listed.
const GROUPS: &[&[&str]] = &[
    &["arise", "arisen", "arose"],
    &["awake", "awoke", "awoken", "woke", "woken"],
    &["beat", "beaten"],
    &["become", "became"],
    &["begin", "began", "begun"],
    &["bend", "bent"],
    &["bite", "bitten"],
    &["bleed", "bled"],
    &["blow", "blew", "blown"],
    &["break", "broke", "broken"],
    &["bring", "brought"],
    &["build", "built"],
    &["burn", "burnt"],
    &["buy", "bought"],
    &["catch", "caught"],
    &["child", "children"],
    &["choose", "chose", "chosen"],
    &["come", "came"],
    &["creep", "crept"],
    &["deal", "dealt"],
    &["dig", "dug"],
    &["draw", "drawn", "drew"],
    &["dream", "dreamt"],
    &["drink", "drank", "drunk"],
    &["drive", "driven", "drove"],
    &["eat", "ate", "eaten"],
    &["fall", "fallen", "fell"],
    &["feed", "fed"],
    &["feel", "felt"],
    &["fight", "fought"],
    &["flee", "fled"],
    &["fly", "flew", "flown", "flies"],
    &["foot", "feet"],
    &["forget", "forgot", "forgotten"],
    &["forgive", "forgave", "forgiven"],
    &["freeze", "froze", "frozen"],
    &["give", "gave", "given"],
    &["go", "gone", "went", "goes"],
    &["grow", "grew", "grown"],
    &["hang", "hung"],
    &["hear", "heard"],
    &["hide", "hid", "hidden"],
    &["hold", "held"],
    &["index", "indices"],
    &["keep", "kept"],
    &["know", "knew", "known"],
    &["lay", "laid"],
    &["lead", "led"],
    &["lean", "leant"],
    &["leap", "leapt"],
    &["learn", "learnt"],
    &["leave", "left"],
    &["lend", "lent"],
    &["life", "lives"],
    &["light", "lit"],
    &["lose", "lost"],
    &["make", "made"],
    &["man", "men"],
    &["matrix", "matrices"],
    &["mean", "meant"],
    &["meet", "met"],
    &["mouse", "mice"],
    &["overwrite", "overwritten", "overwrote"],
    &["pay", "paid"],
    &["person", "people"],
    &["rebuild", "rebuilt"],
    &["ride", "ridden", "rode"],
    &["ring", "rang", "rung"],
    &["rise", "risen", "rose"],
    &["run", "ran"],
    &["seek", "sought"],
    &["sell", "sold"],
    &["send", "sent"],
    &["shake", "shaken", "shook"],
    &["shine", "shone"],
    &["shoot", "shot"],
    &["shrink", "shrank", "shrunk"],
    &["sing", "sang", "sung"],
    &["sink", "sank", "sunk"],
    &["sit", "sat"],
    &["sleep", "slept"],
    &["slide", "slid"],
    &["speak", "spoke", "spoken"],
    &["spend", "spent"],
    &["spin", "spun"],
    &["stand", "stood"],
    &["steal", "stole", "stolen"],
    &["stick", "stuck"],
    &["sting", "stung"],
    &["strike", "struck"],
    &["swear", "swore", "sworn"],
    &["sweep", "swept"],
    &["swim", "swam", "swum"],
    &["swing", "swung"],
    &["take", "taken", "took"],
    &["teach", "taught"],
    &["tear", "tore", "torn"],
    &["throw", "threw", "thrown"],
    &["tooth", "teeth"],
    &["understand", "understood"],
    &["vertex", "vertices"],
    &["wear", "wore", "worn"],
    &["weave", "wove", "woven"],
    &["wife", "wives"],
    &["win", "won"],
    &["wind", "wound"],
    &["woman", "women"],
    &["write", "written", "wrote"],
];

/// Returns all irregular forms of a lower-case word, itself included; empty for most words.
///
/// Regular inflections count as the word: `buying` has the forms of `buy`.
pub(super) fn other_forms(word: &str) -> &'static [&'static str] {
    let begins_like = |form: &&&str| form.as_bytes().first() == word.as_bytes().first();
    let is_of = |group: &&&[&str]| group.iter().filter(begins_like).any(|form| *form == word || is_regular(form, word));
    GROUPS.iter().find(is_of).copied().unwrap_or_default()
}

/// Returns whether a word is `form` with `s` or `ing`.
fn is_regular(form: &str, word: &str) -> bool {
    if let Some(stem) = word.strip_suffix("ing") {
        // `running` doubles a letter, `taking` drops one.
        let is_doubled = stem.strip_prefix(form).is_some_and(|rest| rest.len() == 1 && form.ends_with(rest));
        return stem == form || is_doubled || form.strip_suffix('e') == Some(stem);
    }
    word.strip_suffix('s') == Some(form)
}

#[cfg(test)]
mod tests {
    use super::other_forms;

    #[test]
    fn every_form_of_a_word_finds_the_others() {
        for word in ["buy", "buys", "buying", "bought"] {
            assert_eq!(other_forms(word), ["buy", "bought"], "{word}");
        }
        assert_eq!(other_forms("running"), ["run", "ran"]);
        assert_eq!(other_forms("taking"), ["take", "taken", "took"]);
        assert_eq!(other_forms("importer"), <[&str; 0]>::default());
    }
}
