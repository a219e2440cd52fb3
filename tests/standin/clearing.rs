//! `/clear`: at once as a rule; late, never, or the last thing that the client does where a test wants it so.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};
use serde::Deserialize;
use serde_json::json;

use crate::app::{App, Event, Phase};
use crate::record::new_id;

/// What becomes of a typed `/clear`.
#[derive(Debug, Default)]
pub(crate) struct Clears {
    /// How long it takes until it happens.
    pub(crate) delay: Duration,
    /// How many do nothing before one does something.
    pub(crate) swallow: u32,
    /// When the process kills itself.
    pub(crate) kill: Option<Kill>,
}

/// The moment of a clear at which the process is gone, as with SIGKILL from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kill {
    /// SessionStart's hooks have just answered.
    AfterSessionStart,
}

impl App {
    /// Takes a `/clear` that was typed.
    pub(crate) fn clear_typed(&mut self) {
        if self.clears.swallow > 0 {
            self.clears.swallow -= 1;
            self.log.append("clear_swallowed", json!({}));
            return;
        }
        if self.clears.delay.is_zero() {
            return self.clear(|_| {});
        }
        self.phase = Phase::Clearing;
        self.turn_began = Instant::now();
        let (events, delay) = (self.events.clone(), self.clears.delay);
        thread::spawn(move || {
            thread::sleep(delay);
            events.send(Event::Then(Box::new(|app| app.clear(|_| {}))))
        });
    }

    /// Does what `/clear` does: SessionEnd under the old id, SessionStart under the new one.
    ///
    /// Prompts that come meanwhile wait for the new session.
    pub(crate) fn clear(&mut self, then: impl FnOnce(&mut Self) + Send + 'static) {
        self.phase = Phase::Clearing;
        self.fire("SessionEnd", &json!({ "reason": "clear" }), |app, _| {
            app.session_id = new_id();
            app.prompt_id = None;
            app.transcript.leaf = None;
            app.stop_hook_active = false;
            app.block_reason = None;
            app.conversation.clear();
            app.phase = Phase::Idle;
            // Whoever is told of the new session must find it in the record as well.
            app.write_record();
            app.fire("SessionStart", &json!({ "source": "clear" }), |app, _| {
                app.die_at(Kill::AfterSessionStart);
                app.settle_queue();
                then(app);
            });
        });
    }

    fn die_at(&self, moment: Kill) {
        if self.clears.kill == Some(moment) {
            self.log.append("killed", json!({ "session_id": self.session_id }));
            // Nothing is tidied up: the record stays behind, as the client's does.
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }
}
