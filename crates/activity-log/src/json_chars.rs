//! The size of a JSON value in characters, without parsing it into a tree.

/// Returns the size of a JSON value in characters: the length of a string's content, 0 for null, else the length of the
/// JSON text.
pub fn chars_of_json(json: &str) -> u64 {
    let json = json.trim_ascii();
    match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(body) => chars_of_string(body),
        None if json == "null" => 0,
        None => json.chars().count() as u64,
    }
}

/// Returns the length of `body`, the text between a JSON string's quotes; an escape counts as one character.
fn chars_of_string(body: &str) -> u64 {
    let mut count = body.chars().count();
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        let length = if rest[at + 1..].starts_with('u') { 6 } else { 2 };
        let Some((escape, behind)) = rest[at..].split_at_checked(length) else { break };
        // The second half of a surrogate pair belongs to the character that the first half began.
        let beyond = if is_low_surrogate(escape.as_bytes()) { length } else { length - 1 };
        count = count.saturating_sub(beyond);
        rest = behind;
    }
    count as u64
}

fn is_low_surrogate(escape: &[u8]) -> bool {
    matches!(escape, [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', _, _])
}
