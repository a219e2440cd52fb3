//! From a draft to a turn: stash, submit, queue, and the commands that the client does itself.

use std::mem;
use std::time::Instant;

use serde_json::{Value, json};

use crate::app::{App, Phase, Said, Submission, stdout_of};
use crate::hooks::Outcome;
use crate::record::new_id;

impl App {
    /// Puts the draft aside, or back where there is none.
    pub(crate) fn stash_or_restore(&mut self) {
        if !self.draft.is_empty() {
            self.stash = Some(mem::take(&mut self.draft));
            self.log.append("stashed", json!({}));
        } else if let Some(stash) = self.stash.take() {
            self.draft = stash;
            self.log.append("restored", json!({}));
        }
    }

    /// Does what Enter does in the input.
    pub(crate) fn submit_by_enter(&mut self) {
        self.submit(false);
    }

    /// Does what a chord does that is bound to chat:submit.
    pub(crate) fn submit_by_chord(&mut self) {
        self.submit(true);
    }

    /// Takes the draft as a prompt; a stashed draft comes back in its place.
    fn submit(&mut self, by_chord: bool) {
        if self.draft.trim().is_empty() {
            return;
        }
        let text = mem::replace(&mut self.draft, self.stash.take().unwrap_or_default());
        let mid_turn = self.phase != Phase::Idle;
        self.log.append("submitted", json!({ "text": text, "mid_turn": mid_turn }));
        let index = self.submitted.len();
        let own = is_own_command(text.trim());
        self.submitted.push(Submission {
            session_id: self.session_id.clone(),
            text,
            mid_turn,
            by_chord,
            prompt_hook_stdout: None,
            started_turn: false,
            keep_only: false,
        });
        match (own, mid_turn) {
            (true, true) => self.queue.push(index),
            (true, false) => self.run_own_command(index),
            (false, true) => {
                self.queue.push(index);
                self.ask_prompt_hooks(index, Self::queued_prompt_answered);
            }
            (false, false) => {
                self.phase = Phase::Prompting;
                self.stop_hook_active = false;
                self.prompt_id = Some(new_id());
                self.conversation.push(Said::User(self.submitted[index].text.clone()));
                self.ask_prompt_hooks(index, Self::idle_prompt_answered);
            }
        }
    }

    fn ask_prompt_hooks(&mut self, index: usize, then: fn(&mut Self, usize, Value)) {
        let prompt = self.submitted[index].text.trim().to_owned();
        self.fire("UserPromptSubmit", &json!({ "prompt": prompt }), move |app, outcomes| {
            let submission = &mut app.submitted[index];
            submission.prompt_hook_stdout = Some(stdout_of(&outcomes));
            let reply = outcomes.iter().map(Outcome::reply).find(|reply| !reply.is_null()).unwrap_or_default();
            submission.keep_only = reply["continue"] == false;
            then(app, index, reply);
        });
    }

    fn idle_prompt_answered(&mut self, index: usize, reply: Value) {
        if self.phase != Phase::Prompting {
            return;
        }
        self.phase = Phase::Idle;
        if reply["decision"] != "block" {
            let text = self.submitted[index].text.clone();
            self.write_prompt(&text);
        }
        if reply["continue"] == false {
            let reason = reply["stopReason"].as_str().unwrap_or("stopped by a hook");
            self.conversation.push(Said::Note(format!("  ⎿ \u{a0}{reason}")));
        } else if reply["decision"] == "block" {
            self.conversation.pop();
            let text = self.submitted[index].text.clone();
            self.draft.insert_str(0, &text);
        } else {
            self.start_turn_of(index);
        }
        self.settle_queue();
    }

    fn queued_prompt_answered(&mut self, _index: usize, _reply: Value) {
        self.settle_queue();
    }

    fn start_turn_of(&mut self, index: usize) {
        self.submitted[index].started_turn = true;
        self.start_turn();
        self.play();
    }

    /// Begins a turn. What happens in it is told from outside.
    pub(crate) fn start_turn(&mut self) {
        self.phase = Phase::Running;
        self.turn_began = Instant::now();
        self.turns += 1;
        self.log.append("turn", json!({ "n": self.turns }));
    }

    /// Ends the turn; what is left in the queue waits for `settle_queue`.
    pub(crate) fn end_turn(&mut self) {
        if self.phase != Phase::Idle {
            self.phase = Phase::Idle;
            let seconds = self.turn_began.elapsed().as_secs();
            self.conversation.push(Said::Note(format!("✻ Churned for {seconds}s · done 12:32 AM")));
        }
    }

    /// Ends the turn as the Escape key does: no hook fires.
    pub(crate) fn interrupt(&mut self) {
        self.phase = Phase::Idle;
        self.log.append("interrupted", json!({}));
        self.write_interruption();
        self.conversation.push(Said::Note("  ⎿ \u{a0}Interrupted · What should Claude do instead?".to_owned()));
        self.settle_queue();
    }

    /// Lets queued prompts ride along with a tool result.
    pub(crate) fn deliver_queue(&mut self) {
        for index in mem::take(&mut self.queue) {
            let submission = &self.submitted[index];
            if submission.keep_only || is_own_command(submission.text.trim()) {
                self.queue.push(index);
            } else {
                let text = submission.text.clone();
                self.write_prompt(&text);
                self.conversation.push(Said::User(text));
            }
        }
    }

    /// Takes up, while idle, what the turn has not: a kept message stays, a prompt begins a turn, a command runs.
    pub(crate) fn settle_queue(&mut self) {
        while self.phase == Phase::Idle
            && let Some(&index) = self.queue.first()
        {
            let submission = &self.submitted[index];
            let own = is_own_command(submission.text.trim());
            if !own && submission.prompt_hook_stdout.is_none() {
                return;
            }
            self.queue.remove(0);
            if own {
                self.run_own_command(index);
                continue;
            }
            let (text, keep_only) = (submission.text.clone(), submission.keep_only);
            // After a clear there is none yet.
            self.prompt_id.get_or_insert_with(new_id);
            self.write_prompt(&text);
            self.conversation.push(Said::User(text));
            if !keep_only {
                self.start_turn_of(index);
            }
        }
    }

    fn run_own_command(&mut self, index: usize) {
        let text = self.submitted[index].text.trim().to_owned();
        match text.split_whitespace().next() {
            Some("/clear" | "/new") => self.clear_typed(),
            Some("/compact") => self.compact(text["/compact".len()..].trim()),
            _ => self.exit("prompt_input_exit"),
        }
    }

    fn compact(&mut self, instructions: &str) {
        let extra = json!({ "trigger": "manual", "custom_instructions": instructions });
        self.fire("PreCompact", &extra, |app, _| {
            app.conversation = vec![Said::Note("✻ Conversation compacted".to_owned())];
            app.fire("SessionStart", &json!({ "source": "compact" }), |app, _| {
                let extra = json!({ "trigger": "manual", "compact_summary": "A summary." });
                app.fire("PostCompact", &extra, |_, _| {});
            });
        });
    }
}

/// Says whether the client does `text` itself, without asking the prompt's hooks.
fn is_own_command(text: &str) -> bool {
    matches!(text, "/clear" | "/new" | "/exit" | "/quit" | "/compact") || text.starts_with("/compact ")
}
