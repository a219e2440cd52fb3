use super::redact::{HEX, check, secrets};
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
            "\u{1b}(B",
            "\u{1b})0",
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
            "\\\\\\r\\n",
            "\\\\\\\\\\\\\\n",
            "\\u0000",
            "\u{fe0f}",
            "\u{9b}31m",
            "\\u009b1;31m",
            "^[[m^[[K",
            "\\x1b[01;31m",
            "\\\\x1b[m",
            "\\033[K",
            "\\e[0m",
        ] {
            let redacted = redact(&format!("a {head}{between}{tail} b")).into_owned();
            assert_eq!(redacted, "a [redacted] b", "{secret} with {between:?}");
        }
    }
}

#[test]
fn a_secret_is_seen_far_behind_the_beginning_and_behind_other_signs() {
    for secret in secrets() {
        let (head, tail) = secret.split_at(5);
        let filler = "lorem ipsum ".repeat(200);
        check(&format!("{filler}{head}\u{200b}{tail} b"), &format!("{filler}[redacted] b"));
        check(&format!("50% of {head}%{:02x}{} b", tail.as_bytes()[0], &tail[1..]), "50% of [redacted] b");
        let unseen = "\u{200b}\u{200b}\u{200b}\u{200b}";
        check(&format!("a{unseen} {secret}{unseen} b"), &format!("a{unseen} [redacted]{unseen} b"));
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
        check(&format!("a {} b", hex(|c| format!("%25{:02x}", u32::from(c)))), "a [redacted] b");
        check(&format!("a %252525{:02x}{} b", secret.as_bytes()[0], &secret[1..]), "a [redacted] b");
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

/// Checks that nothing of `secret` is left where `write` makes a document of the base64 of `plain`.
#[track_caller]
fn check_encoded(plain: &[u8], secret: &[u8], write: impl Fn(&str) -> String) {
    let encoded = base64_of(plain);
    let start = plain.windows(secret.len()).position(|window| window == secret).unwrap();
    let inside = &encoded[start.div_ceil(3) * 4..(start + secret.len()) / 3 * 4];
    let written = write(&encoded);
    let redacted: String =
        redact(&written).chars().filter(|c| c.is_ascii_alphanumeric() || "+/[]".contains(*c)).collect();
    let pieces: Vec<char> = inside.chars().collect();
    for piece in pieces.windows(12).step_by(4) {
        let piece: String = piece.iter().collect();
        assert!(!redacted.contains(&piece), "{piece} of {written}: {redacted}");
    }
}

#[test]
fn a_secret_is_seen_in_base64_that_a_document_wraps() {
    for secret in secrets() {
        for (width, line_break) in [(76, "\\n"), (64, "\\r\\n"), (64, "\\\\n"), (64, "\n    "), (76, "\r\n")] {
            for pad in [20, 30, 40, 44] {
                let plain = format!("{} {secret}\nand more that follows it", "y".repeat(pad));
                check_encoded(plain.as_bytes(), secret.as_bytes(), |encoded| {
                    let lines: Vec<_> = encoded.as_bytes().chunks(width).map(String::from_utf8_lossy).collect();
                    format!("{{\"stdout\":\"{}\"}}", lines.join(line_break))
                });
            }
        }
    }
}

#[test]
fn a_secret_is_seen_in_base64_of_other_text() {
    for secret in secrets() {
        let german = format!("# Schlüssel für A\nx {secret}\n");
        check_encoded(german.as_bytes(), secret.as_bytes(), str::to_owned);
        check_encoded(german.as_bytes(), secret.as_bytes(), |encoded| format!("https://a.b/some/path-to/{encoded}"));
        check_encoded(german.as_bytes(), secret.as_bytes(), |encoded| {
            format!("averylongnamewithoutanysigns/{encoded}")
        });
        let japanese = format!("支払期日と請求書の鍵 {secret}\n");
        check_encoded(japanese.as_bytes(), secret.as_bytes(), str::to_owned);
        let wide = |text: &str| text.bytes().flat_map(|byte| [byte, 0]).collect::<Vec<_>>();
        check_encoded(&wide(&format!("$t = '{secret}'")), &wide(&secret), str::to_owned);
        // A registry's login.
        let login = base64(&format!("somebody:{secret}"));
        let from = "somebody:".len() / 3 * 4;
        let inner = login[from..from + secret.len() / 3 * 4].to_owned();
        check_encoded(
            format!("{{\"auths\":{{\"a.b\":{{\"auth\":\"{login}\"}}}}}}").as_bytes(),
            inner.as_bytes(),
            str::to_owned,
        );
    }
}

#[test]
fn two_secrets_beside_each_other_are_both_seen_in_base64() {
    for secret in secrets() {
        for other in secrets() {
            for pad in ["", "a ", "ab "] {
                let plain = format!("{pad}{secret} {other} end");
                check_encoded(plain.as_bytes(), secret.as_bytes(), str::to_owned);
                check_encoded(plain.as_bytes(), other.as_bytes(), str::to_owned);
            }
        }
    }
}

/// A value that only its name or its place shows to be a secret.
#[test]
fn a_named_value_is_seen_however_it_is_written() {
    let mixed = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3iJ5kL7n";
    let base64 = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzKpQ7uTvW";
    for (before, secret, after) in [
        ("aws_secret_access_key = ", base64, ""),
        ("AccountName=a;AccountKey=", &format!("{base64}{base64}Ab=="), ""),
        ("HEROKU_API_KEY=", "01234567-89ab-cdef-0123-456789abcdef", ""),
        ("DD_API_KEY=", &HEX.repeat(2), ""),
        ("Authorization: Basic ", "YXBwOnMzY3IzdFBhc3N3MHJkWA==", ""),
        ("authorization: Bearer ", mixed, ""),
        ("DB_PASSWORD=", "correcthorsebattery", ""),
        ("CLIENT_SECRET=", "zUp3rGeh3im99", ""),
        ("DEPLOY_TOKEN=", "q7Rz81mBv204Lk", ""),
        ("postgres://app:", "s3cr3tPassw0rdX", "@db.internal:5432/app"),
    ] {
        let (first, half) = (u32::from(secret.as_bytes()[0]), secret.len() / 2);
        for written in [
            format!("\u{1b}[01;31m\u{1b}[K{}\u{1b}[m\u{1b}[K{}", &secret[..4], &secret[4..]),
            format!("{}\u{200b}{}\\\n{}", &secret[..3], &secret[3..half], &secret[half..]),
            format!("\\u{first:04x}{}", secret[1..].replace('/', "\\/")),
            format!("%{first:02X}{}", &secret[1..]),
        ] {
            let redacted = redact(&format!("one\n{before}{written}{after}\ntwo")).into_owned();
            assert!(!redacted.contains(&secret[half..]) && !redacted.contains(&secret[4..half]), "{redacted}");
        }
        for pad in ["", " ", "x "] {
            let plain = format!("{pad}{before}{secret}{after}\n");
            check_encoded(plain.as_bytes(), secret.as_bytes(), |encoded| format!("encoded: {encoded}"));
        }
        // Lines of 76 characters hold 57 bytes; the secret begins 7 bytes before the end of one.
        let start = if before.len() < 50 { 50 } else { 107 };
        let plain = format!("{} {before}{secret}{after}\nend of the file\n", "y".repeat(start - 1 - before.len()));
        check_encoded(plain.as_bytes(), secret.as_bytes(), |encoded| {
            let lines: Vec<_> = encoded.as_bytes().chunks(76).map(String::from_utf8_lossy).collect();
            format!("data/{}", lines.join("\n"))
        });
    }
}

fn base64(text: &str) -> String {
    base64_of(text.as_bytes())
}

fn base64_of(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().chain([0, 0].iter()).take(3).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        for place in 0..4 {
            let sign = char::from(ALPHABET[(bits >> (18 - 6 * place) & 63) as usize]);
            encoded.push(if place <= group.len() { sign } else { '=' });
        }
    }
    encoded
}

#[test]
fn a_secret_behind_an_unfinished_sequence_does_not_lose_its_first_letter() {
    for before in ["\u{1b}[.", "\u{1b}[5", "\u{9b}?", "\u{1b}[0;1 "] {
        let redacted = redact(&format!("{before}AKIAIOSFODNN7EXAMPLE done")).into_owned();
        assert_eq!(redacted, format!("{before}[redacted] done"));
    }
}

#[test]
fn only_the_part_of_base64_that_holds_a_secret_goes() {
    for secret in secrets() {
        for pad in ["", "a", "ab"] {
            let before = format!("{pad}the first line\nlast: ");
            let encoded = base64(&format!("{before}{secret}\nand more that follows it"));
            let from = before.len() / 3 * 4;
            let to = (before.len() + secret.len()).div_ceil(3) * 4;
            assert_eq!(redact(&encoded), format!("{}[redacted]{}", &encoded[..from], &encoded[to..]), "{secret}");
            let last = base64(&format!("{before}{secret}"));
            assert_eq!(redact(&format!("{last} x")), format!("{}[redacted] x", &last[..from]), "{secret}");
        }
    }
}

#[test]
fn base64_is_decoded_twice_and_no_deeper() {
    let token = &secrets()[2];
    let once = base64(&format!("login: {token} and so on"));
    let twice = base64(&format!("login: {once} and so on"));
    let thrice = base64(&format!("login: {twice} and so on"));
    assert!(redact(&once).contains("[redacted]") && redact(&twice).contains("[redacted]"));
    assert_eq!(redact(&thrice), thrice);
}

#[test]
fn a_short_line_of_base64_does_not_go_on_in_the_next_one() {
    for secret in secrets() {
        let first = base64("22 bytes of plain text").trim_end_matches('=').to_owned();
        let second = base64(&format!("login: {secret} and so on"));
        let redacted = redact(&format!("{first}\n{second}")).into_owned();
        assert!(redacted.starts_with(&format!("{first}\n")) && redacted.contains("[redacted]"), "{secret}: {redacted}");
        let before = "lorem ipsum ".repeat(9);
        assert_eq!(redact(&format!("{before}{first}\n{second}")), format!("{before}{redacted}"));
    }
}
