//! Secrets by their shape: keys of well-known services, private key blocks, signed tokens.

use std::borrow::Cow;

use crate::key_block;

/// What stands for a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Returns `text` with every well-known shape of a secret replaced by `[redacted]`.
///
/// Plain text and JSON text alike: what is replaced never holds a quote that ends a string, nor half an escape, so
/// valid JSON stays valid. A private key block that is not closed hides the rest. One pass, linear in the text.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(anchor) = next_anchor(text.as_bytes(), at) {
        let secret = secret_at(text, anchor).filter(|secret| secret.start >= copied);
        match secret {
            Some(Secret { start, end, shape }) => {
                kept.push_str(&text[copied..start]);
                match shape {
                    Shape::Run => kept.push_str(REDACTED),
                    Shape::KeyBlock => key_block::hide(&text[start..end], &mut kept),
                }
                (copied, at) = (end, end);
            }
            None => at = anchor + 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

struct Secret {
    start: usize,
    end: usize,
    shape: Shape,
}

enum Shape {
    /// Characters without quotes, spaces and escapes.
    Run,
    /// A private key, which may reach over the strings of a document.
    KeyBlock,
}

/// Returns the next byte that every shape has one of, and other text has few of.
fn next_anchor(bytes: &[u8], from: usize) -> Option<usize> {
    const ANCHORS: [bool; 256] = {
        let mut table = [false; 256];
        let signs = b"-_/IJK";
        let mut at = 0;
        while at < signs.len() {
            table[signs[at] as usize] = true;
            at += 1;
        }
        table
    };
    let at = bytes.get(from..)?.iter().position(|byte| ANCHORS[usize::from(*byte)])?;
    Some(from + at)
}

/// Returns the secret that the anchor at `at` belongs to.
fn secret_at(text: &str, at: usize) -> Option<Secret> {
    let run = match text.as_bytes()[at] {
        b'-' => {
            if let Some(end) = key_block::end(text, at) {
                return Some(Secret { start: at, end, shape: Shape::KeyBlock });
            }
            dashed_key(text, at)
        }
        b'_' => github_token(text, at).or_else(|| aws_secret(text, at, "aws", "_secret_access_key")),
        b'I' => aws_id(text, at),
        b'J' => signed_token(text, at),
        b'K' => aws_secret(text, at, "ecretaccess", "key"),
        _ => slack_hook(text, at),
    };
    run.map(|(start, end)| Secret { start, end, shape: Shape::Run })
}

type Run = (usize, usize);

/// `sk-…` of Anthropic and OpenAI, `xoxb-…` and `xapp-…` of Slack; `at` is the dash.
fn dashed_key(text: &str, at: usize) -> Option<Run> {
    let head = &text.as_bytes()[..at];
    let rest = &text.as_bytes()[at + 1..];
    let (name, length) = if head.ends_with(b"sk") {
        let named =
            [&b"ant-"[..], b"proj-", b"svcacct-", b"admin-", b"or-v1-"].iter().any(|name| rest.starts_with(name));
        // Without a name only an unbroken run is a key: `sk-some-css-class` is none.
        let is_key = if named { run(rest, is_token) >= 16 } else { run(rest, is_alphanumeric) >= 20 };
        (2, is_key.then(|| run(rest, is_token))?)
    } else if head.ends_with(b"xapp") {
        (4, Some(run(rest, is_dashed)).filter(|run| *run >= 10 && rest[0].is_ascii_digit())?)
    } else {
        let kind = head.last().filter(|kind| b"abeoprs".contains(kind) && head[..at - 1].ends_with(b"xox"));
        kind?;
        (4, Some(run(rest, is_dashed)).filter(|run| *run >= 10)?)
    };
    begins_word(head, at - name).then_some((at - name, at + 1 + length))
}

/// `ghp_…` and its sisters, and `github_pat_…`; `at` is the first underscore.
fn github_token(text: &str, at: usize) -> Option<Run> {
    let head = &text.as_bytes()[..at];
    let rest = &text.as_bytes()[at + 1..];
    let name = match head {
        [.., b'g', b'h', b'p' | b'o' | b'u' | b's' | b'r'] => 3,
        [.., b'g', b'i', b't', b'h', b'u', b'b'] if rest.starts_with(b"pat_") => 6,
        _ => return None,
    };
    let length = run(rest, |byte| is_alphanumeric(byte) || byte == b'_');
    (length >= 20 && begins_word(head, at - name)).then_some((at - name, at + 1 + length))
}

/// `AKIA…` and `ASIA…`; `at` is the I.
fn aws_id(text: &str, at: usize) -> Option<Run> {
    let bytes = text.as_bytes();
    let start = at.checked_sub(2).filter(|start| matches!(&bytes[*start..at], b"AK" | b"AS"))?;
    let end = start + 20;
    let is_id = bytes.get(at + 1) == Some(&b'A')
        && run(bytes.get(start..end)?, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) == 20
        && !bytes.get(end).is_some_and(|byte| is_alphanumeric(*byte));
    (is_id && begins_word(bytes, start)).then_some((start, end))
}

/// The forty characters behind the name of an AWS secret; the anchor stands between the name's two halves.
fn aws_secret(text: &str, at: usize, first: &str, second: &str) -> Option<Run> {
    let bytes = text.as_bytes();
    let head = bytes.get(at.checked_sub(first.len())?..at)?;
    let tail = bytes.get(at..at + second.len())?;
    if !head.eq_ignore_ascii_case(first.as_bytes()) || !tail.eq_ignore_ascii_case(second.as_bytes()) {
        return None;
    }
    let from = at + second.len();
    let gap = bytes[from..].iter().take(16).take_while(|byte| b" \t\"'\\=:>".contains(byte)).count();
    let assigns = bytes[from..from + gap].iter().any(|byte| matches!(byte, b'=' | b':'));
    let start = from + gap;
    let mut end = start;
    let mut length = 0;
    while length <= 40 {
        match &bytes[end..] {
            // JSON may escape a slash.
            [b'\\', b'/', ..] => end += 2,
            [byte, ..] if is_alphanumeric(*byte) || matches!(byte, b'/' | b'+' | b'=') => end += 1,
            _ => break,
        }
        length += 1;
    }
    (assigns && length == 40).then_some((start, end))
}

/// `hooks.slack.com/services/…`; `at` is the first slash.
fn slack_hook(text: &str, at: usize) -> Option<Run> {
    let bytes = text.as_bytes();
    // JSON may escape a slash.
    let is_escaped = bytes[..at].ends_with(b"\\");
    let (host, path) =
        if is_escaped { ("hooks.slack.com\\", "/services\\/") } else { ("hooks.slack.com", "/services/") };
    let start = at.checked_sub(host.len()).filter(|start| &bytes[*start..at] == host.as_bytes())?;
    let mut end = at + bytes[at..].starts_with(path.as_bytes()).then_some(path.len())?;
    let begin = end;
    loop {
        match &bytes[end..] {
            [b'\\', b'/', ..] => end += 2,
            [byte, ..] if is_alphanumeric(*byte) || *byte == b'/' => end += 1,
            _ => break,
        }
    }
    (end - begin >= 10).then_some((start, end))
}

/// `eyJ….eyJ….…`, a signed token; `at` is the J.
fn signed_token(text: &str, at: usize) -> Option<Run> {
    let bytes = text.as_bytes();
    let start = at.checked_sub(2).filter(|start| &bytes[*start..at] == b"ey")?;
    // Nothing that may stand in a token may stand before it: else every `eyJ` in a long one would be tried anew.
    if !begins_word(bytes, start) || bytes[..start].last().is_some_and(|byte| matches!(byte, b'-' | b'_')) {
        return None;
    }
    let header = start + run(&bytes[start..], is_token);
    let payload = bytes[header..].strip_prefix(b".").filter(|payload| payload.starts_with(b"eyJ"))?;
    let payload_end = header + 1 + run(payload, is_token);
    let signature = bytes[payload_end..].strip_prefix(b".")?;
    Some((start, payload_end + 1 + run(signature, is_token)))
}

/// Returns whether a word may begin at `at`: no letter and no digit stands before it, unless it ends an escape.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    match &bytes[..at] {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'\\', b'u', a, b, c, d] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => true,
        [.., before] => !is_alphanumeric(*before),
        [] => true,
    }
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| belongs(**byte)).count()
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_dashed(byte: u8) -> bool {
    is_alphanumeric(byte) || byte == b'-'
}

fn is_token(byte: u8) -> bool {
    is_dashed(byte) || byte == b'_'
}
