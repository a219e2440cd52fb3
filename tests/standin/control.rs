//! The control socket: one JSON command a line in, one JSON answer a line out, when it is done.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::{App, Event, stdout_of};
use crate::clearing::Kill;
use crate::hooks::Outcome;
use crate::keys::Key;
use crate::record::new_id;
use crate::script::{Reply, ToolCall};
use crate::transcript::Usage;

/// What can be asked for.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Command {
    /// Begins a turn without a prompt.
    Turn,
    /// A tool has run: fires PostToolUse.
    Tool(ToolCall),
    /// `n` tools run one after the other.
    Tools {
        n: usize,
        #[serde(flatten)]
        call: ToolCall,
    },
    /// Ends the turn, draws it, fires Stop.
    Stop {
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        tokens: Option<u64>,
        #[serde(default)]
        payload: Value,
    },
    /// Sets what the model says next: a turn that a prompt begins plays one reply and stops, and so does one that a
    /// Stop hook sends on.
    Replies { replies: Vec<Reply> },
    /// Sets what replies say of their context, and keeps a transcript from here on.
    Usage(Usage),
    /// Keeps a transcript from here on.
    Transcript,
    /// Sets what becomes of a typed `/clear`; what is left out stays as it is.
    Clears {
        #[serde(default)]
        delay_ms: Option<u64>,
        #[serde(default)]
        swallow: Option<u32>,
        #[serde(default)]
        kill: Option<Kill>,
    },
    /// Has a program run in place of an event's hooks.
    Override { event: String, program: String },
    /// Types into the terminal, and presses Enter.
    Submit { text: String },
    /// Asks for what the hooks showed the model and the person.
    Shown,
    /// Fires any event.
    Hook {
        event: String,
        #[serde(default)]
        payload: Value,
    },
    /// Opens or closes the permission dialog.
    Dialog {
        open: bool,
        /// The file that it asks about.
        #[serde(default)]
        file: Option<String>,
    },
    /// Says whether keybindings.json is ignored, as by a client that does not know it.
    IgnoreKeybindings { ignored: bool },
    /// Sets the input.
    Draft { text: String },
    /// Fires SessionStart.
    Session { source: String },
    /// Does what `/clear` does.
    Clear,
    /// Sets the delay before redraws.
    Delay { ms: u64 },
    /// Asks for everything that tests want to know.
    State,
    /// Ends the session and the program.
    Quit,
}

type Answer = Box<dyn FnOnce(&mut App, Value) + Send>;

/// Returns the path of the control socket; `None` where there is none.
pub(crate) fn socket(session: &str) -> Option<PathBuf> {
    let in_directory = || env::var_os("STANDIN_SOCKETS").map(|directory| Path::new(&directory).join(session));
    env::var_os("STANDIN_SOCKET").map(PathBuf::from).or_else(in_directory)
}

/// Listens at `path`, replacing what an earlier run has left there.
pub(crate) fn listen(path: &Path, events: Sender<Event>) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let events = events.clone();
            thread::spawn(move || serve(&stream, &events));
        }
    });
    Ok(())
}

fn serve(stream: &UnixStream, events: &Sender<Event>) -> io::Result<()> {
    for line in BufReader::new(stream).lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(Command::Tools { n, call }) => {
                let each = (0..n).map(|_| ask(events, Command::Tool(call.clone())));
                let answers: Vec<Value> = each.collect();
                json!({ "ok": true, "answers": answers })
            }
            Ok(command) => ask(events, command),
            Err(error) => json!({ "ok": false, "error": error.to_string() }),
        };
        let mut stream = stream;
        stream.write_all(format!("{answer}\n").as_bytes())?;
    }
    Ok(())
}

/// Has the event loop do `command`, and waits for the answer.
fn ask(events: &Sender<Event>, command: Command) -> Value {
    let (send, receive) = channel();
    // The answer leaves when the terminal shows what the command has changed.
    let answer: Answer = Box::new(move |app, value| {
        app.when_drawn.push(Box::new(move |_| drop(send.send(value))));
    });
    let step = Event::Then(Box::new(move |app| perform(app, command, answer)));
    if events.send(step).is_err() {
        return json!({ "ok": false, "error": "the stand-in is ending" });
    }
    receive.recv().unwrap_or_else(|_| json!({ "ok": false, "error": "the stand-in ended" }))
}

fn perform(app: &mut App, command: Command, answer: Answer) {
    let ok = json!({ "ok": true });
    match command {
        Command::Turn => {
            app.prompt_id.get_or_insert_with(new_id);
            app.start_turn();
            answer(app, ok);
        }
        Command::Tool(call) => app.tool(call, |app, outcomes| answer(app, told(outcomes))),
        Command::Tools { .. } => answer(app, json!({ "ok": false, "error": "tools are taken apart before" })),
        Command::Stop { message, tokens, payload } => {
            let message = message.unwrap_or_else(|| "Done.".to_owned());
            app.stop(message, tokens, payload, |app, outcomes| answer(app, told(outcomes)));
        }
        Command::Replies { replies } => {
            app.replies = replies.into();
            answer(app, ok);
        }
        Command::Usage(usage) => {
            app.transcript.usage = usage;
            app.transcript.kept = true;
            answer(app, ok);
        }
        Command::Transcript => {
            app.transcript.kept = true;
            answer(app, ok);
        }
        Command::Clears { delay_ms, swallow, kill } => {
            let clears = &mut app.clears;
            clears.delay = delay_ms.map_or(clears.delay, Duration::from_millis);
            clears.swallow = swallow.unwrap_or(clears.swallow);
            clears.kill = kill.or(clears.kill);
            answer(app, ok);
        }
        Command::Override { event, program } => {
            app.overrides.insert(event, program);
            answer(app, ok);
        }
        Command::Submit { text } => {
            app.press(Key::Paste(text));
            app.press(Key::Enter);
            answer(app, ok);
        }
        Command::Shown => {
            let shown = json!({ "ok": true, "shown": app.shown });
            answer(app, shown);
        }
        Command::Hook { event, payload } => fire(app, &event, payload, answer),
        Command::Session { source } => fire(app, "SessionStart", json!({ "source": source }), answer),
        Command::Clear => app.clear(|app| answer(app, ok)),
        Command::Dialog { open, file } => {
            app.dialog_file = file.unwrap_or_else(|| "p.txt".to_owned());
            app.dialog = open;
            app.log.append("dialog", json!({ "open": open }));
            answer(app, ok);
        }
        Command::IgnoreKeybindings { ignored } => {
            app.chords.ignored = ignored;
            answer(app, ok);
        }
        Command::Draft { text } => {
            app.draft = text;
            answer(app, ok);
        }
        Command::Delay { ms } => {
            app.delay = Duration::from_millis(ms);
            answer(app, ok);
        }
        Command::State => {
            let state = state(app);
            answer(app, state);
        }
        Command::Quit => {
            app.exit("prompt_input_exit");
            answer(app, ok);
        }
    }
}

fn fire(app: &mut App, event: &str, payload: Value, answer: Answer) {
    app.fire(event, &payload, |app, outcomes| answer(app, told(&outcomes)));
}

fn told(outcomes: &[Outcome]) -> Value {
    json!({ "ok": true, "stdout": stdout_of(outcomes), "hooks": outcomes })
}

fn state(app: &App) -> Value {
    json!({
        "ok": true,
        "pid": std::process::id(),
        "status": app.status().as_str(),
        "draft": app.draft,
        "stashed": app.stash,
        "submitted": app.submitted,
        "dialog_answers": app.dialog_answers,
        "turns": app.turns,
        "stops": app.stops,
        "session_id": app.session_id,
        "prompt_id": app.prompt_id,
    })
}
