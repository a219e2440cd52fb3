//! The process that searches for the prompts of a large memory, and hooks that go on without it.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::past::Past;
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Sandbox, payload};

const ASKED: &str = "what made the importer stall at night?";
const REPLY: &str = "The exchange rates hold the lock while they wait for an answer; chunks of 500 rows cured it.";

/// A memory in which one session has said why the importer stalls.
fn remembering(is_large: bool) -> Sandbox {
    let sandbox = Sandbox::new().at(1_794_707_999_000).with_env("TZ", "UTC");
    // The page would show the passage before.
    let memory = json!({ "show": ["passages"] });
    sandbox.write_config(&json!({ "memory": memory }).to_string());
    Past::new(&sandbox, "aaaa-1111").prompt("why does the importer stall every night?").reply(REPLY);
    Past::new(&sandbox, "bbbb-2222").prompt("paint the page green").reply("Painted.");
    import(&sandbox);
    if is_large {
        make_large(&sandbox);
    }
    sandbox
}

/// Gives a record a number that only a large memory has.
fn make_large(sandbox: &Sandbox) {
    let note = || assert_eq!(sandbox.longhaul(&["memory", "save", "the garden gate is blue"]).status, Some(0));
    note();
    let database = sandbox.database();
    database.execute("UPDATE sqlite_sequence SET seq = 5000 WHERE name = 'observations'", []).unwrap();
    note();
}

fn import(sandbox: &Sandbox) {
    assert_eq!(sandbox.longhaul(&["memory", "import", "--quiet"]).status, Some(0));
}

fn start_session(sandbox: &Sandbox, session: &str) {
    let changes = json!({ "session_id": session, "cwd": sandbox.project(), "transcript_path": "/nowhere.jsonl",
                          "source": "startup" });
    assert_eq!(sandbox.hook("longhaul-session-start", payload("SessionStart", changes)).status, Some(0));
}

/// Submits the prompt in a session, and returns what is added to it.
#[track_caller]
fn brought(sandbox: &Sandbox, session: &str) -> String {
    let changes = json!({ "session_id": session, "cwd": sandbox.project(), "prompt": ASKED, "prompt_id": "p1",
                          "transcript_path": "/nowhere.jsonl" });
    let outcome = sandbox.hook("longhaul-user-prompt-submit", payload("UserPromptSubmit", changes));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    outcome.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// Returns the socket of a process, running or not; `None` if there was none.
fn socket(sandbox: &Sandbox) -> Option<PathBuf> {
    let files = fs::read_dir(sandbox.data_dir()).into_iter().flatten().flatten().map(|entry| entry.path());
    files.into_iter().find(|path| path.extension().is_some_and(|end| end == "sock"))
}

fn listens(sandbox: &Sandbox) -> bool {
    socket(sandbox).is_some_and(|socket| UnixStream::connect(socket).is_ok())
}

/// A search process that was started by the test, and is killed at its end.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        let process = Self(sandbox.executable("longhaul").args(["memory", "search-process"]).spawn().unwrap());
        wait_until(DEADLINE, "the search process", || listens(sandbox));
        process
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the path of the socket, without a process.
fn free_socket(sandbox: &Sandbox) -> PathBuf {
    drop(Process::start(sandbox));
    let path = socket(sandbox).unwrap();
    fs::remove_file(&path).unwrap();
    path
}

/// Sends a request to the process, and returns its answer; empty if there is none.
pub(crate) fn ask(sandbox: &Sandbox, request: &str) -> Vec<u8> {
    let mut stream = UnixStream::connect(socket(sandbox).unwrap()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

fn request(session: &str) -> Value {
    json!({ "session": session, "text": ASKED, "utc_offset_seconds": 0 })
}

/// Returns the records that the process finds.
fn found(sandbox: &Sandbox, session: &str) -> Vec<String> {
    let mut answer = Vec::new();
    // It gives no answer while the database is locked.
    wait_until(DEADLINE, "an answer", || {
        answer = ask(sandbox, &request(session).to_string());
        !answer.is_empty()
    });
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    answer["records"].as_array().unwrap().iter().map(|record| record.as_str().unwrap().to_owned()).collect()
}

/// Answers the next hook in place of the process.
fn answer_instead(socket: &Path, answer: &'static [u8]) -> thread::JoinHandle<Value> {
    let _ = fs::remove_file(socket);
    let listener = UnixListener::bind(socket).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        stream.read_to_end(&mut request).unwrap();
        let _ = stream.write_all(answer);
        serde_json::from_slice(&request).unwrap()
    })
}

#[test]
fn the_first_session_of_a_large_memory_starts_it_and_it_finds_what_the_hook_finds() {
    let sandbox = remembering(true);
    let by_hook = brought(&sandbox, "cccc-3333");
    assert!(by_hook.contains("chunks of 500 rows"), "{by_hook}");
    wait_until(DEADLINE, "the search process", || listens(&sandbox));
    start_session(&sandbox, "dddd-4444");
    assert_eq!(found(&sandbox, "dddd-4444"), ["P1"]);
    assert_eq!(brought(&sandbox, "dddd-4444"), by_hook);
    // What was shown once is not shown again.
    assert_eq!((found(&sandbox, "dddd-4444"), brought(&sandbox, "dddd-4444")), (Vec::new(), String::new()));
    let metadata = fs::symlink_metadata(socket(&sandbox).unwrap()).unwrap();
    assert_eq!(metadata.mode() & 0o777, 0o600);
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_session_start_starts_it() {
    let sandbox = remembering(true);
    start_session(&sandbox, "cccc-3333");
    wait_until(DEADLINE, "the search process", || listens(&sandbox));
    // What is no request gets no answer, and changes nothing.
    for nonsense in ["{", "[]", "{\"session\":7}", ""] {
        assert_eq!(ask(&sandbox, nonsense), b"", "{nonsense}");
    }
    assert_eq!(found(&sandbox, "cccc-3333"), ["P1"]);
    assert_eq!(ask(&sandbox, &request("unknown-session").to_string()), b"");
}

#[test]
fn a_small_memory_has_none() {
    let sandbox = remembering(false);
    start_session(&sandbox, "cccc-3333");
    assert!(brought(&sandbox, "cccc-3333").contains("chunks of 500 rows"));
    let locks = fs::read_dir(sandbox.data_dir().join("locks")).into_iter().flatten().flatten();
    let names: Vec<_> = locks.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(socket(&sandbox).is_none() && !names.iter().any(|name| name.contains("search")), "{names:?}");
}

#[test]
fn the_hook_shows_what_the_process_has_found() {
    // None is started, and one that listens is asked.
    let sandbox = remembering(false);
    let socket = free_socket(&sandbox);
    let mut number = 0;
    // A hook does not wait for long, and this thread may be late.
    wait_until(DEADLINE, "an answer in time", || {
        number += 1;
        let session = format!("cccc-{number}");
        let asked = answer_instead(&socket, br#"{"text":"Because of the moon.","records":["P77"]}"#);
        let text = brought(&sandbox, &session);
        assert_eq!(asked.join().unwrap(), request(&session));
        text == "Because of the moon."
    });
    // A process that answers nothing, or nonsense, is as none.
    for (number, answer) in
        [&b""[..], b"{}", b"null", b"{\"text\":\"\xff", br#"{"text":"no","records":["Q1"]}"#].into_iter().enumerate()
    {
        let asked = answer_instead(&socket, answer);
        let text = brought(&sandbox, &format!("ffff-{number}"));
        assert!(text.contains("chunks of 500 rows"), "{answer:?}: {text}");
        asked.join().unwrap();
    }
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn private_text_is_not_sent() {
    let sandbox = remembering(false);
    let asked = answer_instead(&free_socket(&sandbox), br#"{"text":"","records":[]}"#);
    let prompt = format!("{ASKED} <private>the code is 4711</private>");
    let changes = json!({ "session_id": "cccc-3333", "cwd": sandbox.project(), "prompt": prompt, "prompt_id": "p1",
                          "transcript_path": "/nowhere.jsonl" });
    assert_eq!(sandbox.hook("longhaul-user-prompt-submit", payload("UserPromptSubmit", changes)).status, Some(0));
    let sent = asked.join().unwrap().to_string();
    assert!(sent.contains("importer") && !sent.contains("4711"), "{sent}");
}

#[test]
fn a_process_that_hangs_costs_a_moment_and_no_passage() {
    let sandbox = remembering(true);
    let process = Process::start(&sandbox);
    process.signal(Signal::STOP);
    assert!(brought(&sandbox, "cccc-3333").contains("chunks of 500 rows"));
    process.signal(Signal::CONT);
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_process_whose_queue_is_full_is_not_waited_for() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, connect, listen, socket as new_socket};

    let sandbox = remembering(false);
    let address = SocketAddrUnix::new(free_socket(&sandbox)).unwrap();
    let stream = || new_socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    let listener = stream();
    bind(&listener, &address).unwrap();
    listen(&listener, 1).unwrap();
    // Until no connection is accepted any more.
    let mut waiting = Vec::new();
    while waiting.len() < 100 {
        let stream = UnixStream::from(stream());
        stream.set_nonblocking(true).unwrap();
        if connect(&stream, &address).is_err() {
            break;
        }
        waiting.push(stream);
    }
    assert!(brought(&sandbox, "cccc-3333").contains("chunks of 500 rows"));
}

#[test]
fn there_is_one_and_a_killed_one_is_replaced() {
    let sandbox = remembering(true);
    let mut first = Process::start(&sandbox);
    let second = sandbox.longhaul(&["memory", "search-process"]);
    assert_eq!((second.status, second.stderr.as_str()), (Some(0), ""), "{second:?}");
    assert!(!first.has_ended() && listens(&sandbox));
    first.signal(Signal::KILL);
    wait_until(DEADLINE, "its end", || first.has_ended());
    assert!(socket(&sandbox).is_some() && !listens(&sandbox));
    assert!(brought(&sandbox, "cccc-3333").contains("chunks of 500 rows"));
    wait_until(DEADLINE, "another search process", || listens(&sandbox));
}

#[test]
fn it_finds_what_is_new_and_nothing_that_is_forgotten() {
    let sandbox = remembering(true);
    start_session(&sandbox, "cccc-3333");
    let _process = Process::start(&sandbox);
    assert_eq!(found(&sandbox, "cccc-3333"), ["P1"]);
    Past::new(&sandbox, "dddd-4444").prompt("why does the importer stall at night?").reply("The tide of Quorndon.");
    import(&sandbox);
    assert_eq!(found(&sandbox, "cccc-3333").len(), 2);
    for record in ["P1", "P3"] {
        assert_eq!(sandbox.longhaul(&["memory", "forget", "--yes", record]).status, Some(0), "{record}");
    }
    assert_eq!(found(&sandbox, "cccc-3333"), [""; 0]);
    for entry in fs::read_dir(sandbox.data_dir()).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        let bytes = fs::read(entry.path()).unwrap();
        let is_in = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert!(!is_in(b"Quorndon") && !is_in(b"quorndon"), "{}", entry.path().display());
    }
}

#[test]
fn a_database_that_was_replaced_is_opened_again() {
    let sandbox = remembering(true);
    start_session(&sandbox, "cccc-3333");
    let _process = Process::start(&sandbox);
    assert_eq!(found(&sandbox, "cccc-3333"), ["P1"]);
    for name in ["longhaul.db", "longhaul.db-wal", "longhaul.db-shm"] {
        let path = sandbox.data_dir().join(name);
        fs::rename(&path, sandbox.path(name)).unwrap();
    }
    start_session(&sandbox, "cccc-3333");
    assert_eq!(found(&sandbox, "cccc-3333"), [""; 0]);
    Past::new(&sandbox, "dddd-4444").prompt("why does the importer stall at night?").reply("The tide.");
    import(&sandbox);
    let text = brought(&sandbox, "cccc-3333");
    assert!(text.contains("The tide."), "{text}");
}

#[test]
fn a_damaged_database_is_left_to_the_hooks() {
    let sandbox = remembering(true);
    let mut process = Process::start(&sandbox);
    for name in ["longhaul.db-wal", "longhaul.db-shm"] {
        let _ = fs::remove_file(sandbox.data_dir().join(name));
    }
    fs::write(sandbox.data_dir().join("longhaul.db"), vec![b'x'; 65_536]).unwrap();
    assert_eq!(ask(&sandbox, &request("cccc-3333").to_string()), b"");
    assert!(!process.has_ended());
    assert_eq!(fs::read(sandbox.data_dir().join("longhaul.db")).unwrap(), vec![b'x'; 65_536]);
    // The hook replaces it, as without the process.
    brought(&sandbox, "cccc-3333");
    let names: Vec<String> = fs::read_dir(sandbox.data_dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|name| name.starts_with("longhaul.db.") || name.contains("damaged")), "{names:?}");
}

#[test]
fn it_ends_when_its_socket_is_gone_or_a_setting_switches_it_off() {
    let sandbox = remembering(true);
    let mut process = Process::start(&sandbox);
    fs::remove_file(socket(&sandbox).unwrap()).unwrap();
    let other = remembering(true);
    let mut switched_off = Process::start(&other);
    other.write_config(r#"{"memory":{"show":["page"]}}"#);
    wait_until(DEADLINE, "the end of the first process", || process.has_ended());
    wait_until(DEADLINE, "the end of the second process", || switched_off.has_ended());
    assert_eq!(socket(&other), None);
}

#[test]
fn sessions_with_other_settings_have_another_one() {
    let sandbox = remembering(true);
    let _process = Process::start(&sandbox);
    let config = sandbox.path("other.json");
    fs::write(&config, r#"{"memory":{"show":["passages"],"retention_days":9}}"#).unwrap();
    let first = socket(&sandbox).unwrap();
    let sandbox = sandbox.with_env("LONGHAUL_CONFIG", config.to_str().unwrap());
    let mut second = sandbox.executable("longhaul").args(["memory", "search-process"]).spawn().unwrap();
    let sockets = || {
        let files = fs::read_dir(sandbox.data_dir()).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|end| end == "sock")).collect::<Vec<_>>()
    };
    wait_until(DEADLINE, "a second process", || sockets().len() == 2);
    assert!(sockets().contains(&first));
    second.kill().unwrap();
    second.wait().unwrap();
}

#[test]
fn a_process_that_cannot_listen_is_not_started_for_every_prompt() {
    let sandbox = remembering(true);
    let path = free_socket(&sandbox);
    fs::create_dir(&path).unwrap();
    let refused = sandbox.longhaul(&["memory", "search-process"]);
    assert_eq!(refused.status, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("cannot write") && sandbox.error_log().contains("search-process"), "{refused:?}");
    let lines = sandbox.error_log().lines().count();
    fs::remove_dir(&path).unwrap();
    assert!(brought(&sandbox, "cccc-3333").contains("chunks of 500 rows"));
    assert_eq!((socket(&sandbox), sandbox.error_log().lines().count()), (None, lines));
}
