//! Private means never written: not a byte, in no file, at no time.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::Session;
use crate::sandbox::{Outcome, Sandbox, with};

/// Returns the files below `dir` that hold `needle`, as it is or as a database's full-text index would fold it.
pub(crate) fn holders(dir: &Path, needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holders(&path, needle));
        } else if let Ok(bytes) = fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes).to_lowercase();
            if text.contains(&needle.to_lowercase()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// Fails where `needle` is anywhere below the sandbox's data.
#[track_caller]
pub(super) fn assert_nowhere(sandbox: &Sandbox, needle: &str, when: &str) {
    assert_eq!(holders(&sandbox.data_dir(), needle), [""; 0], "{needle} {when}");
}

#[test]
fn what_grep_prints_in_colour_is_still_private() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    session.prompt("what is in the notes?");
    let notes = sandbox.path("notes");
    fs::write(&notes, "public bratislava <private>zanzibar</private> and montevideo\n").unwrap();
    let printed = Outcome::of(sandbox.program("grep").args(["--color=always", "private"]).arg(&notes), b"").stdout;
    assert!(printed.contains("\u{1b}["), "{printed:?}");
    session.bash("t1", "grep --color=always private notes", &printed);
    session.stop("It is there.");
    assert_nowhere(&sandbox, "zanzibar", "after a coloured line");
    assert_ne!(holders(&sandbox.data_dir(), "montevideo"), [""; 0], "what is public is kept");
}

#[test]
fn a_wholly_private_prompt_and_its_turn_leave_nothing() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    session.prompt("a public turn first");
    session.bash("t0", "echo publicword", "publicword");
    session.stop("Fine.");
    let check = |when: &str| {
        for secret in ["zanzibar", "kalamazoo", "timbuktu", "ouagadougou"] {
            assert_nowhere(&sandbox, secret, when);
        }
    };
    session.prompt("<private>where is zanzibar</private>  ");
    check("after the prompt");
    session.bash("t1", "grep kalamazoo map", "kalamazoo: here");
    session.fire("PostToolUseFailure-Bash", json!({ "tool_use_id": "t2", "error": "kalamazoo" }));
    check("after a tool");
    // A word in the middle of the turn does not make the turn public.
    session.fire("UserPromptSubmit", json!({ "prompt": "go on" }));
    session.bash("t3", "grep timbuktu map", "timbuktu");
    session.stop("It is in ouagadougou.");
    check("after the turn");
    session.prompt("and now in public: bratislava");
    session.bash("t4", "grep bratislava map", "bratislava");
    session.stop("There.");
    session.fire("SessionEnd-prompt_input_exit", json!({}));
    Session::new(&sandbox, "next").start("startup");
    check("at the end");
    assert_ne!(holders(&sandbox.data_dir(), "bratislava"), [""; 0], "what is public is kept");
    assert_ne!(holders(&sandbox.data_dir(), "publicword"), [""; 0]);
}

#[test]
fn private_passages_leave_nothing_wherever_they_stand() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    session.prompt("fix <private lang=\"x\">the zanzibar <private>inner</private> thing</private> please");
    session.tool(
        "Bash",
        "t1",
        json!({ "command": "echo <private>kalamazoo</private> done" }),
        json!({ "stdout": "a <private>timbuktu", "stderr": "ouagadougou</private> b" }),
    );
    // Written in JSON's own words, split over strings.
    let raw = r#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Write","tool_use_id":"t2","cwd":"/x",
        "tool_input":{"file_path":"/x/y","content":"<priv\u0061te>reykjavik\u003c/private>"},
        "tool_response":{"structuredPatch":[{"lines":["+\u003cPRIVATE\u003e","+antananarivo","+</private>","+yes"]}]}}"#;
    sandbox.hook("longhaul-post-tool-use", raw);
    session.stop("I said <private>it is in montevideo</private> and <system-reminder>paramaribo</system-reminder> ok.");
    let all = [
        "zanzibar",
        "inner",
        "kalamazoo",
        "timbuktu",
        "ouagadougou",
        "reykjavik",
        "antananarivo",
        "montevideo",
        "paramaribo",
    ];
    for secret in all {
        assert_nowhere(&sandbox, secret, "while it lives");
    }
    session.fire("SessionEnd-prompt_input_exit", json!({}));
    Session::new(&sandbox, "next").start("startup");
    for secret in all {
        assert_nowhere(&sandbox, secret, "at the end");
    }
}

/// What only the option before it shows to be a password.
#[test]
fn passwords_in_commands_are_never_written() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    session.prompt("log in");
    for (number, command) in
        ["mysql -u root -pswordfish shop", "sshpass -p swordfish ssh host", "tool --token swordfish run"]
            .iter()
            .enumerate()
    {
        let input = json!({ "command": command });
        session.fire("PermissionRequest", json!({ "tool_name": "Bash", "tool_input": input }));
        session.tool("Bash", &format!("t{number}"), input, json!({ "stdout": "done" }));
    }
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n-----END OPENSSH PRIVATE KEY-----";
    session.bash("key", "cat key", key);
    session.stop(&format!("I am in, with {key}."));
    assert_nowhere(&sandbox, "swordfish", "at the end");
    assert_nowhere(&sandbox, "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU", "at the end");
    let commands = sandbox.rows("SELECT title FROM observations");
    assert!(commands.iter().any(|title| title.contains("mysql -u root -p[redacted] shop")), "{commands:?}");
}

/// A transcript as the client writes it, entry by entry.
struct Transcript<'a> {
    sandbox: &'a Sandbox,
    text: String,
    count: usize,
}

impl<'a> Transcript<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        Self { sandbox, text: String::new(), count: 0 }
    }

    fn add(&mut self, kind: &str, prompt_id: &str, content: serde_json::Value, more: serde_json::Value) {
        let parent = (self.count > 0).then(|| format!("u{}", self.count));
        self.count += 1;
        let entry = json!({
            "type": kind, "uuid": format!("u{}", self.count), "parentUuid": parent, "promptId": prompt_id,
            "timestamp": format!("2026-11-15T10:00:{:02}.000Z", self.count), "sessionId": "s",
            "message": { "role": kind, "content": content },
        });
        let entry = with(entry, &more);
        self.text += &format!("{entry}\n");
        fs::write(self.path(), &self.text).unwrap();
    }

    fn path(&self) -> std::path::PathBuf {
        self.sandbox.path("s.jsonl")
    }
}

#[test]
fn what_a_transcript_tells_of_a_private_turn_is_not_taken_in() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    let mut transcript = Transcript::new(&sandbox);
    let path = json!({ "transcript_path": transcript.path() });
    let none = json!({});
    session.fire("UserPromptSubmit", json!({ "prompt": "<private>zanzibar</private>", "prompt_id": "p1" }));
    transcript.add("user", "p1", json!("<private>zanzibar</private>"), none.clone());
    let agent =
        json!([{ "type": "tool_use", "id": "toolu_agent", "name": "Agent", "input": { "prompt": "kalamazoo" } }]);
    transcript.add("assistant", "p1", agent, none.clone());
    session.fire("SubagentStart", json!({ "prompt_id": "p1", "agent_id": "agent1" }));
    // A public word in its midst, and what is done after it.
    session.fire("UserPromptSubmit", json!({ "prompt": "go on", "prompt_id": "p1" }));
    transcript.add("user", "p1", json!("go on"), none.clone());
    transcript.add("assistant", "p1", json!([{ "type": "thinking", "thinking": "timbuktu" }]), none.clone());
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "grep ouagadougou" } }]);
    transcript.add("assistant", "p1", call, none.clone());
    transcript.add(
        "user",
        "p1",
        json!([{ "type": "tool_result", "tool_use_id": "t1", "content": "reykjavik" }]),
        none.clone(),
    );
    transcript.add("assistant", "p1", json!([{ "type": "text", "text": "It is in antananarivo." }]), none.clone());
    let stop = with(json!({ "last_assistant_message": "It is in antananarivo.", "prompt_id": "p1" }), &path);
    session.fire("Stop", stop);

    // A public turn; meanwhile the subagent works on, and comes back.
    session.fire("UserPromptSubmit", json!({ "prompt": "and now bratislava", "prompt_id": "p2" }));
    transcript.add("user", "p2", json!("and now bratislava"), none.clone());
    transcript.add("assistant", "p2", json!([{ "type": "text", "text": "Fine." }]), none.clone());
    let call = json!({ "tool_use_id": "t2", "tool_name": "Bash", "tool_input": { "command": "grep montevideo" }, "tool_response": {},
                       "agent_id": "agent1", "prompt_id": "p1" });
    session.fire("PostToolUse", call);
    let notice = "<task-notification>\n<task-id>agent1</task-id>\n<tool-use-id>toolu_agent</tool-use-id>\n\
                  <result>paramaribo</result>\n</task-notification>";
    session.fire("UserPromptSubmit", json!({ "prompt": notice, "prompt_id": "p3" }));
    transcript.add("user", "p3", json!(notice), none.clone());
    transcript.add("assistant", "p3", json!([{ "type": "text", "text": "It brought lubumbashi." }]), none.clone());
    session.fire(
        "PostToolUse",
        json!({ "tool_use_id": "t3", "tool_input": { "command": "grep ushuaia" }, "prompt_id": "p3" }),
    );
    // A compaction sums up all of it.
    transcript.add("user", "p4", json!("They looked for vladivostok."), json!({ "isCompactSummary": true }));
    let stop = with(json!({ "last_assistant_message": "It brought lubumbashi.", "prompt_id": "p3" }), &path);
    session.fire("Stop", stop);
    Session::new(&sandbox, "next").start("startup");
    for secret in [
        "zanzibar",
        "kalamazoo",
        "timbuktu",
        "ouagadougou",
        "reykjavik",
        "antananarivo",
        "montevideo",
        "paramaribo",
        "lubumbashi",
        "ushuaia",
        "vladivostok",
    ] {
        assert_nowhere(&sandbox, secret, "at the end");
    }
    assert_ne!(holders(&sandbox.data_dir(), "bratislava"), [""; 0], "what is public is kept");
}

/// The transcript of a prompt that was sent while the configuration could not be read is read when it can be.
#[test]
fn a_private_turn_stays_private_although_the_configuration_could_not_be_read() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    let mut transcript = Transcript::new(&sandbox);
    let none = json!({});
    sandbox.write_config("{");
    session.fire("UserPromptSubmit", json!({ "prompt": "<private>zanzibar</private>", "prompt_id": "p1" }));
    transcript.add("user", "p1", json!("<private>zanzibar</private>"), none.clone());
    session.fire("SubagentStart", json!({ "prompt_id": "p1", "agent_id": "agent1" }));
    transcript.add("assistant", "p1", json!([{ "type": "text", "text": "It is in antananarivo." }]), none.clone());
    sandbox.write_config("{}");
    // The turn still runs when it is repaired.
    let call = json!({ "tool_use_id": "t1", "tool_name": "Bash", "tool_input": { "command": "grep kalamazoo" }, "tool_response": {},
                       "prompt_id": "p1" });
    session.fire("PostToolUse", call);
    let notice = "<task-notification>\n<task-id>agent1</task-id>\n<result>paramaribo</result>\n</task-notification>";
    session.fire("UserPromptSubmit", json!({ "prompt": notice, "prompt_id": "p2" }));
    transcript.add("user", "p2", json!(notice), none.clone());
    session.fire("UserPromptSubmit", json!({ "prompt": "and now bratislava", "prompt_id": "p3" }));
    transcript.add("user", "p3", json!("and now bratislava"), none.clone());
    transcript.add("assistant", "p3", json!([{ "type": "text", "text": "Fine." }]), none.clone());
    let stop = json!({ "last_assistant_message": "Fine.", "prompt_id": "p3", "transcript_path": transcript.path() });
    session.fire("Stop", stop);
    for secret in ["zanzibar", "antananarivo", "kalamazoo", "paramaribo"] {
        assert_nowhere(&sandbox, secret, "at the end");
    }
    assert_ne!(holders(&sandbox.data_dir(), "bratislava"), [""; 0], "what is public is kept");
}

#[test]
fn a_notification_says_nothing_of_a_private_turn() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    session.prompt("<private>where is zanzibar</private>");
    session.fire("Notification-permission_prompt", json!({ "message": "Claude wants to read kalamazoo" }));
    let elicitation = json!({ "notification_type": "elicitation_dialog", "message": "Which part of timbuktu?" });
    session.fire("Notification-permission_prompt", elicitation);
    for secret in ["zanzibar", "kalamazoo", "timbuktu"] {
        assert_nowhere(&sandbox, secret, "after a notification");
    }
    assert_eq!(sandbox.rows("SELECT status FROM agents"), ["blocked"], "it waits all the same");
    // The next turn is public, and a late notice of the private one is not.
    session.prompt("and where is bratislava");
    let late = json!({ "prompt_id": "s-1", "message": "Claude wants to read reykjavik" });
    session.fire("Notification-permission_prompt", late);
    assert_nowhere(&sandbox, "reykjavik", "after a late notification");
    let public = Session::new(&sandbox, "public");
    public.start("startup");
    public.prompt("where is ljubljana");
    public.fire("Notification-permission_prompt", json!({ "message": "Claude wants to read montevideo" }));
    assert_ne!(holders(&sandbox.data_dir(), "montevideo"), [""; 0], "what is public is kept");
}

#[test]
fn a_late_tool_call_belongs_to_the_prompt_that_it_names() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.start("startup");
    let call = |prompt: &str, id: &str, word: &str| {
        let input = json!({ "command": format!("grep {word} map") });
        let changes = json!({ "prompt_id": prompt, "tool_use_id": id, "tool_name": "Bash", "tool_input": input,
                              "tool_response": { "stdout": word } });
        session.fire("PostToolUse", changes);
    };
    session.prompt("<private>where is zanzibar</private>");
    session.prompt("and where is bratislava");
    call("s-1", "t1", "kalamazoo");
    session.prompt("<private>where is timbuktu</private>");
    call("s-2", "t2", "ljubljana");
    session.stop("It is in ouagadougou.");
    for secret in ["zanzibar", "kalamazoo", "timbuktu", "ouagadougou"] {
        assert_nowhere(&sandbox, secret, "at the end");
    }
    for word in ["bratislava", "ljubljana"] {
        assert_ne!(holders(&sandbox.data_dir(), word), [""; 0], "{word}");
    }
}

#[test]
fn what_is_forgotten_leaves_the_spool_and_every_copy() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    let long = format!("zanzibar {}", "word ".repeat(6_000));
    session.prompt(&long);
    session.bash("t1", "grep kalamazoo map", "kalamazoo");
    session.stop("Fine.");
    for args in [&["memory", "forget", "P1", "O1", "--yes"][..], &["memory", "purge", "--older-than", "1", "--yes"]] {
        let outcome = sandbox
            .program(crate::sandbox::bin_dir().join("longhaul"))
            .args(args)
            .current_dir(sandbox.project())
            .output()
            .unwrap();
        assert!(outcome.status.success(), "{args:?}: {}", String::from_utf8_lossy(&outcome.stderr));
    }
    assert_nowhere(&sandbox, "zanzibar", "after forgetting");
    assert_nowhere(&sandbox, "kalamazoo", "after forgetting");
}
