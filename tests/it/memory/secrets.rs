//! Well-known shapes of secrets, wherever they come from and however they are written: not a byte on disk.

use serde_json::json;

use super::Session;
use super::private::assert_nowhere;
use crate::sandbox::Sandbox;

/// A secret as a program prints it.
struct Sample {
    /// Whose it is.
    name: &'static str,
    /// A line that holds it.
    line: String,
    /// The part that must not be stored.
    secret: String,
}

/// Thirty samples of 26 shapes, put together here so that no scanner takes this file for a leak.
fn samples() -> Vec<Sample> {
    let mixed = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3iJ5kL7n";
    let hex = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9";
    let base64 = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzzKpQ7uTvW";
    let sample = |name, before: &str, secret: String| Sample { name, line: format!("{before}{secret}"), secret };
    vec![
        sample("AWS id", "id ", format!("AKI{}", "AIOSFODNN7QRSTUVW")),
        sample("AWS secret", "aws_secret_access_key = ", base64.to_owned()),
        sample("GitHub", "", format!("gh{}_{}", "p", &mixed[..36])),
        sample("GitHub, fine-grained", "", format!("github_{}_{}_{mixed}", "pat", &mixed[..22])),
        sample("GitLab", "token is ", format!("gl{}-{}", "pat", &mixed[..20])),
        sample("Slack", "", format!("xox{}-123456789012-123456789012-{}", "b", &mixed[..24])),
        sample(
            "Slack webhook",
            "https://",
            format!("hooks.slack.{}/services/T0A1B2C3D/B0A1B2C3D/{}", "com", &mixed[..24]),
        ),
        sample("Anthropic", "", format!("sk-{}-api03-{mixed}-{mixed}AA", "ant")),
        sample("OpenAI", "", format!("sk-{}-{mixed}", "proj")),
        sample("Google", "key ", format!("AI{}{}", "za", &mixed[..35])),
        sample("signed token", "", format!("ey{}.ey{}.{mixed}", "JhbGciOiJIUzI1NiJ9", "JzdWIiOiIxMjM0NTY3ODkwIn0")),
        sample("Stripe", "", format!("sk_{}_{}", "live", &mixed[..24])),
        sample("Hugging Face", "", format!("h{}_{}", "f", &mixed[..34])),
        sample("npm", "//registry.npmjs.org/:_authToken=", format!("np{}_{}", "m", &mixed[..36])),
        sample("PyPI", "", format!("pyp{}-AgEIcHlwaS5vcmc{mixed}{mixed}", "i")),
        sample(
            "Azure storage",
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=",
            format!("{}{base64}Ab==", &base64[..40]),
        ),
        sample("Azure client", "", format!("abC8{}~{}", "Q", &mixed[..34])),
        sample("DigitalOcean", "", format!("do{}_v1_{hex}", "p")),
        sample("Twilio", "", format!("S{}{}", "K", &hex[..32])),
        sample("SendGrid", "", format!("S{}.{}.{mixed}abc", "G", &mixed[..22])),
        sample("Discord", "", format!("MTE{}.Gh1jK2.{}", &mixed[..23], &mixed[..38])),
        sample("Telegram", "", format!("123456789:AA{}", &mixed[..33])),
        sample("Heroku", "HEROKU_API_KEY=", "01234567-89ab-cdef-0123-456789abcdef".to_owned()),
        sample("Datadog", "DD_API_KEY=", hex[..32].to_owned()),
        sample("database", "postgres://app:", "s3cr3tPassw0rdX".to_owned()),
        sample("Basic", "Authorization: Basic ", "YXBwOnMzY3IzdFBhc3N3MHJkWA==".to_owned()),
        sample("Bearer", "authorization: Bearer ", mixed.to_owned()),
        sample("password", "DB_PASSWORD=", "correcthorsebattery".to_owned()),
        sample("secret", "CLIENT_SECRET=", "zUp3rGeh3im99".to_owned()),
        sample("token", "DEPLOY_TOKEN=", "q7Rz81mBv204Lk".to_owned()),
    ]
    .into_iter()
    .map(|mut sample| {
        if sample.name == "database" {
            sample.line += "@db.internal:5432/app";
        }
        sample
    })
    .collect()
}

/// Returns the parts of a secret by which any longer piece of it would be found.
fn parts(secret: &str) -> [&str; 2] {
    let half = secret.len() / 2;
    [&secret[..half.max(10).min(secret.len())], &secret[secret.len() - half.max(8).min(secret.len())..]]
}

fn one_turn(session: &Session<'_>, number: usize, text: &str) {
    session.prompt(&format!("What about {number}?\n{text}\nand so on"));
    session.tool(
        "Bash",
        &format!("t{number}"),
        json!({ "command": format!("echo '{text}'") }),
        json!({ "stdout": format!("one\n{text}\ntwo"), "stderr": "" }),
    );
    session.fire(
        "PostToolUseFailure-Bash",
        json!({ "tool_use_id": format!("f{number}"), "error": format!("Exit code 1\n{text}") }),
    );
    session.fire("Notification-permission_prompt", json!({ "message": format!("Claude needs: {text}") }));
    session.stop(&format!("I saw this:\n{text}\nThat is all."));
}

/// Runs turns with all samples, six at a time, written by `write`, and looks for `needles` of each in every file.
#[track_caller]
fn check(write: impl Fn(&Sample) -> String, needles: impl Fn(&Sample, &str) -> Vec<String>) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    let samples = samples();
    for (number, some) in samples.chunks(6).enumerate() {
        one_turn(&session, number, &some.iter().map(&write).collect::<Vec<_>>().join("\nand a line between them\n"));
    }
    session.fire("SessionEnd-prompt_input_exit", json!({}));
    Session::new(&sandbox, "next").start("startup");
    for sample in &samples {
        for needle in needles(sample, &write(sample)) {
            assert_nowhere(&sandbox, &needle, sample.name);
        }
    }
}

fn plain(sample: &Sample, _: &str) -> Vec<String> {
    parts(&sample.secret).map(str::to_owned).to_vec()
}

#[test]
fn every_shape_is_redacted_as_it_is() {
    check(|sample| sample.line.clone(), plain);
}

#[test]
fn every_shape_is_redacted_in_colour() {
    // As `grep --color=always` writes a match at the secret's beginning.
    let write = |sample: &Sample| {
        let (head, tail) = sample.secret.split_at(4);
        sample.line.replace(&sample.secret, &format!("\u{1b}[01;31m\u{1b}[K{head}\u{1b}[m\u{1b}[K{tail}"))
    };
    check(write, |sample, _| {
        let tail = &sample.secret[4..];
        vec![tail[..tail.len().min(12)].to_owned(), parts(&sample.secret)[1].to_owned()]
    });
}

#[test]
fn every_shape_is_redacted_over_a_wrapped_line_and_invisible_characters() {
    let write = |sample: &Sample| {
        let (head, tail) = sample.secret.split_at(sample.secret.len() / 2);
        let (first, rest) = head.split_at(3);
        sample.line.replace(&sample.secret, &format!("{first}\u{200b}{rest}\\\n{tail}"))
    };
    check(write, |sample, _| vec![sample.secret[sample.secret.len() / 2..].to_owned()]);
}

#[test]
fn every_shape_is_redacted_in_escapes_and_percent_encoding() {
    let escaped = |sample: &Sample| {
        let mut characters = sample.secret.chars();
        let first = characters.next().unwrap();
        let escaped = format!("\\u{:04x}{}", u32::from(first), characters.as_str().replace('/', "\\/"));
        sample.line.replace(&sample.secret, &escaped)
    };
    check(escaped, |sample, _| vec![parts(&sample.secret)[1].to_owned()]);
    let percent = |sample: &Sample| {
        let mut characters = sample.secret.chars();
        let first = characters.next().unwrap();
        sample.line.replace(&sample.secret, &format!("%{:02X}{}", u32::from(first), characters.as_str()))
    };
    check(percent, |sample, _| vec![parts(&sample.secret)[1].to_owned()]);
}

#[test]
fn every_shape_is_redacted_in_base64() {
    // At each of the three alignments, with what the line says before the secret.
    for pad in ["", " ", "x "] {
        let write = |sample: &Sample| format!("encoded: {}", base64(&format!("{pad}{}\n", sample.line)));
        check(write, |sample, written| {
            let encoded = written.strip_prefix("encoded: ").unwrap();
            // The groups that hold nothing but the secret.
            let from = (pad.len() + sample.line.find(&sample.secret).unwrap()).div_ceil(3) * 4;
            let to = (pad.len() + sample.line.find(&sample.secret).unwrap() + sample.secret.len()) / 3 * 4;
            vec![encoded[from..to].to_owned(), encoded[to - 8..to].to_owned()]
        });
    }
}

#[test]
fn every_shape_is_redacted_in_base64_that_is_wrapped_and_joined() {
    // Lines of 76 characters hold 57 bytes; the secret begins 7 bytes before the end of one.
    let start = |sample: &Sample| if sample.line.find(&sample.secret).unwrap() < 50 { 50 } else { 107 };
    let encoded = |sample: &Sample| {
        let pad = start(sample) - 1 - sample.line.find(&sample.secret).unwrap();
        base64(&format!("{} {}\nend of the file\n", "y".repeat(pad), sample.line))
    };
    let write = |sample: &Sample| {
        let encoded = encoded(sample);
        let lines: Vec<_> = encoded.as_bytes().chunks(76).map(String::from_utf8_lossy).collect();
        format!("data/{}", lines.join("\n"))
    };
    check(write, |sample, _| {
        let (encoded, start) = (encoded(sample), start(sample));
        let (from, wrap) = (start.div_ceil(3) * 4, (start + 7) / 57 * 76);
        vec![encoded[from..wrap].to_owned(), encoded[wrap..(start + sample.secret.len()) / 3 * 4].to_owned()]
    });
}

fn base64(text: &str) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in text.as_bytes().chunks(3) {
        let bits = group.iter().chain([0, 0].iter()).take(3).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        for place in 0..4 {
            let is_there = place <= group.len();
            let sign = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            encoded.push(if is_there { char::from(sign) } else { '=' });
        }
    }
    encoded
}
