//! Codex: which of its windows a session runs in, how its sessions are remembered, how one is continued near the limit of the
//! context, and which turns a rewind took back.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longhaul_core::event::predicates::in_subagent;
use longhaul_core::event::{HookEvent, SessionStart, Stop, UserPromptSubmit};
use longhaul_core::{Env, SessionId};
use longhaul_handoff::BatonTrigger;
use longhaul_handoff::continuation::texts;
use longhaul_inject::{
    Pane as _, ScreenState, Terminal, TmuxPane, TurnSign, codex_has_prompts, codex_screen_state, codex_shows_prompt,
    parse_inspection, tmux_socket,
};
use longhaul_memory::Call;
use longhaul_store::{Session, Store};
use longhaul_tracker::{CodexWindow, client_name, codex_window};
use longhaul_transcript::{HistoryBase, Reader, RolloutName, SessionMeta, Turn, line_number, merge_turns};

use crate::continuation::settings;
use crate::handoff::{Project, register, resume};
use crate::memory::{clean_prompt, recorded_call, store_calls};
use crate::session_file::TranscriptFile;
use crate::{Deadline, Error, ErrorLog, Flow, Home, Hook, SessionRecord, context, files, home, process, waiting_times};

/// How long to wait for one screen of Codex, until it is read.
const CODEX_SCREEN_READ: Duration = Duration::from_millis(300);

/// How long to wait for the prompt of an event, on the screens of Codex. Codex draws it a moment before or after the
/// hook starts.
const CODEX_PROMPT_ON_SCREEN: Duration = Duration::from_millis(600);

/// How long to wait for one command of tmux, for a continuation in Codex.
const TMUX_FOR_CODEX: Duration = Duration::from_secs(2);

/// How long to wait for Codex, until `/clear` has had its effect. Afterwards the command is typed again.
const CODEX_CLEARS: Duration = Duration::from_secs(3);

/// How long to wait for Codex, until it shows what was typed, and until it has started the session.
const CODEX_SHOWS: Duration = Duration::from_secs(10);

/// How long to wait for the input of Codex, while it is in use. Afterwards the continuation is given up, and the baton
/// stays.
const CODEX_INPUT_FREE: Duration = Duration::from_secs(60);

/// Time between two looks at the screens.
const BETWEEN_SCREENS: Duration = Duration::from_millis(40);

/// The process and the tmux pane of a Codex session.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientPane {
    pid: Option<u32>,
    tmux: Option<String>,
    pane: Option<String>,
}

/// Returns the environment of a Codex hook, without the values of a client that may have started Codex.
///
/// Codex sets no variable with its process id: its process is the nearest Codex ancestor of the hook. If another client
/// is above it, Codex was started as a command of that client, and the pane belongs to that client. Usually, however,
/// the hook is started by a server that all Codex windows share, with the environment of the first window. Then the
/// window is known if there is only one in the folder; [`own_window`] decides between several.
pub(crate) fn env(mut env: Env) -> Env {
    let above = process::ancestors(std::process::id());
    let clients: Vec<(u32, &str)> =
        above.iter().filter_map(|process| Some((process.pid, client_name(process)?))).collect();
    let codex = clients.iter().find(|(_, client)| *client == "codex").map(|(pid, _)| *pid);
    let place = match codex {
        Some(pid) if is_server(pid) => {
            std::env::current_dir().ok().and_then(|dir| only_window(&dir)).unwrap_or_default()
        }
        pid if clients.iter().any(|(_, client)| *client != "codex") => ClientPane { pid, ..ClientPane::default() },
        pid => ClientPane { pid, tmux: env.tmux.take(), pane: env.tmux_pane.take() },
    };
    env.project_dir = None;
    env.client_session = None;
    env.screen_session = None;
    settle(&mut env, place);
    env
}

/// Sets the window in which the session runs.
pub(crate) fn settle(env: &mut Env, place: ClientPane) {
    env.client_pid = place.pid;
    env.tmux = place.tmux;
    env.tmux_pane = place.pane;
}

/// Returns the Codex windows that were opened in a folder, if they share a server that has started this hook.
///
/// A window may consist of two processes: an interpreter, and Codex itself. Only one of them is listed.
fn windows_in(dir: &Path) -> Vec<ClientPane> {
    let above = process::ancestors(std::process::id());
    let codex = above.iter().find(|process| client_name(process) == Some("codex"));
    if codex.is_none_or(|codex| !is_server(codex.pid)) {
        return Vec::new();
    }
    all_windows_in(dir)
}

fn only_window(dir: &Path) -> Option<ClientPane> {
    let mut found = all_windows_in(dir);
    let only = found.pop();
    only.filter(|_| found.is_empty())
}

fn all_windows_in(dir: &Path) -> Vec<ClientPane> {
    let all = process::all();
    let windows = all.iter().filter(|process| process.name == "codex" && !is_server(process.pid));
    let here = windows.filter(|process| process::current_dir(process.pid).is_some_and(|cwd| cwd == dir));
    let mut found: BTreeMap<String, ClientPane> = BTreeMap::new();
    for process in here {
        let (tmux, pane) = (process::variable(process.pid, "TMUX"), process::variable(process.pid, "TMUX_PANE"));
        // Outside tmux, every process counts.
        let key = pane.clone().zip(tmux.clone()).map_or_else(|| process.pid.to_string(), |(pane, tmux)| pane + &tmux);
        found.insert(key, ClientPane { pid: Some(process.pid), tmux, pane });
    }
    found.into_values().collect()
}

fn is_server(pid: u32) -> bool {
    process::command_line(pid).iter().any(|word| word == "app-server")
}

/// Returns which of several windows shows the session whose id in Codex is `own`; `None` if that is not certain.
///
/// `prompt` was just submitted in it. `recorded` is the process of the window in which the session was found last.
fn own_window(
    windows: &[ClientPane],
    own: &str,
    prompt: Option<&str>,
    recorded: Option<u32>,
    deadline: Deadline,
) -> Option<ClientPane> {
    let patience = Deadline::after(CODEX_PROMPT_ON_SCREEN.min(deadline.left() / 4));
    let mut known: Vec<CodexWindow> = windows.iter().filter_map(window).collect();
    while let Some(prompt) = prompt {
        for (window, place) in known.iter_mut().zip(windows.iter().filter(|place| place.pid.is_some())) {
            window.shows_prompt = screen(place).is_some_and(|screen| codex_shows_prompt(&screen, prompt));
        }
        if known.iter().any(|window| window.shows_prompt) || patience.left().is_zero() {
            break;
        }
        std::thread::sleep(BETWEEN_SCREENS);
    }
    let pid = codex_window(&known, own, recorded)?;
    windows.iter().find(|place| place.pid == Some(pid)).cloned()
}

fn window(place: &ClientPane) -> Option<CodexWindow> {
    let pid = place.pid?;
    let words = process::command_line(pid);
    let mut window = CodexWindow::new(pid);
    window.resumed = words.iter().skip_while(|word| *word != "resume").nth(1).cloned();
    Some(window)
}

fn screen(place: &ClientPane) -> Option<String> {
    let socket = tmux_socket(place.tmux.as_deref()?)?;
    let pane = TmuxPane { socket: socket.to_owned(), pane: place.pane.clone()? };
    let shown = process::run(&pane.inspect(), CODEX_SCREEN_READ).ok()?;
    parse_inspection(&shown).map(|inspection| inspection.screen)
}

// Jobs for Codex only: its sessions are remembered from their rollouts.

/// Maximum number of bytes read. Of a longer turn, only the beginning is remembered.
const TURN_BYTES: u64 = 64 * 1024 * 1024;

/// Skips events inside a subagent. They belong to the thread that started it.
pub fn leave_subagents<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    Ok(if in_subagent(hook.event.common()) { Flow::Done } else { Flow::Next })
}

/// Remembers the prompts and calls that were added to the rollout since it was last read.
///
/// Stop alone is sufficient: no other hook of Codex has to run, and an interrupted turn is stored with the next one.
/// PreCompact needs the calls of the turn that runs. This job must run before the turn is ingested, which moves the cursor. A prompt or call that is read twice is stored
/// once, by its id.
pub fn remember_turns<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    if !hook.remembers() {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let Some(session) = register(&store, &hook.env, hook.event.common())? else { return Ok(Flow::Next) };
    let turns = match new_turns(&session) {
        Err(error) if error.is_missing_file() => return Ok(Flow::Next),
        turns => turns?,
    };
    let mut calls = Vec::new();
    for turn in turns {
        if hook.remember_prompt(&store, &session, &turn)? {
            calls.extend(hook.recorded_calls(&session, turn));
        }
    }
    let calls: Vec<&Call> = calls.iter().collect();
    store_calls(&store, &hook.event.common().session, &calls, &session.project_path, None)?;
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns whether anything of the turn may be stored.
    fn remember_prompt(&self, store: &Store, session: &Session, turn: &Turn) -> Result<bool, Error> {
        let id = session.session.as_str();
        let Some(prompt) = turn.prompt.as_ref().filter(|_| turn.origin.is_person()) else {
            // The rest of a turn is stored if its beginning is.
            return Ok(turn.begins || store.has_turn(id, &turn.id)?);
        };
        let kept = clean_prompt(&prompt.text, self.sanitizer());
        let prompt_id = turn.prompt_id.as_deref().unwrap_or(&turn.id);
        let is_private =
            SessionId::new(id).is_some_and(|id| crate::private_turns::is_marked(&self.home, &id, prompt_id));
        let Some(kept) = kept.filter(|_| !is_private) else { return Ok(false) };
        if store.prompt_number(id, prompt_id)?.is_none() {
            // The prompt hook did not run, for example because the user has not trusted it.
            if !store.has_turn(id, &turn.id)? {
                store.count_prompt(id, Some(&kept))?;
            }
            store.remember_prompt(id, Some(prompt_id), &kept, turn.at.unwrap_or(self.env.now))?;
        }
        Ok(true)
    }

    fn recorded_calls(&self, session: &Session, mut turn: Turn) -> Vec<Call> {
        let calls = std::mem::take(&mut turn.calls);
        let (root, now) = (session.project_path.as_str(), self.env.now);
        calls
            .into_iter()
            .filter_map(|call| recorded_call(call, &turn, root, now, &self.config, self.sanitizer()))
            .collect()
    }
}

/// Reads the turns that were added since the rollout was last read.
fn new_turns(session: &Session) -> Result<Vec<Turn>, Error> {
    let Some(path) = session.transcript.as_deref().map(Path::new) else { return Ok(Vec::new()) };
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mut file = TranscriptFile::open(path).map_err(failed)?;
    let mut cursor = session.cursor.clone();
    let mut reader = resume(&mut file, &mut cursor).map_err(failed)?;
    let mut turns = Vec::new();
    let mut piece = vec![0; 256 * 1024];
    let mut file = file.take(TURN_BYTES);
    loop {
        match file.read(&mut piece).map_err(failed)? {
            0 => break,
            read => reader.feed(&piece[..read]),
        }
        merge_turns(&mut turns, reader.take().turns);
    }
    reader.finish();
    merge_turns(&mut turns, reader.take().turns);
    Ok(turns)
}

// Finds the window of a Codex session where several are open in its folder.

/// Takes the window in which the session was found before.
pub fn find_window<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    hook.look_for_window(None);
    Ok(Flow::Next)
}

/// Notes that the window is not known yet: Codex starts a session with its first prompt, and only its text, in the next
/// event, shows in which window that was. The handoff waits for it, because each window has its own predecessor.
pub fn find_window_of_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let is_among_several = hook.look_for_window(None);
    hook.done.awaits_window = is_among_several && hook.env.client_pid.is_none();
    Ok(Flow::Next)
}

/// Finds the window by the prompt on its screen, and records it.
pub fn find_window_of_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let prompt = hook.event.prompt.clone();
    if !hook.look_for_window(Some(&prompt)) {
        return Ok(Flow::Next);
    }
    let session = hook.event.common.session.clone();
    let Some(mut record) = SessionRecord::load(&hook.home, &session) else { return Ok(Flow::Next) };
    if hook.env.client_pid.is_some() && record.client_pid != hook.env.client_pid {
        hook.done.was_cleared = record.cleared && record.client_pid.is_none();
        record.client_pid = hook.env.client_pid;
        record.save(&hook.home, &session)?;
    }
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Sets the window of the session, if there are several and one of them is certainly its own. Returns whether there
    /// are several.
    fn look_for_window(&mut self, prompt: Option<&str>) -> bool {
        let common = self.event.common();
        if self.env.client_pid.is_some() || in_subagent(common) {
            return false;
        }
        let Some(dir) = std::env::current_dir().ok() else { return false };
        let windows = windows_in(&dir);
        if windows.len() < 2 {
            return false;
        }
        let recorded = SessionRecord::load(&self.home, &common.session).and_then(|record| record.client_pid);
        let own = common.session.own();
        if let Some(place) = own_window(&windows, own, prompt, recorded, self.deadline) {
            settle(&mut self.env, place);
        }
        true
    }
}

// Near the limit of Codex's context: writes the baton, informs the user, and perhaps continues in a new session. The
// message is in `handoff/src/continuation/texts.rs`.

/// Writes a baton once the rollout's token count has passed `continuation.at`, or 0.75 where that is off, so that the next session
/// goes on.
///
/// The user is informed once for each session. Every later turn renews the baton, which expires otherwise.
pub fn near_limit(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if !hook.config.handoff.enabled || hook.is_excluded() || hook.is_private() {
        return Ok(Flow::Next);
    }
    let settings = settings(&hook.config, &hook.home, hook.project_dir().as_deref());
    let store = hook.store()?;
    let common = &hook.event.common;
    let session = common.session.as_str();
    let fill = context::fill(&store, session, common.transcript.as_deref(), &hook.config.models.windows)?;
    let Some(fill) = fill.filter(|fill| settings.at.limits.iter().any(|limit| fill.reaches(*limit))) else {
        return Ok(Flow::Next);
    };
    let project = Project::of(&hook.env, common.cwd.as_deref());
    let trigger = BatonTrigger::Continuation;
    let batons = store.batons(&project.path)?;
    let own = batons.iter().find(|baton| baton.session == session);
    let is_new = own.is_none_or(|baton| baton.trigger != trigger.as_str());
    // A baton that the user has written is for any agent, and stays so.
    if own.is_none_or(|baton| baton.trigger == trigger.as_str()) {
        hook.write_baton(&store, trigger)?;
    }
    if !is_new {
        return Ok(Flow::Next);
    }
    let goes_on = settings.at.is_on && start_continuation(hook)?;
    hook.notify(&format!("longhaul: {}", texts::near_limit_of_codex(fill.share(), goes_on)));
    Ok(Flow::Next)
}

// Continues in a new session of Codex near the limit of the context: types `/clear` and the first prompt.
//
// Codex reports a new session only with its first prompt, so that no event confirms the `/clear`. The screen does.

/// The kind of errand in the arguments of the injector.
pub(crate) const CONTINUATION_KIND: &str = "codex-continuation";

/// The command of Codex that starts a new session in the same window.
const COMMAND: &str = "/clear";

/// How often the command is typed.
const ATTEMPTS: usize = 4;
/// Time between two looks at the screen.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Starts the process that types, if the session has a pane of its own; returns whether it does.
fn start_continuation(hook: &Hook<Stop>) -> Result<bool, Error> {
    let (Ok(Terminal::Tmux(pane)), Some(pid)) = (Terminal::detect(&hook.env), hook.env.client_pid) else {
        return Ok(false);
    };
    let session = hook.event.common().session.to_string();
    let args = [session, CONTINUATION_KIND.to_owned(), pane.socket, pane.pane, pid.to_string()];
    process::spawn_own("run-injector", &args)?;
    Ok(true)
}

/// Runs with the arguments after the kind of errand. Returns why nothing was typed, or not everything.
pub(crate) fn deliver_continuation(
    env: &Env,
    log: &ErrorLog,
    session: &SessionId,
    args: &[String],
) -> Result<(), Error> {
    let [socket, pane, pid] = args else { return Ok(()) };
    let Ok(pid) = pid.parse() else { return Ok(()) };
    let home = Home::of(env)?;
    let typist = Typist { pane: TmuxPane { socket: socket.clone(), pane: pane.clone() }, pid };
    let Some(_lock) = typist.lock(&home)? else { return Ok(()) };
    let store = home.store(waiting_times::DATABASE)?;
    let known = store.session(session.as_str())?;
    let folder = known.as_ref().map(|known| PathBuf::from(&known.project_path));
    let rollout = known.and_then(|known| known.transcript);
    // The user may switch it off meanwhile. A configuration that cannot be read may have been written to forbid this.
    let may_type = || -> Result<(), String> {
        let (config, _) = home::config(env).map_err(|error| error.chain())?;
        match env.disabled || !settings(&config, &home, folder.as_deref()).at.is_on {
            true => Err("continuation was switched off".to_owned()),
            false => Ok(()),
        }
    };
    let until = Instant::now() + CODEX_SHOWS;
    // Codex refuses commands until the turn is over, and the Stop hook is a part of it.
    while rollout.as_deref().is_some_and(|path| !context::is_turn_over(Path::new(path))) && Instant::now() < until {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    if let Err(why) = typist.go_on(may_type) {
        log.write(&format!("session {session}: not continued: {why}; type /new in Codex, the new session goes on"));
        return Ok(());
    }
    let until = Instant::now() + CODEX_SHOWS;
    while store.session(session.as_str())?.is_some_and(|session| session.merged_into.is_none()) {
        if Instant::now() > until {
            log.write(&format!("session {session}: the prompt was typed, but no session has continued this one"));
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Ok(())
}

/// Types into one window of Codex.
struct Typist {
    pane: TmuxPane,
    pid: u32,
}

impl Typist {
    /// Takes the lock of the pane; `None` while another process types into it.
    fn lock(&self, home: &Home) -> Result<Option<File>, Error> {
        files::try_lock(&home.locks().join(Terminal::Tmux(self.pane.clone()).lock_name()))
    }

    /// Types the command and the prompt, each only if `may_type` allows it at that moment.
    fn go_on(&self, may_type: impl Fn() -> Result<(), String>) -> Result<(), String> {
        let is_free = |state: &ScreenState, _: &str| {
            matches!(state, ScreenState::Input { draft: None, turn: TurnSign::Idle, .. })
        };
        let is_fresh = |state: &ScreenState, screen: &str| is_free(state, screen) && !codex_has_prompts(screen);
        let mut cleared = Ok(());
        // The window may get to know a moment later that the turn is over.
        for _ in 0..ATTEMPTS {
            self.wait("the input is not empty, or not shown", CODEX_INPUT_FREE, is_free)?;
            may_type()?;
            self.submit(COMMAND)?;
            cleared = self.wait("Codex has not started a new session", CODEX_CLEARS, is_fresh);
            if cleared.is_ok() {
                break;
            }
        }
        cleared?;
        may_type()?;
        self.submit(texts::PROMPT)
    }

    /// Types a text, and submits it if the input shows exactly that. Otherwise it is erased again.
    fn submit(&self, text: &str) -> Result<(), String> {
        let failed = |error: Error| error.chain();
        process::run(&self.pane.type_text(text), TMUX_FOR_CODEX).map_err(failed)?;
        let shown = self.wait(&format!("the input does not show {text:?}"), CODEX_SHOWS, |state, _| state.holds(text));
        if let Err(why) = shown {
            // What was typed must not stay. Keys go only to an input that is shown.
            if matches!(self.look(), Some((ScreenState::Input { draft: Some(_), .. }, _))) {
                process::run(&self.pane.erase(text.chars().count()), TMUX_FOR_CODEX).map_err(failed)?;
            }
            return Err(why);
        }
        process::run(&self.pane.press_enter(), TMUX_FOR_CODEX).map(drop).map_err(failed)
    }

    fn wait(&self, why: &str, patience: Duration, is: impl Fn(&ScreenState, &str) -> bool) -> Result<(), String> {
        let until = Instant::now() + patience;
        loop {
            let seen = self.look().ok_or("Codex does not run in its pane any more")?;
            if is(&seen.0, &seen.1) {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(match seen.0 {
                    ScreenState::Unsafe(danger) => format!("{why}: {danger}"),
                    ScreenState::Input { .. } => why.to_owned(),
                });
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Returns the state of the screen and the screen; `None` if the pane does not show this client any more.
    fn look(&self) -> Option<(ScreenState, String)> {
        let shown = process::run(&self.pane.inspect(), TMUX_FOR_CODEX).ok()?;
        let inspection = parse_inspection(&shown)?;
        let is_own = process::client_runs_below(inspection.pid?, Some(self.pid)) && process::is_alive(self.pid);
        is_own.then(|| (codex_screen_state(&inspection), inspection.screen))
    }
}

// The turns that a rewind in Codex took back.
//
// Codex changes no rollout. After a rewind it writes a new one for the same session, whose first line says up to which
// line the earlier ones are still part of the conversation.

/// Maximum length of the first line, which contains the instructions for the model.
const FIRST_LINE: u64 = 4 * 1024 * 1024;

/// Maximum number of bytes read of an earlier rollout.
const ROLLOUT_BYTES: u64 = 256 * 1024 * 1024;

/// Maximum number of folder entries in which rollouts of the session are searched.
const MOST_ENTRIES: usize = 10_000;

/// Returns the ids of the turns of session `own` in earlier rollouts that the rollout `new` leaves out.
///
/// `old` is the rollout that was read before. Others of the session are searched beside both.
pub fn turns_left_out(own: &str, old: &Path, new: &Path) -> Result<Vec<String>, Error> {
    let failed = |source| Error::Read { path: new.to_owned(), source };
    let mut line = Vec::new();
    let file = TranscriptFile::open(new).map_err(failed)?;
    BufReader::new(file.take(FIRST_LINE)).read_until(b'\n', &mut line).map_err(failed)?;
    let Some(HistoryBase { rollout, end }) = SessionMeta::parse(&line).and_then(|meta| meta.base) else {
        return Ok(Vec::new());
    };
    let mut files = vec![old.to_owned()];
    files.extend(siblings(own, [old, new]));
    files.retain(|file| !is_same_or_later(file, new));
    files.sort();
    files.dedup();
    // The first rollout of a session has the id of the session.
    let is_of_session = |file: &PathBuf| RolloutName::of(file).is_some_and(|name| name.rollout == rollout);
    if rollout != own && !files.iter().any(is_of_session) {
        return Ok(Vec::new());
    }
    let mut turns = Vec::new();
    for file in &files {
        turns.extend(turns_from(file, end)?);
    }
    Ok(turns)
}

/// Returns the rollouts of a session in the folders of these files.
fn siblings(own: &str, files: [&Path; 2]) -> Vec<PathBuf> {
    let folders = files.into_iter().filter_map(Path::parent);
    let entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES));
    let is_own = |path: &PathBuf| RolloutName::of(path).is_some_and(|name| name.session == own);
    entries.map(|entry| entry.path()).filter(is_own).collect()
}

/// Returns whether a file is the rollout `new`, or was begun after it, so that `new` says nothing about it.
fn is_same_or_later(file: &Path, new: &Path) -> bool {
    let names = RolloutName::of(file).zip(RolloutName::of(new));
    file == new || names.is_some_and(|(file, new)| file.rollout >= new.rollout)
}

/// Returns the ids of the turns that begin in the lines of a rollout from the number `first` on.
fn turns_from(path: &Path, first: u64) -> Result<Vec<String>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let file = match TranscriptFile::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file.map_err(failed)?,
    };
    let mut lines = BufReader::new(file.take(ROLLOUT_BYTES));
    let (mut reader, mut line) = (Reader::default(), Vec::new());
    while lines.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        if line_number(&line).is_some_and(|number| number >= first) {
            reader.feed(&line);
        }
        line.clear();
    }
    Ok(reader.take().turns.into_iter().filter(|turn| turn.begins).map(|turn| turn.id).collect())
}

// Records that the user of Codex went back to an earlier prompt.

/// Marks the turns that a rewind took back. Codex then writes a new rollout, and starts the session again with it.
///
/// Must run before the session is registered, which replaces the path of the earlier rollout.
pub fn follow_rewind(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    let Some(new) = common.transcript.as_deref().filter(|_| hook.keeps_turns()) else { return Ok(Flow::Next) };
    let store = hook.store()?;
    let Some(session) = store.session(common.session.as_str())? else { return Ok(Flow::Next) };
    let Some(old) = session.transcript.as_deref().map(Path::new).filter(|old| *old != new) else {
        return Ok(Flow::Next);
    };
    let own = common.session.own();
    let turns = match turns_left_out(own, old, new) {
        Err(error) if error.is_missing_file() => return Ok(Flow::Next),
        turns => turns?,
    };
    store.leave_out(&session.session, &turns)?;
    Ok(Flow::Next)
}
