//! Turns that run by themselves: what the model says next, and how Stop lets it end or sends it on.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::{App, Phase, Said};
use crate::hooks::Outcome;
use crate::record::new_id;

/// One reply of the model, with the tools that it uses before.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Reply {
    /// What it says. `{{nonce}}` stands for what followed `nonce: ` in the reason of the newest block.
    text: String,
    /// How many tools return before.
    tools: usize,
    /// The context in use, where it is not what `usage` said.
    tokens: Option<u64>,
    /// Further members of Stop's payload.
    stop: Value,
    /// The request fails instead, for this reason: StopFailure fires.
    error: Option<String>,
}

/// A tool that has run.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ToolCall {
    #[serde(default = "bash")]
    name: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    response: Value,
    #[serde(default)]
    tool_use_id: Option<String>,
    /// Further members of the payload, `agent_id` for one.
    #[serde(default)]
    payload: Value,
    /// The context in use, where it is not what `usage` said.
    #[serde(default)]
    tokens: Option<u64>,
}

fn bash() -> String {
    "Bash".to_owned()
}

impl App {
    /// Plays the next reply, if one is waiting, once the screen shows that the turn runs.
    ///
    /// Without one the turn goes on until it is told to stop.
    pub(crate) fn play(&mut self) {
        let turn = self.turns;
        if let Some(reply) = self.replies.pop_front() {
            self.when_drawn.push(Box::new(move |app| app.play_reply(reply, turn)));
        }
    }

    fn play_reply(&mut self, mut reply: Reply, turn: u64) {
        if self.phase != Phase::Running || self.turns != turn {
            // Somebody pressed Esc meanwhile.
            self.log.append("reply_dropped", json!({ "text": reply.text }));
        } else if reply.tools > 0 {
            reply.tools -= 1;
            let input = json!({ "command": "true", "description": "a step" });
            let response = json!({ "stdout": "", "stderr": "", "interrupted": false });
            let (tool_use_id, payload) = (None, Value::Null);
            let call = ToolCall { name: bash(), input, response, tool_use_id, payload, tokens: reply.tokens };
            self.tool(call, move |app, _| app.play_reply(reply, turn));
        } else if let Some(error) = &reply.error {
            self.stop_failure(&error.clone(), |_, _| {});
        } else {
            let text = fill(&reply.text, self.block_reason.as_deref().unwrap_or_default());
            self.stop(text, reply.tokens, reply.stop, |_, _| {});
        }
    }

    /// Has a tool return: fires PostToolUse.
    pub(crate) fn tool(&mut self, call: ToolCall, then: impl FnOnce(&mut Self, &[Outcome]) + Send + 'static) {
        let id = call.tool_use_id.unwrap_or_else(|| format!("toolu_{}", new_id().replace('-', "")));
        let mut payload = json!({
            "tool_name": call.name,
            "tool_input": call.input,
            "tool_response": call.response,
            "tool_use_id": id,
            "duration_ms": 1,
        });
        merge(&mut payload, call.payload);
        self.write_tool(&id, &call.name, &call.input, &call.response, call.tokens);
        self.conversation.push(Said::Model(format!("{}(…)", call.name)));
        self.fire("PostToolUse", &payload, |app, outcomes| {
            app.deliver_queue();
            then(app, &outcomes);
        });
    }

    /// Ends the turn with `message` and fires Stop, with the members of `extra` in its payload.
    ///
    /// Where a hook blocks, the turn goes on with its reason, and plays the next reply.
    pub(crate) fn stop(
        &mut self,
        message: String,
        tokens: Option<u64>,
        extra: Value,
        then: impl FnOnce(&mut Self, &[Outcome]) + Send + 'static,
    ) {
        let mut payload = json!({
            "stop_hook_active": self.stop_hook_active,
            "last_assistant_message": message,
            "background_tasks": [],
            "session_crons": [],
        });
        merge(&mut payload, extra);
        let entry = self.reply_entry(&message, tokens);
        self.append(entry);
        self.conversation.push(Said::Model(message));
        self.end_turn();
        let session_id = self.session_id.clone();
        // The screen shows the end of the turn before the hook can look at it.
        self.when_drawn.push(Box::new(move |app| {
            app.fire("Stop", &payload, move |app, outcomes| {
                app.stops += 1;
                if app.session_id == session_id {
                    app.stop_answered(&outcomes);
                }
                app.settle_queue();
                then(app, &outcomes);
            });
        }));
    }

    fn stop_answered(&mut self, outcomes: &[Outcome]) {
        let reason = outcomes.iter().find(|outcome| outcome.blocks()).map(Outcome::reason);
        self.stop_hook_active = reason.is_some();
        self.write_stop(outcomes, reason.as_deref());
        let Some(reason) = reason else { return };
        self.conversation.push(Said::Note(format!("  ⎿ \u{a0}Stop hook error: {reason}")));
        self.block_reason = Some(reason);
        if self.phase == Phase::Idle {
            self.phase = Phase::Running;
            self.play();
        }
    }

    /// Ends the turn because the request failed, and fires StopFailure.
    pub(crate) fn stop_failure(&mut self, error: &str, then: impl FnOnce(&mut Self, &[Outcome]) + Send + 'static) {
        let message = format!("API Error: {error}");
        let payload = json!({ "error": error, "last_assistant_message": message });
        self.write_api_error(&message, error);
        self.conversation.push(Said::Model(message));
        self.end_turn();
        self.when_drawn.push(Box::new(move |app| {
            app.fire("StopFailure", &payload, |app, outcomes| {
                app.settle_queue();
                then(app, &outcomes);
            });
        }));
    }
}

/// Puts the members of `extra` into `payload`.
fn merge(payload: &mut Value, extra: Value) {
    if let (Value::Object(payload), Value::Object(extra)) = (payload, extra) {
        payload.extend(extra);
    }
}

/// Returns `text` with its nonce filled from `reason`; where there is none, it stays as it is.
fn fill(text: &str, reason: &str) -> String {
    let nonce = reason.split_once("nonce: ").and_then(|(_, rest)| rest.split_whitespace().next());
    nonce.map_or_else(|| text.to_owned(), |nonce| text.replace("{{nonce}}", nonce))
}
