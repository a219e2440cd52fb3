//! The client's state and how keys, hooks and the turn change it.

use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::io;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::clearing::Clears;
use crate::hooks::{self, Hook, Outcome, Source};
use crate::keybindings::Chords;
use crate::keys::Key;
use crate::record::{Log, Record, Status, new_id};
use crate::script::Reply;
use crate::shown::Shown;
use crate::transcript::Transcript;

/// SessionEnd hooks get this long in all.
const FAREWELL: Duration = Duration::from_millis(1500);

/// What the event loop waits for.
pub(crate) enum Event {
    /// Bytes from the terminal.
    Input(Vec<u8>),
    /// The terminal is gone.
    InputClosed,
    /// Something to do with the state: a command from outside, or what follows a hook.
    Then(Then),
}

/// A step to be taken by the event loop.
pub(crate) type Then = Box<dyn FnOnce(&mut App) + Send>;

/// What the main loop of the client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Waits for a prompt.
    Idle,
    /// A prompt's hooks run; its turn has not begun.
    Prompting,
    /// A turn runs.
    Running,
    /// `/clear` has been typed; the new session is not there yet.
    Clearing,
}

/// One line of the conversation, by who said it.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    /// A user message.
    User(String),
    /// The model, or a tool call of its.
    Model(String),
    /// The client itself.
    Note(String),
}

/// One prompt that arrived.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Submission {
    /// The session that was there.
    pub(crate) session_id: String,
    /// The text exactly as it stood in the input.
    pub(crate) text: String,
    /// A turn was running.
    pub(crate) mid_turn: bool,
    /// What UserPromptSubmit answered; `None` until it has, and for the client's own commands.
    pub(crate) prompt_hook_stdout: Option<String>,
    /// It was submitted by a chord, and not by Enter.
    pub(crate) by_chord: bool,
    /// A turn began because of it: what would have been a request to the model.
    pub(crate) started_turn: bool,
    /// Its hooks said that no request should follow.
    #[serde(skip)]
    pub(crate) keep_only: bool,
}

/// Everything the stand-in knows.
pub(crate) struct App {
    pub(crate) events: Sender<Event>,
    pub(crate) hooks: Arc<Source>,
    /// Programs that run instead of an event's hooks.
    pub(crate) overrides: BTreeMap<String, String>,
    pub(crate) log: Log,
    pub(crate) record: Option<Record>,
    pub(crate) client_dir: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) session_id: String,
    pub(crate) permission_mode: String,
    pub(crate) prompt_id: Option<String>,
    pub(crate) phase: Phase,
    pub(crate) turn_began: Instant,
    pub(crate) turns: u64,
    pub(crate) stops: u64,
    pub(crate) stop_hook_active: bool,
    /// Why the newest block came.
    pub(crate) block_reason: Option<String>,
    /// What the model says next.
    pub(crate) replies: VecDeque<Reply>,
    pub(crate) transcript: Transcript,
    pub(crate) clears: Clears,
    pub(crate) shown: Vec<Shown>,
    pub(crate) dialog: bool,
    /// The file that the dialog asks about.
    pub(crate) dialog_file: String,
    pub(crate) dialog_answers: Vec<&'static str>,
    pub(crate) chords: Chords,
    pub(crate) draft: String,
    pub(crate) stash: Option<String>,
    pub(crate) conversation: Vec<Said>,
    pub(crate) submitted: Vec<Submission>,
    /// Indices into `submitted` of what waits for the turn to take it in.
    pub(crate) queue: Vec<usize>,
    /// Redraws wait this long; steps in `when_drawn` then do not wait for them.
    pub(crate) delay: Duration,
    /// Taken as soon as the terminal has confirmed that it shows this state.
    pub(crate) when_drawn: Vec<Then>,
    pub(crate) quit: bool,
    exit_presses: u32,
}

impl App {
    /// Returns a client that has just been started.
    pub(crate) fn new(
        events: Sender<Event>,
        hooks: Source,
        client_dir: PathBuf,
        cwd: PathBuf,
        arguments: &Arguments,
    ) -> Self {
        let given = arguments.resume.clone().or_else(|| env::var("STANDIN_SESSION").ok());
        let mut transcript = Transcript::default();
        if let Some(model) = &arguments.model {
            transcript.usage.model.clone_from(model);
        }
        Self {
            events,
            hooks: Arc::new(hooks),
            overrides: BTreeMap::new(),
            log: Log(env::var_os("STANDIN_LOG").map(PathBuf::from)),
            record: (env::var("STANDIN_RECORD").as_deref() == Ok("1")).then(|| Record::new(&client_dir).ok()).flatten(),
            client_dir,
            cwd,
            session_id: given.unwrap_or_else(new_id),
            permission_mode: arguments.permission_mode.clone().unwrap_or_else(|| "default".to_owned()),
            prompt_id: None,
            phase: Phase::Idle,
            turn_began: Instant::now(),
            turns: 0,
            stops: 0,
            stop_hook_active: false,
            block_reason: None,
            replies: VecDeque::new(),
            transcript,
            clears: Clears::default(),
            shown: Vec::new(),
            dialog: false,
            dialog_file: "p.txt".to_owned(),
            dialog_answers: Vec::new(),
            chords: Chords::default(),
            draft: String::new(),
            stash: None,
            conversation: Vec::new(),
            submitted: Vec::new(),
            queue: Vec::new(),
            delay: Duration::ZERO,
            when_drawn: Vec::new(),
            quit: false,
            exit_presses: 0,
        }
    }

    /// Goes on with a session that has a transcript in this folder; the client refuses any other.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        if !self.transcript_path().is_file() {
            let message = format!("No conversation found with session ID: {}", self.session_id);
            return Err(io::Error::other(message));
        }
        self.transcript.kept = true;
        self.conversation.push(Said::Note(format!("resumed {}", self.session_id)));
        self.fire("SessionStart", &json!({ "source": "resume" }), |_, _| {});
        Ok(())
    }

    /// Returns what the client's record says.
    pub(crate) fn status(&self) -> Status {
        if self.dialog {
            Status::Waiting
        } else if self.looks_busy() {
            Status::Busy
        } else {
            Status::Idle
        }
    }

    /// Says whether the screen shows that something is going on.
    pub(crate) fn looks_busy(&self) -> bool {
        match self.phase {
            Phase::Idle | Phase::Clearing => false,
            Phase::Prompting | Phase::Running => true,
        }
    }

    /// Writes the client's record, where one is kept and would say something new.
    pub(crate) fn write_record(&mut self) {
        let status = self.status();
        if let Some(record) = &mut self.record
            && let Err(error) = record.write(status, &self.session_id, &self.cwd)
        {
            self.log.append("record_failed", json!({ "error": error.to_string() }));
        }
    }

    /// Returns where the client would write this session's transcript.
    pub(crate) fn transcript_path(&self) -> PathBuf {
        let project: String =
            self.cwd.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.client_dir.join("projects").join(project).join(format!("{}.jsonl", self.session_id))
    }

    /// Does what `key` does in the client.
    pub(crate) fn press(&mut self, key: Key) {
        let exit_presses = mem::take(&mut self.exit_presses);
        match key {
            Key::Enter | Key::Esc | Key::Char('1'..='3') if self.dialog => self.answer_dialog(match key {
                Key::Esc => "esc",
                Key::Char('2') => "2",
                Key::Char('3') => "3",
                _ => "1",
            }),
            _ if self.dialog => self.log.append("swallowed", json!({})),
            Key::Ctrl(letter) if self.press_in_chord(letter) => {}
            Key::Char(_) | Key::Paste(_) | Key::Enter | Key::Backspace | Key::Esc if self.break_chord() => {}
            Key::Char(c) => self.draft.push(c),
            Key::Paste(text) => self.draft.push_str(&text),
            Key::NewLine => self.draft.push('\n'),
            Key::Backspace => drop(self.draft.pop()),
            Key::Enter => self.submit_by_enter(),
            Key::Esc if self.phase == Phase::Running => self.interrupt(),
            Key::Ctrl('s') => self.stash_or_restore(),
            Key::Ctrl('u') => self.draft.clear(),
            Key::Ctrl('c') if !self.draft.is_empty() => self.draft.clear(),
            Key::Ctrl('c' | 'd') if exit_presses == 1 => self.exit("prompt_input_exit"),
            Key::Ctrl('c' | 'd') if self.draft.is_empty() => self.exit_presses = 1,
            Key::Esc | Key::Ctrl(_) | Key::CursorReport => {}
        }
    }

    fn answer_dialog(&mut self, answer: &'static str) {
        self.dialog = false;
        self.dialog_answers.push(answer);
        self.log.append("dialog_answer", json!({ "answer": answer }));
        if matches!(answer, "esc" | "3") && self.phase == Phase::Running {
            self.interrupt();
        }
    }

    /// Ends the session and then the program, without waiting for its hooks for ever.
    pub(crate) fn exit(&mut self, reason: &str) {
        self.fire("SessionEnd", &json!({ "reason": reason }), |app, _| app.quit = true);
        let events = self.events.clone();
        thread::spawn(move || {
            thread::sleep(FAREWELL);
            events.send(Event::Then(Box::new(|app| app.quit = true)))
        });
    }

    /// Fires `event` with `extra` in its payload; `then` follows when every hook of it has returned.
    pub(crate) fn fire(
        &mut self,
        event: &str,
        extra: &Value,
        then: impl FnOnce(&mut Self, Vec<Outcome>) + Send + 'static,
    ) {
        let payload = self.payload(event, extra);
        let subject = ["tool_name", "source", "trigger", "reason", "agent_type", "notification_type"];
        let subject = subject.iter().find_map(|key| payload[*key].as_str()).unwrap_or_default();
        let subject = subject.to_owned();
        let hooks = match self.overrides.get(event) {
            Some(path) => vec![Hook::program(path)],
            None => self.hooks.hooks(event, &subject),
        };
        let (events, session_id, cwd) = (self.events.clone(), self.session_id.clone(), self.cwd.clone());
        self.log.append("hook", json!({ "name": event, "payload": payload }));
        let event = event.to_owned();
        thread::spawn(move || {
            let outcomes = hooks::run(&hooks, &payload, &session_id, &cwd);
            events.send(Event::Then(Box::new(move |app| {
                app.log.append("hook_done", json!({ "name": event, "hooks": outcomes }));
                app.show(&event, &subject, &session_id, &outcomes);
                then(app, outcomes);
            })))
        });
    }

    fn payload(&self, event: &str, extra: &Value) -> Value {
        let mut payload = json!({
            "session_id": self.session_id,
            "transcript_path": self.transcript_path(),
            "cwd": self.cwd,
            "hook_event_name": event,
        });
        if let Some(prompt_id) = &self.prompt_id {
            payload["prompt_id"] = json!(prompt_id);
        }
        if !matches!(event, "SessionStart" | "SessionEnd" | "Notification" | "SubagentStart" | "StopFailure") {
            payload["permission_mode"] = json!(self.permission_mode);
        }
        if matches!(
            event,
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" | "Stop" | "StopFailure" | "SubagentStop"
        ) {
            payload["effort"] = json!({ "level": "medium" });
        }
        for (key, value) in extra.as_object().into_iter().flatten() {
            payload[key] = value.clone();
        }
        payload
    }
}

/// Returns what the hooks of an event wrote, one after the other.
pub(crate) fn stdout_of(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(|outcome| outcome.stdout.as_str()).collect()
}
