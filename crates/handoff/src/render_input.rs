//! The input of rendering, as plain values.

use longhaul_core::Millis;

/// A session's memory, which is shown to the session that inherits it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RenderInput<'a> {
    /// The id of the session that is inherited.
    pub session: &'a str,
    /// The id of the session that is shown the text; empty where that is not known.
    ///
    /// Where another agent runs it, the text names the agent of `session` and its tools.
    pub reader: &'a str,
    /// Its turns, oldest first, including those that it inherited. Turns that a rewind took back are not included.
    pub turns: &'a [TurnView<'a>],
    /// The number of older turns that the caller did not load.
    pub older_turns: usize,
    /// The files that the session changed, the newest change first.
    pub changed_files: &'a [String],
    /// The number of newest turns that follow a part of the conversation which was not read; `None` where all of it was.
    pub after_gap: Option<usize>,
    /// The current time.
    pub now: Millis,
    /// The offset of local time, in seconds east of UTC.
    pub offset_seconds: i32,
    /// An estimate of the tokens of all prompts and replies.
    pub said_tokens: u64,
    /// An estimate of the tokens of the whole transcript, including tool calls; 0 where unknown.
    pub transcript_tokens: u64,
}

impl<'a> RenderInput<'a> {
    /// Returns the input for all `turns` of `session`, oldest first, with times in UTC and sizes unknown.
    pub fn new(session: &'a str, turns: &'a [TurnView<'a>], now: Millis) -> Self {
        Self { session, turns, now, ..Self::default() }
    }
}

/// A turn, as it is rendered.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TurnView<'a> {
    /// The id of the session in which it took place.
    pub session: &'a str,
    /// The role of the prompt: `user`, `command`, `shell`, `task` or `other`.
    pub role: &'a str,
    /// The prompt.
    pub asked: TimedText<'a>,
    /// The reply.
    pub replied: TimedText<'a>,
    /// The summary of the turn in one line.
    pub skeleton: &'a str,
    /// Whether the turn has details: tool calls, attachments, thoughts.
    pub has_detail: bool,
}

/// A text with its time.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimedText<'a> {
    /// The time at which it was written.
    pub at: Millis,
    /// The text.
    pub text: &'a str,
}

impl<'a> TimedText<'a> {
    /// Returns `text`, written at the time `at`.
    pub fn new(at: Millis, text: &'a str) -> Self {
        Self { at, text }
    }
}

impl TimedText<'_> {
    /// Returns whether the text contains letters or digits. A bookmark's marker, for example, does not.
    pub(crate) fn says_something(&self) -> bool {
        self.text.chars().any(char::is_alphanumeric)
    }
}

impl<'a> TurnView<'a> {
    /// Returns the turn of a prompt that the user wrote in `session`, without a summary and without details.
    pub fn new(session: &'a str, asked: TimedText<'a>, replied: TimedText<'a>) -> Self {
        Self { session, role: "user", asked, replied, ..Self::default() }
    }
}

impl TurnView<'_> {
    /// Returns whether the turn is shown. Bookmarks, and commands that the model did not see, are not.
    pub(crate) fn is_worth_showing(&self) -> bool {
        let local_command = matches!(self.role, "command" | "shell") && !self.has_detail;
        self.replied.says_something() || self.asked.says_something() && !local_command
    }

    /// Returns the time of the prompt, or else of the reply.
    pub(crate) fn at(&self) -> Millis {
        if self.asked.at.0 == 0 { self.replied.at } else { self.asked.at }
    }
}
