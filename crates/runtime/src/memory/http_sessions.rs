//! The work of the hooks for hosts that cannot start a process for every event, through the worker.
//!
//! Every call may be repeated: sessions, prompts and tool calls are identified by their ids.

use std::path::Path;

use longhaul_core::event::Common;
use longhaul_core::{Config, Env, SessionId};
use longhaul_memory::is_skipped;
use longhaul_store::{Session, Store};

use super::events::has_something_to_say;
use super::{ReportedCall, clean_prompt, is_excluded, keep_last_reply, sum_up, take_in};
use crate::handoff::register;
use crate::{Error, Home, Sanitizer, private_turns};

/// The access of a host to the memory.
#[derive(Debug)]
pub struct Host<'a> {
    /// The data folder.
    pub home: &'a Home,
    /// Clock and environment.
    pub env: &'a Env,
    /// The effective configuration.
    pub config: &'a Config,
}

#[derive(Debug, Clone, Copy)]
pub struct HostPrompt<'a> {
    pub id: &'a str,
    pub text: &'a str,
}

longhaul_core::named! {
    /// The result for a tool call.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Noted {
        /// It is stored, as a record or as a repetition of the previous one.
        Stored = "stored",
        /// It was already stored.
        Known = "known",
        /// Its tool is not remembered, or there is nothing to record.
        Skipped = "skipped",
        /// Nothing of this turn may be stored.
        Private = "private",
        /// The project is not remembered.
        Excluded = "excluded",
    }
}

impl Host<'_> {
    pub fn excludes(&self, project: &Path) -> bool {
        is_excluded(&self.config.memory, self.env, project)
    }

    pub fn begin(&self, store: &Store, session: &SessionId, cwd: &Path) -> Result<Option<Session>, Error> {
        // The environment of the worker is not that of the host.
        let mut env = self.env.clone();
        env.client_pid = None;
        env.project_dir = Some(cwd.to_owned());
        let mut common = Common::new(session.clone());
        common.cwd = Some(cwd.to_owned());
        register(store, &env, &common)
    }

    /// Remembers a prompt of a known session. Returns its number; `None` if nothing of it may be stored.
    pub fn prompt(&self, store: &Store, session: &SessionId, prompt: HostPrompt<'_>) -> Result<Option<i64>, Error> {
        if let Some(number) = store.prompt_number(session.as_str(), prompt.id)? {
            return Ok(Some(number));
        }
        if private_turns::is_marked(self.home, session, prompt.id) {
            // The prompt is repeated, perhaps while a later turn is running, which must not become private by that.
            return Ok(None);
        }
        let is_private = private_turns::is_wholly_private(prompt.text);
        // This is recorded first, because tools may run meanwhile.
        private_turns::mark(self.home, session, Some(prompt.id), is_private)?;
        let kept = clean_prompt(prompt.text, self.sanitizer()).filter(|_| !is_private);
        store.count_prompt(session.as_str(), kept.as_deref())?;
        match kept {
            Some(text) => Ok(store.remember_prompt(session.as_str(), Some(prompt.id), &text, self.env.now)?),
            None => Ok(None),
        }
    }

    /// Records a tool call and stores it at once.
    pub fn note(
        &self,
        store: &Store,
        session: &SessionId,
        cwd: &Path,
        call: &ReportedCall<'_>,
    ) -> Result<Noted, Error> {
        if self.excludes(cwd) {
            return Ok(Noted::Excluded);
        }
        if is_skipped(call.tool, &self.config.memory.skip_tools.0) {
            return Ok(Noted::Skipped);
        }
        if private_turns::is_private(self.home, session, call.prompt_id) {
            return Ok(Noted::Private);
        }
        if store.knows_call(call.id)? {
            return Ok(Noted::Known);
        }
        super::note(self.home, session, Some(cwd), call, self.sanitizer(), self.env.now)?;
        take_in(store, self.home, session, self.env, None)?;
        Ok(if store.knows_call(call.id)? { Noted::Stored } else { Noted::Skipped })
    }

    /// Stores the last reply of a turn, and writes a summary of the session.
    pub fn end_turn(
        &self,
        store: &Store,
        session: &Session,
        prompt_id: Option<&str>,
        reply: &str,
    ) -> Result<(), Error> {
        let Some(id) = SessionId::new(&session.session) else { return Ok(()) };
        if private_turns::is_private(self.home, &id, prompt_id) {
            return self.settle(store, &id);
        }
        let asked = match prompt_id {
            Some(prompt) => store.prompt_text(id.as_str(), prompt)?,
            None => None,
        };
        // A later prompt may be running, even a private one.
        let session = Session { last_prompt: asked.or_else(|| session.last_prompt.clone()), ..session.clone() };
        keep_last_reply(store, &session, prompt_id, reply, self.sanitizer(), self.env.now)?;
        take_in(store, self.home, &id, self.env, None)?;
        if has_something_to_say(&session) {
            sum_up(store, &session, self.env.now)?;
        }
        Ok(())
    }

    pub fn complete(&self, store: &Store, session: &SessionId, reason: &str) -> Result<(), Error> {
        store.complete_session(session.as_str(), reason, self.env.now)?;
        self.settle(store, session)
    }

    fn settle(&self, store: &Store, session: &SessionId) -> Result<(), Error> {
        take_in(store, self.home, session, self.env, None)?;
        if let Some(session) = store.session(session.as_str())?.filter(has_something_to_say) {
            sum_up(store, &session, self.env.now)?;
        }
        Ok(())
    }

    fn sanitizer(&self) -> Sanitizer {
        Sanitizer::new(self.config)
    }
}
