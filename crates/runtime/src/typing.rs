//! Types into the terminal of a session: inspect the screen, type, inspect again, submit, wait for the receipt.

mod answer_dialog;
mod send_prompt;
mod typist;

use std::time::{Duration, Instant};

use longhaul_activity_log::{LogLine, RECEIPT_MS};
use longhaul_core::{Env, Millis, SessionId};
use longhaul_inject::{
    ChordResult, ChordTrial, Inspection, KeybindingsFile, SubmitChord, Terminal, TmuxPane, TypeWhen, TypingDecision,
    parse_inspection, printable,
};
use serde::{Deserialize, Serialize};

use crate::hook::Deadline;
use crate::{
    ActivityLog, Error, Home, SessionRecord, Ticket, bounded_read, client_records, clock_and_env, files, process,
};

pub use self::answer_dialog::{DialogOutcome, DialogPane, SeenDialog};
pub use self::send_prompt::{ContinueOutcome, PromptOutcome, continue_session, send_prompt};

pub(crate) use self::typist::{Superseded, Typist};

/// How long to wait for a tmux server, for the preview of a pane. A person waits, and the next preview is a second
/// away.
const TMUX_FOR_PREVIEW: Duration = Duration::from_secs(2);

/// Interval at which a pane that cannot be typed into is inspected again.
const PANE_INSPECTED_AGAIN: Duration = Duration::from_millis(150);

/// A draft of the user must be unchanged for this long before it is stashed, because the user may still be typing it.
const DRAFT_UNCHANGED: Duration = Duration::from_secs(2);

longhaul_core::named! {
    /// The event in the log that confirms a text.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Receipt {
        Bookmark = "bookmark",
        Compaction = "compaction",
    }
}

impl Receipt {
    pub(crate) fn is(self, line: &LogLine) -> bool {
        match self {
            Self::Bookmark => matches!(line, LogLine::Bookmark { .. }),
            Self::Compaction => matches!(line, LogLine::Compaction { .. }),
        }
    }
}

/// A text to type.
#[derive(Debug, Clone)]
pub struct Order {
    /// The session. The pane may show another one by then.
    pub session: SessionId,
    pub terminal: Terminal,
    /// The process id of the client, if known.
    pub client_pid: Option<u32>,
    /// The text, which is also submitted.
    pub text: String,
    /// The state of the client in which to type.
    pub want: TypeWhen,
    /// Another state in which to type, if a chord submits that no dialog reacts to.
    pub want_by_chord: Option<TypeWhen>,
    /// Whether a running subagent could open a dialog between the inspection and Enter.
    pub agents_may_ask: bool,
    /// Whether such a subagent is known to be running.
    pub agents_run: bool,
    /// Maximum time to wait for that state.
    pub patience: Duration,
    /// The deadline, if a hook waits for the result.
    pub deadline: Option<Deadline>,
}

/// The result of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was typed and confirmed.
    Confirmed,
    /// It is no longer wanted: another injection or a prompt came first.
    Superseded,
    /// The terminal shows another session now.
    AnotherSession,
    /// It was not typed, or not confirmed. With the reason.
    GaveUp(String),
}

/// Types `order` when the pane allows it, with one retry, and waits until the log confirms it.
pub fn inject(
    env: &Env,
    home: &Home,
    log: &ActivityLog,
    order: &Order,
    receipt: Receipt,
    ticket: Ticket,
) -> Result<Outcome, Error> {
    let mut ticket = ticket;
    for _attempt in 0..2 {
        let typist = Typist::new(env, home, order);
        match submit_patiently(&typist, &|| is_superseded(env, home, order, log, ticket))? {
            Submitted::Yes => {}
            // A slow client has accepted the chord just before it would have got Enter.
            Submitted::Superseded if typist.has_pressed_chord() && has_receipt(log, receipt, ticket)? => {
                typist.note_received();
                return Ok(Outcome::Confirmed);
            }
            Submitted::Superseded if shows_another_session(env, home, order) => {
                // No hook of this session will confirm it: without this line, it would look as if it were still being typed.
                if !typist.has_typed() {
                    log.append(&[LogLine::GivenUp { at: clock_and_env::now(env) }])?;
                }
                return Ok(Outcome::AnotherSession);
            }
            Submitted::Superseded => return Ok(Outcome::Superseded),
            Submitted::No(why) => {
                if !typist.has_typed() {
                    log.append(&[LogLine::GivenUp { at: clock_and_env::now(env) }])?;
                }
                return Ok(Outcome::GaveUp(why));
            }
        }
        if is_received(order, receipt, log, ticket, Duration::from_millis(RECEIPT_MS))? {
            typist.note_received();
            return Ok(Outcome::Confirmed);
        }
        if is_superseded(env, home, order, log, ticket)? {
            return Ok(Outcome::Superseded);
        }
        typist.note_not_received();
        if typist.may_have_stashed_unseen() {
            let why = "was typed and not confirmed, and a draft may be stashed: Ctrl-S brings it back";
            return Ok(Outcome::GaveUp(format!("{:?} {why}", order.text)));
        }
        log.append(&[LogLine::Injection { at: clock_and_env::now(env) }])?;
        ticket = log.ticket()?;
    }
    Ok(Outcome::GaveUp(format!("{:?} was typed twice and never confirmed", order.text)))
}

/// The result of one attempt.
pub(crate) enum Submitted {
    /// It was typed and submitted.
    Yes,
    /// It is no longer wanted.
    Superseded,
    /// It could not be typed.
    No(String),
}

/// Types a text when the pane allows it, unless it is `superseded` or the patience of the order is used up.
pub(crate) fn submit_patiently(typist: &Typist<'_>, superseded: Superseded<'_>) -> Result<Submitted, Error> {
    let order = typist.order;
    let started = Instant::now();
    let mut draft = Draft::default();
    let mut why = "another injection holds the pane".to_owned();
    loop {
        if superseded()? {
            return Ok(Submitted::Superseded);
        }
        if let Some(_lock) = typist.lock()? {
            let submitted = match typist.decide() {
                Ok(decision @ (TypingDecision::Type | TypingDecision::TypedAlready)) => {
                    typist.submit(&decision, superseded)
                }
                Ok(TypingDecision::Stash { draft: text }) if draft.has_rested(&text) => {
                    typist.stash_and_submit(superseded)
                }
                Ok(TypingDecision::Stash { .. }) => Err("a draft is being typed".to_owned()),
                Ok(TypingDecision::Wait(reason)) => Err(reason.to_string()),
                // A pane that no longer exists does not come back.
                Err(problem) => return Ok(Submitted::No(problem)),
            };
            match submitted {
                Ok(()) => return Ok(Submitted::Yes),
                Err(problem) => why = problem,
            }
        }
        if started.elapsed() >= order.patience {
            if superseded()? {
                return Ok(Submitted::Superseded);
            }
            return Ok(Submitted::No(format!("waited {} s: {why}", order.patience.as_secs())));
        }
        std::thread::sleep(PANE_INSPECTED_AGAIN);
    }
}

/// Returns whether a later event makes the order unnecessary.
fn is_superseded(env: &Env, home: &Home, order: &Order, log: &ActivityLog, ticket: Ticket) -> Result<bool, Error> {
    let superseded = |line: &LogLine| match line {
        LogLine::Bookmark { .. } | LogLine::Injection { .. } | LogLine::Compaction { .. } => true,
        // A prompt is a rewind point itself, and the hooks of its turn set the next bookmark.
        LogLine::Prompt { .. } => order.want == TypeWhen::Idle,
        LogLine::Tool { .. }
        | LogLine::Call { .. }
        | LogLine::Loop { .. }
        | LogLine::Agent { .. }
        | LogLine::GivenUp { .. }
        | LogLine::Turn { .. }
        | LogLine::Status { .. } => false,
    };
    Ok(log.since(ticket)?.iter().any(superseded) || shows_another_session(env, home, order))
}

/// Returns whether the pane shows another session. After `/clear`, no hook of the old session reports that.
pub(crate) fn shows_another_session(env: &Env, home: &Home, order: &Order) -> bool {
    if let Some(shown) = client_records::shown_session(env, order.client_pid) {
        return shown != order.session;
    }
    let newest = SessionRecord::all(home).into_iter().find(|record| record.terminal.as_ref() == Some(&order.terminal));
    newest.is_some_and(|record| record.session != order.session.as_str())
}

fn has_receipt(log: &ActivityLog, receipt: Receipt, ticket: Ticket) -> Result<bool, Error> {
    Ok(log.since(ticket)?.iter().any(|line| receipt.is(line)))
}

/// Waits until the log confirms the text.
pub(crate) fn is_received(
    order: &Order,
    receipt: Receipt,
    log: &ActivityLog,
    ticket: Ticket,
    limit: Duration,
) -> Result<bool, Error> {
    let started = Instant::now();
    let limit = order.deadline.map_or(limit, |deadline| limit.min(deadline.left()));
    loop {
        if has_receipt(log, receipt, ticket)? {
            return Ok(true);
        }
        if started.elapsed() >= limit {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A draft, and the time since when it is unchanged.
#[derive(Default)]
struct Draft {
    seen: Option<(String, Instant)>,
}

impl Draft {
    fn has_rested(&mut self, text: &str) -> bool {
        match &self.seen {
            Some((seen, since)) if seen == text => since.elapsed() >= DRAFT_UNCHANGED,
            Some(_) | None => {
                self.seen = Some((text.to_owned(), Instant::now()));
                false
            }
        }
    }
}

// Notes on a client process: whether the submit chord works in it, and a text that was left in its input.

/// `clients/<pid>.json`. There is one file per process, because each process reads keybindings.json at its own time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct ClientNotes {
    /// The start time of the process in clock ticks, because pids are reused.
    start: Option<String>,
    /// The result of the last use of the chord.
    experience: Option<ChordTrial>,
    /// A text of Longhaul that may be in the input: it is being typed, or could be neither submitted nor erased.
    left: Option<String>,
}

impl ClientNotes {
    /// Reads the notes of a client; empty if there are none for this process.
    fn load(home: &Home, pid: Option<u32>) -> Self {
        let start = pid.and_then(process::start_ticks);
        let read = |pid: u32| {
            serde_json::from_slice::<Self>(&bounded_read::bytes(&home.client_file(pid), bounded_read::SMALL).ok()?).ok()
        };
        let notes = pid.and_then(read).filter(|notes| notes.start == start);
        notes.unwrap_or(Self { start, ..Self::default() })
    }

    fn save(&self, home: &Home, pid: u32) -> Result<(), Error> {
        files::replace(&home.client_file(pid), &serde_json::to_vec(self).unwrap_or_default())
    }
}

/// Returns the chord that submits in a client, `None` for Enter, with the client's notes.
fn submit_chord(env: &Env, home: &Home, pid: Option<u32>) -> (Option<SubmitChord>, ClientNotes) {
    let notes = ClientNotes::load(home, pid);
    let file = read_keybindings(env);
    let file = file.as_ref().map(|(text, written, age)| KeybindingsFile { text, written: *written, age: *age });
    // A result can only be recorded for a known process.
    let chord = pid.and_then(|_| SubmitChord::choose(file?, notes.experience.as_ref()));
    (chord, notes)
}

/// Returns whether a running client has ignored the submit chord.
pub fn ignores_chord(home: &Home, pid: u32) -> bool {
    let experience = ClientNotes::load(home, Some(pid)).experience;
    experience.is_some_and(|experience| experience.proof == ChordResult::Ignored)
}

fn note_proof(env: &Env, home: &Home, pid: u32, chord: &SubmitChord, proof: ChordResult) -> Result<(), Error> {
    let Some((_, file_written, _)) = read_keybindings(env) else { return Ok(()) };
    let experience = ChordTrial { chord: chord.submit.to_string(), file_written, proof };
    ClientNotes { experience: Some(experience), ..ClientNotes::load(home, Some(pid)) }.save(home, pid)
}

/// Records the text that was left in the input; `None` if none is.
fn note_left(home: &Home, pid: u32, left: Option<&str>) -> Result<(), Error> {
    let notes = ClientNotes::load(home, Some(pid));
    if notes.left.as_deref() == left {
        return Ok(());
    }
    ClientNotes { left: left.map(str::to_owned), ..notes }.save(home, pid)
}

/// Returns the text of keybindings.json, its modification time, and its age, both in milliseconds.
fn read_keybindings(env: &Env) -> Option<(String, u64, u64)> {
    let path = env.client_dir.as_ref()?.join("keybindings.json");
    let text = bounded_read::text(&path, bounded_read::LARGE).ok()?;
    let modified = path.metadata().ok()?.modified().ok()?;
    // The system clock, because the one in `env` may be fixed.
    let age = modified.elapsed().map_or(0, |age| age.as_millis() as u64);
    Some((text, files::since_epoch(modified)?.0, age))
}

// The screen of a tmux pane as plain text, for a preview.

/// Returns what a pane shows now; `None` if it does not exist.
pub fn inspect_pane(pane: &TmuxPane) -> Result<Option<Inspection>, Error> {
    process::run(&pane.inspect(), TMUX_FOR_PREVIEW).map(|stdout| parse_inspection(&stdout))
}

/// Returns the rows of a captured screen without escape sequences and control characters, without the empty rows at the end.
pub fn plain_rows(inspection: &Inspection) -> Vec<String> {
    let mut rows: Vec<String> = longhaul_inject::plain_rows(&inspection.screen)
        .iter()
        .map(|row| printable(row).trim_end().to_owned())
        .collect();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

// Whether the user was writing in the input of a session when its last turn ended, as the bridge reports it.
//
// The file is `sessions/<id>.draft`. It contains the time, and nothing of the draft. It exists only while there is a draft.

/// Records whether the input is empty.
pub(crate) fn note_draft(home: &Home, session: &SessionId, is_empty: bool, now: Millis) -> Result<(), Error> {
    let path = home.session_file(session, "draft");
    if is_empty { files::remove(&path) } else { files::replace(&path, now.0.to_string().as_bytes()) }
}

/// Returns when a draft was last reported; `None` if the input was empty.
pub fn open_draft_at(home: &Home, session: &SessionId) -> Option<Millis> {
    let text = bounded_read::text(&home.session_file(session, "draft"), bounded_read::SMALL).ok()?;
    text.trim().parse().ok().map(Millis)
}
