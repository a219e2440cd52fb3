//! Rendering a session's memory as text, within a number of characters.
//!
//! The last request, the last reply and the changed files come first, then the newest turns as quotes with long messages cut in the middle,
//! then older turns in one line each. Where space runs out, fewer turns are quoted and more are shown in one line. Only
//! then are the oldest lines left out, and their number is shown. The command that shows a turn's details stands once, at
//! the end.

use longhaul_core::budget::{CONTEXT_CHARS, chars_of_tokens, tokens};
use longhaul_core::invisible::visible;
use longhaul_core::record::{CLOSE, OPEN, defuse};
use longhaul_core::{counted, one_line, short_session};

use crate::other_agent;
use crate::render_input::{RenderInput, TimedText, TurnView};
use crate::turn_layout::TurnLayout;
use crate::turn_text::{block, is_cut, message};

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
        text.push_str(&other_agent::about(context.session, context.reader));
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
