//! How a turn looks in the second layer and in the first.

use longhaul_core::Millis;
use longhaul_core::clock::{date_of, time_of};
use longhaul_core::cut_text::cut_middle;
use longhaul_core::record::defuse;

use crate::render_input::{RenderInput, TimedText, TurnView};
use crate::skeleton::one_line;

/// The longest one-line summary that is shown.
const SKELETON_CHARS: usize = 260;

/// How much is shown of what the client wrote itself, such as a finished task's notice.
const CLIENT_CHARS: usize = 200;

/// Returns a text under its time and label, cut to `cap` characters.
pub(crate) fn message(label: &str, said: TimedText<'_>, context: &RenderInput<'_>, cap: usize) -> String {
    let text = defuse(&cut_middle(said.text.trim(), cap));
    format!("[{}] [{label}] {text}\n", stamp(said.at, context))
}

/// Returns what was said in a turn, its messages cut to `cap` characters.
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

/// Returns at most how many characters a turn's block takes, for any cap, without building it.
pub(crate) fn block_size(turn: &TurnView<'_>, context: &RenderInput<'_>) -> impl Fn(usize) -> usize {
    let frame =
        |said: TimedText<'_>, label: &str| message(label, TimedText { text: "", ..said }, context, 0).chars().count();
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

/// Returns the turn as one line of the first layer.
pub(crate) fn line(turn: &TurnView<'_>, context: &RenderInput<'_>) -> String {
    let summary = match turn.skeleton {
        "" if turn.asked.says_something() => turn.asked.text,
        "" => turn.replied.text,
        skeleton => skeleton,
    };
    let summary = defuse(&one_line(summary, SKELETON_CHARS));
    format!("[{}] {summary}\n", stamp(turn.at(), context))
}

/// Returns a time in the form that `longhaul detail` takes, with its date where that is not today.
fn stamp(at: Millis, context: &RenderInput<'_>) -> String {
    let time = time_of(at, context.offset_seconds);
    let date = date_of(at, context.offset_seconds);
    if date == date_of(context.now, context.offset_seconds) { time } else { format!("{date} {time}") }
}
