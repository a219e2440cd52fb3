//! How large a piece of output is, without building it into a tree.

/// Returns the size of a JSON value in characters: a string's length, 0 for null, else the length of its JSON.
pub fn chars_of_json(json: &str) -> u64 {
    let json = json.trim_ascii();
    match json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(body) => chars_of_string(body.as_bytes()),
        None if json == "null" => 0,
        None => chars(json.as_bytes()),
    }
}

fn chars(text: &[u8]) -> u64 {
    text.iter().filter(|byte| is_first(**byte)).count() as u64
}

/// Whether a byte begins a character in UTF-8.
fn is_first(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

/// Counts what stands between a JSON string's quotes, an escape as the one character that it means.
fn chars_of_string(body: &[u8]) -> u64 {
    if !body.contains(&b'\\') {
        return chars(body);
    }
    let mut count = 0;
    let mut at = 0;
    while let Some(byte) = body.get(at) {
        at += match (byte, body.get(at + 1)) {
            (b'\\', Some(b'u')) => 6,
            (b'\\', _) => 2,
            _ => 1,
        };
        // The second half of a surrogate pair belongs to the character that its first half began.
        let second_half = *byte == b'\\' && is_low_surrogate(body.get(at.saturating_sub(6)..at).unwrap_or_default());
        count += u64::from(is_first(*byte) && !second_half);
    }
    count
}

fn is_low_surrogate(escape: &[u8]) -> bool {
    matches!(escape, [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', _, _])
}
