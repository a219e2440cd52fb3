//! Rendering a session's memory as text, within a number of characters.
//!
//! The last request, the last reply and the changed files come first, then the newest turns as quotes with long messages cut in the middle,
//! then older turns in one line each. Where space runs out, fewer turns are quoted and more are shown in one line. Only
//! then are the oldest lines left out, and their number is shown. The command that shows a turn's details stands once, at
//! the end.

use longhaul_core::clock::{date_of, time_of};
use longhaul_core::record::{CLOSE, OPEN, defuse};
use longhaul_core::text::{CONTEXT_CHARS, chars_of_tokens, cut_middle, tokens, visible};
use longhaul_core::{Millis, counted, one_line, short_session};

use crate::baton::agent_of;

/// The number of newest turns that should be passed to [`render`]. Older ones are only counted.
pub const LOADED_TURNS: usize = 400;

/// The maximum number of quoted turns.
pub(crate) const RECENT_TURNS: usize = 20;

/// The maximum length of the last request and of the last reply at the top, in characters.
const WHERE_CHARS: usize = 600;

/// The number of characters that even a short session may take.
const SMALLEST_CHARS: usize = 3000;

const RECENT: &str = "\nRecent turns:\n";
const RECENT_CUT: &str = "\nRecent turns, long messages cut in the middle:\n";
const GAP: &str = "\n[The turns before those were not read in time]\n";
const OLDER: &str = "\nOlder turns, one line each:\n";

/// A rendered session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Rendered {
    /// The text; empty where there is nothing to show.
    pub text: String,
    /// The number of quoted turns, including those at the top. Long messages are cut.
    pub quoted: usize,
    /// The number of turns that are shown in one line.
    pub in_a_line: usize,
    /// The number of turns that are left out for lack of space.
    pub omitted: usize,
    /// The length of the text, in characters.
    pub chars: usize,
    /// An estimate of the tokens in the text.
    pub tokens: u64,
    /// An estimate of the tokens that the transcript has beyond that.
    pub tokens_saved: u64,
}

impl Rendered {
    /// Returns the message to the user that a new session was shown this text of `session`.
    pub fn notice(&self, session: &str) -> String {
        let turns = counted(self.quoted + self.in_a_line, "turn");
        format!("went on from session {}, {turns}", short_session(session))
    }
}

/// Renders a session's memory into the number of characters that [`allowance`] returns.
pub fn render(context: &RenderInput<'_>) -> Rendered {
    render_into(context, allowance(context))
}

/// Returns the number of characters that a session's memory may take.
///
/// It is a tenth of the transcript, or nearly half of what was said where that is more, within fixed bounds.
pub fn allowance(context: &RenderInput<'_>) -> usize {
    if context.transcript_tokens == 0 {
        return CONTEXT_CHARS;
    }
    // A little less than half of what was said, to leave room for the frame and the times.
    let share = (chars_of_tokens(context.transcript_tokens) / 10).max(chars_of_tokens(context.said_tokens) / 20 * 9);
    usize::try_from(share).unwrap_or(usize::MAX).clamp(SMALLEST_CHARS, CONTEXT_CHARS)
}

/// Renders a session's memory into at most `chars` characters; the text is empty where not even the top fits.
pub fn render_into(context: &RenderInput<'_>, chars: usize) -> Rendered {
    let turns: Vec<&TurnView<'_>> = context.turns.iter().filter(|turn| turn.is_worth_showing()).collect();
    let fetch = fetch(context, &turns);
    let frame =
        [OPEN, CLOSE, RECENT_CUT, GAP, OLDER, &notice(usize::MAX), &fetch].iter().map(|text| text.len()).sum::<usize>();
    let top = [WHERE_CHARS, 300, 150, 60].into_iter().map(|cap| Top::new(context, &turns, cap));
    let fitting = top.map(|top| (top.text.chars().count() + frame, top)).find(|(used, _)| *used <= chars);
    let (Some((used, top)), false) = (fitting, turns.is_empty()) else {
        return Rendered { omitted: turns.len() + context.older_turns, ..Rendered::default() };
    };
    let listed: Vec<&TurnView<'_>> = turns.iter().copied().filter(|turn| !top.holds(turn)).collect();
    let plan = TurnLayout::new(context, &listed, chars - used);
    let omitted = listed.len() - plan.recent - plan.lines.len() + context.older_turns;

    let mut text = format!("{OPEN}{}", top.text);
    let recent = &listed[listed.len() - plan.recent..];
    let has_cuts = recent.iter().any(|turn| is_cut(turn, plan.cap));
    if !recent.is_empty() {
        text.push_str(if has_cuts { RECENT_CUT } else { RECENT });
        text.extend(recent.iter().map(|turn| block(turn, context, plan.cap)));
    }
    if context.after_gap.is_some() {
        text.push_str(GAP);
    }
    if !plan.lines.is_empty() {
        text.push_str(OLDER);
        text.extend(plan.lines.iter().rev().map(String::as_str));
    }
    if omitted > 0 {
        text.push_str(&notice(omitted));
    }
    let has_more = has_cuts || top.is_cut || !plan.lines.is_empty() || omitted > 0 || context.after_gap.is_some();
    if has_more || turns.iter().any(|turn| turn.has_detail) {
        text.push_str(&fetch);
    }
    text.push_str(CLOSE);
    let tokens = tokens(&text);
    Rendered {
        quoted: turns.len() - listed.len() + plan.recent,
        in_a_line: plan.lines.len(),
        omitted,
        chars: text.chars().count(),
        tokens,
        tokens_saved: context.transcript_tokens.saturating_sub(tokens),
        text,
    }
}

fn notice(omitted: usize) -> String {
    format!("\n[{} left out for space]\n", counted(omitted, "older turn"))
}

/// Returns the line with the command that shows the details of a turn by its time.
///
/// The command names the session where all turns belong to one. Turns of several sessions are found by time in the project.
fn fetch(context: &RenderInput<'_>, turns: &[&TurnView<'_>]) -> String {
    let session = turns.first().map_or(context.session, |turn| turn.session);
    let is_one = context.older_turns == 0 && turns.iter().all(|turn| turn.session == session);
    let within = if is_one { format!(" --session {}", defuse(short_session(session))) } else { String::new() };
    format!("\nTool calls, thoughts and full texts: longhaul detail TIME{within} (a time from above, or HH:MM-HH:MM)\n")
}

/// Returns the line that names changed files, in about `cap` characters; empty where there are none.
fn changed_files(files: &[String], cap: usize) -> String {
    let (mut names, mut chars) = (Vec::new(), 0);
    for file in files {
        let name = defuse(&visible(&one_line(file, cap)));
        chars += name.chars().count() + 2;
        if chars > cap && !names.is_empty() {
            break;
        }
        names.push(name);
    }
    match files.len() - names.len() {
        0 if names.is_empty() => String::new(),
        0 => format!("[Changed files, newest first] {}\n", names.join(", ")),
        more => format!("[Changed files, newest first] {}, and {more} more\n", names.join(", ")),
    }
}

/// The top of the text: the last request, the last reply and the changed files.
struct Top<'a> {
    text: String,
    asked: Option<&'a TurnView<'a>>,
    replied: Option<&'a TurnView<'a>>,
    is_cut: bool,
}

impl<'a> Top<'a> {
    fn new(context: &RenderInput<'_>, turns: &[&'a TurnView<'a>], cap: usize) -> Self {
        let newest = |wanted: fn(&TurnView<'_>) -> bool| turns.iter().rev().copied().find(|turn| wanted(turn));
        let asked = newest(|turn| turn.role == "user" && turn.asked.says_something())
            .or_else(|| newest(|turn| turn.asked.says_something()));
        let replied = newest(|turn| turn.replied.says_something());
        let mut text =
            format!("Recorded from the session before this one ({}).\n", defuse(short_session(context.session)));
        text.push_str(&about(context.session, context.reader));
        for (label, said) in
            [("Last request", asked.map(|turn| turn.asked)), ("Last reply", replied.map(|turn| turn.replied))]
        {
            let said = said.map(|said| message(label, said, context, cap));
            text.push_str(&said.unwrap_or_default());
        }
        text.push_str(&changed_files(context.changed_files, cap));
        let long = |said: TimedText<'_>| said.text.trim().chars().nth(cap).is_some();
        let is_cut = asked.is_some_and(|turn| long(turn.asked)) || replied.is_some_and(|turn| long(turn.replied));
        Self { text, asked, replied, is_cut }
    }

    /// Returns whether the top shows a turn completely, so that it need not be listed again.
    fn holds(&self, turn: &TurnView<'_>) -> bool {
        let is = |other: Option<&TurnView<'_>>| other.is_some_and(|other| std::ptr::eq(other, turn));
        let asked = is(self.asked) || !turn.asked.says_something();
        let replied = is(self.replied) || !turn.replied.says_something();
        !self.is_cut && asked && replied
    }
}

// The input of rendering, as plain values.

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
    fn says_something(&self) -> bool {
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
    fn is_worth_showing(&self) -> bool {
        let local_command = matches!(self.role, "command" | "shell") && !self.has_detail;
        self.replied.says_something() || self.asked.says_something() && !local_command
    }

    /// Returns the time of the prompt, or else of the reply.
    pub(crate) fn at(&self) -> Millis {
        if self.asked.at.0 == 0 { self.replied.at } else { self.asked.at }
    }
}

// The layout of a rendered session: which turns are quoted, shown in one line, or left out.

/// The number of turns that are always quoted, even where the lines of the oldest turns are left out for them.
const FLOOR_TURNS: usize = 3;

/// The lengths to which messages can be cut, in characters. The largest that leaves room for enough turns is used.
const CAPS: [usize; 9] = [8000, 4000, 2400, 1600, 1000, 700, 500, 300, 150];

/// The minimum length of a quoted message, in characters, where the turn could be shown in one line instead.
const WORTH_QUOTING: usize = 500;

/// How each turn is shown.
#[derive(Debug)]
pub(crate) struct TurnLayout {
    /// The number of newest turns that are quoted.
    recent: usize,
    /// The maximum length of their messages, in characters.
    cap: usize,
    /// The lines of the turns before them, newest first.
    pub(crate) lines: Vec<String>,
}

impl TurnLayout {
    /// Lays out `turns`, which are sorted oldest first, in `room` characters.
    pub(crate) fn new(context: &RenderInput<'_>, turns: &[&TurnView<'_>], room: usize) -> Self {
        // Turns from before a part that was not read are not recent, although no newer ones are known.
        let after_gap = context
            .after_gap
            .map_or(context.turns, |count| &context.turns[context.turns.len().saturating_sub(count)..]);
        let is_recent = |turn: &&&TurnView<'_>| after_gap.iter().any(|recent| std::ptr::eq(recent, **turn));
        let most = turns.iter().rev().take(RECENT_TURNS).take_while(is_recent).count();
        let sizes: Vec<_> = turns.iter().rev().take(most).map(|turn| block_size(turn, context)).collect();
        let cost = |count: usize, cap: usize| sizes[..count].iter().map(|size| size(cap)).sum::<usize>();

        let (floor, floor_cap) =
            floor(most, |count, cap| cost(count, cap) <= if count == turns.len() { room } else { room / 2 });
        let mut left = room - cost(floor, floor_cap);
        let mut lines = Vec::new();
        for turn in turns.iter().rev().skip(floor) {
            let line = line(turn, context);
            let Some(rest) = left.checked_sub(line.chars().count()) else {
                return Self { recent: floor, cap: floor_cap, lines };
            };
            left = rest;
            lines.push(line);
        }

        // Every turn fits in one line: quote as many of the newest as possible instead, as long as possible.
        let saved: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
        let fits = |count: usize, cap: usize| cost(count, cap) + saved[count - floor..].iter().sum::<usize>() <= room;
        let caps = CAPS.into_iter().filter(|cap| *cap >= WORTH_QUOTING);
        let all = caps.clone().find(|cap| fits(most, *cap)).map(|cap| (most, cap));
        let some = || (floor..most).rev().find(|count| fits(*count, WORTH_QUOTING)).map(|count| (count, WORTH_QUOTING));
        let (recent, cap) = all.or_else(some).filter(|(count, _)| *count > floor).unwrap_or((floor, floor_cap));
        lines.drain(..recent - floor);
        Self { recent, cap, lines }
    }
}

/// Returns the number of newest turns that are quoted in any case, and the maximum length of their messages.
fn floor(most: usize, fits: impl Fn(usize, usize) -> bool) -> (usize, usize) {
    let counts = (1..=most.min(FLOOR_TURNS)).rev();
    let choices = counts.flat_map(|count| CAPS.into_iter().map(move |cap| (count, cap)));
    choices.into_iter().find(|(count, cap)| fits(*count, *cap)).unwrap_or((0, 0))
}

// The text of a turn: as a quote, and in one line.

/// The maximum length of a summary in one line, in characters.
const SKELETON_CHARS: usize = 260;

/// The maximum length of a prompt that the user did not write, such as the notice of a finished task, in characters.
const CLIENT_CHARS: usize = 200;

/// Returns a text with its time and label, cut to `cap` characters.
pub(crate) fn message(label: &str, said: TimedText<'_>, context: &RenderInput<'_>, cap: usize) -> String {
    let text = defuse(&visible(&cut_middle(said.text.trim(), cap)));
    format!("[{}] [{label}] {text}\n", stamp(said.at, context))
}

/// Returns the prompt and the reply of a turn, each cut to `cap` characters.
pub(crate) fn block(turn: &TurnView<'_>, context: &RenderInput<'_>, cap: usize) -> String {
    let mut text = String::new();
    if turn.asked.says_something() {
        text.push_str(&message(turn.role, turn.asked, context, asked_cap(turn, cap)));
    }
    if turn.replied.says_something() {
        text.push_str(&message("assistant", turn.replied, context, cap));
    }
    text
}

/// Returns whether [`block`] cuts any message of a turn.
fn is_cut(turn: &TurnView<'_>, cap: usize) -> bool {
    let is_long = |said: TimedText<'_>, cap: usize| said.text.trim().chars().nth(cap).is_some();
    is_long(turn.asked, asked_cap(turn, cap)) || is_long(turn.replied, cap)
}

/// Returns a function that gives the maximum length of the turn's [`block`] for a cap, without building the block.
fn block_size(turn: &TurnView<'_>, context: &RenderInput<'_>) -> impl Fn(usize) -> usize {
    let frame = |said: TimedText<'_>, label: &str| message(label, said, context, 0).chars().count();
    let measure = |said: TimedText<'_>, label: &str| {
        said.says_something().then(|| (frame(said, label), said.text.trim().chars().count()))
    };
    let asked = measure(turn.asked, turn.role);
    let replied = measure(turn.replied, "assistant");
    let most = asked_cap(turn, usize::MAX);
    move |cap| {
        let size = |part: Option<(usize, usize)>, cap: usize| part.map_or(0, |(frame, text)| frame + text.min(cap));
        size(asked, cap.min(most)) + size(replied, cap)
    }
}

fn asked_cap(turn: &TurnView<'_>, cap: usize) -> usize {
    match turn.role {
        "task" | "other" => cap.min(CLIENT_CHARS),
        _ => cap,
    }
}

/// Returns the turn in one line.
pub(crate) fn line(turn: &TurnView<'_>, context: &RenderInput<'_>) -> String {
    let summary = match turn.skeleton {
        "" if turn.asked.says_something() => turn.asked.text,
        "" => turn.replied.text,
        skeleton => skeleton,
    };
    let summary = defuse(&visible(&one_line(summary, SKELETON_CHARS)));
    format!("[{}] {summary}\n", stamp(turn.at(), context))
}

/// Formats a time as `longhaul detail` accepts it, with the date where that is not today.
fn stamp(at: Millis, context: &RenderInput<'_>) -> String {
    let time = time_of(at, context.offset_seconds);
    let date = date_of(at, context.offset_seconds);
    if date == date_of(context.now, context.offset_seconds) { time } else { format!("{date} {time}") }
}

// What a session is shown about another agent whose session it continues.

/// The name of an agent for readers, and what its tools are called.
struct AgentWords {
    id: &'static str,
    name: &'static str,
    tools: &'static str,
}

/// The agents whose tools are known. A tool that is recorded under another name has that name in parentheses.
const AGENTS: [AgentWords; 5] = [
    AgentWords { id: "claude", name: "Claude Code", tools: "Bash, Read, Edit, Write, Grep, Glob, TodoWrite, Agent" },
    AgentWords {
        id: "codex",
        name: "Codex",
        tools: "exec_command (recorded as Bash), apply_patch, view_image (recorded as Read), \
                update_plan (recorded as TodoWrite)",
    },
    AgentWords {
        id: "gemini",
        name: "Gemini CLI",
        tools: "run_shell_command (recorded as Bash), read_file (as Read), replace (as Edit), write_file (as Write)",
    },
    AgentWords {
        id: "qwen",
        name: "Qwen Code",
        tools: "run_shell_command (recorded as Bash), read_file (as Read), edit (as Edit), write_file (as Write)",
    },
    AgentWords { id: "opencode", name: "opencode", tools: "bash, read, edit, write, grep, glob, task" },
];

/// Returns the line about the agent of `session`; empty where `reader`, the session that is shown it, has the same agent.
pub(crate) fn about(session: &str, reader: &str) -> String {
    let agent = agent_of(session);
    if reader.is_empty() || agent == agent_of(reader) {
        return String::new();
    }
    match AGENTS.iter().find(|known| known.id == agent) {
        Some(AgentWords { name, tools, .. }) => {
            format!("That session ran in {name}, another agent. Its tools are called {tools}.\n")
        }
        None => format!("That session ran in {}, another agent.\n", defuse(agent)),
    }
}
