//! A secret is written nowhere, wherever it comes from. What is taken for one, and in which encodings, the crate says.

use serde_json::json;

use super::Session;
use super::private::assert_nowhere;
use crate::sandbox::Sandbox;

/// Texts that hold a secret, each with a part of it that must not be stored. They are put together here, so that no scanner takes
/// this file for a leak.
fn samples() -> Vec<(String, &'static str)> {
    let mixed = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3iJ5";
    vec![
        (format!("id AKI{}", "AIOSFODNN7QRSTUVW"), "AIOSFODNN7QRST"),
        (format!("gh{}_{mixed}", "p"), "aB3dE5gH7jK9"),
        ("DB_PASSWORD=correcthorsebattery".to_owned(), "correcthorse"),
        ("Authorization: Basic YXBwOnMzY3IzdFBhc3N3MHJkWA==".to_owned(), "YXBwOnMzY3Iz"),
        ("postgres://app:s3cr3tPassw0rdX@db.internal:5432/app".to_owned(), "s3cr3tPassw0rdX"),
        // As `grep --color=always` writes a match at its beginning.
        (format!("\u{1b}[01;31m\u{1b}[Kgl{}\u{1b}[m\u{1b}[K-zA9cD1fG3iJ5kL7nP9qR", "pat"), "zA9cD1fG3iJ5"),
        // `DEPLOY_TOKEN=q7Rz81mBv204Lk` in a line of base64 that goes on in the next one.
        (
            "data/eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4IERFUExPWV9UT0tFTj1xN1J6ODFt\nQnYyMDRMawo="
                .to_owned(),
            "QnYyMDRMa",
        ),
    ]
}

#[test]
fn a_secret_is_stored_nowhere_wherever_it_comes_from() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    for (number, (text, _)) in samples().iter().enumerate() {
        session.prompt(&format!("What about {number}?\n{text}\nand so on"));
        let output = json!({ "stdout": format!("one\n{text}\ntwo"), "stderr": "" });
        session.tool("Bash", &format!("t{number}"), json!({ "command": format!("echo '{text}'") }), output);
        let failed = json!({ "tool_use_id": format!("f{number}"), "error": format!("Exit code 1\n{text}") });
        session.fire("PostToolUseFailure-Bash", failed);
        session.fire("Notification-permission_prompt", json!({ "message": format!("Claude needs: {text}") }));
        session.stop(&format!("I saw this:\n{text}\nThat is all."));
    }
    session.fire("SessionEnd-prompt_input_exit", json!({}));
    Session::new(&sandbox, "next").start("startup");
    for (text, secret) in samples() {
        assert_nowhere(&sandbox, secret, &text);
    }
}
