//! The texts of a continuation: for the model, the questions for a handoff, and the handoff as the next session is shown it;
//! for the user, the messages about it.

use longhaul_core::record::{CLOSE, OPEN, defuse};
use longhaul_core::text::{cut_middle, visible};
use longhaul_core::{one_line, short_session};

use crate::continuation::document::{is_headed, parts};

/// The sections that are kept longest where a handoff is shortened, the most important first.
const FIRST: [&str; 3] = ["Remaining", "Task", "Key Context"];

/// The number of characters of a handoff that the next session is shown. The last messages come after it.
pub const HANDOFF_CHARS: usize = 7_000;

/// The first prompt of the session that continues.
pub const PROMPT: &str = "Continue from the handoff: do what is left to do.";

/// What a handoff looks like.
const FORM: &str = "Reply with it as text, without tools: four lines of front matter (`---`, `continue: true`, the line that \
                    ends this message, `---`), then the sections `# Task`, `# Completed`, `# Remaining` and `# Key Context`. \
                    If nothing is left to do, or a person has to decide first: `continue: false`. Leave out what was marked \
                    as private.";

/// The number of characters that tell what was wrong with a reply.
const WHY_CHARS: usize = 200;

/// The separator between two sections.
const GAP: &str = "\n\n";

/// Returns the text that asks the model for a handoff: a prompt, or the reason why a turn does not end yet.
///
/// It is one line, because it may have to be typed, and short, because the user is shown it; there as an error of a hook, so its
/// first words say what it is.
pub fn ask(nonce: &str) -> String {
    format!("Longhaul asks for a handoff: the context is nearly full and is about to be cleared. {FORM} nonce: {nonce}")
}

/// Returns the text that asks once more, because the reply was not the handoff that was asked for: `why` says what was wrong.
pub fn ask_once_more(nonce: &str, why: &str) -> String {
    let why = one_line(why, WHY_CHARS);
    format!("Longhaul asks once more for the handoff: {why}. {FORM} nonce: {nonce}")
}

/// Returns the prompt that asks again, after the account's rate limit was lifted.
pub fn ask_again(nonce: &str) -> String {
    format!("Please reply with the handoff that was asked for (nonce: {nonce}).")
}

/// Returns the text by which the next session is shown a handoff, in at most `chars` characters.
///
/// A longer handoff is shortened: the remaining work and the task get the most space, and the path `file` of the complete
/// handoff is given.
pub fn page(body: &str, session: &str, round: u32, chars: usize, file: &str) -> String {
    let head = format!(
        "Handoff from session {}, written when its context was nearly full (round {round}):\n\n",
        defuse(short_session(session))
    );
    let room = chars.saturating_sub(OPEN.len() + "\n".len() + CLOSE.len() + head.chars().count());
    let body = defuse(&visible(body.trim()));
    if body.chars().count() <= room {
        return format!("{OPEN}{head}{body}\n{CLOSE}");
    }
    let rest = format!("\n\nThis is not all of it; the whole handoff is in {}", defuse(file));
    format!("{OPEN}{head}{}{rest}\n{CLOSE}", shorten(&body, room.saturating_sub(rest.chars().count())))
}

/// Shortens a handoff to `room` characters.
///
/// A quarter of them is reserved for the task. The rest is given to the sections in the order of importance: the remaining
/// work first.
fn shorten(body: &str, room: usize) -> String {
    let Some(parts) = parts(body, "Remaining") else { return cut_middle(body, room) };
    let room = room.saturating_sub(GAP.len() * parts.len());
    let rank = |part: &str| FIRST.iter().position(|heading| is_headed(part, heading)).unwrap_or(FIRST.len());
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&at| rank(parts[at]));
    let lengths: Vec<usize> = parts.iter().map(|part| part.chars().count()).collect();
    let reserved = |at: usize| if is_headed(parts[at], "Task") { room / 4 } else { 0 };
    let mut granted: Vec<usize> = (0..parts.len()).map(|at| lengths[at].min(reserved(at))).collect();
    for at in order {
        let left = room.saturating_sub(granted.iter().sum());
        granted[at] += left.min(lengths[at] - granted[at]);
    }
    let shortened = parts.iter().zip(granted).map(|(part, chars)| cut_middle(part, chars));
    shortened.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(GAP)
}

// The messages to the user about a continuation, in Claude Code and in Codex.

/// Returns the message that the model was asked for a handoff, at `share` of its context, from 0 to 1.
pub fn asked(share: f64) -> String {
    format!("the context is {:.0} % full; asked for a handoff", share * 100.0)
}

/// Returns the message that the model was asked for a handoff once more.
pub fn asked_once_more(why: &str) -> String {
    format!("{why}; asked once more for the handoff")
}

/// Returns the message to a session that continues from a handoff.
pub fn goes_on(round: u32) -> String {
    format!("goes on from the handoff, round {round}")
}

/// The message where the user has to type the command, because there is no terminal to type into.
pub const CLEAR_BY_HAND: &str = "the handoff is stored; type /clear, and the new session goes on from it";

/// Returns the message that a task is not continued.
pub fn not_continued(why: &str) -> String {
    format!("not continued: {why}")
}

/// Returns the message that a task was not continued, where it can be tried again.
pub fn not_continued_yet(why: &str) -> String {
    format!("not continued: {why}; `longhaul continuation resume` tries again")
}

/// Returns the message of Codex near the limit of its context. `goes_on` means that a new session is started for the user.
pub fn near_limit_of_codex(share: f64, goes_on: bool) -> String {
    let next = match goes_on {
        true => "a new session goes on in a moment",
        false => "type /new, and the new session goes on from here",
    };
    format!("the context is {:.0} % full; the baton is written: {next}", share * 100.0)
}
