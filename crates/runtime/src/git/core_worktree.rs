//! Reads single settings from a configuration file of git, without starting git.

/// Returns the last value of `core.worktree` in the text of a configuration file. Included files are not read.
pub(super) fn core_worktree(text: &[u8]) -> Option<Vec<u8>> {
    values(text, b"worktree", |section| section.eq_ignore_ascii_case(b"core")).pop()
}

/// Returns the files that the text of a configuration file includes, whatever their conditions are.
pub(super) fn included_files(text: &[u8]) -> Vec<Vec<u8>> {
    values(text, b"path", |section| section.get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"include")))
}

/// Returns the values of `key` in all sections whose heads are `wanted`.
fn values(text: &[u8], key: &[u8], wanted: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut is_wanted = false;
    let mut rest = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            b'[' => {
                let (name, after) = section(after);
                is_wanted = wanted(name);
                after
            }
            b'#' | b';' => from_line_end(after),
            first if first.is_ascii_whitespace() => after,
            _ => {
                let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
                // Anything else than a name is an error for git; one byte of it is skipped.
                let (name, after) = rest.split_at(end.unwrap_or(rest.len()).max(1));
                let after = &after[after.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()..];
                match after.strip_prefix(b"=") {
                    Some(after) => {
                        let (value, after) = value(after);
                        if is_wanted && name.eq_ignore_ascii_case(key) {
                            found.push(value);
                        }
                        after
                    }
                    None => after,
                }
            }
        };
    }
    found
}

/// Returns what is between the brackets of a section's head, and the text after them.
fn section(text: &[u8]) -> (&[u8], &[u8]) {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\n' => return (&text[..at], &text[at..]),
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b']' if !is_quoted => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, &[])
}

/// Returns the value at the beginning of `text`, without quotes, escapes and comments, and the text after it.
fn value(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut value = Vec::new();
    // The length without white space at the end.
    let mut kept = 0;
    let mut is_quoted = false;
    let mut bytes = text.iter().enumerate();
    let rest = loop {
        let Some((at, byte)) = bytes.next() else { break &[][..] };
        match byte {
            b'\n' => break &text[at..],
            b'#' | b';' if !is_quoted => break from_line_end(&text[at..]),
            b'"' => is_quoted = !is_quoted,
            byte if byte.is_ascii_whitespace() && !is_quoted => {
                if kept > 0 {
                    value.push(*byte);
                }
            }
            b'\\' => {
                match bytes.next() {
                    // The value goes on in the next line.
                    None | Some((_, b'\n')) => {}
                    Some((_, b'n')) => value.push(b'\n'),
                    Some((_, b't')) => value.push(b'\t'),
                    Some((_, other)) => value.push(*other),
                }
                kept = value.len();
            }
            byte => {
                value.push(*byte);
                kept = value.len();
            }
        }
    };
    value.truncate(kept);
    (value, rest)
}

fn from_line_end(text: &[u8]) -> &[u8] {
    &text[text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len())..]
}
