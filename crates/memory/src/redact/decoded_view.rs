//! The text as a reader would see it, with the way back to where each byte stands in the original. Sequences that
//! colour a terminal's text or move its cursor are left out, as bytes and as programs spell them.

use std::borrow::Cow;

use memchr::{memchr, memchr2_iter, memchr3};

use super::scanner;

/// Stands in the view for a character that is no ASCII and was written as an escape.
const OTHER: u8 = 0xff;

/// Text without escapes, terminal sequences, invisible characters and percent encodings.
pub(crate) struct DecodedView<'a> {
    bytes: Cow<'a, [u8]>,
    marks: Vec<Mark>,
    original: usize,
}

impl<'a> DecodedView<'a> {
    /// Decodes `text`, which may be plain text or JSON. Text that has nothing to decode is borrowed.
    pub(crate) fn of(text: &'a str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    /// Decodes text that need not be UTF-8.
    pub(crate) fn of_bytes(bytes: &'a [u8]) -> Self {
        // Positions are kept in 32 bits. What is stored is cut far below that.
        let has_hidden = has_hidden(bytes);
        if bytes.len() > u32::MAX as usize || (!has_hidden && memchr3(b'\\', b'%', b'^', bytes).is_none()) {
            return Self { bytes: Cow::Borrowed(bytes), marks: Vec::new(), original: bytes.len() };
        }
        let in_place = if has_hidden { None } else { decode_in_place(bytes) };
        let (decoded, marks) = in_place.map_or_else(|| decode(bytes), |decoded| (decoded, Vec::new()));
        Self { bytes: Cow::Owned(decoded), marks, original: bytes.len() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns where the byte at `at` of the view begins in the original.
    pub(crate) fn start(&self, at: usize) -> usize {
        if at >= self.bytes.len() {
            return self.original;
        }
        let next = self.marks.partition_point(|mark| mark.view as usize <= at);
        match next.checked_sub(1).map(|mark| &self.marks[mark]) {
            Some(mark) => mark.start as usize + at - mark.view as usize,
            None => at,
        }
    }

    /// Returns where what stands before `at` in the view ends in the original.
    pub(crate) fn end(&self, at: usize) -> usize {
        match self.marks.binary_search_by_key(&at, |mark| mark.view as usize) {
            Ok(mark) => self.marks[mark].end as usize,
            Err(_) => self.start(at),
        }
    }
}

/// A place where the view and the original do not go on side by side.
struct Mark {
    view: u32,
    /// Where what stands before it ends in the original.
    end: u32,
    /// Where what stands behind it begins; what lies between was skipped.
    start: u32,
}

/// Decodes text without hidden characters whose only escapes are line breaks, tabs and quotes, as most JSON is; `None`
/// for any other.
///
/// The character is repeated over the length of its escape, so that every position stays what it was. That is several
/// times faster than to keep positions.
fn decode_in_place(bytes: &[u8]) -> Option<Vec<u8>> {
    if memchr2_iter(b'%', b'^', bytes).any(|at| read(bytes, at).is_some()) {
        return None;
    }
    let mut decoded = bytes.to_vec();
    let mut from = 0;
    while let Some(found) = memchr(b'\\', &bytes[from..]) {
        let at = from + found;
        let slashes = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
        from = at + slashes + 1;
        let character = match bytes.get(at + slashes) {
            Some(b'n') if slashes < 3 || slashes % 2 == 0 => b'\n',
            Some(b't') => b'\t',
            Some(b'r') if slashes < 3 => b'\r',
            Some(b'"') => b'"',
            Some(b'\'') => b'\'',
            Some(b'n' | b'r' | b'b' | b'f' | b'u' | b'/' | b'\n' | b'\r') => return None,
            Some(b'x' | b'0' | b'e') if read(bytes, at).is_some() => return None,
            Some(_) | None => {
                from -= 1;
                continue;
            }
        };
        decoded[at..from].fill(character);
    }
    Some(decoded)
}

/// Returns whether there are characters that a reader does not see.
fn has_hidden(bytes: &[u8]) -> bool {
    let may_be_hidden = |byte: u8| {
        u8::from((byte < 0x20) & (byte != b'\n') & (byte != b'\t') & (byte != b'\r'))
            | u8::from((byte == 0x7f) | (byte == 0xc2) | (byte == 0xe2) | (byte == 0xef))
    };
    // Without an early end within a piece the compiler compares many bytes at once.
    let pieces = bytes.chunks(1024).enumerate();
    pieces.into_iter().any(|(number, piece)| {
        let found = piece.iter().fold(0, |found, byte| found | may_be_hidden(*byte)) != 0;
        // Most letters and signs that begin with one of these bytes are seen.
        found
            && (number * 1024..number * 1024 + piece.len()).any(|at| {
                may_be_hidden(bytes[at]) != 0 && (bytes[at] < 0x80 || invisible_length(&bytes[at..]).is_some())
            })
    })
}

fn decode(bytes: &[u8]) -> (Vec<u8>, Vec<Mark>) {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut marks: Vec<Mark> = Vec::with_capacity(bytes.len() / 16);
    let mut at = 0;
    while at < bytes.len() {
        let special = next_special(bytes, at);
        decoded.extend_from_slice(&bytes[at..special]);
        at = special;
        let Some(found) = read(bytes, at) else {
            // Backslashes that escape nothing go together: each would count those that follow it.
            let same = bytes[at..].iter().take_while(|byte| **byte == b'\\').count().max(1);
            let end = bytes.len().min(at + same);
            decoded.extend_from_slice(&bytes[at..end]);
            at = end;
            continue;
        };
        let mut end = at;
        if let Some(byte) = found.byte {
            mark(&mut marks, decoded.len(), at, at);
            decoded.push(byte);
            end = at + found.length;
        }
        at += found.length;
        mark(&mut marks, decoded.len(), end, at);
    }
    (decoded, marks)
}

fn mark(marks: &mut Vec<Mark>, view: usize, end: usize, start: usize) {
    let mark = Mark { view: view as u32, end: end as u32, start: start as u32 };
    match marks.last_mut() {
        // Nothing of the view lies between the two.
        Some(last) if last.view == mark.view => last.start = mark.start,
        _ => marks.push(mark),
    }
}

/// What stands for one byte of the view, or for none.
struct Decoded {
    byte: Option<u8>,
    length: usize,
}

impl Decoded {
    fn byte(byte: u8, length: usize) -> Self {
        Self { byte: Some(byte), length }
    }

    fn nothing(length: usize) -> Self {
        Self { byte: None, length }
    }
}

/// Returns the next position whose byte may begin something that is decoded, or the end.
fn next_special(bytes: &[u8], from: usize) -> usize {
    const SPECIAL: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 0x20 {
            table[byte] = byte != b'\n' as usize && byte != b'\t' as usize && byte != b'\r' as usize;
            byte += 1;
        }
        table[b'\\' as usize] = true;
        table[b'%' as usize] = true;
        table[b'^' as usize] = true;
        table[0x7f] = true;
        table[0xc2] = true;
        table[0xe2] = true;
        table[0xef] = true;
        table
    };
    bytes[from..].iter().position(|byte| SPECIAL[usize::from(*byte)]).map_or(bytes.len(), |at| from + at)
}

/// Decodes what stands at `at`; `None` where the byte there means itself.
fn read(bytes: &[u8], at: usize) -> Option<Decoded> {
    let rest = bytes.get(at..)?;
    match rest.first()? {
        b'\\' => read_escape(rest),
        b'%' => read_percent(rest),
        b'^' => spelled_sequence_length(rest).map(Decoded::nothing),
        0x1b => Some(Decoded::nothing(1 + sequence_length(&rest[1..], b"\\"))),
        0xc2 if rest.get(1) == Some(&0x9b) => Some(Decoded::nothing(2 + control_sequence_length(&rest[2..]))),
        0..0x20 | 0x7f => Some(Decoded::nothing(1)),
        _ => invisible_length(rest).map(Decoded::nothing),
    }
}

/// Decodes `%5F`, however often its percent sign was encoded in turn.
fn read_percent(rest: &[u8]) -> Option<Decoded> {
    let printable = |at: usize| hex(rest.get(at..at + 2)?).filter(|code| (0x20..0x7f).contains(code));
    let mut at = 1;
    let mut code = printable(at)?;
    while code == u32::from(b'%')
        && let Some(encoded) = printable(at + 2)
    {
        (at, code) = (at + 2, encoded);
    }
    Some(Decoded::byte(code as u8, at + 2))
}

/// Decodes backslashes and what follows them.
///
/// JSON inside JSON doubles its backslashes, so any number of them may stand before the letter of an escape.
fn read_escape(rest: &[u8]) -> Option<Decoded> {
    let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
    let length = slashes + 1;
    // An escaped backslash before an escaped line break continues the line.
    let continues = slashes >= 3 && slashes % 2 == 1;
    Some(match rest.get(slashes)? {
        b'n' if continues => Decoded::nothing(length),
        b'r' if continues && rest[length..].starts_with(b"\\n") => Decoded::nothing(length + 2),
        b'n' => Decoded::byte(b'\n', length),
        b'r' => Decoded::byte(b'\r', length),
        b't' => Decoded::byte(b'\t', length),
        b'b' | b'f' => Decoded::nothing(length),
        sign @ (b'"' | b'\'' | b'/') => Decoded::byte(*sign, length),
        b'\n' => Decoded::nothing(length),
        b'\r' if rest.get(length) == Some(&b'\n') => Decoded::nothing(length + 1),
        b'u' => return read_unicode(rest, slashes),
        b'x' | b'0' | b'e' => {
            return spelled_sequence_length(&rest[slashes - 1..]).map(|length| Decoded::nothing(slashes - 1 + length));
        }
        _ => return None,
    })
}

fn read_unicode(rest: &[u8], slashes: usize) -> Option<Decoded> {
    let length = slashes + 5;
    let code = hex(rest.get(slashes + 1..length)?)?;
    Some(match code {
        0x1b => Decoded::nothing(length + sequence_length(&rest[length..], b"\\\\")),
        0x9b => Decoded::nothing(length + control_sequence_length(&rest[length..])),
        0x0a | 0x0d | 0x09 | 0x20..0x7f => Decoded::byte(code as u8, length),
        0..0x20
        | 0x7f..0xa0
        | 0xad
        | 0x200b..=0x200f
        | 0x202a..=0x202e
        | 0x2060..=0x2069
        | 0xfe00..=0xfe0f
        | 0xfeff => Decoded::nothing(length),
        _ => Decoded::byte(OTHER, length),
    })
}

/// Returns the length of a character that is not seen: soft hyphen, zero width, direction, byte order, style.
fn invisible_length(rest: &[u8]) -> Option<usize> {
    match rest {
        [0xc2, 0x80..=0x9f | 0xad, ..] => Some(2),
        [0xe2, 0x80, 0x8b..=0x8f | 0xaa..=0xae, ..]
        | [0xe2, 0x81, 0xa0..=0xa9, ..]
        | [0xef, 0xbb, 0xbf, ..]
        | [0xef, 0xb8, 0x80..=0x8f, ..] => Some(3),
        _ => None,
    }
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?))
}

/// A longer title of a terminal, or address of a link, is text like any other.
const LONGEST_TITLE: usize = 2_048;

/// How much of a text after a sequence is looked at for a secret, in bytes.
const LOOKED_AT: usize = 512;

/// How programs spell the escape character: `cat -v`, and strings of Python, C and the shell.
const SPELLINGS: [&[u8]; 6] = [b"^[", b"\\x1b", b"\\x1B", b"\\033", b"\\e", b"\\0033"];

/// Returns the length of a terminal sequence without its escape character; a quote ends it in any case.
///
/// `backslash` is how a backslash is written: an escape character and a backslash end a title.
fn sequence_length(rest: &[u8], backslash: &[u8]) -> usize {
    match rest.first() {
        Some(b'[') => 1 + control_sequence_length(&rest[1..]),
        Some(b']') => {
            let ends = |byte: &u8| matches!(byte, 0x07 | 0x1b | b'\n' | b'"' | b'\\');
            let title = rest.iter().take(LONGEST_TITLE).position(ends).unwrap_or_default();
            // A title or a link is stored as well, and may hold a secret itself.
            if scanner::scan(&rest[..title]).is_empty() { title } else { 0 }
        }
        Some(b'(' | b')') => {
            let has_charset = rest.get(1).is_some_and(u8::is_ascii_alphanumeric);
            let has_charset = has_charset && secret_around(&rest[1..], 0).is_none();
            1 + usize::from(has_charset)
        }
        Some(b'\\') if rest.starts_with(backslash) => backslash.len(),
        _ => 0,
    }
}

/// Returns the length of the parameters and the last letter of a control sequence.
fn control_sequence_length(rest: &[u8]) -> usize {
    let is_parameter = |byte: &u8| (0x20..0x40).contains(byte) && *byte != b'"';
    let parameters = rest.iter().take_while(|byte| is_parameter(byte)).count();
    let last = rest.get(parameters).copied().unwrap_or_default();
    // Without parameters only what programs really print is a sequence: a word may follow a stray escape.
    let is_last = if parameters == 0 { b"mKHJ".contains(&last) } else { (0x40..0x7f).contains(&last) };
    if !is_last || last == b'\\' {
        return parameters;
    }
    match secret_around(rest, parameters) {
        Some(start) => start,
        None => parameters + 1,
    }
}

/// Returns where the secret begins that the byte at `at` belongs to, which is then no part of a sequence.
///
/// Colours are not looked at: there may be thousands of them.
fn secret_around(rest: &[u8], at: usize) -> Option<usize> {
    if matches!(rest.get(at), None | Some(b'm' | b'K')) {
        return None;
    }
    let end = rest.len().min(at + LOOKED_AT);
    // A letter before it, as the last one of the parameters would be, hides the beginning of a secret.
    if scanner::scan(&rest[at..end]).first().is_some_and(|secret| secret.start == 0) {
        return Some(at);
    }
    let found = scanner::scan(&rest[..end]);
    found.into_iter().find(|secret| (secret.start..secret.end).contains(&at)).map(|secret| secret.start)
}

/// Returns the length of a colour that is spelled out, as `^[[01;31m` or `\x1b[K`.
///
/// Only what colours text or clears a line counts: `^[[:alpha:]]` is a pattern.
fn spelled_sequence_length(rest: &[u8]) -> Option<usize> {
    let spelling = SPELLINGS.iter().find(|spelling| rest.starts_with(spelling))?;
    let sequence = rest[spelling.len()..].strip_prefix(b"[")?;
    let parameters = sequence.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    let is_colour = matches!(sequence.get(parameters), Some(b'm' | b'K'));
    is_colour.then_some(spelling.len() + 1 + parameters + 1)
}

#[cfg(test)]
mod tests {
    use super::DecodedView;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(String::from_utf8_lossy(DecodedView::of(text).bytes()), expected, "{text:?}");
    }

    #[test]
    fn escapes_are_what_they_stand_for() {
        for (escape, expected) in [
            ("\\n", "\n"),
            ("\\t", "\t"),
            ("\\r", "\r"),
            ("\\b", ""),
            ("\\f", ""),
            ("\\/", "/"),
            ("\\\"", "\""),
            ("\\'", "'"),
            ("\\q", "\\q"),
            ("\\\\n", "\n"),
            ("\\\\\\n", ""),
            ("\\\\\\\\n", "\n"),
            ("\\\\\\r\\n", ""),
            ("\\\n", ""),
            ("\\\r\n", ""),
            ("\\\r", "\\\r"),
        ] {
            // The first one keeps the text from being decoded in place.
            check(&format!("\\u0041{escape}z"), &format!("A{expected}z"));
        }
        for (text, expected) in [("a\\nz", "a\n\nz"), ("a\\\\tz", "a\t\t\tz"), ("a\\\"z", "a\"\"z"), ("a\\qz", "a\\qz")]
        {
            check(text, expected);
        }
    }

    #[test]
    fn invisible_characters_are_left_out() {
        for code in
            [0x00, 0x1f, 0x7f, 0x9f, 0xad, 0x200b, 0x200f, 0x202a, 0x202e, 0x2060, 0x2069, 0xfe00, 0xfe0f, 0xfeff]
        {
            check(&format!("a\\u{code:04x}z"), "az");
            check(&format!("a{}z", char::from_u32(code).unwrap()), "az");
        }
        for code in [0xa0, 0xac, 0xae, 0x200a, 0x2010, 0x2029, 0x202f, 0x205f, 0x206a, 0xfdff, 0xfe10, 0xfefe] {
            check(&format!("a\\u{code:04x}z"), "a\u{fffd}z");
            let shown = format!("a{}z", char::from_u32(code).unwrap());
            check(&shown, &shown);
        }
        for (escape, expected) in [("000a", "\n"), ("000d", "\r"), ("0009", "\t"), ("0020", " "), ("007e", "~")] {
            check(&format!("\\u{escape}z"), &format!("{expected}z"));
        }
        for same in ["\\u00zz", "\\u00", "a\tb\r\nc"] {
            check(same, same);
        }
    }

    #[test]
    fn percent_signs_encode_printable_characters() {
        for (text, expected) in [("%41z", "Az"), ("%2541z", "Az"), ("%25z", "%z"), ("%20z", " z"), ("%7ez", "~z")] {
            check(text, expected);
        }
        for same in ["%1fz", "%7fz", "%4", "%zz", "%"] {
            check(same, same);
        }
    }

    #[test]
    fn every_place_is_known_in_the_original() {
        let view = DecodedView::of("a\\u0041\u{200b}b");
        assert_eq!(view.bytes(), b"aAb");
        assert_eq!([0, 1, 2, 3].map(|at| view.start(at)), [0, 1, 10, 11]);
        assert_eq!([1, 2, 3].map(|at| view.end(at)), [1, 7, 11]);
    }
}
