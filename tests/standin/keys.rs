//! Bytes from the terminal in, keys out.

/// What a person, or a program that types for one, can do at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// A printable character.
    Char(char),
    /// Text between the marks of a bracketed paste, line ends as `\n`, otherwise untouched.
    Paste(String),
    /// `\r`.
    Enter,
    /// `\n`, which Ctrl-J sends: a line break in the draft, never a submit.
    NewLine,
    /// 0x7f.
    Backspace,
    /// Escape, alone.
    Esc,
    /// A control character, named by its letter.
    Ctrl(char),
    /// The terminal's answer to "where is the cursor": it has drawn everything up to the question.
    CursorReport,
}

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Cuts the byte stream into keys, whatever the borders of the reads.
#[derive(Default)]
pub(crate) struct Parser {
    pending: Vec<u8>,
}

impl Parser {
    /// Returns the keys completed by `bytes`.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((used, key)) = next(&self.pending) {
            self.pending.drain(..used);
            keys.extend(key);
        }
        keys
    }

    /// Says whether bytes are held that may be an Escape key or the beginning of something longer.
    pub(crate) fn is_waiting(&self) -> bool {
        self.pending.first() == Some(&0x1b) && !self.pending.starts_with(PASTE_BEGIN)
    }

    /// Returns the Escape key if that is what the held bytes were: nothing followed in time.
    pub(crate) fn flush(&mut self) -> Vec<Key> {
        if !self.is_waiting() {
            return Vec::new();
        }
        let rest = self.pending.split_off(1);
        self.pending.clear();
        let mut keys = vec![Key::Esc];
        keys.extend(self.feed(&rest));
        keys
    }
}

/// Returns how many bytes the first key takes and the key, if it is one we know; `None` while it is incomplete.
fn next(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    match *bytes.first()? {
        0x1b => escape(bytes),
        b'\r' => Some((1, Some(Key::Enter))),
        b'\n' => Some((1, Some(Key::NewLine))),
        0x7f | 0x08 => Some((1, Some(Key::Backspace))),
        control @ 0x01..=0x1f => Some((1, Some(Key::Ctrl(char::from(control | 0x60))))),
        0x00 => Some((1, None)),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let length = match bytes[0] {
        0x00..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => return Some((1, None)),
    };
    let text = bytes.get(..length)?;
    match std::str::from_utf8(text) {
        Ok(text) => Some((length, text.chars().next().map(Key::Char))),
        Err(_) => Some((1, None)),
    }
}

fn escape(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    if bytes.starts_with(PASTE_BEGIN) {
        let text = &bytes[PASTE_BEGIN.len()..];
        let end = text.windows(PASTE_END.len()).position(|window| window == PASTE_END)?;
        let pasted = String::from_utf8_lossy(&text[..end]).replace("\r\n", "\n").replace('\r', "\n");
        return Some((PASTE_BEGIN.len() + end + PASTE_END.len(), Some(Key::Paste(pasted))));
    }
    match *bytes.get(1)? {
        b'[' => {
            let last = 2 + bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            let report = bytes[last] == b'R' && bytes[2..last].contains(&b';');
            Some((last + 1, report.then_some(Key::CursorReport)))
        }
        b'O' => bytes.get(2).map(|_| (3, None)),
        0x1b => Some((1, Some(Key::Esc))),
        // Alt with another key: nothing here is bound to it.
        _ => Some((2, None)),
    }
}
