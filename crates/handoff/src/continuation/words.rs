//! What the model is told.

use crate::lines::harmless;
use crate::middle::cut_middle;

use super::occasion::Fill;

/// Returns what the model is asked at the end of a turn.
pub fn ask(fill: Fill, nonce: &str) -> String {
    format!(
        "The context window is {:.0} % full and is about to be cleared. The session that goes on will be shown one \
         thing: the handoff that you reply with now. Reply with it as text, complete in itself; no tool and no file is \
         needed. It begins with exactly this front matter:\n\n---\ncontinue: true\nnonce: {nonce}\n---\n\nThen come \
         four sections: `# Task` (what was asked for, in the user's words where they matter), `# Completed`, \
         `# Remaining` (what is left, the next step first) and `# Key Context` (decisions, files, commands, pitfalls). \
         Where nothing is left to do, or a person has to decide first, it says `continue: false` instead.",
        fill.share() * 100.0
    )
}

/// Returns the prompt that asks once more, after the account's limit was lifted.
pub fn ask_again(nonce: &str) -> String {
    format!("Please reply with the handoff that was asked for (nonce: {nonce}).")
}

/// Returns a handoff as the next session is shown it, in `chars` characters at most.
pub fn page(body: &str, session: &str, round: u32, chars: usize) -> String {
    let (open, close) = ("<longhaul-context>\n", "\n</longhaul-context>");
    let short: String = session.chars().take(8).collect();
    let head = format!(
        "Handoff from session {}, written when its context was nearly full (round {round}):\n\n",
        harmless(&short)
    );
    let frame = open.len() + close.len() + head.chars().count();
    format!("{open}{head}{}{close}", cut_middle(&harmless(body.trim()), chars.saturating_sub(frame)))
}
