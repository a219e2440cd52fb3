//! Calls and summaries that come after the next prompt: what counts is the prompt that they name.

use serde_json::json;

use super::served::Served;
use crate::sandbox::Sandbox;

struct Host<'a> {
    sandbox: &'a Sandbox,
    served: Served,
}

impl<'a> Host<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        Self { sandbox, served: Served::new(sandbox) }
    }

    fn prompt(&self, id: &str, text: &str) -> bool {
        let cwd = self.sandbox.project();
        let body = json!({ "session_id": "host", "cwd": cwd, "prompt": text, "prompt_id": id });
        let answer = self.served.post("/api/sessions/init", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["kept"] == true
    }

    fn call(&self, prompt: &str, id: &str, word: &str) -> String {
        let body = json!({
            "session_id": "host", "prompt_id": prompt, "tool_use_id": id, "tool_name": "Bash",
            "tool_input": { "command": format!("grep {word} map") }, "tool_response": { "stdout": word },
        });
        let answer = self.served.post("/api/sessions/observations", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["outcome"].as_str().unwrap().to_owned()
    }

    fn summarize(&self, prompt: &str, reply: &str) {
        let body = json!({ "session_id": "host", "prompt_id": prompt, "last_assistant_message": reply });
        let answer = self.served.post("/api/sessions/summarize", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    fn is_found(&self, word: &str) -> bool {
        let found = self.served.get(&format!("/api/search?q={word}"));
        assert_eq!(found.status, 200, "{found:?}");
        found.body.contains(word) || !self.holders(word).is_empty()
    }

    fn holders(&self, word: &str) -> Vec<String> {
        crate::memory::private::holders(&self.sandbox.data_dir(), word)
    }
}

#[test]
fn a_late_call_of_a_private_prompt_leaves_nothing() {
    let sandbox = Sandbox::new();
    let host = Host::new(&sandbox);
    assert!(!host.prompt("p1", "<private>where is zanzibar</private>"));
    assert!(host.prompt("p2", "and where is bratislava"));
    assert_eq!(host.call("p1", "t1", "kalamazoo"), "private");
    host.summarize("p1", "It is in timbuktu.");
    // The same prompt told again does not make the running turn private.
    assert!(!host.prompt("p1", "<private>where is zanzibar</private>"));
    assert_eq!(host.call("p2", "t2", "ljubljana"), "stored");
    host.summarize("p2", "It is on the danube.");
    for word in ["zanzibar", "kalamazoo", "timbuktu"] {
        assert!(!host.is_found(word), "{word}: {:?}", host.holders(word));
    }
    for word in ["bratislava", "ljubljana", "danube"] {
        assert!(host.is_found(word), "{word}");
    }
}

#[test]
fn a_late_call_of_a_public_prompt_is_kept_while_a_private_one_runs() {
    let sandbox = Sandbox::new();
    let host = Host::new(&sandbox);
    assert!(host.prompt("p1", "where is bratislava"));
    assert!(!host.prompt("p2", "<private>where is zanzibar</private>"));
    assert_eq!(host.call("p1", "t1", "ljubljana"), "stored");
    host.summarize("p1", "It is on the danube.");
    assert_eq!(host.call("p2", "t2", "kalamazoo"), "private");
    host.summarize("p2", "It is in timbuktu.");
    for word in ["bratislava", "ljubljana", "danube"] {
        assert!(host.is_found(word), "{word}");
    }
    for word in ["zanzibar", "kalamazoo", "timbuktu"] {
        assert!(!host.is_found(word), "{word}: {:?}", host.holders(word));
    }
}
