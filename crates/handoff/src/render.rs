//! A session's memory as text, within a number of characters.
//!
//! Where we are comes first. Then the newest turns word for word, then older ones in a line each. When space runs out,
//! the older of the newest become lines; only then are the oldest lines left out, and counted.

use longhaul_core::budget::{CONTEXT_CHARS, tokens};
use longhaul_core::record::{CLOSE, OPEN, defuse};
use longhaul_core::{counted, short_session};

use crate::lines::{block, message, reference};
use crate::plan::Plan;
use crate::view::{Context, Said, TurnView};

/// How many turns are shown word for word, where there is space.
pub(crate) const RECENT_TURNS: usize = 20;

/// How much of the last request, and of the last reply, is shown first.
const WHERE_CHARS: usize = 600;

/// What a short session may always take.
const SMALLEST_CHARS: usize = 3000;

const RECENT: &str = "\nRecent turns, word for word:\n";
const OLDER: &str = "\nOlder turns, one line each:\n";

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rendered {
    /// The text; empty where there is nothing to say.
    pub text: String,
    /// Turns shown word for word, the ones at the top included.
    pub word_for_word: usize,
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
pub fn render(context: &Context<'_>) -> Rendered {
    render_into(context, allowance(context))
}

/// Returns how many characters a session's memory may take: half of what was said at most, so that handing over costs
/// a tenth of the transcript where four fifths of it are tools.
pub fn allowance(context: &Context<'_>) -> usize {
    if context.transcript_tokens == 0 {
        return CONTEXT_CHARS;
    }
    // Four characters a token; a little less than half, for the frame and the times.
    let share = (context.transcript_tokens * 4 / 10).max(context.said_tokens.saturating_mul(4) * 9 / 20);
    usize::try_from(share).unwrap_or(usize::MAX).clamp(SMALLEST_CHARS, CONTEXT_CHARS)
}

/// Renders into `chars` characters at most; nothing where not even the beginning fits.
pub fn render_into(context: &Context<'_>, chars: usize) -> Rendered {
    let turns: Vec<&TurnView<'_>> = context.turns.iter().filter(|turn| turn.is_worth_showing()).collect();
    let frame = OPEN.len() + CLOSE.len() + RECENT.len() + OLDER.len() + notice(usize::MAX, context).chars().count();
    let top = [WHERE_CHARS, 300, 150, 60].into_iter().map(|cap| Top::new(context, &turns, cap));
    let fitting = top.map(|top| (top.text.chars().count() + frame, top)).find(|(used, _)| *used <= chars);
    let (Some((used, top)), false) = (fitting, turns.is_empty()) else {
        return Rendered { omitted: turns.len() + context.older_turns, ..Rendered::default() };
    };
    let listed: Vec<&TurnView<'_>> = turns.iter().copied().filter(|turn| !top.holds(turn)).collect();
    let plan = Plan::new(context, &listed, chars - used);
    let omitted = listed.len() - plan.recent - plan.lines.len() + context.older_turns;

    let mut text = format!("{OPEN}{}", top.text);
    if plan.recent > 0 {
        text.push_str(RECENT);
        let blocks = listed[listed.len() - plan.recent..].iter().map(|turn| block(turn, context, plan.cap));
        text.extend(blocks);
    }
    if !plan.lines.is_empty() {
        text.push_str(OLDER);
        text.extend(plan.lines.iter().rev().map(String::as_str));
    }
    if omitted > 0 {
        text.push_str(&notice(omitted, context));
    }
    text.push_str(CLOSE);
    let tokens = tokens(&text);
    Rendered {
        word_for_word: turns.len() - listed.len() + plan.recent,
        in_a_line: plan.lines.len(),
        omitted,
        chars: text.chars().count(),
        tokens,
        tokens_saved: context.transcript_tokens.saturating_sub(tokens),
        text,
    }
}

fn notice(omitted: usize, context: &Context<'_>) -> String {
    let session = defuse(short_session(context.session));
    let turns = counted(omitted, "older turn");
    format!("\n[{turns} left out for space; by time: longhaul detail HH:MM-HH:MM --session {session}]\n")
}

/// Where we are: the last request and the last reply.
struct Top<'a> {
    text: String,
    asked: Option<&'a TurnView<'a>>,
    replied: Option<&'a TurnView<'a>>,
    is_cut: bool,
}

impl<'a> Top<'a> {
    fn new(context: &Context<'_>, turns: &[&'a TurnView<'a>], cap: usize) -> Self {
        let newest = |wanted: fn(&TurnView<'_>) -> bool| turns.iter().rev().copied().find(|turn| wanted(turn));
        let asked = newest(|turn| turn.role == "user" && turn.asked.says_something())
            .or_else(|| newest(|turn| turn.asked.says_something()));
        let replied = newest(|turn| turn.replied.says_something());
        let by = context.trigger.map_or_else(String::new, |trigger| format!(", passed on by {trigger}"));
        let mut text =
            format!("Recorded from the session before this one ({}{by}).\n", defuse(short_session(context.session)));
        for (label, said) in
            [("Last request", asked.map(|turn| turn.asked)), ("Last reply", replied.map(|turn| turn.replied))]
        {
            let said = said.map(|said| message(label, said, context, cap));
            text.push_str(&said.unwrap_or_default());
        }
        let long = |said: Said<'_>| said.text.trim().chars().nth(cap).is_some();
        let is_cut = asked.is_some_and(|turn| long(turn.asked)) || replied.is_some_and(|turn| long(turn.replied));
        if let Some(turn) = replied.or(asked).filter(|turn| turn.has_detail) {
            text.push_str(&format!("Tool calls and thoughts of that turn: {}\n", reference(turn, context)));
        }
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
