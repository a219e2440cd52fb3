use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::redact;

/// Put together here, so that no scanner takes this file for a leak.
pub(super) fn secrets() -> Vec<String> {
    let body = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3iJ5";
    let base64 = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    vec![
        format!("AK{}", "IAIOSFODNN7EXAMPLE"),
        format!("AS{}", "IAIOSFODNN7EXAMPLE"),
        format!("gh{}_{body}", "p"),
        format!("gh{}_{body}", "o"),
        format!("gh{}_{body}", "u"),
        format!("gh{}_{body}", "s"),
        format!("gh{}_{body}", "r"),
        format!("github_{}_{body}_{body}", "pat"),
        format!("xox{}-123456789012-{body}", "b"),
        format!("xox{}-123456789012-{body}", "p"),
        format!("xa{}-1-A0123-{body}", "pp"),
        format!("hooks.slack.{}/services/T000/B000/XXXXXXXX", "com"),
        format!("sk-{}-api03-{body}-_{body}AA", "ant"),
        format!("sk-{body}"),
        format!("sk-{}-{body}_{body}", "proj"),
        format!("ey{}.ey{}.{body}-_{base64}", "JhbGciOi", "JzdWIiOi").replace('/', "_").replace('+', "-"),
        format!("gl{}-{}", "pat", &body[..20]),
        format!("sk_{}_{}", "live", &body[..24]),
        format!("rk_{}_{}", "test", &body[..24]),
        format!("h{}_{}", "f", &body[..34]),
        format!("np{}_{body}", "m"),
        format!("pyp{}-AgEIcHlwaS5vcmc{body}{body}", "i"),
        format!("do{}_v1_{}", "p", HEX.repeat(4)),
        format!("S{}{}", "K", HEX.repeat(2)),
        format!("S{}.{}.{body}abcdefg", "G", &body[..22]),
        format!("MTE{}.Gh1jK2.{body}", &body[..23]),
        format!("123456789:AA{}", &body[..33]),
        format!("AI{}{}", "za", &body[..35]),
        format!("abC8{}~{}", "Q", &body[..34]),
        format!("HRK{}-AA{body}", "U"),
        format!("https://discord.{}/api/webhooks/123456789012345678/{body}{body}", "com")["https://".len()..]
            .to_owned(),
        format!("shp{}_{}", "at", HEX.repeat(2)),
        format!("hv{}.{body}", "s"),
    ]
}

pub(super) const HEX: &str = "0a1b2c3d4e5f6071";

fn key(newline: &str) -> String {
    let dashes = "-----";
    format!(
        "{dashes}BEGIN RSA PRIVATE KEY{dashes}{newline}MIIEowIB{newline}AAKCAQEA=={newline}{dashes}END RSA PRIVATE KEY{dashes}"
    )
}

#[track_caller]
pub(super) fn check(text: &str, expected: &str) {
    assert_eq!(redact(text), expected, "{text}");
    assert_eq!(redact(expected), expected, "once more: {text}");
}

#[test]
fn every_shape_goes() {
    for secret in secrets() {
        check(&secret, "[redacted]");
        check(&format!("a={secret} b"), "a=[redacted] b");
        check(&format!("é{secret}, \"{secret}\"\n"), "é[redacted], \"[redacted]\"\n");
        check(&format!("https://{secret}\"}}"), "https://[redacted]\"}");
    }
}

#[test]
fn escapes_of_json_end_a_word() {
    for secret in secrets() {
        check(&format!("{{\"a\":\"x\\n{secret}\\n\"}}"), "{\"a\":\"x\\n[redacted]\\n\"}");
        check(&format!("{{\"a\":\"x\\r\\n{secret}\\u0020\"}}"), "{\"a\":\"x\\r\\n[redacted]\\u0020\"}");
        check(&format!("\"\\u0026{secret}\\\"\""), "\"\\u0026[redacted]\\\"\"");
        check(&format!("\"\\\\n{secret}\\\\n\""), "\"\\\\n[redacted]\\\\n\"");
    }
}

#[test]
fn an_escaped_slash_is_a_slash() {
    let hook = format!("hooks.slack.{}/services/T000/B000/XXXXXXXX", "com").replace('/', "\\/");
    check(&format!("\"https:\\/\\/{hook}\""), "\"https:\\/\\/[redacted]\"");
}

#[test]
fn an_aws_secret_is_known_by_its_name() {
    let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    for (before, after) in [
        ("aws_secret_access_key = ", "\n"),
        ("AWS_SECRET_ACCESS_KEY=", ""),
        ("export AWS_SECRET_ACCESS_KEY='", "'"),
        ("{\"SecretAccessKey\": \"", "\"}"),
        ("\"{\\\"secretAccessKey\\\":\\\"", "\\\"}\""),
    ] {
        check(&format!("{before}{secret}{after}"), &format!("{before}[redacted]{after}"));
        let escaped = secret.replace('/', "\\/");
        check(&format!("{before}{escaped}{after}"), &format!("{before}[redacted]{after}"));
    }
    for same in [secret.to_owned(), format!("aws_secret_access_key {secret}")] {
        check(&same, &same);
    }
}

#[test]
fn a_private_key_goes_whole() {
    for newline in ["\n", "\r\n", "\\n", "\\\\n"] {
        check(&format!("a{newline}{}{newline}b", key(newline)), &format!("a{newline}[redacted]{newline}b"));
        check(&format!("\"{}\" and \"b\"", key(newline)), "\"[redacted]\" and \"b\"");
    }
    check(&key("\n").replace("RSA ", ""), "[redacted]");
    check(&key("\n").replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"), "[redacted]");
    let public = key("\n").replace("PRIVATE", "PUBLIC");
    check(&public, &public);
}

#[test]
fn of_a_private_key_that_is_not_closed_only_its_lines_go() {
    let open = key("\n");
    let open = &open[..50];
    check(&format!("a {open}"), "a [redacted]");
    check(&format!("a {open}\nand the text goes on"), "a [redacted]\nand the text goes on");
    let raw = json!({ "a": format!("x{open}"), "b": ["text", 1], "c": "text" }).to_string();
    check(&raw, r#"{"a":"x[redacted]","b":["text",1],"c":"text"}"#);
}

#[test]
fn a_text_that_mentions_a_private_key_keeps_what_follows() {
    let opening = format!("{0}BEGIN OPENSSH PRIVATE KEY{0}", "-----");
    for same in [
        format!("It begins with {opening}, and then comes the rest."),
        format!("a.rs:12: {opening}\nb.rs:3: let x = 1;\nb.rs:4: let y = 2;"),
        format!("a.rs-12-    \"{opening}\",\na.rs-13-    \"{}\",", opening.replace("BEGIN", "END")),
        format!("{opening}\n\nread it\n"),
    ] {
        let redacted = redact(&same).into_owned();
        assert!(redacted == same || redacted.contains("[redacted]\","), "{redacted}");
        assert!(!same.contains("let y") || redacted.contains("let y"), "{redacted}");
    }
}

#[test]
fn a_private_key_is_seen_behind_what_programs_put_before_its_lines() {
    let line = "MIIEowIBAAKCAQEA7bq1Zk3vXw9yTgS2";
    let lines =
        ["-----BEGIN RSA PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED", line, line, "-----END RSA PRIVATE KEY-----"];
    for lead in ["", "+", "    12\t", "k.pem-3-", "path/k.pem:3:", "> ", "# "] {
        let text: String = lines.iter().map(|line| format!("{lead}{line}\n")).collect();
        for text in [serde_json::to_string(&text).unwrap(), text] {
            assert!(!redact(&text).contains("MIIEow"), "{lead:?}: {}", redact(&text));
        }
    }
    let ssh2 = format!(
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\n{line}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----"
    );
    check(&ssh2, "[redacted]");
    let putty = format!("Private-Lines: 2\n{line}\n{line}\nPrivate-MAC: {}\n", HEX.repeat(4));
    check(&putty, "Private-Lines: 2\n[redacted]\nPrivate-MAC: [redacted]\n");
}

#[test]
fn a_private_key_reaches_over_the_lines_of_a_patch() {
    let key = key("\n");
    let lines: Vec<String> = ["x"].into_iter().chain(key.lines()).chain(["y"]).map(|line| format!("+{line}")).collect();
    let redacted = redact(&json!({ "lines": lines, "filePath": "a" }).to_string()).into_owned();
    let expected = json!({
        "lines": ["+x", "+[redacted]", "[redacted]", "[redacted]", "[redacted]", "+y"], "filePath": "a",
    });
    assert_eq!(serde_json::from_str::<Value>(&redacted).unwrap(), expected);
}

#[test]
fn near_misses_stay() {
    let near = [
        "task-ant-farm-and-more-of-it",
        "disk-usage-of-everything-on-it",
        "risk-proj-0123456789abcdef0123",
        "sk-some-css-class-name-of-length",
        "sk-ant-short",
        "the ski-lift",
        "AKIAIOSFODNN7EXAMPL",
        "AKIAIOSFODNN7EXAMPLEX",
        "XAKIAIOSFODNN7EXAMPLE",
        "AKIAiosfodnn7example",
        "ghp_short",
        "xghp_aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3iJ5",
        "github_path_to_the_repository_of_it",
        "xoxo-hugs",
        "xapp-common-data-files",
        "hooks.slack.com/help",
        "hooks.slack.com/services/",
        "eyJhbGciOiJIUzI1NiJ9",
        "eyJhbGciOi.abc.def",
        "eyJhbGciOi.eyJzdWIiOi",
        "-----BEGIN CERTIFICATE-----",
        "----------------",
        "-----BEGIN PRIVATE KEY",
        "",
    ];
    for text in near {
        assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{text}");
    }
}

/// With a cost that grew with the square of the length, this would not end before the runner stops it.
#[test]
fn repeated_beginnings_cost_little() {
    for piece in [
        "eyJ",
        "eyJa-",
        "eyJ.",
        "-----BEGIN ",
        "-----END ",
        "sk-",
        "xoxb-",
        "ghp_",
        "AKIA",
        "aws_secret_access_key",
        "password=",
        "token: ",
        "://a:",
        "Z2hw",
        "\\u001b[",
        "\u{1b}]8;;",
        "%67",
        "\\\\",
        ".aaaaaa",
        "12345678:",
        "SK0",
        "a=",
        "Authorization: Bearer ",
        "xoxb-a",
        "s.",
        ".acc-",
        "Comment: -----BEGIN PRIVATE KEY-----\n",
        " a: x1y2z kind: Secret data:\n",
        "kind: Secret\ndata:\n  a: x1y2z3w4\n",
        "Cookie: ",
        "\"value\":{",
        "machine login password ",
        "token: |\n  ",
        "h:5432:a:b:",
    ] {
        let _ = redact(&piece.repeat(100_000 / piece.len()));
    }
}

/// Every limit of the search falls somewhere inside a character of two bytes.
#[test]
fn no_limit_cuts_a_character() {
    let long = "é".repeat(5_000);
    for begun in [
        "kind: Secret\nstringData:\n  pass: ",
        "h:5432:db:me:",
        "Cookie: a=kz7q4w8v2mhjbn5rkz7q; ",
        "PASSWORD=kz7q4w8v2mhjbn5rkz7q",
        "https://user:kz7q4",
        "<password>kz7q4",
        "ALTER USER a PASSWORD 'kz7q4",
        "-----BEGIN PRIVATE KEY-----\nkind",
    ] {
        for shift in ["", "x"] {
            let _ = redact(&format!("{begun}{shift}{long}"));
        }
    }
    for length in 8_170..8_200 {
        let _ = redact(&format!("kind: Secret\n{}\ndata:\n  a: b\n", "#".repeat(length)));
    }
}

#[test]
fn a_quote_that_ends_a_text_begins_no_value() {
    for same in [
        r#"[{"b":{"c":[{"label":"Password:"}]}},{"x":1}]"#,
        r#"getpass("Password: ").strip()"#,
        r#"<label title="Password:"></label>"#,
        r#"["ENV PASSWORD ",true,12345]"#,
        "kind: Secret\nmetadata:\n  name: database\n  namespace: production\n",
    ] {
        check(same, same);
    }
}

#[test]
fn a_backslash_before_a_secret_does_not_hide_its_first_letter() {
    for secret in secrets() {
        for slashes in ["\\", "\\\\"] {
            let redacted = redact(&format!("C:{slashes}{secret} x")).into_owned();
            assert!(!redacted.contains(&secret[1..]) && redacted.ends_with("[redacted] x"), "{redacted}");
            let raw = format!("{{\"a\":\"C:{slashes}{secret}\"}}");
            let is_valid = |text: &str| serde_json::from_str::<Value>(text).is_ok();
            let redacted = redact(&raw).into_owned();
            assert!(!redacted.contains(&secret[1..]) && (!is_valid(&raw) || is_valid(&redacted)), "{redacted}");
        }
    }
}

#[test]
fn a_terminal_sequence_without_its_end_does_not_hide_the_first_letter_of_a_secret() {
    for secret in secrets() {
        for begun in ["\u{1b}(", "\u{1b})", "\u{1b}[.", "\u{1b}[1;"] {
            let redacted = redact(&format!("x {begun}{secret} y")).into_owned();
            assert!(!redacted.contains(&secret[1..]) && redacted.ends_with("[redacted] y"), "{begun:?} {redacted}");
        }
    }
}

proptest! {
    #[test]
    fn a_secret_between_words_never_survives(before in "[^A-Za-z0-9_<\\\\-]{0,9}", index in 0..33_usize, after in "[ \",;)]{0,9}") {
        let secret = &secrets()[index];
        let redacted = redact(&format!("{before}{secret}{after}")).into_owned();
        prop_assert_eq!(redacted, format!("{before}[redacted]{after}"));
    }

    #[test]
    fn valid_json_stays_valid(texts in prop::collection::vec(pieces(), 0..6), key in pieces()) {
        let raw = json!({ key: texts, "n": 1, "o": { "p": "q" } }).to_string();
        let redacted = redact(&raw);
        prop_assert!(serde_json::from_str::<Value>(&redacted).is_ok(), "{raw} → {redacted}");
    }

    #[test]
    fn no_text_breaks_it(text in any::<String>(), mixed in pieces()) {
        let _ = redact(&text);
        let once = redact(&mixed).into_owned();
        prop_assert!(once.len() <= mixed.len().max(1) * 10);
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(secrets()),
        Just(key("\n")),
        prop::sample::select(vec![
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "\"",
            "\\",
            "\n",
            "é",
            " ",
            "x",
            ".",
            "-",
            ":"
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}
