//! The messages to the user about a continuation, in Claude Code and in Codex. The reasons in them are in `plan.rs`.

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
