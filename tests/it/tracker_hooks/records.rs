//! What the client's own record says, where no hook does.

use super::*;

/// A client that lives, with a record of itself.
struct Recorded<'a> {
    sandbox: &'a Sandbox,
    client: std::process::Child,
}

impl<'a> Recorded<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        let mut command = sandbox.program("cat");
        let client = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
        Self { sandbox, client }
    }

    /// Writes the record as the client does, as of `ms` from now.
    fn says(&self, status: &str, waiting_for: Option<&str>, ms: i64) {
        let pid = self.client.id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let ticks = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
        let record = json!({
            "pid": pid, "sessionId": SESSION, "kind": "interactive", "procStart": ticks, "status": status,
            "waitingFor": waiting_for, "statusUpdatedAt": now + ms,
        });
        let folder = self.sandbox.home().join(".claude/sessions");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{pid}.json")), record.to_string()).unwrap();
    }

    #[track_caller]
    fn check(&self, status: &str) {
        check(self.sandbox, status);
    }
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

#[test]
fn what_no_hook_tells_the_clients_own_record_does() {
    // Esc in a turn, and No to a permission: idle.
    for before in [WORKING, BLOCKED] {
        let sandbox = after(before);
        let client = Recorded::new(&sandbox);
        client.says("idle", None, 1000);
        client.check("idle");
    }
    // Granted: it works again, before the tool has returned.
    let sandbox = after(BLOCKED);
    let client = Recorded::new(&sandbox);
    client.says("busy", None, 1000);
    client.check("working");
    // A question that no hook told of.
    client.says("waiting", Some("permission prompt"), 2000);
    client.check("blocked");
    assert_eq!(rows(&sandbox)[0]["reason"], "permission prompt");
    // The log knows, too: the next tool call sees that there is something to change.
    fire(&sandbox, "PostToolUse", json!({}));
    client.says("busy", None, 3000);
    client.check("working");
}

#[test]
fn a_record_older_than_the_last_hook_changes_nothing() {
    let sandbox = after(WORKING);
    let client = Recorded::new(&sandbox);
    client.says("idle", None, -60_000);
    client.check("working");
    // Steady tool calls write to the log only, and count as well. Within one millisecond nobody could say what came first.
    client.says("idle", None, -5);
    fire(&sandbox, "PostToolUse", json!({}));
    client.check("working");
}

#[test]
fn a_client_that_died_outside_tmux_is_not_shown() {
    let sandbox = Sandbox::new().with_env("CLAUDE_PID", "4000000");
    fire(&sandbox, "UserPromptSubmit", json!({}));
    assert_eq!(rows(&sandbox), Vec::<Value>::new());
    let sandbox = sandbox.with_env("LONGHAUL_NO_REAP", "1");
    fire(&sandbox, "UserPromptSubmit", json!({}));
    assert_eq!(rows(&sandbox).len(), 1);
}

#[test]
fn a_failed_turn_stays_shown_until_the_next_prompt() {
    let sandbox = after(WORKING);
    fire(&sandbox, "StopFailure", json!({ "error": "rate_limit" }));
    let client = Recorded::new(&sandbox);
    client.says("idle", None, 1000);
    client.check("blocked");
    fire(&sandbox, "UserPromptSubmit", json!({}));
    client.says("idle", None, 2000);
    client.check("idle");
}

#[test]
fn sessions_are_listed_even_if_nothing_can_be_corrected() {
    let sandbox = after(WORKING);
    let client = Recorded::new(&sandbox);
    client.says("idle", None, 1000);
    // As on a full disk, the status cannot be written.
    let status = sandbox.data_dir().join("status");
    fs::remove_file(&status).unwrap();
    fs::create_dir(&status).unwrap();
    let outcome = sandbox.longhaul(&["status", "--json"]);
    assert_eq!((outcome.status, outcome.json().as_array().unwrap().len()), (Some(0), 1), "{outcome:?}");
    assert!(outcome.stderr.starts_with("Some states may be old: cannot write"), "{outcome:?}");
}
