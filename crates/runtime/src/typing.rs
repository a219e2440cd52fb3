//! Typing into the session's terminal: look, type, look again, submit, wait for the receipt.

mod by_chord;
mod client_notes;
mod typist;

use std::time::{Duration, Instant};

use longhaul_activity_log::{LogLine, RECEIPT_MS};
use longhaul_core::{Env, SessionId};
use longhaul_inject::{Terminal, TypeWhen, TypingDecision};

pub use self::client_notes::ignores_chord;
pub(crate) use self::typist::{Superseded, Typist};
use crate::deadline::Deadline;
use crate::{ActivityLog, Error, Home, SessionRecord, Ticket, client, clock_and_env};

/// How often a pane that cannot be typed into is looked at again.
const RETRY_EVERY: Duration = Duration::from_millis(150);

/// How long a draft must have stayed as it is before it is stashed: nobody is typing it any more.
const DRAFT_REST: Duration = Duration::from_secs(2);

/// What shows in the log that a text has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipt {
    /// A bookmark was confirmed.
    Bookmark,
    /// A compaction began.
    Compaction,
}

impl Receipt {
    pub(crate) const ALL: [Self; 2] = [Self::Bookmark, Self::Compaction];

    /// Returns the name by which the injector is told.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bookmark => "bookmark",
            Self::Compaction => "compaction",
        }
    }

    pub(crate) fn is(self, line: &LogLine) -> bool {
        match self {
            Self::Bookmark => matches!(line, LogLine::Bookmark { .. }),
            Self::Compaction => matches!(line, LogLine::Compaction { .. }),
        }
    }
}

/// What is to be typed.
#[derive(Debug, Clone)]
pub struct Order {
    /// For which session: the pane may show another by then.
    pub session: SessionId,
    /// Where.
    pub terminal: Terminal,
    /// The client's process, where known.
    pub client_pid: Option<u32>,
    /// The text, which is submitted.
    pub text: String,
    /// In what state of the client.
    pub want: TypeWhen,
    /// In what other state, where it is submitted by a chord that no dialog knows.
    pub want_by_chord: Option<TypeWhen>,
    /// Whether a subagent, if one runs, could open a dialog between look and Enter.
    pub agents_may_ask: bool,
    /// Whether a subagent that could is known to run.
    pub agents_run: bool,
    /// How long to wait for the client to be in that state.
    pub patience: Duration,
    /// When it must be over, where somebody waits for it.
    pub deadline: Option<Deadline>,
    /// Whether to go by the client's own word where the pane cannot be looked at.
    pub allow_blind: bool,
}

/// What became of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was typed, and has arrived.
    Confirmed,
    /// It is no longer wanted: another injection, a prompt or another session came first.
    Superseded,
    /// It was not typed, or nothing showed that it arrived.
    GaveUp(String),
}

/// Types `order` when the pane allows it, with one retry, and waits until the log shows that it has arrived.
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
            // A client that is slow has taken the chord for which it was about to get Enter.
            Submitted::Superseded if typist.has_pressed_chord() && has_receipt(log, receipt, ticket)? => {
                typist.note_received();
                return Ok(Outcome::Confirmed);
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

/// What became of one try.
pub(crate) enum Submitted {
    /// It was typed and submitted.
    Yes,
    /// It is no longer wanted.
    Superseded,
    /// It could not be typed.
    No(String),
}

/// Types a text as soon as the pane allows it, unless it is `superseded` or the order's patience ends.
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
                // A pane that is gone does not come back.
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
        std::thread::sleep(RETRY_EVERY);
    }
}

/// Returns whether what happened since makes the order pointless.
fn is_superseded(env: &Env, home: &Home, order: &Order, log: &ActivityLog, ticket: Ticket) -> Result<bool, Error> {
    let superseded = |line: &LogLine| match line {
        LogLine::Bookmark { .. } | LogLine::Injection { .. } | LogLine::Compaction { .. } => true,
        // A prompt is a rewind point itself, and the turn's own hooks see to the next.
        LogLine::Prompt { .. } => order.want == TypeWhen::Idle,
        LogLine::Tool { .. } | LogLine::Agent { .. } | LogLine::GivenUp { .. } | LogLine::Status { .. } => false,
    };
    Ok(log.since(ticket)?.iter().any(superseded) || shows_another_session(env, home, order))
}

/// Returns whether the pane has gone on to another session: `/clear` tells the old one nothing.
pub(crate) fn shows_another_session(env: &Env, home: &Home, order: &Order) -> bool {
    if let Some(shown) = client::shown_session(env, order.client_pid) {
        return shown != order.session;
    }
    let newest = SessionRecord::all(home).into_iter().find(|record| record.terminal.as_ref() == Some(&order.terminal));
    newest.is_some_and(|record| record.session != order.session.as_str())
}

fn has_receipt(log: &ActivityLog, receipt: Receipt, ticket: Ticket) -> Result<bool, Error> {
    Ok(log.since(ticket)?.iter().any(|line| receipt.is(line)))
}

/// Waits until the log shows that the text has arrived.
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

/// A draft, and since when it has been as it is.
#[derive(Default)]
struct Draft {
    seen: Option<(String, Instant)>,
}

impl Draft {
    fn has_rested(&mut self, text: &str) -> bool {
        match &self.seen {
            Some((seen, since)) if seen == text => since.elapsed() >= DRAFT_REST,
            Some(_) | None => {
                self.seen = Some((text.to_owned(), Instant::now()));
                false
            }
        }
    }
}
