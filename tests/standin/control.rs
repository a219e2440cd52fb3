//! The control socket: one JSON command a line in, one JSON answer a line out, when it is done.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::{App, Event, Said, stdout_of};
use crate::hooks::Outcome;
use crate::record::new_id;

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
        payload: Value,
    },
    /// Fires any event.
    Hook {
        event: String,
        #[serde(default)]
        payload: Value,
    },
    /// Opens or closes the permission dialog.
    Dialog { open: bool },
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

#[derive(Deserialize, Clone)]
struct ToolCall {
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
}

fn bash() -> String {
    "Bash".to_owned()
}

type Answer = Box<dyn FnOnce(&mut App, Value) + Send>;

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
        Command::Tool(call) => tool(app, call, answer),
        Command::Tools { .. } => answer(app, json!({ "ok": false, "error": "tools are taken apart before" })),
        Command::Stop { message, payload } => stop(app, message, payload, answer),
        Command::Hook { event, payload } => fire(app, &event, payload, answer),
        Command::Session { source } => fire(app, "SessionStart", json!({ "source": source }), answer),
        Command::Clear => app.clear(|app| answer(app, ok)),
        Command::Dialog { open } => {
            app.dialog = open;
            app.log.append("dialog", json!({ "open": open }));
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

fn tool(app: &mut App, call: ToolCall, answer: Answer) {
    let mut payload = json!({
        "tool_name": call.name,
        "tool_input": call.input,
        "tool_response": call.response,
        "tool_use_id": call.tool_use_id.unwrap_or_else(|| format!("toolu_{}", new_id().replace('-', ""))),
        "duration_ms": 1,
    });
    merge(&mut payload, call.payload);
    app.conversation.push(Said::Model(format!("{}(…)", call.name)));
    app.fire("PostToolUse", &payload, |app, outcomes| {
        app.deliver_queue();
        answer(app, told(&outcomes));
    });
}

fn stop(app: &mut App, message: Option<String>, extra: Value, answer: Answer) {
    let message = message.unwrap_or_else(|| "Done.".to_owned());
    let mut payload = json!({
        "stop_hook_active": app.stop_hook_active,
        "last_assistant_message": message,
        "background_tasks": [],
        "session_crons": [],
    });
    merge(&mut payload, extra);
    app.conversation.push(Said::Model(message));
    app.end_turn();
    // The screen shows the end of the turn before the hook can look at it.
    app.when_drawn.push(Box::new(move |app| {
        app.fire("Stop", &payload, |app, outcomes| {
            app.stop_hook_active = outcomes.iter().any(|outcome| outcome.reply()["decision"] == "block");
            if app.stop_hook_active && app.phase == crate::app::Phase::Idle {
                app.start_turn();
            }
            app.settle_queue();
            answer(app, told(&outcomes));
        });
    }));
}

fn fire(app: &mut App, event: &str, payload: Value, answer: Answer) {
    app.fire(event, &payload, |app, outcomes| answer(app, told(&outcomes)));
}

fn told(outcomes: &[Outcome]) -> Value {
    json!({ "ok": true, "stdout": stdout_of(outcomes), "hooks": outcomes })
}

fn merge(payload: &mut Value, extra: Value) {
    if let (Value::Object(payload), Value::Object(extra)) = (payload, extra) {
        payload.extend(extra);
    }
}

fn state(app: &App) -> Value {
    json!({
        "ok": true,
        "pid": std::process::id(),
        "status": app.status().as_str(),
        "draft": app.draft,
        "stashed": app.stash,
        "submitted": app.submitted,
        "queued": app.queue.iter().map(|&index| &app.submitted[index].text).collect::<Vec<_>>(),
        "dialog_answers": app.dialog_answers,
        "turns": app.turns,
        "session_id": app.session_id,
        "prompt_id": app.prompt_id,
        "transcript_path": app.transcript_path(),
    })
}
