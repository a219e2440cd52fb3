//! Characters that a model reads and a user does not see.

use std::borrow::Cow;

/// Returns whether a character is not shown: one of Unicode's property `Default_Ignorable_Code_Point`, such as joiners,
/// direction marks, variation selectors, fillers and tag characters, or a mark of an annotation between lines.
///
/// Letters may be spelled with tag characters, and bytes with variation selectors, so text can be hidden in them.
pub fn is_invisible(c: char) -> bool {
    // There is none before the soft hyphen, so most text takes one comparison for each character.
    c >= '\u{ad}'
        && matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns `text` without invisible characters, except those that the characters beside them need: a joiner between
/// letters or emoji of a script that joins, and the selector after a character that is shown as an emoji or as text.
///
/// At most one is kept in each place, so that no text can be hidden in a row of them.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if !is_invisible(c) || is_needed(before, c, chars.peek().copied()) {
            shown.push(c);
            before = Some(c);
        }
    }
    Cow::Owned(shown)
}

/// Returns whether the characters beside an invisible one look different without it.
fn is_needed(before: Option<char>, c: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    let joins = |c: char| !c.is_ascii() && !c.is_whitespace() && !c.is_control();
    match c {
        // After a joiner or before another invisible character, it would be the second in its place.
        '\u{200c}' | '\u{200d}' => {
            let follows = joins(before) && !matches!(before, '\u{200c}' | '\u{200d}');
            follows && after.is_some_and(|after| joins(after) && !is_invisible(after))
        }
        '\u{fe0e}' | '\u{fe0f}' if matches!(before, '#' | '*' | '0'..='9') => after == Some('\u{20e3}'),
        '\u{fe0e}' | '\u{fe0f}' => is_emoji(before),
        _ => false,
    }
}

/// Returns whether a character is in a block whose characters may be shown as emoji.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
        || matches!(c, '\u{1f000}'..='\u{1faff}')
}
