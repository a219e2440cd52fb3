//! Starts snapshots of the work tree in the background, and restores one at the user's command.

use longhaul_core::Reply;
use longhaul_core::event::predicates::{bookmark_note, in_subagent, is_task_notification};
use longhaul_core::event::{HookEvent, SessionStart, StartSource, UserPromptSubmit};

use crate::{Error, Flow, Hook, process};

/// The slash command that restores a snapshot, as a plugin's command and as the user's own.
const COMMANDS: [&str; 2] = ["/longhaul:restore", "/restore"];

/// The time that is left for the answer after the command line.
const FOR_ANSWER: std::time::Duration = std::time::Duration::from_millis(300);

/// Takes a first snapshot of a session.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if hook.event.source != StartSource::Compact {
        hook.start_snapshot("start", false)?;
    }
    Ok(Flow::Next)
}

/// Takes a snapshot for a bookmark or a prompt of the user.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let prompt = &hook.event.prompt;
    if in_subagent(&hook.event.common) || is_task_notification(prompt) || restore_command(prompt).is_some() {
        return Ok(Flow::Next);
    }
    let marker = hook.config.bookmarks.marker.as_str();
    match bookmark_note(prompt, marker).filter(|_| hook.config.bookmarks.enabled) {
        Some(note) => hook.start_snapshot("bookmark", note.is_some())?,
        None => hook.start_snapshot("prompt", false)?,
    }
    Ok(Flow::Next)
}

/// Shows or does what `/longhaul:restore` asks for, without a request to the model.
pub fn on_restore_command(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let Some(words) = restore_command(&hook.event.prompt) else { return Ok(Flow::Next) };
    let (session, cwd) = (hook.event.common.session.to_string(), hook.project_dir());
    let mut args = vec!["restore".to_owned(), "--from-session".to_owned(), session];
    let is_now = words.contains(&"now");
    args.push(if is_now { "--yes" } else { "--dry-run" }.to_owned());
    args.extend(words.iter().filter(|word| **word != "now").map(|word| match *word {
        "undo" => "--undo".to_owned(),
        word => word.to_owned(),
    }));
    let cwd = hook.event.common.cwd.clone().or(cwd).filter(|dir| dir.is_dir());
    let Some(cwd) = cwd else { return Ok(Flow::Next) };
    let limit = hook.deadline.left().saturating_sub(FOR_ANSWER);
    let answer = match process::ask_sibling("longhaul", &args, &cwd, limit)? {
        Some(text) if is_now => text,
        Some(text) => format!("{text}\nNothing was changed yet: add the word now to do it."),
        None if is_now => "The restore goes on in the background; `longhaul snapshots` lists it.".to_owned(),
        None => "That takes longer than a prompt may: run `longhaul restore` in a terminal.".to_owned(),
    };
    hook.answer(Reply::end(answer.trim()));
    Ok(Flow::Done)
}

/// Returns the words after the slash command; `None` for any other prompt.
fn restore_command(prompt: &str) -> Option<Vec<&str>> {
    let mut words = prompt.split_whitespace();
    words.next().filter(|word| COMMANDS.contains(word) && prompt.lines().count() == 1)?;
    Some(words.collect())
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Starts `longhaul-snapshot` in the background.
    fn start_snapshot(&self, kind: &str, is_pinned: bool) -> Result<(), Error> {
        let common = self.event.common();
        let Some(cwd) = common.cwd.as_deref().filter(|dir| self.config.snapshots.enabled && dir.is_dir()) else {
            return Ok(());
        };
        let args = [
            common.session.to_string(),
            kind.to_owned(),
            self.env.now.0.to_string(),
            common.prompt_id.clone().unwrap_or_default(),
            if is_pinned { "pinned" } else { "-" }.to_owned(),
        ];
        process::spawn_sibling_in("longhaul-snapshot", &args, cwd)
    }
}

#[cfg(test)]
mod tests {
    use super::restore_command;

    #[test]
    fn only_the_command_itself_restores() {
        assert_eq!(restore_command("/longhaul:restore 12 now"), Some(vec!["12", "now"]));
        assert_eq!(restore_command(" /restore\n"), Some(Vec::new()));
        for other in ["restore 12", "/longhaul:restored 1", "please /restore 1", "/restore 1\nand then"] {
            assert_eq!(restore_command(other), None, "{other}");
        }
    }
}
