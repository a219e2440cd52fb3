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
    "non ",
    "arrête",
    "no, ",
    "para ",
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
    "prefer",
    "stick to",
    "stick with",
    "leave it",
    "no need to",
    "use the",
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
    "keine",
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
    "别",
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

/// Returns whether a prompt corrects the model, or sets a rule. A question does neither.
pub fn is_correction(prompt: &str) -> bool {
    let read: String = prompt.chars().take(READ_CHARS).collect();
    let lower = read.to_lowercase().replace('’', "'");
    let prose = lower.split("```").step_by(2);
    prose.flat_map(sentences).any(corrects)
}

/// Returns the sentences of a text, each with the sign that ends it.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '!', '?', '。', '！', '？'])
        .flat_map(|line| line.split_inclusive(". "))
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('>'))
}

fn corrects(sentence: &str) -> bool {
    if sentence.ends_with(['?', '？']) {
        return false;
    }
    let sentence =
        sentence.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '*' | '.' | ')' | ' '));
    STARTS.iter().any(|start| sentence.starts_with(start))
        || WIDE.iter().any(|word| sentence.contains(word))
        || WORDS.iter().any(|word| has_word(sentence, word))
}

/// Returns whether a sentence has a word or some words, not as a part of other words.
fn has_word(sentence: &str, word: &str) -> bool {
    sentence.match_indices(word).any(|(at, _)| {
        let before = sentence[..at].chars().next_back();
        let after = sentence[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && (word.ends_with(' ') || !after.is_some_and(char::is_alphanumeric))
    })
}
