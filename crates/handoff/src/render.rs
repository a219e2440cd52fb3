//! A session's memory as text, within a number of characters.
//!
//! Where we are comes first. Then the newest turns as they were said, long messages cut in the middle, then older ones in
//! a line each. When space runs out, the older of the newest become lines; only then are the oldest lines left out, and
//! counted. The command that fetches the rest of a turn stands once, at the end.

use longhaul_core::budget::{CONTEXT_CHARS, chars_of_tokens, tokens};
use longhaul_core::record::{CLOSE, OPEN, defuse};
use longhaul_core::{counted, short_session};

use crate::layout::TurnLayout;
use crate::render_input::{RenderInput, TimedText, TurnView};
use crate::turn_text::{block, is_cut, message};

/// How many turns are quoted, where there is space.
pub(crate) const RECENT_TURNS: usize = 20;

/// How much of the last request, and of the last reply, is shown first.
const WHERE_CHARS: usize = 600;

/// What a short session may always take.
const SMALLEST_CHARS: usize = 3000;

const RECENT: &str = "\nRecent turns:\n";
const RECENT_CUT: &str = "\nRecent turns, long messages cut in the middle:\n";
const OLDER: &str = "\nOlder turns, one line each:\n";

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rendered {
    /// The text; empty where there is nothing to say.
    pub text: String,
    /// Turns of which the messages are quoted, the ones at the top included. Long messages are cut.
    pub quoted: usize,
    /// Turns shown in a line.
    pub in_a_line: usize,
    /// Turns left out for space.
    pub omitted: usize,
    /// The text's characters.
    pub chars: usize,
    /// Tokens that the text costs, about.
    pub tokens: u64,
    /// Tokens that the whole transcript would have cost beyond that.
    pub tokens_saved: u64,
}

/// Renders a session's memory into what one reply may inject.
pub fn render(context: &RenderInput<'_>) -> Rendered {
    render_into(context, allowance(context))
}

/// Returns how many characters a session's memory may take: half of what was said at most, so that handing over costs
/// a tenth of the transcript where four fifths of it are tools.
pub fn allowance(context: &RenderInput<'_>) -> usize {
    if context.transcript_tokens == 0 {
        return CONTEXT_CHARS;
    }
    // A little less than half of what was said, to leave room for the frame and the times.
    let share = (chars_of_tokens(context.transcript_tokens) / 10).max(chars_of_tokens(context.said_tokens) / 20 * 9);
    usize::try_from(share).unwrap_or(usize::MAX).clamp(SMALLEST_CHARS, CONTEXT_CHARS)
}

/// Renders into `chars` characters at most; nothing where not even the beginning fits.
pub fn render_into(context: &RenderInput<'_>, chars: usize) -> Rendered {
    let turns: Vec<&TurnView<'_>> = context.turns.iter().filter(|turn| turn.is_worth_showing()).collect();
    let fetch = fetch(context, &turns);
    let frame =
        [OPEN, CLOSE, RECENT_CUT, OLDER, &notice(usize::MAX), &fetch].iter().map(|text| text.len()).sum::<usize>();
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
    if !plan.lines.is_empty() {
        text.push_str(OLDER);
        text.extend(plan.lines.iter().rev().map(String::as_str));
    }
    if omitted > 0 {
        text.push_str(&notice(omitted));
    }
    let has_more = has_cuts || top.is_cut || !plan.lines.is_empty() || omitted > 0;
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

/// Returns the command that shows everything of a turn, given its time as it is shown.
///
/// It names the session where that has all the turns; those of several sessions are found by time in the project.
fn fetch(context: &RenderInput<'_>, turns: &[&TurnView<'_>]) -> String {
    let session = turns.first().map_or(context.session, |turn| turn.session);
    let is_one = context.older_turns == 0 && turns.iter().all(|turn| turn.session == session);
    let within = if is_one { format!(" --session {}", defuse(short_session(session))) } else { String::new() };
    format!("\nTool calls, thoughts and full texts: longhaul detail TIME{within} (a time from above, or HH:MM-HH:MM)\n")
}

/// Where we are: the last request and the last reply.
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
        for (label, said) in
            [("Last request", asked.map(|turn| turn.asked)), ("Last reply", replied.map(|turn| turn.replied))]
        {
            let said = said.map(|said| message(label, said, context, cap));
            text.push_str(&said.unwrap_or_default());
        }
        let long = |said: TimedText<'_>| said.text.trim().chars().nth(cap).is_some();
        let is_cut = asked.is_some_and(|turn| long(turn.asked)) || replied.is_some_and(|turn| long(turn.replied));
        Self { text, asked, replied, is_cut }
    }

    /// Returns whether a turn is here in full, so that it need not be listed again.
    fn holds(&self, turn: &TurnView<'_>) -> bool {
        let is = |other: Option<&TurnView<'_>>| other.is_some_and(|other| std::ptr::eq(other, turn));
        let asked = is(self.asked) || !turn.asked.says_something();
        let replied = is(self.replied) || !turn.replied.says_something();
        !self.is_cut && asked && replied
    }
}
