//! Typing into the session's terminal: look, type, look again, submit, wait for the receipt.

use std::fs::File;
use std::time::{Duration, Instant};

use fs2::FileExt;
use longhaul_activity_log::{Line, RECEIPT_MS};
use longhaul_core::{Env, Millis};
use longhaul_inject::{
    ClientSays, Decision, EditorMode, Look, Step, Terminal, TmuxPane, Want, Why, look, may_type, parse_inspection,
};

use crate::{ActivityLog, Error, Home, Ticket, client, files, process, surroundings};

/// How long one call of tmux, screen or osascript may take.
const STEP_LIMIT: Duration = Duration::from_millis(1_500);

/// How long typed text may take to show in the input.
const ECHO_LIMIT: Duration = Duration::from_millis(1_000);

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

    fn is(self, line: &Line) -> bool {
        match self {
            Self::Bookmark => matches!(line, Line::Bookmark { .. }),
            Self::Compaction => matches!(line, Line::Compaction { .. }),
        }
    }
}

/// What is to be typed.
#[derive(Debug, Clone)]
pub struct Order {
    /// Where.
    pub terminal: Terminal,
    /// The client's process, where known.
    pub client_pid: Option<u32>,
    /// The text, submitted with Enter.
    pub text: String,
    /// In what state of the client.
    pub want: Want,
    /// Whether a running subagent could open a dialog between look and Enter.
    pub agents_may_ask: bool,
    /// What confirms it.
    pub receipt: Receipt,
    /// How long to wait for the client to be in that state.
    pub patience: Duration,
}

/// What became of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was typed, and has arrived.
    Confirmed,
    /// It is no longer wanted: another injection or a prompt came first.
    Superseded,
    /// It was not typed, or nothing showed that it arrived.
    GaveUp(String),
}

/// Types `order` when the pane allows it, with one retry, and waits until the log shows that it has arrived.
pub fn inject(env: &Env, home: &Home, log: &ActivityLog, order: &Order, ticket: Ticket) -> Result<Outcome, Error> {
    let mut ticket = ticket;
    for _attempt in 0..2 {
        let typist = Typist::new(env, home, order);
        match typist.submit_patiently(log, ticket)? {
            Submitted::Yes => {}
            Submitted::Superseded => return Ok(Outcome::Superseded),
            Submitted::No(why) => return Ok(Outcome::GaveUp(why)),
        }
        if typist.is_received(log, ticket, Duration::from_millis(RECEIPT_MS))? {
            return Ok(Outcome::Confirmed);
        }
        log.append(&[Line::Injection { at: now(env) }])?;
        ticket = log.ticket()?;
    }
    Ok(Outcome::GaveUp(format!("{:?} was typed twice and never confirmed", order.text)))
}

/// Returns the time for a line written after waiting; a fixed clock stays fixed.
fn now(env: &Env) -> Millis {
    env.now.max(surroundings::clock())
}

enum Submitted {
    Yes,
    Superseded,
    No(String),
}

/// Somebody at the keyboard of one pane.
pub(crate) struct Typist<'a> {
    env: &'a Env,
    home: &'a Home,
    order: &'a Order,
    editor: EditorMode,
}

impl<'a> Typist<'a> {
    pub(crate) fn new(env: &'a Env, home: &'a Home, order: &'a Order) -> Self {
        Self { env, home, order, editor: client::editor_mode(env) }
    }

    /// Takes the pane's lock, which is given back when the file is dropped; `None` while somebody else types.
    pub(crate) fn lock(&self) -> Result<Option<File>, Error> {
        let path = self.home.locks().join(self.order.terminal.lock_name());
        let file = files::open_append(&path)?;
        Ok(file.try_lock_exclusive().is_ok().then_some(file))
    }

    /// Returns what may be done now.
    pub(crate) fn decide(&self) -> Result<Decision, String> {
        let client = client::says(self.env, self.order.client_pid);
        match &self.order.terminal {
            Terminal::Tmux(pane) => {
                let look = self.look(pane)?;
                if self.order.agents_may_ask && matches!(look, Look::Input { agents: true, .. }) {
                    return Ok(Decision::Wait(Why::Agents));
                }
                Ok(may_type(&look, client, self.order.want, &self.order.text))
            }
            Terminal::Screen(_) | Terminal::Osascript(_) => Ok(self.decide_blindly(client)),
        }
    }

    /// Without a screen to look at, the client's own record is all there is to go by.
    fn decide_blindly(&self, client: ClientSays) -> Decision {
        let empty = |turn| Look::Input { draft: None, turn, stashed: false, agents: false };
        let turn = match (client, self.order.want) {
            (ClientSays::Busy, _) | (ClientSays::Unknown, Want::MidTurn) => longhaul_inject::Turn::Running,
            (ClientSays::Idle | ClientSays::Unknown | ClientSays::Waiting, _) => longhaul_inject::Turn::Idle,
        };
        may_type(&empty(turn), client, self.order.want, &self.order.text)
    }

    fn look(&self, pane: &TmuxPane) -> Result<Look, String> {
        let output = run(&pane.inspect()).map_err(|error| error.chain())?;
        let inspection = parse_inspection(&output).ok_or_else(|| format!("pane {} is gone", pane.pane))?;
        if !inspection.dead && !process::client_runs_below(inspection.pid, self.order.client_pid) {
            return Err(format!("the client does not run in pane {}", pane.pane));
        }
        Ok(look(&inspection, self.editor))
    }

    /// Types the text, sees that it shows in the input, and submits it.
    pub(crate) fn submit(&self, decision: &Decision) -> Result<(), String> {
        let pane = match &self.order.terminal {
            Terminal::Tmux(pane) => pane,
            blind @ (Terminal::Screen(_) | Terminal::Osascript(_)) => {
                let steps = blind.submit_blindly(&self.order.text);
                return steps.iter().try_for_each(|step| run(step).map(drop)).map_err(|error| error.chain());
            }
        };
        if *decision != Decision::TypedAlready {
            run(&pane.type_text(&self.order.text)).map_err(|error| error.chain())?;
        }
        let started = Instant::now();
        loop {
            let look = self.look(pane)?;
            if look.shows_pasted(&self.order.text) {
                break;
            }
            if started.elapsed() > ECHO_LIMIT {
                self.take_back(pane, &look);
                return Err(format!("{:?} did not show in the input", self.order.text));
            }
            std::thread::sleep(Duration::from_millis(4));
        }
        if client::says(self.env, self.order.client_pid) == ClientSays::Waiting {
            self.take_back(pane, &self.look(pane)?);
            return Err("a dialog opened meanwhile".to_owned());
        }
        run(&pane.press_enter()).map(drop).map_err(|error| error.chain())
    }

    /// Erases the text where it stands behind what somebody typed at the same moment.
    fn take_back(&self, pane: &TmuxPane, look: &Look) {
        if let Look::Input { draft: Some(draft), .. } = look
            && draft.ends_with(&self.order.text)
        {
            let _ = run(&pane.erase(self.order.text.chars().count()));
        }
    }

    fn submit_patiently(&self, log: &ActivityLog, ticket: Ticket) -> Result<Submitted, Error> {
        let started = Instant::now();
        let mut draft = Draft::default();
        let mut why = "another injection holds the pane".to_owned();
        loop {
            if self.is_superseded(log, ticket)? {
                return Ok(Submitted::Superseded);
            }
            if let Some(_lock) = self.lock()? {
                match self.decide() {
                    Ok(decision @ (Decision::Type | Decision::TypedAlready)) => match self.submit(&decision) {
                        Ok(()) => return Ok(Submitted::Yes),
                        Err(problem) => why = problem,
                    },
                    Ok(Decision::Stash { draft: text }) => {
                        why = "a draft is being typed".to_owned();
                        if draft.has_rested(&text) {
                            match self.stash_and_submit() {
                                Ok(()) => return Ok(Submitted::Yes),
                                Err(problem) => why = problem,
                            }
                        }
                    }
                    Ok(Decision::Wait(reason)) => why = reason.to_string(),
                    // A pane that is gone does not come back.
                    Err(problem) => return Ok(Submitted::No(problem)),
                }
            }
            if started.elapsed() >= self.order.patience {
                return Ok(Submitted::No(format!("waited {} s: {why}", self.order.patience.as_secs())));
            }
            std::thread::sleep(RETRY_EVERY);
        }
    }

    /// Puts the draft aside, types, and leaves it to the client to put the draft back after the submit.
    fn stash_and_submit(&self) -> Result<(), String> {
        let Terminal::Tmux(pane) = &self.order.terminal else { return Err("the input cannot be seen".to_owned()) };
        run(&pane.stash_draft()).map_err(|error| error.chain())?;
        let started = Instant::now();
        loop {
            if let Look::Input { draft: None, stashed: true, .. } = self.look(pane)? {
                break;
            }
            if started.elapsed() > ECHO_LIMIT {
                return Err("the draft could not be stashed".to_owned());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let decision = self.decide()?;
        let submitted = match decision {
            Decision::Type => self.submit(&decision),
            Decision::TypedAlready | Decision::Stash { .. } => Err("the input changed meanwhile".to_owned()),
            Decision::Wait(why) => Err(why.to_string()),
        };
        if submitted.is_err() && matches!(self.look(pane), Ok(Look::Input { draft: None, stashed: true, .. })) {
            // Nothing was submitted that would bring the draft back: the same key does.
            let _ = run(&pane.stash_draft());
        }
        submitted
    }

    /// Returns whether what happened since makes the order pointless.
    fn is_superseded(&self, log: &ActivityLog, ticket: Ticket) -> Result<bool, Error> {
        let superseded = |line: &Line| match line {
            Line::Bookmark { .. } | Line::Injection { .. } | Line::Compaction { .. } => true,
            // A prompt is a rewind point itself, and the turn's own hooks see to the next.
            Line::Prompt { .. } => self.order.want == Want::Idle,
            Line::Tool { .. } | Line::Agent { .. } | Line::Status { .. } => false,
        };
        Ok(log.since(ticket)?.iter().any(superseded))
    }

    /// Waits until the log shows that the text has arrived.
    pub(crate) fn is_received(&self, log: &ActivityLog, ticket: Ticket, limit: Duration) -> Result<bool, Error> {
        let started = Instant::now();
        loop {
            if log.since(ticket)?.iter().any(|line| self.order.receipt.is(line)) {
                return Ok(true);
            }
            if started.elapsed() >= limit {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn run(step: &Step) -> Result<String, Error> {
    process::run(step, STEP_LIMIT)
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
