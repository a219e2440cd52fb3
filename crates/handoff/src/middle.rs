//! Text that is too long: its beginning and its end stay.

/// Returns `text` in at most `chars` characters, cut in the middle with a note of how many are missing.
///
/// Two thirds of what stays are the beginning. No character is cut, nor parted from the marks that belong to it.
pub fn cut_middle(text: &str, chars: usize) -> String {
    let total = text.chars().count();
    if total <= chars {
        return text.to_owned();
    }
    // The note's own length depends on the number in it: assume the longest.
    let note_chars = note(total).chars().count();
    let Some(room) = chars.checked_sub(note_chars) else {
        return text.chars().take(chars).collect();
    };
    let tail = room / 3;
    let head = byte_at(text, room - tail);
    let tail = byte_at(text, total - tail);
    let (head, tail) = (back_to_base(text, head), on_to_base(text, tail));
    let missing = text[head..tail].chars().count();
    format!("{}{}{}", &text[..head], note(missing), &text[tail..])
}

fn note(missing: usize) -> String {
    format!(" [… {missing} characters left out …] ")
}

fn byte_at(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// Moves a cut back until it is before no mark that joins the character before it.
fn back_to_base(text: &str, mut at: usize) -> usize {
    while at > 0 && (text[at..].chars().next().is_some_and(joins) || text[..at].ends_with('\u{200d}')) {
        at = text[..at].char_indices().next_back().map_or(0, |(before, _)| before);
    }
    at
}

/// Moves a cut on until what follows stands by itself.
fn on_to_base(text: &str, at: usize) -> usize {
    let joined = |before: char, c: char| joins(c) || before == '\u{200d}';
    let mut before = text[..at].chars().next_back().unwrap_or(' ');
    for (index, c) in text[at..].char_indices() {
        if !joined(before, c) {
            return at + index;
        }
        before = c;
    }
    text.len()
}

/// Returns whether a character changes the one before it: combining marks, joiners, variation selectors, skin tones.
fn joins(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{200d}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}
