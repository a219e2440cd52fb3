//! Reopening sessions whose client or tmux server died: where a session ran, as it was recorded while it was alive; which
//! sessions are lost, and how long they are listed; why one is refused; and the command and the window that it gets.

use longhaul_core::{Millis, OTHER_AGENTS, Status};

/// A tmux server. A later server can have the same socket, so its process is part of the identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerId {
    /// The path of its socket.
    pub socket: String,
    /// The id of its process.
    pub pid: Option<u32>,
    /// The start time of the process as the system reports it, which tells two processes with the same id apart.
    pub started: Option<String>,
}

/// The tmux window of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Window {
    /// The name of the tmux session.
    pub session: String,
    /// The index of the window.
    pub index: u32,
    /// The index of the pane in the window.
    pub pane: u32,
    /// The name of the window.
    pub name: String,
    /// Whether tmux names the window after the running program (`automatic-rename`).
    pub names_itself: bool,
}

impl Window {
    /// Returns a window with one pane, and with a name that was set by hand.
    pub fn new(session: impl Into<String>, index: u32, name: impl Into<String>) -> Self {
        Self { session: session.into(), index, pane: 0, name: name.into(), names_itself: false }
    }
}

/// Everything that is needed to reopen a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SessionPlace {
    /// The id of the session.
    pub session: String,
    /// The client that ran it: `claude` or `codex`.
    pub client: String,
    /// The id of the client's process.
    pub pid: Option<u32>,
    /// The start time of that process as the system reports it.
    pub pid_started: Option<String>,
    /// The folder in which the session was started, without links.
    pub folder: Option<String>,
    /// The user id of the folder's owner.
    pub folder_owner: Option<u32>,
    /// `CLAUDE_CONFIG_DIR`, where it was set.
    pub config_dir: Option<String>,
    /// The path of the transcript.
    pub transcript: Option<String>,
    /// The permission mode of its last prompt or turn.
    pub permission_mode: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The tmux server; `None` outside tmux.
    pub server: Option<ServerId>,
    /// The tmux window, if it is known.
    pub window: Option<Window>,
    /// When a hook last reported the session, in milliseconds since the Unix epoch.
    pub seen_ms: u64,
    /// The name of the project.
    pub project: String,
    /// The git branch that was checked out.
    pub branch: Option<String>,
    /// The beginning of its last prompt.
    pub prompt_summary: Option<String>,
    /// `teammate` or `worktree` for a session that worked for another one.
    pub agent_type: Option<String>,
    /// Its last status.
    pub status: Option<Status>,
}

impl SessionPlace {
    /// Returns the place of a session of which nothing else is known.
    pub fn new(session: impl Into<String>, client: impl Into<String>, seen_ms: u64) -> Self {
        Self { session: session.into(), client: client.into(), seen_ms, ..Self::default() }
    }
}

/// How long a session that was not reopened is listed, in milliseconds.
pub const LISTED_MS: u64 = 30 * 24 * 60 * 60 * 1000;

/// Returns whether a recorded session does not run any more, although it did not end. `shown` are the sessions that running
/// clients show.
///
/// `process_runs` says whether the process that showed the session still exists. Such a process has gone on to another
/// session if it does not show this one.
pub fn is_lost(place: &SessionPlace, process_runs: bool, shown: &[&str]) -> bool {
    !process_runs && !shown.contains(&place.session.as_str())
}

/// Sorts sessions by the time at which they were last seen, the newest first.
pub fn newest_first(places: &mut [SessionPlace]) {
    places.sort_by(|a, b| (b.seen_ms, &a.session).cmp(&(a.seen_ms, &b.session)));
}

/// Returns the tmux server of the newest session that ran in tmux.
pub fn last_server(lost: &[SessionPlace]) -> Option<&ServerId> {
    lost.iter().filter(|place| place.server.is_some()).max_by_key(|place| place.seen_ms)?.server.as_ref()
}

/// Which of the lost sessions to reopen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostSessions<'a> {
    /// All sessions of the last tmux server.
    LastServer,
    /// All sessions that were seen since then, of any server.
    Since(Millis),
    /// The sessions with these ids.
    Sessions(&'a [String]),
}

/// Returns the lost sessions that are wanted, in the same order.
pub fn chosen<'a>(lost: &'a [SessionPlace], wanted: LostSessions<'_>) -> Vec<&'a SessionPlace> {
    let last = last_server(lost);
    let is_wanted = |place: &&SessionPlace| match wanted {
        // Without any tmux server, the sessions outside tmux are the last ones.
        LostSessions::LastServer => place.server.as_ref() == last,
        LostSessions::Since(since) => place.seen_ms >= since.0,
        LostSessions::Sessions(ids) => ids.contains(&place.session),
    };
    lost.iter().filter(is_wanted).collect()
}

/// What is known of a session at the time of reopening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Why its folder is not the one in which it was started, such as `does not exist any more`.
    pub folder_problem: Option<String>,
    /// Whether its transcript exists.
    pub has_transcript: bool,
    /// The path of the client's executable.
    pub program: Option<String>,
}

/// Why a session cannot be reopened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The session did not run in tmux.
    #[error("it did not run in tmux")]
    NoTmux,
    /// It cannot be resumed at all, for this reason.
    #[error("{0}")]
    NotResumable(String),
}

/// Returns why a session cannot be reopened; `None` if it can.
pub fn refusal(place: &SessionPlace, facts: &Facts) -> Option<Refusal> {
    let not_resumable = |why: &str| Some(Refusal::NotResumable(why.to_owned()));
    let client = place.client.as_str();
    let has_transcript_of_ours = matches!(client, "claude" | "codex");
    if !has_transcript_of_ours && !OTHER_AGENTS.contains(&client) {
        return not_resumable(&format!("{client} cannot resume a session by its id"));
    }
    if !is_safe_id(own_id(place)) {
        // It could be mistaken for an option, or is no id at all.
        return not_resumable(&format!("its id is not one that {client} uses"));
    }
    if place.agent_type.as_deref() == Some("teammate") {
        return not_resumable("it is a teammate, which its own session starts again");
    }
    let Some(folder) = &place.folder else { return not_resumable("its folder is not known") };
    if let Some(problem) = &facts.folder_problem {
        return not_resumable(&format!("its folder {folder} {problem}"));
    }
    // Longhaul does not know where the other agents keep their conversations.
    if has_transcript_of_ours && !facts.has_transcript {
        return not_resumable("it has no transcript: no prompt was sent yet, or the file was deleted");
    }
    if place.server.is_none() {
        return Some(Refusal::NoTmux);
    }
    if facts.program.is_none() { not_resumable(&format!("there is no {client} on the PATH")) } else { None }
}

/// The longest value that is passed to a client.
const MAX_CHARS: usize = 100;

/// The command of a client, and the environment that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables, as `NAME=VALUE`.
    pub variables: Vec<String>,
}

/// Returns the command that resumes a session of Claude Code, with the model and the permission mode that it had.
///
/// `program` is the path of the client. A value that a client could take for an option is left out.
pub fn resume(program: &str, place: &SessionPlace) -> Resume {
    let id = own_id(place).to_owned();
    let mut argv = vec![program.to_owned()];
    argv.extend(["--resume".to_owned(), id]);
    if let Some(mode) = place.permission_mode.as_deref().filter(|mode| is_word(mode)) {
        argv.extend(["--permission-mode", mode].map(str::to_owned));
    }
    if let Some(model) = place.model.as_deref().and_then(model_name) {
        argv.extend(["--model", model].map(str::to_owned));
    }
    let variables = place.config_dir.iter().map(|dir| format!("CLAUDE_CONFIG_DIR={dir}")).collect();
    Resume { argv, variables }
}

/// Returns the id that the client itself uses, without the name of the client that Longhaul puts before it.
pub fn own_id(place: &SessionPlace) -> &str {
    let prefixed = place.session.strip_prefix(place.client.as_str()).and_then(|rest| rest.strip_prefix(':'));
    prefixed.unwrap_or(&place.session)
}

/// Returns whether `id` consists of the characters of a session id, and cannot be taken for an option.
pub(crate) fn is_safe_id(id: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !id.is_empty() && id.len() <= MAX_CHARS && !id.starts_with('-') && id.chars().all(is_allowed)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_CHARS && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Returns `name` if it is the name of a model: `<synthetic>`, which Claude Code writes for its own messages, is none.
pub fn model_name(name: &str) -> Option<&str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._:/@[]-".contains(c);
    let first = name.chars().next()?;
    (first.is_ascii_alphanumeric() && name.len() <= MAX_CHARS && name.chars().all(is_allowed)).then_some(name)
}

/// The name of the tmux session for sessions whose window was never recorded.
const UNKNOWN: &str = "reopened";

/// A tmux session that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmuxSession {
    /// Its id, `$<digits>`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The indexes of its windows.
    pub windows: Vec<u32>,
}

/// Where a window is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WindowPosition {
    /// The name of the tmux session.
    pub session: String,
    /// The id of the tmux session; `None` if it must be created.
    pub session_id: Option<String>,
    /// The index of the window; `None` for the next free one.
    pub index: Option<u32>,
    /// The name of the window; `None` if tmux names it.
    pub name: Option<String>,
}

/// Sorts sessions in the order in which their windows are opened: by tmux server, tmux session, window and pane.
pub fn opening_order(places: &mut [&SessionPlace]) {
    places.sort_by_cached_key(|place| {
        let socket = place.server.as_ref().map(|server| server.socket.clone());
        let window = place.window.as_ref().map(|window| (window.session.clone(), window.index, window.pane));
        // Sessions without a recorded window come last.
        (socket, window.is_none(), window, place.seen_ms, place.session.clone())
    });
}

/// Returns where to open the first of `remaining`, which are in [`opening_order`] and have the same tmux server.
///
/// The window gets its previous index. If one of the previous indexes of the remaining sessions is taken, all of them come
/// after the existing windows, so that their order is kept.
pub fn position(remaining: &[&SessionPlace], existing: &[TmuxSession]) -> Option<WindowPosition> {
    let window = remaining.first()?.window.as_ref();
    let session = window.map_or(UNKNOWN, |window| &window.session);
    let found = existing.iter().find(|existing| existing.name == session);
    let taken = found.map_or(&[][..], |found| &found.windows);
    let others = remaining.iter().filter_map(|place| place.window.as_ref()).filter(|other| other.session == session);
    let is_free = others.map(|other| other.index).all(|index| !taken.contains(&index));
    let after = taken.iter().max().map_or(0, |last| last.saturating_add(1));
    Some(WindowPosition {
        session: session.to_owned(),
        session_id: found.map(|found| found.id.clone()),
        index: window.map(|window| if is_free { window.index } else { after }),
        name: window.filter(|window| !window.names_itself && !window.name.is_empty()).map(|window| window.name.clone()),
    })
}

/// What tmux prints of the window that it has opened.
const PRINTED: &str = "#{session_id} #{pane_id} #{window_index}";

/// Returns the words of the tmux command that opens a window at `position`, in `folder`, and runs `resume` there.
///
/// The command prints the ids of session and pane, and the window's index. A new session begins with the index that
/// tmux is configured for. Several words after `--` are passed to the program as they are, without a shell.
pub fn open_command(position: &WindowPosition, folder: &str, resume: &Resume) -> Vec<String> {
    let mut words: Vec<String> = match &position.session_id {
        Some(id) => {
            let index = position.index.map(|index| index.to_string()).unwrap_or_default();
            ["new-window", "-d", "-t", &format!("{id}:{index}")].map(str::to_owned).to_vec()
        }
        None => ["new-session", "-d", "-s", &escape_format(&position.session)].map(str::to_owned).to_vec(),
    };
    words.extend(["-P", "-F", PRINTED, "-c", &escape_format(folder)].map(str::to_owned));
    if let Some(name) = &position.name {
        words.extend(["-n".to_owned(), escape_format(name)]);
    }
    for variable in &resume.variables {
        words.extend(["-e".to_owned(), variable.clone()]);
    }
    words.push("--".to_owned());
    words.extend(resume.argv.iter().cloned());
    words
}

/// Returns `text` so that tmux, which expands names and folders as formats, arrives at `text` again.
///
/// `#` is doubled, except before `[`: tmux leaves any number of `#` before a bracket as they are.
pub fn escape_format(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('#') {
        let (before, hashes) = rest.split_at(at);
        let count = hashes.len() - hashes.trim_start_matches('#').len();
        let after = &hashes[count..];
        escaped.push_str(before);
        escaped.push_str(&"#".repeat(if after.starts_with('[') { count } else { 2 * count }));
        rest = after;
    }
    escaped + rest
}

/// The share of time, in percent, in which everything waits for memory, from which no further client is started.
const STALLED_PERCENT: f64 = 10.0;

/// The memory of the machine. What the system does not report is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MemoryState {
    /// Memory that programs can get without swapping, in MB.
    pub available_mb: Option<u64>,
    /// The share of the last ten seconds in which all programs waited for memory, in percent.
    pub stalled_percent: Option<f64>,
}

/// Returns why no further client should be started now; `None` if it may.
pub fn shortage(memory: MemoryState, wanted_mb: u64) -> Option<String> {
    if let Some(available) = memory.available_mb.filter(|available| *available < wanted_mb) {
        return Some(format!(
            "only {available} MB of memory are available, and {wanted_mb} MB are wanted for each session"
        ));
    }
    let stalled = memory.stalled_percent.filter(|percent| *percent >= STALLED_PERCENT)?;
    Some(format!("the machine has waited for memory {stalled:.0} % of the last ten seconds"))
}

#[cfg(test)]
mod tests;
