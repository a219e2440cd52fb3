//! Starts the stand-in for Claude Code (`tests/standin`) in a terminal, and sends it commands.

mod script;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::poll::{DEADLINE, wait_for, wait_until};
use crate::sandbox::{Sandbox, bin_dir};
use crate::tmux::{Pane, Tmux};

pub(crate) use self::script::{Kind, Reply};

/// A hook may wait for seconds; longer than this means that the stand-in hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which hooks the stand-in fires.
#[derive(Debug, Clone, Default)]
pub(crate) enum Hooks {
    /// Our executables, by their names.
    #[default]
    Executables,
    /// Those of a hooks.json, with the root that stands for `${CLAUDE_PLUGIN_ROOT}`.
    File {
        /// The hooks.json.
        path: PathBuf,
        /// The plugin's root.
        root: PathBuf,
    },
    /// None: nothing but the terminal is tested.
    None,
}

/// How the stand-in is started.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Which hooks it fires.
    pub(crate) hooks: Hooks,
    /// Whether it writes the client's record of itself.
    pub(crate) record: bool,
    /// The first session id; random if `None`.
    pub(crate) session: Option<String>,
    /// Commands that it gets before anything else, see `script`.
    pub(crate) setup: Vec<Value>,
}

impl Default for Options {
    fn default() -> Self {
        Self { hooks: Hooks::default(), record: true, session: None, setup: Vec::new() }
    }
}

/// Program and environment of one stand-in.
pub(crate) struct Launch {
    /// The program and its arguments.
    pub(crate) program: Vec<String>,
    /// What it needs beyond the sandbox's environment.
    pub(crate) variables: Vec<(String, String)>,
    socket: PathBuf,
    log: PathBuf,
    setup: Vec<Value>,
}

impl Launch {
    /// Prepares a stand-in called `claude`, as process lists will show it, with a socket of its own.
    pub(crate) fn new(sandbox: &Sandbox, options: &Options) -> Self {
        let standin = bin_dir().join("examples/standin");
        assert!(standin.is_file(), "{} is missing: run `cargo build --example standin`", standin.display());
        let number = (0..).find(|n| !sandbox.path(&format!("standin-{n}")).exists()).expect("numbers do not end");
        let directory = sandbox.path(&format!("standin-{number}"));
        fs::create_dir(&directory).expect("cannot make the stand-in's directory");
        let claude = directory.join("claude");
        symlink(standin, &claude).expect("cannot link the stand-in");

        let text = |path: &PathBuf| path.to_str().expect("temporary paths are UTF-8").to_owned();
        let (socket, log) = (directory.join("socket"), directory.join("log"));
        let mut variables = vec![("STANDIN_SOCKET", text(&socket)), ("STANDIN_LOG", text(&log))];
        match &options.hooks {
            Hooks::Executables => variables.push(("STANDIN_BIN_DIR", text(&bin_dir()))),
            Hooks::File { path, root } => {
                variables.push(("STANDIN_HOOKS", text(path)));
                variables.push(("CLAUDE_PLUGIN_ROOT", text(root)));
            }
            Hooks::None => {}
        }
        if options.record {
            variables.push(("STANDIN_RECORD", "1".to_owned()));
        }
        if let Some(session) = &options.session {
            variables.push(("STANDIN_SESSION", session.clone()));
        }
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { program: vec![text(&claude)], variables, socket, log, setup: options.setup.clone() }
    }
}

/// A prompt that reached the stand-in.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
pub(crate) struct Submission {
    /// The session that was there.
    pub(crate) session_id: String,
    /// The text exactly as it stood in the input.
    pub(crate) text: String,
    /// A turn was running.
    pub(crate) mid_turn: bool,
    /// It was submitted by a chord, and not by Enter.
    pub(crate) by_chord: bool,
    /// What UserPromptSubmit answered; `None` until it has.
    pub(crate) prompt_hook_stdout: Option<String>,
    /// A turn began because of it: in the client, a request to the model.
    pub(crate) started_turn: bool,
}

/// What the stand-in says of itself.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct State {
    /// Its process, which hooks know as `CLAUDE_PID`.
    pub(crate) pid: u32,
    /// idle, busy or waiting.
    pub(crate) status: String,
    /// The text in the input.
    pub(crate) draft: String,
    /// The draft put aside by Ctrl-S.
    pub(crate) stashed: Option<String>,
    /// Every prompt so far.
    pub(crate) submitted: Vec<Submission>,
    /// How dialogs were answered: by the number of an option, or `esc`.
    pub(crate) dialog_answers: Vec<String>,
    /// How many times Stop has been answered.
    pub(crate) stops: u64,
    /// The session's id.
    pub(crate) session_id: String,
}

impl State {
    /// Returns the texts of the prompts so far.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.submitted.iter().map(|submission| submission.text.as_str()).collect()
    }
}

/// A running stand-in.
///
/// Every command is a connection of its own, so several threads may talk to it at once. A command returns when the
/// terminal shows what it changed, unless redraws are delayed.
pub(crate) struct StandIn {
    socket: PathBuf,
    log: PathBuf,
    /// The session that `wait_for_session_change` waits to be over.
    known_session: Mutex<String>,
}

impl StandIn {
    /// Starts a stand-in in a pane of its own.
    pub(crate) fn in_tmux(sandbox: &Sandbox, tmux: &Tmux, options: &Options) -> (Self, Pane) {
        let launch = Launch::new(sandbox, options);
        let program: Vec<&str> = launch.program.iter().map(String::as_str).collect();
        let pane = tmux.pane(&program, &launch.variables);
        (Self::connect(&launch), pane)
    }

    /// Waits until a stand-in that somebody has started answers.
    pub(crate) fn connect(launch: &Launch) -> Self {
        let (socket, log) = (launch.socket.clone(), launch.log.clone());
        let standin = Self { socket, log, known_session: Mutex::default() };
        wait_until(DEADLINE, "the stand-in's socket", || UnixStream::connect(&standin.socket).is_ok());
        *standin.known_session.lock().unwrap() = standin.state().session_id;
        for command in &launch.setup {
            standin.ask(command.clone());
        }
        standin
    }

    /// Waits for the stand-in that has resumed `session`, whose socket is in the directory `STANDIN_SOCKETS`.
    pub(crate) fn resumed(sockets: &Path, session: &str) -> Self {
        let socket = sockets.join(session);
        let launch =
            Launch { program: Vec::new(), variables: Vec::new(), log: socket.clone(), socket, setup: Vec::new() };
        Self::connect(&launch)
    }

    /// Begins a turn without a prompt.
    pub(crate) fn turn(&self) {
        self.ask(json!({ "do": "turn" }));
    }

    /// Has a tool return; `call` may hold name, input, response, tool_use_id and payload (further members).
    pub(crate) fn tool_with(&self, mut call: Value) -> String {
        call["do"] = json!("tool");
        stdout(&self.ask(call))
    }

    /// Has `n` tools return one after the other and returns each answer of PostToolUse.
    pub(crate) fn tools(&self, n: usize) -> Vec<String> {
        let answer = self.ask(json!({ "do": "tools", "n": n, "response": "done" }));
        answer["answers"].as_array().into_iter().flatten().map(stdout).collect()
    }

    /// Begins a turn in which `n` tools return.
    pub(crate) fn turn_with_tools(&self, n: usize) -> Vec<String> {
        self.turn();
        self.tools(n)
    }

    /// Ends the turn, waits until the screen shows it, fires Stop and returns its answer.
    pub(crate) fn stop(&self) -> String {
        self.stop_with(json!({}))
    }

    /// Ends the turn with `payload` in Stop's payload.
    pub(crate) fn stop_with(&self, payload: Value) -> String {
        stdout(&self.ask(json!({ "do": "stop", "payload": payload })))
    }

    /// Fires any event with `payload` added to the common members, and returns its answer.
    pub(crate) fn hook(&self, event: &str, payload: Value) -> String {
        stdout(&self.ask(json!({ "do": "hook", "event": event, "payload": payload })))
    }

    /// Fires SessionStart and returns its answer.
    pub(crate) fn session_start(&self, source: &str) -> String {
        stdout(&self.ask(json!({ "do": "session", "source": source })))
    }

    /// Does what `/clear` does; returns when SessionStart has returned.
    pub(crate) fn clear(&self) {
        self.ask(json!({ "do": "clear" }));
    }

    /// Opens a permission dialog.
    pub(crate) fn open_dialog(&self) {
        self.ask(json!({ "do": "dialog", "open": true }));
    }

    /// Opens a permission dialog for another file.
    pub(crate) fn open_dialog_for(&self, file: &str) {
        self.ask(json!({ "do": "dialog", "open": true, "file": file }));
    }

    /// Closes the dialog unanswered.
    pub(crate) fn close_dialog(&self) {
        self.ask(json!({ "do": "dialog", "open": false }));
    }

    /// Puts `text` into the input, as if it had been typed there.
    pub(crate) fn draft(&self, text: &str) {
        self.ask(json!({ "do": "draft", "text": text }));
    }

    /// Lets it ignore keybindings.json, as a client does that does not know it.
    pub(crate) fn ignore_keybindings(&self) {
        self.ask(json!({ "do": "ignore_keybindings", "ignored": true }));
    }

    /// Lets every redraw come `delay` late.
    pub(crate) fn delay(&self, delay: Duration) {
        self.ask(json!({ "do": "delay", "ms": delay.as_millis() as u64 }));
    }

    /// Returns what it says of itself.
    pub(crate) fn state(&self) -> State {
        serde_json::from_value(self.ask(json!({ "do": "state" }))).expect("the state has its members")
    }

    /// Waits until the state is as `condition` wants it, and returns it.
    #[track_caller]
    pub(crate) fn wait_for_state(&self, what: &str, condition: impl Fn(&State) -> bool) -> State {
        wait_for(DEADLINE, what, || Some(self.state()).filter(|state| condition(state)))
    }

    /// Returns the log so far, one JSON object an event.
    pub(crate) fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Ends the session as a person does, and waits until the process is gone.
    pub(crate) fn quit(self) {
        let mut stream = UnixStream::connect(&self.socket).expect("the stand-in listens");
        // The answer may get lost in the exit.
        let _ = stream.write_all(b"{\"do\":\"quit\"}\n");
        wait_until(DEADLINE, "the stand-in's end", || UnixStream::connect(&self.socket).is_err());
    }

    #[track_caller]
    fn ask(&self, command: Value) -> Value {
        let mut stream = UnixStream::connect(&self.socket).expect("the stand-in listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit can be set");
        stream.write_all(format!("{command}\n").as_bytes()).expect("the stand-in reads");
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("the stand-in answers");
        let answer: Value = serde_json::from_str(&line).unwrap_or_default();
        assert_eq!(answer["ok"], true, "{command} was answered {line:?}");
        answer
    }
}

fn stdout(answer: &Value) -> String {
    answer["stdout"].as_str().unwrap_or_default().to_owned()
}
