//! JSON with comments, which Gemini CLI and Qwen Code accept in their settings.
//!
//! Each comment is replaced by white space that encodes its number. The text is then JSON, and can be edited as such.
//! Afterwards the comments are put back.

/// What stands before and after the number of a comment. It is in no text that is changed.
const MARK: &str = "\r\r";

/// The number of characters of an encoded number.
const DIGITS: usize = 16;

/// A text whose comments are encoded.
#[derive(Debug)]
pub(crate) struct Commented<'a> {
    /// The text as JSON.
    pub(crate) json: String,
    comments: Vec<&'a str>,
}

impl<'a> Commented<'a> {
    /// Encodes the comments of a text; `None` if it has none, or cannot be encoded. Whether the rest is JSON is not checked.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        // White space in which a mark could not be recognised.
        if text.replace("\r\n", "").contains('\r') {
            return None;
        }
        let (mut json, mut comments) = (String::with_capacity(text.len()), Vec::new());
        let mut rest = text;
        while let Some(at) = rest.find(['"', '/']) {
            let (before, here) = rest.split_at(at);
            json.push_str(before);
            let (part, after) = match comment_length(here) {
                Some(length) => {
                    comments.push(&here[..length]);
                    (encoded(comments.len() - 1)?, &here[length..])
                }
                None => {
                    let (text, after) = here.split_at(string_length(here));
                    (text.to_owned(), after)
                }
            };
            json.push_str(&part);
            rest = after;
        }
        json.push_str(rest);
        (!comments.is_empty()).then_some(Self { json, comments })
    }

    /// Returns an edited text with its comments. Those that stood beside something that was removed are at its end.
    pub(crate) fn restore(&self, edited: &str) -> String {
        let mut text = String::with_capacity(edited.len());
        let mut lost: Vec<&str> = self.comments.clone();
        let mut rest = edited;
        while let Some((before, after)) = rest.split_once(MARK) {
            let (digits, after) = after.split_at_checked(DIGITS).unwrap_or((after, ""));
            text.push_str(before);
            if let Some(comment) = lost.get_mut(decoded(digits)) {
                text.push_str(std::mem::take(comment));
            }
            rest = after.strip_prefix(MARK).unwrap_or(after);
        }
        text.push_str(rest);
        for comment in lost.into_iter().filter(|comment| !comment.is_empty()) {
            let newline = if text.ends_with('\n') { "" } else { "\n" };
            text = format!("{text}{newline}{comment}\n");
        }
        text
    }
}

/// Returns the length of the comment at the start of a text; `None` if there is none.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find(['\r', '\n']).unwrap_or(text.len()));
    }
    text.strip_prefix("/*").and_then(|inside| inside.find("*/")).map(|end| end + 4)
}

/// Returns the length of the string at the start of a text, or that of one character.
fn string_length(text: &str) -> usize {
    if !text.starts_with('"') {
        return text.chars().next().map_or(0, char::len_utf8);
    }
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

fn encoded(number: usize) -> Option<String> {
    let digits = (0..DIGITS).map(|digit| if number >> digit & 1 == 0 { ' ' } else { '\t' });
    (number >> DIGITS == 0).then(|| format!("{MARK}{}{MARK}", digits.collect::<String>()))
}

fn decoded(digits: &str) -> usize {
    digits.bytes().enumerate().filter(|(_, byte)| *byte == b'\t').map(|(digit, _)| 1 << digit).sum()
}

#[cfg(test)]
mod tests;
