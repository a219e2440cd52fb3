//! Whether a prompt corrects the model, or sets a rule that still holds after its turn.

/// The number of characters of a prompt that are read: what follows is usually pasted.
const READ_CHARS: usize = 600;

/// The beginnings of sentences that correct.
const STARTS: &[&str] = &[
    "no,",
    "no.",
    "no!",
    "no -",
    "no i ",
    "nope",
    "stop",
    "wrong",
    "undo",
    "revert",
    "actually,",
    "not like",
    "not what",
    "that is wrong",
    "that's wrong",
    "that is not",
    "that's not",
    "this is wrong",
    "please stop",
    "skip ",
    "nein",
    "falsch",
    "stopp",
    "hör auf",
    "non,",
    "arrête",
    "smetti",
    "não",
    "nee,",
    "нет",
    "неправильно",
    "不对",
    "違",
    "いや",
];

/// Words that forbid, demand, or replace one thing by another.
const WORDS: &[&str] = &[
    // English
    "don't",
    "do not",
    "dont",
    "never",
    "always",
    "instead",
    "must not",
    "mustn't",
    "must be",
    "should not",
    "shouldn't",
    "avoid",
    "make sure",
    "ensure",
    "from now on",
    "remember to",
    "please use",
    "only use",
    "rather than",
    "no longer",
    "not allowed",
    "i told you",
    "i said",
    "without asking",
    "before you commit",
    "keep it",
    "stick to",
    "stick with",
    "leave it",
    "no need to",
    // German
    "niemals",
    "nie wieder",
    "immer",
    "stattdessen",
    "anstatt",
    "bitte nicht",
    "nicht mehr",
    "auf keinen fall",
    "ab jetzt",
    "verwende",
    "benutze",
    "lass das",
    "achte darauf",
    // French
    "jamais",
    "toujours",
    "plutôt",
    "à la place",
    "au lieu",
    "n'utilise",
    "ne fais pas",
    "ne pas",
    "désormais",
    "évite",
    "il faut",
    // Spanish
    "nunca",
    "siempre",
    "en lugar",
    "en vez",
    "no uses",
    "no hagas",
    "deja de",
    "evita",
    "asegúrate",
    // Italian
    "mai ",
    "sempre",
    "invece",
    "non usare",
    "non fare",
    "assicurati",
    // Portuguese
    "em vez",
    "não use",
    "não faça",
    "pare de",
    "evite",
    "certifique",
    // Dutch
    "nooit",
    "altijd",
    "in plaats van",
    "niet meer",
    "gebruik ",
    // Russian
    "никогда",
    "всегда",
    "вместо",
    "не надо",
    "не используй",
    "перестань",
    "больше не",
];

/// The same in scripts that put no spaces between words.
const WIDE: &[&str] = &[
    "不要",
    "必须",
    "禁止",
    "而不是",
    "改用",
    "永远",
    "总是",
    "一定要",
    "不用",
    "しないで",
    "ないでください",
    "ではなく",
    "必ず",
    "常に",
    "やめて",
    "代わりに",
    "하지 마",
    "항상",
    "대신",
];

/// Words that take the sting out of a `no`.
const AGREES: &[&str] = &["fine", "good", "ok", "okay", "right", "problem", "worries"];

/// Returns whether a prompt corrects the model, or sets a rule. A question does neither, and neither does what was pasted.
pub fn is_correction(prompt: &str) -> bool {
    correction(prompt).is_some()
}

/// Returns a prompt from the sentence on that corrects the model or sets a rule.
pub(super) fn correction(prompt: &str) -> Option<&str> {
    let read = prompt.char_indices().nth(READ_CHARS).map_or(prompt.len(), |(at, _)| at);
    let mut in_code = false;
    for line in prompt[..read].split_inclusive('\n') {
        let start = line.trim_start();
        in_code ^= start.starts_with("```") && line.matches("```").count() % 2 == 1;
        if start.trim_start_matches('#').starts_with(' ') && start.starts_with('#') {
            // A document begins, which says itself what it is about.
            return None;
        }
        if in_code || start.starts_with(['>', '+', '|', '/']) {
            continue;
        }
        if let Some(sentence) = sentences(line).find(|sentence| corrects(sentence)) {
            // Both are parts of the same text.
            let at = sentence.as_ptr() as usize - prompt.as_ptr() as usize;
            return Some(&prompt[at..]);
        }
    }
    None
}

/// Returns the sentences of a line, each with the sign that ends it.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(['!', '?', '。', '！', '？'])
        .flat_map(|part| part.split_inclusive(". "))
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
}

fn corrects(sentence: &str) -> bool {
    if sentence.ends_with(['?', '？']) {
        return false;
    }
    let lower = sentence.to_lowercase().replace('’', "'");
    let lower = lower.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '*' | '.' | ')' | ' '));
    let begins = STARTS.iter().any(|start| {
        let rest = lower.strip_prefix(start);
        let is_whole = |rest: &str| !start.ends_with(char::is_alphabetic) || !rest.starts_with(char::is_alphabetic);
        rest.is_some_and(|rest| is_whole(rest) || start.chars().all(|c| c as u32 > 0x2e80))
    });
    let agrees = || lower.starts_with("no") && AGREES.iter().any(|word| has_word(lower, word));
    begins && !agrees()
        || WIDE.iter().any(|word| lower.contains(word))
        || WORDS.iter().any(|word| has_word(lower, word))
}

/// Returns whether a sentence has a word or some words, not as a part of other words.
fn has_word(sentence: &str, word: &str) -> bool {
    sentence.match_indices(word).any(|(at, _)| {
        let before = sentence[..at].chars().next_back();
        let after = sentence[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && (word.ends_with(' ') || !after.is_some_and(char::is_alphanumeric))
    })
}
