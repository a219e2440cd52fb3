//! What a notification says, as text, as the body of a request, and as a sequence for the terminal. Pure.

use longhaul_core::config::NotifyState;
use longhaul_core::one_line;
use longhaul_store::NotifyEvent;
use serde_json::{Value, json};

const TITLE_CHARS: usize = 80;
/// Of a project or a branch.
const NAME_CHARS: usize = 30;
const TEXT_CHARS: usize = 160;

/// What a notification is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) state: NotifyState,
    pub(crate) project: String,
    pub(crate) branch: Option<String>,
    /// What the session asks for, such as `wants to run: cargo publish`, or the reason why it waits or has failed.
    pub(crate) waits_for: Option<String>,
    /// What happened, in place of the words for the state.
    pub(crate) event: Option<String>,
    pub(crate) turn_ms: Option<u64>,
}

impl Subject {
    /// Returns a subject of which only state and project are known.
    pub(crate) fn new(state: NotifyState, project: &str) -> Self {
        Self { state, project: project.to_owned(), branch: None, waits_for: None, event: None, turn_ms: None }
    }
}

/// A notification as a person reads it. Neither text has control characters, and both are limited in length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// What happened, such as `api (main) waits for you`.
    pub(crate) title: String,
    /// The details, such as `wants to run: cargo publish, after 12m`.
    pub(crate) text: String,
}

impl Message {
    pub(crate) fn new(subject: &Subject) -> Self {
        let cleaned = |text: &str, chars| Some(clean(text, chars)).filter(|text| !text.is_empty());
        let project = cleaned(&subject.project, NAME_CHARS).unwrap_or_else(|| "a session".to_owned());
        let branch = subject.branch.as_ref().and_then(|branch| cleaned(branch, NAME_CHARS));
        let name = branch.map_or_else(|| project.clone(), |branch| format!("{project} ({branch})"));
        let of_state = match subject.state {
            NotifyState::Blocked => "waits for you",
            NotifyState::Completed => "has finished",
            NotifyState::Failed => "has failed",
            NotifyState::Limit => "has reached a limit",
        };
        let event = subject.event.as_deref().unwrap_or(of_state);
        let took = subject.turn_ms.map(duration);
        let cause = subject.waits_for.as_ref().and_then(|text| cleaned(text, TEXT_CHARS));
        let text = match (subject.state, cause, took) {
            (NotifyState::Completed, _, Some(took)) => format!("The turn took {took}"),
            (NotifyState::Completed, _, None) => "The turn has ended".to_owned(),
            (_, Some(cause), Some(took)) => format!("{cause}, after {took}"),
            (_, Some(cause), None) => cause,
            (NotifyState::Blocked, None, _) => "It waits for an answer".to_owned(),
            (NotifyState::Failed | NotifyState::Limit, None, _) => "The turn ended in an error".to_owned(),
        };
        Self { title: clean(&format!("{name} {event}"), TITLE_CHARS), text }
    }

    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.title, self.text)
    }
}

/// Returns a text as one line of at most `chars` characters, without characters that a terminal interprets or that change
/// the order in which others are shown.
fn clean(text: &str, chars: usize) -> String {
    // A control character parts words, so that the texts around it do not become one word.
    let visible: String =
        text.chars().filter(|c| !is_invisible(*c)).map(|c| if c.is_control() { ' ' } else { c }).collect();
    one_line(&visible, chars)
}

/// Returns whether a character is not shown itself: direction marks, joiners of zero width, tags.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// Returns a duration as a person says it: `45s`, `12m`, `2h 5m`.
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h {minutes}m"),
    }
}

/// Returns the body of a request that publishes a message to a topic of an ntfy server.
pub(crate) fn ntfy_body(topic: &str, state: NotifyState, message: &Message) -> Value {
    let (priority, tag) = match state {
        NotifyState::Blocked => (4, "raised_hand"),
        NotifyState::Completed => (3, "white_check_mark"),
        NotifyState::Failed | NotifyState::Limit => (4, "warning"),
    };
    json!({ "topic": topic, "title": message.title, "message": message.text, "priority": priority, "tags": [tag] })
}

/// Returns the body of a request to the user's webhook.
pub(crate) fn webhook_body(event: &NotifyEvent, subject: &Subject, message: &Message) -> Value {
    json!({
        "state": event.state.as_str(),
        "session": event.session,
        "project": clean(&subject.project, NAME_CHARS),
        "branch": subject.branch.as_ref().map(|branch| clean(branch, NAME_CHARS)),
        "title": message.title,
        "text": message.text,
        "turn_seconds": subject.turn_ms.map(|ms| ms / 1000),
        "at_ms": event.at.0,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalKind {
    /// `OSC 9`, as iTerm2, WezTerm, kitty, Ghostty and others. A terminal that does not know it ignores it.
    Osc9,
    /// `OSC 777`, as foot, urxvt and terminals with VTE.
    Osc777,
    Bell,
    /// Another tmux around it, which passes a sequence on if its option `allow-passthrough` is on.
    InTmux,
    /// GNU screen around it, which passes a sequence on.
    InScreen,
}

impl TerminalKind {
    /// Returns the kind of a terminal. `term` is its `TERM`, and `program` the name that it reports, if it does.
    pub(crate) fn of(term: &str, program: &str) -> Self {
        let program = program.to_ascii_lowercase();
        let is = |names: &[&str]| names.iter().any(|name| program.starts_with(name) || term.starts_with(name));
        if is(&["tmux"]) {
            Self::InTmux
        } else if is(&["iterm", "wezterm", "kitty", "ghostty", "xterm-kitty", "xterm-ghostty"]) {
            Self::Osc9
        } else if is(&["foot", "rxvt", "urxvt", "vte", "gnome"]) {
            Self::Osc777
        } else if is(&["screen"]) {
            Self::InScreen
        } else if term.is_empty() || is(&["linux", "dumb", "vt"]) {
            Self::Bell
        } else {
            Self::Osc9
        }
    }
}

/// Returns the bytes that show `message` in a terminal of a kind, and ring the bell. What a bell does is set in the terminal
/// and in tmux (`bell-action`), also that it does nothing.
pub(crate) fn terminal_sequence(message: &Message, kind: TerminalKind) -> Vec<u8> {
    // Every field ends at a semicolon. `OSC 9;4;…` is a progress bar, so the title must not begin like that.
    let title = message.title.replace(';', ",");
    let osc9 = format!("\u{1b}]9;{title}: {}\u{7}", message.text);
    let sequence = match kind {
        TerminalKind::Osc9 => osc9,
        TerminalKind::Osc777 => format!("\u{1b}]777;notify;{title};{}\u{7}", message.text),
        TerminalKind::Bell => String::new(),
        // The outer terminal is not known.
        TerminalKind::InTmux => format!("\u{1b}Ptmux;{}\u{1b}\\", osc9.replace('\u{1b}', "\u{1b}\u{1b}")),
        TerminalKind::InScreen => format!("\u{1b}P{osc9}\u{1b}\\"),
    };
    format!("{sequence}\u{7}").into_bytes()
}
