use super::redact::{check, secrets};
use crate::redact;

#[test]
fn a_secret_is_seen_through_what_a_reader_does_not_see() {
    for secret in secrets() {
        let (head, tail) = secret.split_at(5);
        for between in [
            "\u{1b}[m",
            "\u{1b}[01;31m\u{1b}[K",
            "\\u001b[0m",
            "\\u001B[38;5;1m",
            "\u{1b}]8;;https://a.b\u{7}",
            "\u{1b}]8;;\u{1b}\\",
            "\\u001b]8;;\\u001b\\\\",
            "\u{200b}",
            "\\u200B",
            "\u{feff}",
            "\u{ad}",
            "\0",
            "\\\n",
            "\\\r\n",
            "\\\\\\n",
            "\\u0000",
        ] {
            let redacted = redact(&format!("a {head}{between}{tail} b")).into_owned();
            assert_eq!(redacted, "a [redacted] b", "{secret} with {between:?}");
        }
    }
}

#[test]
fn a_secret_is_seen_inside_a_title_or_a_link() {
    for secret in secrets() {
        for (open, close) in [("\u{1b}]0;", "\u{7}"), ("\u{1b}]8;;https://a.b/", "\u{1b}\\"), ("\\u001b]2;", "\\u0007")]
        {
            check(&format!("a {open}{secret}{close} b"), &format!("a {open}[redacted]{close} b"));
        }
    }
}

#[test]
fn a_secret_is_seen_through_encodings() {
    for secret in secrets() {
        let hex = |format: fn(char) -> String| secret.chars().map(format).collect::<String>();
        check(&format!("a {} b", hex(|c| format!("\\u{:04x}", u32::from(c)))), "a [redacted] b");
        check(&format!("a {} b", hex(|c| format!("%{:02X}", u32::from(c)))), "a [redacted] b");
        check(&format!("a %{:02x}{} b", secret.as_bytes()[0], &secret[1..]), "a [redacted] b");
        check(&secret.replace('/', "\\/"), "[redacted]");
    }
}

#[test]
fn a_secret_is_seen_in_base64() {
    for secret in secrets() {
        for (before, after) in [("", ""), ("x ", " and more of it"), ("a=", "\n"), ("first line\nlast: ", "\n")] {
            let encoded = base64(&format!("{before}{secret}{after}"));
            let redacted = redact(&encoded).into_owned();
            let from = before.len().div_ceil(3) * 4;
            let to = (before.len() + secret.len()) / 3 * 4;
            assert!(redacted.contains("[redacted]"), "{secret}: {redacted}");
            assert!(!redacted.contains(&encoded[from..to]), "{secret}: {redacted}");
            assert!(!redacted.contains(&encoded[to - 8..to]), "{secret}: {redacted}");
        }
        // Wrapped as programs wrap it.
        let file = format!("{}\n{secret}\n{}", "some text ".repeat(20), "more text ".repeat(20));
        let lines: Vec<String> =
            base64(&file).as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        let redacted = redact(&lines.join("\n")).replace('\n', "");
        assert!(redacted.contains("[redacted]"), "{secret}: {redacted}");
        let start = file.find(&secret).unwrap();
        let inside = &base64(&file)[start.div_ceil(3) * 4..(start + secret.len()) / 3 * 4];
        assert!(!redacted.contains(&inside[inside.len() - 12..]), "{secret}: {redacted}");
    }
}

fn base64(text: &str) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in text.as_bytes().chunks(3) {
        let bits = group.iter().chain([0, 0].iter()).take(3).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        for place in 0..4 {
            let sign = char::from(ALPHABET[(bits >> (18 - 6 * place) & 63) as usize]);
            encoded.push(if place <= group.len() { sign } else { '=' });
        }
    }
    encoded
}
