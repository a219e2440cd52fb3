//! Prompts and replies of megabytes: what is stored of them has a limit, and says what was left out.

use serde_json::json;

use super::Session;
use crate::sandbox::Sandbox;

/// Every column that holds what somebody has asked.
const PROMPTS: &str = "SELECT CAST(max(n) AS TEXT) FROM (
    SELECT max(length(first_user_prompt)) n FROM sessions UNION ALL SELECT max(length(last_prompt)) FROM sessions
    UNION ALL SELECT max(length(prompt)) FROM turns
    UNION ALL SELECT max(length(prompt)) FROM prompts UNION ALL SELECT max(length(note)) FROM bookmarks)";

/// Every column that holds a reply.
const REPLIES: &str = "SELECT CAST(max(length(reply)) AS TEXT) FROM turns";

/// Returns the lengths of the longest prompt and of the longest reply.
fn longest(sandbox: &Sandbox) -> [usize; 2] {
    [PROMPTS, REPLIES].map(|sql| sandbox.rows(sql)[0].parse().unwrap())
}

#[track_caller]
fn check_limits(sandbox: &Sandbox) {
    let [prompt, reply] = longest(sandbox);
    assert!((16_000..=16_384).contains(&prompt) && (262_000..=262_144).contains(&reply), "{prompt} {reply}");
}

fn long(word: &str) -> String {
    format!("{word} {}", "lorem ipsum ".repeat(5_000_000 / 12))
}

#[test]
fn a_prompt_of_megabytes_is_stored_by_its_two_ends() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    session.prompt(&format!("{} the last word: montevideo", long("first: reykjavik")));
    session.stop(&format!("{} ushuaia", long("answer: paramaribo")));
    session.fire("UserPromptSubmit", json!({ "prompt": format!("· {}", long("note")) }));
    session.fire("SessionEnd-prompt_input_exit", json!({}));
    check_limits(&sandbox);
    for column in ["first_user_prompt", "last_prompt"] {
        let kept = sandbox.rows(&format!("SELECT {column} FROM sessions"));
        let kept = &kept[0];
        assert!(kept.contains("reykjavik") && kept.contains("montevideo"), "{column} has both ends");
        assert!(kept.contains("characters left out"), "{column} says what is missing");
    }
    let bytes: u64 = std::fs::metadata(sandbox.data_dir().join("longhaul.db")).unwrap().len();
    assert!(bytes < 1_000_000, "{bytes}");
}

/// A reply that is within the limit stays as it is, and a handoff shows no more of it than before.
#[test]
fn a_long_reply_is_stored_whole_and_shown_in_part() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    session.prompt("short");
    let reply = format!("{} ushuaia", &long("paramaribo")[..100_000]);
    session.stop(&reply);
    session.fire("SessionEnd-prompt_input_exit", json!({}));
    assert_eq!(sandbox.longhaul(&["memory", "upkeep"]).status, Some(0));
    assert_eq!(longest(&sandbox)[1], reply.chars().count());
    let handoff = sandbox.longhaul(&["handoff", "show", "--session", "s"]);
    assert!(handoff.stdout.chars().count() < 20_000, "{}", handoff.stdout.chars().count());
    let whole = sandbox.longhaul(&["detail", "1", "--session", "s"]).stdout;
    assert!(whole.contains(&reply), "{}", whole.len());
}
