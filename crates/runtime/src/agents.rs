//! One call of a hook by an agent other than Claude Code and Codex: its payload is translated by the agent's table, and the
//! jobs then see what Claude Code would have sent.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longhaul_agents::{Agent, Payload, ReportedUse, UsageSource, find, newest_use};
use longhaul_core::event::{EventName, HookEvent, utf8};
use longhaul_core::{Env, SessionId, catalog, reply};
use longhaul_store::ContextUse;
use longhaul_tracker::client_name;

use crate::clock_and_env::{self, patient};
use crate::hook::{JobFn, answer, answer_even_after_a_panic};
use crate::private_turns::is_wholly_private;
use crate::{Deadline, Error, ErrorLog, Home, Hook, bounded_read, files, process, stdin};

/// How long to wait for the database, while another agent waits for the context use to be stored.
const DATABASE_FOR_AGENT: Duration = Duration::from_millis(500);

/// Number of bytes read from the end of an agent's transcript for the newest use of the context.
const MAX_TAIL: usize = 256 * 1024;

/// The longest id of a prompt that is read from its record.
const MAX_ID_CHARS: usize = 100;

#[derive(Debug)]
pub struct AgentCall {
    pub(crate) env: Env,
    pub(crate) log: ErrorLog,
    pub(crate) deadline: Deadline,
    pub(crate) payload: Payload,
    /// The file for a text that the model is shown with its first prompt, because the agent ignores it at the start.
    pub(crate) held_back: PathBuf,
}

impl AgentCall {
    /// Reads the payload of `event` from standard input. If there is nothing to do, it answers and returns `None`.
    pub fn receive(agent: &str, event: &str) -> Option<Self> {
        let started = Instant::now();
        let env = clock_and_env::env();
        let log = ErrorLog::new(&env, &format!("{agent} {event}"));
        answer_even_after_a_panic(log.clone());
        let payload = stdin::read(catalog::stdin_deadline(EventName::PostToolUse)).map_err(|error| error.to_string());
        let parsed = payload.and_then(|bytes| {
            let agent = find(agent).ok_or_else(|| format!("no such event or agent: {agent:?}"))?;
            let payload = Payload::parse(agent, event, &utf8(bytes));
            payload.map(|payload| Some((agent, payload?))).map_err(|error| error.to_string())
        });
        let found = parsed.unwrap_or_else(|problem| {
            log.write(&problem);
            None
        });
        let Some((agent, payload)) = found.filter(|_| !env.disabled) else {
            answer(reply::PLAIN);
            return None;
        };
        // The event is only known now, but the agent's limit includes the wait for the payload.
        let deadline = Deadline::of_hook(payload.event, started);
        let held_back = Home::of(&env).map(|home| home.session_file(&payload.session, "context")).unwrap_or_default();
        let mut call = Self { env: env_of(agent, env), log, deadline, payload, held_back };
        call.leave_private_reply_out();
        if let Err(error) = call.complete(agent) {
            call.log.write(&format!("session {}: {}", call.payload.session, error.chain()));
        }
        Some(call)
    }

    /// Returns the event of Claude Code that this is treated as.
    pub fn event(&self) -> EventName {
        self.payload.event
    }

    /// Runs `jobs`, prints the answer, and then runs `afterwards`.
    pub fn run<E: HookEvent<'static>>(self, jobs: &[JobFn<E>], afterwards: &[JobFn<E>]) {
        Hook::<E>::run_translated(self, jobs, afterwards);
    }

    /// Returns the text that was held back at the start, and forgets it.
    pub(crate) fn take_held_back(&self) -> Option<String> {
        if self.event() != EventName::UserPromptSubmit {
            return None;
        }
        let text = bounded_read::text(&self.held_back, bounded_read::SMALL).ok()?;
        std::fs::remove_file(&self.held_back).ok()?;
        Some(text)
    }

    /// Answers an event for which there is no job.
    pub fn ignore(self) {
        answer(reply::PLAIN);
    }

    /// Removes the reply to a private prompt, if the end of the turn repeats the prompt.
    ///
    /// If the hook of that prompt was killed, only this shows that the turn is private: the record still has the id of the
    /// prompt before it.
    fn leave_private_reply_out(&mut self) {
        let prompt = self.payload.text("prompt").filter(|_| self.event() == EventName::Stop);
        if prompt.is_some_and(|prompt| is_wholly_private(&prompt)) {
            self.payload.remove_reply();
        }
    }

    /// Adds the id of the prompt where the agent sends none, and records the use of the context.
    fn complete(&mut self, agent: &Agent) -> Result<(), Error> {
        let home = Home::of(&self.env)?;
        let prompt_file = home.session_file(&self.payload.session, "prompt");
        if self.payload.lacks_prompt_id() {
            let id = bounded_read::text(&prompt_file, bounded_read::SMALL).ok();
            if let Some(id) = id.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()) {
                self.payload.set_prompt_id(&id.chars().take(MAX_ID_CHARS).collect::<String>());
            }
        } else if self.event() == EventName::UserPromptSubmit
            && !agent.sends_prompt_ids
            && let Some(id) = self.payload.text("prompt_id")
        {
            files::replace(&prompt_file, id.as_bytes())?;
        }
        if self.event() == EventName::Stop
            && let Some(usage) = self.usage(agent)
        {
            record_use(&home, &self.payload.session, usage, &self.env)?;
        }
        Ok(())
    }

    fn usage(&self, agent: &Agent) -> Option<ReportedUse> {
        match agent.usage {
            UsageSource::StopPayload => self.payload.usage(),
            UsageSource::Rollout => None,
            UsageSource::Transcript { window } => {
                let file = bounded_read::open(Path::new(self.payload.transcript.as_ref()?)).ok()?;
                newest_use(&files::tail(&file, MAX_TAIL).ok()?.0, window)
            }
        }
    }
}

fn record_use(home: &Home, session: &SessionId, usage: ReportedUse, env: &Env) -> Result<(), Error> {
    let percent = usage.window.map(|window| usage.tokens as f64 * 100.0 / window.max(1) as f64);
    let context = ContextUse {
        session: session.to_string(),
        model: usage.model,
        window_tokens: usage.window,
        used_tokens: Some(usage.tokens),
        used_percent: percent.map(f64::round),
        rate_limits: None,
        recorded_at: env.now,
    };
    home.store(patient(DATABASE_FOR_AGENT))?.record_context(&context)?;
    Ok(())
}

/// Returns the environment of an agent's hook, without the values of a client that may have started the agent.
///
/// The process of the session is the nearest process of the agent above the hook. If another client is above it, the agent
/// was started as a command of that client, and the pane belongs to that client.
fn env_of(agent: &Agent, mut env: Env) -> Env {
    let above = process::ancestors(std::process::id());
    let clients: Vec<(u32, &str)> =
        above.iter().filter_map(|process| Some((process.pid, client_name(process)?))).collect();
    env.client_pid = clients.iter().find(|(_, client)| *client == agent.name).map(|(pid, _)| *pid);
    env.client_session = None;
    env.client_config_dir = None;
    // The folder of the event counts: Gemini CLI and Qwen Code set Claude Code's variable, but opencode inherits it.
    env.project_dir = None;
    if clients.iter().any(|(_, client)| *client != agent.name) {
        (env.tmux, env.tmux_pane, env.screen_session) = (None, None, None);
    }
    env
}
