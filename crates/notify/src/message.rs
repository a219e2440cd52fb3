//! What a notification says: title and text, and their lengths.

use longhaul_core::config::NotifyState;
use longhaul_core::one_line;

/// The maximum number of characters of a title.
const TITLE_CHARS: usize = 80;

/// The maximum number of characters of a project or a branch.
pub(crate) const NAME_CHARS: usize = 30;

/// The maximum number of characters of the text.
const TEXT_CHARS: usize = 160;

/// What a notification is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subject<'a> {
    /// The state of the session.
    pub state: NotifyState,
    /// The name of the project.
    pub project: &'a str,
    /// The branch that is checked out.
    pub branch: Option<&'a str>,
    /// What the session asks for, such as `wants to run: cargo publish`, or the reason why it waits or has failed.
    pub waits_for: Option<&'a str>,
    /// The duration of the turn, in milliseconds.
    pub turn_ms: Option<u64>,
}

impl<'a> Subject<'a> {
    /// Returns a subject of which only state and project are known.
    pub fn new(state: NotifyState, project: &'a str) -> Self {
        Self { state, project, branch: None, waits_for: None, turn_ms: None }
    }
}

/// A notification as a person reads it. Neither text has control characters, and both are limited in length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What happened, such as `api (main) waits for you`.
    pub title: String,
    /// The details, such as `wants to run: cargo publish, after 12m`.
    pub text: String,
}

impl Message {
    /// Returns the message about a subject.
    pub fn new(subject: &Subject<'_>) -> Self {
        let project = Some(clean(subject.project, NAME_CHARS)).filter(|name| !name.is_empty());
        let project = project.unwrap_or_else(|| "a session".to_owned());
        let branch = subject.branch.map(|branch| clean(branch, NAME_CHARS)).filter(|branch| !branch.is_empty());
        let name = branch.map_or_else(|| project.clone(), |branch| format!("{project} ({branch})"));
        let event = match subject.state {
            NotifyState::Blocked => "waits for you",
            NotifyState::Completed => "has finished",
            NotifyState::Failed => "has failed",
            NotifyState::Limit => "has reached a limit",
        };
        let took = subject.turn_ms.map(duration);
        let cause = subject.waits_for.map(|text| clean(text, TEXT_CHARS)).filter(|text| !text.is_empty());
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

    /// Returns title and text on one line.
    pub fn line(&self) -> String {
        format!("{}: {}", self.title, self.text)
    }
}

/// Returns a text as one line of at most `chars` characters, without characters that a terminal interprets or that change
/// the order in which others are shown.
pub(crate) fn clean(text: &str, chars: usize) -> String {
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
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h {minutes}m"),
    }
}
