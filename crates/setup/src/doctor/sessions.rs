//! Checks of sessions: whether text can be typed into their terminals, the setup of tmux, and the keys that submit.

use std::path::{Path, PathBuf};

use longhaul_core::{Env, SessionId};
use longhaul_inject::{BindingState, Keybindings, SUBMIT, SUBMIT_CHORDS};
use longhaul_runtime::{
    Home, SessionRecord, bounded_read, ignores_chord, is_headless, running_clients, shared_file, transcript_place,
    waiting_times,
};

use super::facts::{Facts, written};
use super::{Finding, Level, NAMED, ago};
use crate::claude_command::{self, KEYBINDINGS_SINCE, Version};
use crate::current_state::InstallPaths;

/// The facts about one session.
#[derive(Debug, Clone)]
pub struct SessionFacts {
    /// Its record.
    pub record: SessionRecord,
    /// When a hook of the session last ran.
    pub last_hook: Option<u64>,
    /// The size of its transcript; `None` if it does not exist.
    pub transcript_bytes: Option<u64>,
}

impl SessionFacts {
    /// Collects the facts about the sessions whose ids begin with `prefix`, the newest first.
    pub fn collect(home: &Home, prefix: &str) -> Vec<Self> {
        let records = SessionRecord::all(home).into_iter().filter(|record| record.session.starts_with(prefix));
        let facts = records.map(|record| Self {
            last_hook: log_of(home, &record).and_then(|log| written(&log)),
            transcript_bytes: record
                .transcript
                .as_ref()
                .and_then(|path| Some(transcript_place(path)?.metadata().ok()?.len())),
            record,
        });
        facts.collect()
    }
}

/// Returns a session's activity log.
fn log_of(home: &Home, record: &SessionRecord) -> Option<PathBuf> {
    Some(home.session_file(&SessionId::new(&record.session)?, "log"))
}

/// Returns the sessions that were used and whose transcript does not exist, with its path.
pub(super) fn stale(paths: &InstallPaths) -> Vec<(String, PathBuf)> {
    let is_stale = |record: &SessionRecord| {
        let log = log_of(&paths.data, record)
            .and_then(|log| bounded_read::bytes(&log, bounded_read::LARGE).ok())
            .unwrap_or_default();
        // Before the first prompt there is no transcript. Codex's prompts have no line in the log, but its tool calls do.
        let was_used = log.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"P ") || line.starts_with(b"T "));
        was_used && record.transcript.as_ref().is_some_and(|path| transcript_place(path).is_none())
    };
    let records = SessionRecord::all(&paths.data).into_iter().filter(is_stale);
    records.filter_map(|record| Some((record.session, record.transcript?))).collect()
}

/// Returns the running sessions of people into whose terminal nothing can be typed, with the reason.
pub(super) fn untypable(env: &Env, paths: &InstallPaths) -> Vec<(String, String)> {
    let clients = running_clients(env).into_iter().filter(|client| !is_headless(env, client.pid));
    let records = clients.filter_map(|client| SessionRecord::load(&paths.data, &SessionId::new(&client.session)?));
    records.filter_map(|record| Some((record.session, record.no_terminal?))).collect()
}

/// Reports sessions that get no bookmarks.
pub(super) fn terminals(facts: &Facts) -> Vec<Finding> {
    let note = |(session, why): &(String, String)| {
        let what = format!("session {session} gets no bookmarks: {why}; snapshots of the files are taken all the same");
        Finding::note("terminal", what)
    };
    facts.untypable.iter().take(NAMED).map(note).collect()
}

/// Checks one session.
pub fn about(facts: &SessionFacts, now: u64) -> Vec<Finding> {
    let record = &facts.record;
    let heard = facts.last_hook.map_or("no hook has run".to_owned(), |at| format!("last hook {}", ago(now, at)));
    let mut found =
        vec![Finding::ok("session", format!("{}: started {}, {heard}", record.session, ago(now, record.started_at)))];
    found.push(match (&record.transcript, facts.transcript_bytes) {
        (None, _) => Finding::note("transcript", "Claude Code did not report the path of the transcript"),
        (Some(path), Some(bytes)) => Finding::ok("transcript", format!("{}, {bytes} bytes", path.display())),
        (Some(path), None) => missing(&record.session, path.display().to_string(), facts.last_hook.is_some()),
    });
    match (&record.terminal, &record.no_terminal) {
        (Some(_), _) => found.push(Finding::ok("terminal", "text can be typed into it")),
        (None, why) => {
            let why = why.as_deref().unwrap_or("the reason is not recorded");
            found.push(Finding::note("terminal", format!("text cannot be typed into it: {why}")));
        }
    }
    found
}

/// Reports a transcript that does not exist.
pub(super) fn missing(session: &str, path: String, was_used: bool) -> Finding {
    let what = format!("the transcript of session {session} does not exist: {path}");
    let fix =
        "nothing more can be read from it: restore the file, or ignore this; it is no longer reported after a week";
    let level = if was_used { Level::Warning } else { Level::Note };
    Finding { check: "transcript", level, what, fix: Some(fix.to_owned()) }
}

const CHECK: &str = "tmux";

/// The command that adds the line to tmux.conf and sets up the server in which it runs.
const ADD: &str = "run `longhaul install --tmux`";

/// Checks the server in which the doctor runs, and tmux.conf.
pub(super) fn tmux(facts: &Facts) -> Vec<Finding> {
    let tmux = &facts.tmux;
    if !tmux.is_there {
        return vec![Finding::note(
            CHECK,
            "not installed: the sessions are not shown, and bookmarks are typed only in other terminals",
        )];
    }
    let mut found = vec![server(facts)];
    found.extend(tmux.missing_program.as_ref().map(|program| {
        let what = format!("tmux.conf runs {}, which does not exist", program.display());
        Finding::broken(CHECK, what, "run `longhaul install`")
    }));
    found
}

fn server(facts: &Facts) -> Finding {
    let tmux = &facts.tmux;
    match &tmux.server {
        Some(Err(why)) => {
            Finding::broken(CHECK, format!("the server does not answer: {why}"), "exit tmux and start it again")
        }
        Some(Ok(state)) if !state.problem.is_empty() => {
            let what = format!("the server could not be set up: {}", state.problem);
            Finding::broken(CHECK, what, "fix the cause, then run `longhaul tmux setup`")
        }
        Some(Ok(state)) if state.command.is_empty() && tmux.has_line => Finding::broken(
            CHECK,
            "tmux.conf has the line, but this server is not set up: it was started before, or the line failed",
            "run `longhaul tmux setup`",
        ),
        Some(Ok(state)) if state.command.is_empty() => {
            Finding::note(CHECK, format!("the server does not show the sessions: {ADD}"))
        }
        Some(Ok(state)) if tmux.is_command_gone => {
            let what = format!("the server calls an executable that does not exist: {}", state.command);
            Finding::broken(CHECK, what, "run `longhaul tmux setup`")
        }
        Some(Ok(_)) if tmux.has_line => Finding::ok(CHECK, "the server shows the sessions"),
        Some(Ok(_)) => Finding::warning(
            CHECK,
            "the server shows the sessions, but the next one will not: tmux.conf does not have the line",
            ADD,
        ),
        None if tmux.has_line => Finding::ok(CHECK, "tmux.conf has the line; the doctor was started outside tmux"),
        None => Finding::note(CHECK, format!("tmux.conf does not show the sessions: {ADD}")),
    }
}

/// The facts about the key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyFacts {
    /// The text of keybindings.json, if it exists; `Err` holds the reason why it cannot be read.
    pub file: Option<std::result::Result<String, String>>,
    /// The version that Claude Code prints.
    pub client_version: Option<String>,
    /// The running Claude Code processes that have ignored the chord.
    pub ignored_by: Vec<u32>,
}

impl KeyFacts {
    /// Collects the facts. `program` is `claude`, if it answers.
    pub(super) fn collect(env: &Env, paths: &InstallPaths, program: Option<&Path>) -> Self {
        let running = running_clients(env).into_iter().map(|client| client.pid);
        Self {
            file: shared_file::read(&paths.keybindings).map_err(|error| error.chain()).transpose(),
            client_version: program.and_then(|program| {
                claude_command::version_within(program, waiting_times::CLAUDE_PLUGIN_LIST_FOR_DOCTOR)
            }),
            ignored_by: running.filter(|pid| ignores_chord(&paths.data, *pid)).collect(),
        }
    }
}

/// Checks the key.
pub(super) fn keys(facts: &Facts) -> Vec<Finding> {
    let check = "keys";
    let path = facts.paths.keybindings.display();
    let enter = "Longhaul submits typed text with Enter, and not while subagents run";
    let edit = "correct it (/keybindings in Claude Code opens it), then run `longhaul install`";
    let keybindings = match &facts.keys.file {
        None => {
            return vec![Finding::note(
                check,
                format!("no chord is bound, so {enter}; `longhaul install --keybinding` binds one"),
            )];
        }
        Some(Err(why)) => return vec![Finding::warning(check, format!("{path}: {why}; {enter}"), edit)],
        Some(Ok(text)) => match Keybindings::parse(text) {
            Ok(keybindings) => keybindings,
            Err(why) => {
                let what = format!("Claude Code ignores {path}, because it {why}; {enter}");
                return vec![Finding::warning(check, what, edit)];
            }
        },
    };
    let chord = match keybindings.bound(SUBMIT, &SUBMIT_CHORDS) {
        BindingState::Missing => {
            return vec![Finding::note(
                check,
                format!("no chord is bound, so {enter}; `longhaul install --keybinding` binds one"),
            )];
        }
        BindingState::Shadowed { chord, by } => {
            let what = format!("{chord} is bound in {path}, but another binding overrides it: {by}; {enter}");
            return vec![Finding::warning(
                check,
                what,
                "run `longhaul install`, which binds another chord, or remove that binding",
            )];
        }
        BindingState::To(chord) => chord,
    };
    if let Some(version) = facts.keys.client_version.as_deref().filter(|version| is_too_old(version)) {
        let what = format!("Claude Code {version} does not read {path}; {enter}");
        return vec![Finding::warning(check, what, format!("update Claude Code to {KEYBINDINGS_SINCE} or later"))];
    }
    if !facts.keys.ignored_by.is_empty() {
        let pids: Vec<String> = facts.keys.ignored_by.iter().map(u32::to_string).collect();
        let what =
            format!("{chord} is bound, but these Claude Code processes ignore it: {}; there, {enter}", pids.join(", "));
        return vec![Finding::warning(check, what, "restart them; if that does not help, update Claude Code")];
    }
    vec![Finding::ok(check, format!("{chord} submits typed text, and no dialog reacts to it"))]
}

/// Returns whether a version of Claude Code is too old to read keybindings.json. A version that cannot be parsed is not.
fn is_too_old(version: &str) -> bool {
    Version::parse(version).is_some_and(|version| version < KEYBINDINGS_SINCE)
}
