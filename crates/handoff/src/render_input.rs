//! What is rendered, as plain values: the shell fills them from the store.

use longhaul_core::Millis;

/// A session's memory, to be shown to the one that inherits it.
#[derive(Debug, Clone, Default)]
pub struct RenderInput<'a> {
    /// The session that passed the baton.
    pub session: &'a str,
    /// Its turns, oldest first, those that it inherited itself included. What a rewind took back is not among them.
    pub turns: &'a [TurnView<'a>],
    /// Turns older than these, which the caller did not load.
    pub older_turns: usize,
    /// Now.
    pub now: Millis,
    /// Seconds east of UTC.
    pub offset_seconds: i32,
    /// Tokens of everything that was said, about.
    pub said_tokens: u64,
    /// Tokens of the whole transcript, tools included, about. 0 where unknown.
    pub transcript_tokens: u64,
}

/// One turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct TurnView<'a> {
    /// The session that it was in at first.
    pub session: &'a str,
    /// Who asked: `user`, `command`, `shell`, `task`, `other`.
    pub role: &'a str,
    /// What was asked.
    pub asked: TimedText<'a>,
    /// What the model said.
    pub replied: TimedText<'a>,
    /// The turn in one line.
    pub skeleton: &'a str,
    /// Whether there is more to fetch: tool calls, attachments, thoughts.
    pub has_detail: bool,
}

/// A text and its time.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimedText<'a> {
    /// When.
    pub at: Millis,
    /// The text.
    pub text: &'a str,
}

impl TimedText<'_> {
    /// Returns whether there are words in it. A bookmark's marker, for one, says nothing.
    pub(crate) fn says_something(&self) -> bool {
        self.text.chars().any(char::is_alphanumeric)
    }
}

impl TurnView<'_> {
    /// Returns whether there is anything to show: a bookmark, or a command that only the client saw, is nothing.
    pub(crate) fn is_worth_showing(&self) -> bool {
        let local_command = matches!(self.role, "command" | "shell") && !self.has_detail;
        self.replied.says_something() || self.asked.says_something() && !local_command
    }

    /// Returns when the turn began.
    pub(crate) fn at(&self) -> Millis {
        if self.asked.at.0 == 0 { self.replied.at } else { self.asked.at }
    }
}
