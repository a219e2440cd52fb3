//! The command that resumes a session of Codex or another agent, from its table in `table/NAME.rs`. For Claude Code:
//! `reopen/src/client_command.rs`.

use longhaul_core::SessionId;

use crate::table;

/// The longest id that is passed to an agent.
const MAX_CHARS: usize = 100;

/// Returns the argv that resumes a session of an agent with a table; `None` for another client, and for an id that could be
/// mistaken for an option.
pub fn resume_command(session: &SessionId) -> Option<Vec<String>> {
    let agent = table::find(session.client())?;
    let own = session.own();
    let is_safe = !own.starts_with('-') && own.len() <= MAX_CHARS;
    let words = [agent.program].into_iter().chain(agent.resume.iter().copied()).chain([own]);
    is_safe.then(|| words.map(str::to_owned).collect())
}
