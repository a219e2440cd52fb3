//! Checks of sessions: whether text can be typed into their terminals, the setup of tmux, and the keys that submit.

use std::path::{Path, PathBuf};

use longhaul_core::SessionId;
use longhaul_inject::{BindingState, Keybindings, SUBMIT, SUBMIT_CHORDS};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{
    Home, SessionRecord, bounded_read, ignores_chord, is_executable, is_headless, shared_file, transcript_place,
    waiting_times,
};

use super::{Client, Facts, Finding, Level, NAMED, Report, ago, written};
use crate::claude_command::{self, KEYBINDINGS_SINCE, Version};
use crate::tmux::{is_set_up, setup_state, without_line};

/// The facts about one session.
pub struct SessionFacts {
    record: SessionRecord,
    /// When a hook of the session last ran.
    pub(super) last_hook: Option<u64>,
    /// The size of its transcript; `None` if it does not exist.
    transcript_bytes: Option<u64>,
}

impl SessionFacts {
    /// Collects the facts about the sessions whose ids begin with `prefix`, the newest first.
    pub fn collect(home: &Home, prefix: &str) -> Vec<Self> {
        let records = SessionRecord::all(home).into_iter().filter(|record| record.session.starts_with(prefix));
        let size = |path: &PathBuf| Some(transcript_place(path)?.metadata().ok()?.len());
        let facts = records.map(|record| Self {
            last_hook: log_of(home, &record).and_then(|log| written(&log)),
            transcript_bytes: record.transcript.as_ref().and_then(size),
            record,
        });
        facts.collect()
    }
}

/// Returns a session's activity log.
fn log_of(home: &Home, record: &SessionRecord) -> Option<PathBuf> {
    Some(home.session_file(&SessionId::new(&record.session)?, "log"))
}

/// Reports the running sessions of people into whose terminal nothing can be typed.
pub(super) fn terminals(facts: &Facts<'_>, report: &mut Report) {
    let clients = facts.running.iter().filter(|client| !is_headless(facts.env, client.pid));
    let records =
        clients.filter_map(|client| SessionRecord::load(&facts.paths.data, &SessionId::new(&client.session)?));
    for (session, why) in records.filter_map(|record| Some((record.session, record.no_terminal?))).take(NAMED) {
        report
            .note(format!("session {session} gets no bookmarks: {why}; snapshots of the files are taken all the same"));
    }
}

/// Reports sessions that were used and whose transcript does not exist.
pub(super) fn transcripts(facts: &Facts<'_>, report: &mut Report) {
    let home = &facts.paths.data;
    let was_used = |record: &SessionRecord| {
        let log = log_of(home, record).and_then(|log| bounded_read::bytes(&log, bounded_read::LARGE).ok());
        // Before the first prompt there is no transcript. Codex's prompts have no line in the log, but its tool calls do.
        let is_use = |line: &[u8]| line.starts_with(b"P ") || line.starts_with(b"T ");
        log.unwrap_or_default().split(|byte| *byte == b'\n').any(is_use)
    };
    let records = SessionRecord::all(home).into_iter().filter(was_used);
    let missing = records.filter_map(|record| Some((record.session, record.transcript?)));
    for (session, path) in missing.filter(|(_, path)| transcript_place(path).is_none()).take(NAMED) {
        report_missing(&session, &path, Level::Warning, report);
    }
}

fn report_missing(session: &str, path: &Path, level: Level, report: &mut Report) {
    let fix =
        "nothing more can be read from it: restore the file, or ignore this; it is no longer reported after a week";
    let what = format!("the transcript of session {session} does not exist: {}", path.display());
    report.push(level, what, Some(fix.to_owned()));
}

/// Checks one session.
pub fn about(facts: &SessionFacts, now: u64) -> Vec<Finding> {
    let record = &facts.record;
    let heard = facts.last_hook.map_or("no hook has run".to_owned(), |at| format!("last hook {}", ago(now, at)));
    let mut report = Report::of("session");
    report.ok(format!("{}: started {}, {heard}", record.session, ago(now, record.started_at)));
    report.check = "transcript";
    match (&record.transcript, facts.transcript_bytes) {
        (None, _) => report.note("Claude Code did not report the path of the transcript"),
        (Some(path), Some(bytes)) => report.ok(format!("{}, {bytes} bytes", path.display())),
        (Some(path), None) => {
            let level = if facts.last_hook.is_some() { Level::Warning } else { Level::Note };
            report_missing(&record.session, path, level, &mut report);
        }
    }
    report.check = "terminal";
    if record.terminal.is_some() {
        report.ok("text can be typed into it");
    } else {
        let why = record.no_terminal.as_deref().unwrap_or("the reason is not recorded");
        report.note(format!("text cannot be typed into it: {why}"));
    }
    report.findings
}

/// The command that adds the line to tmux.conf and sets up the server in which it runs.
const ADD: &str = "run `longhaul install --tmux`";

/// Checks the server in which the doctor runs, and tmux.conf.
pub(super) fn tmux(facts: &Facts<'_>, report: &mut Report) {
    if facts.shell.find("tmux").is_empty() {
        return report
            .note("not installed: the sessions are not shown, and bookmarks are typed only in other terminals");
    }
    server(facts, report);
    let has_our_line = facts.tmux_confs.iter().any(|(_, text)| without_line(text).is_some());
    let program = &facts.paths.link;
    if has_our_line && !is_executable(program) {
        let what = format!("tmux.conf runs {}, which does not exist", program.display());
        report.broken(what, "run `longhaul install`");
    }
}

fn server(facts: &Facts<'_>, report: &mut Report) {
    let has_line = facts.tmux_confs.iter().any(|(_, text)| is_set_up(text));
    let state = match Server::of(facts.env).map(|server| setup_state(&server)) {
        None if has_line => return report.ok("tmux.conf has the line; the doctor was started outside tmux"),
        None => return report.note(format!("tmux.conf does not show the sessions: {ADD}")),
        Some(Err(why)) => {
            let what = format!("the server does not answer: {}", why.chain());
            return report.broken(what, "exit tmux and start it again");
        }
        Some(Ok(state)) => state,
    };
    let set_up = "run `longhaul tmux setup`";
    if !state.problem.is_empty() {
        let what = format!("the server could not be set up: {}", state.problem);
        report.broken(what, format!("fix the cause, then {set_up}"));
    } else if state.command.is_empty() && has_line {
        let what = "tmux.conf has the line, but this server is not set up: it was started before, or the line failed";
        report.broken(what, set_up);
    } else if state.command.is_empty() {
        report.note(format!("the server does not show the sessions: {ADD}"));
    } else if is_gone(&state.command) {
        report.broken(format!("the server calls an executable that does not exist: {}", state.command), set_up);
    } else if has_line {
        report.ok("the server shows the sessions");
    } else {
        let what = "the server shows the sessions, but the next one will not: tmux.conf does not have the line";
        report.warning(what, ADD);
    }
}

/// Returns whether the executable in a server's command does not exist. It is the last of several quoted words.
fn is_gone(command: &str) -> bool {
    let program = command.rsplit(' ').next().unwrap_or(command).trim_matches('\'');
    // A path with spaces is not parsed: it counts as existing.
    program.starts_with('/') && !Path::new(program).exists()
}

/// Checks the key that submits what is typed.
pub(super) fn keys(facts: &Facts<'_>, report: &mut Report) {
    let path = facts.paths.keybindings.display();
    let enter = "Longhaul submits typed text with Enter, and not while subagents run";
    let edit = "correct it (/keybindings in Claude Code opens it), then run `longhaul install`";
    let unbound = format!("no chord is bound, so {enter}; `longhaul install --keybinding` binds one");
    let keybindings = match shared_file::read(&facts.paths.keybindings) {
        Ok(None) => return report.note(unbound),
        Err(error) => return report.warning(format!("{path}: {}; {enter}", error.chain()), edit),
        Ok(Some(text)) => match Keybindings::parse(&text) {
            Ok(keybindings) => keybindings,
            Err(why) => {
                return report.warning(format!("Claude Code ignores {path}, because it {why}; {enter}"), edit);
            }
        },
    };
    let chord = match keybindings.bound(SUBMIT, &SUBMIT_CHORDS) {
        BindingState::Missing => return report.note(unbound),
        BindingState::Shadowed { chord, by } => {
            return report.warning(
                format!("{chord} is bound in {path}, but another binding overrides it: {by}; {enter}"),
                "run `longhaul install`, which binds another chord, or remove that binding",
            );
        }
        BindingState::To(chord) => chord,
    };
    let limit = waiting_times::CLAUDE_PLUGIN_LIST_FOR_DOCTOR;
    let program = facts.program.as_deref().filter(|_| matches!(facts.client, Client::Found(_)));
    let version = program.and_then(|program| claude_command::version_within(program, limit));
    // A version that cannot be parsed is not too old.
    let is_too_old = |version: &String| Version::parse(version).is_some_and(|version| version < KEYBINDINGS_SINCE);
    if let Some(version) = version.filter(is_too_old) {
        let what = format!("Claude Code {version} does not read {path}; {enter}");
        return report.warning(what, format!("update Claude Code to {KEYBINDINGS_SINCE} or later"));
    }
    let ignoring = facts.running.iter().map(|client| client.pid).filter(|pid| ignores_chord(&facts.paths.data, *pid));
    let ignoring: Vec<String> = ignoring.map(|pid| pid.to_string()).collect();
    if ignoring.is_empty() {
        report.ok(format!("{chord} submits typed text, and no dialog reacts to it"));
    } else {
        let pids = ignoring.join(", ");
        let what = format!("{chord} is bound, but these Claude Code processes ignore it: {pids}; there, {enter}");
        report.warning(what, "restart them; if that does not help, update Claude Code");
    }
}
