//! The text of a turn: as a quote, and in one line.

use longhaul_core::clock::{date_of, time_of};
use longhaul_core::cut_text::cut_middle;
use longhaul_core::invisible::visible;
use longhaul_core::record::defuse;
use longhaul_core::{Millis, one_line};

use crate::render_input::{RenderInput, TimedText, TurnView};

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
pub(crate) fn is_cut(turn: &TurnView<'_>, cap: usize) -> bool {
    let is_long = |said: TimedText<'_>, cap: usize| said.text.trim().chars().nth(cap).is_some();
    is_long(turn.asked, asked_cap(turn, cap)) || is_long(turn.replied, cap)
}

/// Returns a function that gives the maximum length of the turn's [`block`] for a cap, without building the block.
pub(crate) fn block_size(turn: &TurnView<'_>, context: &RenderInput<'_>) -> impl Fn(usize) -> usize {
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
