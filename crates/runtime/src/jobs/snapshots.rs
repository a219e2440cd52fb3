//! Starts snapshots of the work tree in the background, reports after a rewind that the files have not gone back, and
//! restores a snapshot at the user's command.

use crate::restore_command::{
    RESTORE_DISABLED, RESTORE_IN_BACKGROUND, RESTORE_IN_TERMINAL, RESTORE_USAGE, restore_arguments, restore_command,
    rewind_message,
};
use longhaul_core::clock::time_of;
use longhaul_core::event::predicates::{bookmark_note, in_subagent, is_list_command, is_task_notification};
use longhaul_core::event::{HookEvent, PreCompact, SessionStart, StartSource, Stop, UserPromptSubmit};
use longhaul_core::{Millis, Reply, one_line};

use crate::{Error, Flow, Hook, clock_and_env, git, process, waiting_times};

/// Takes a first snapshot of a session.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if hook.event.source != StartSource::Compact {
        hook.start_snapshot("start", false)?;
    }
    Ok(Flow::Next)
}

/// Takes a snapshot of what the compacted conversation was about.
pub fn on_compact(hook: &mut Hook<PreCompact>) -> Result<Flow, Error> {
    if hook.is_in_repository() {
        hook.start_snapshot("compaction", false)?;
    }
    Ok(Flow::Next)
}

/// Takes a snapshot for a bookmark or a prompt of the user.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let prompt = &hook.event.prompt;
    let is_command = restore_command(prompt).is_some() || is_list_command(prompt);
    if in_subagent(&hook.event.common) || is_task_notification(prompt) || is_command {
        return Ok(Flow::Next);
    }
    let marker = hook.config.bookmarks.marker.as_str();
    match bookmark_note(prompt, marker).filter(|_| hook.config.bookmarks.enabled) {
        Some(note) => hook.start_snapshot("bookmark", note.is_some())?,
        // Outside of a repository there is none, as the list says since the start of the session.
        None if !hook.is_in_repository() => {}
        None => hook.start_snapshot("prompt", false)?,
    }
    Ok(Flow::Next)
}

/// Reports a rewind. Claude Code sends no event for it and writes nothing: the transcript shows it when the next turn has
/// begun, and the hook for that prompt runs too early.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if !in_subagent(&hook.event.common) {
        hook.report_rewind()?;
    }
    Ok(Flow::Next)
}

/// Reports a rewind before the end of a session, such as one whose next turn was interrupted.
pub fn on_resume(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if hook.event.source == StartSource::Resume {
        hook.report_rewind()?;
    }
    Ok(Flow::Next)
}

/// Shows or does what `/longhaul:restore` asks for, without a request to the model.
pub fn on_restore_command(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    // A subagent is no person who wants the files back.
    let command = restore_command(&hook.event.prompt).filter(|_| !in_subagent(&hook.event.common));
    let Some(words) = command else { return Ok(Flow::Next) };
    if !hook.config.snapshots.enabled {
        // No other job, and no model, has an answer to this command.
        hook.answer(Reply::end(RESTORE_DISABLED));
        return Ok(Flow::Done);
    }
    if words.iter().all(|word| *word == "now") {
        hook.answer(Reply::end(RESTORE_USAGE));
        return Ok(Flow::Done);
    }
    let (args, is_now) = restore_arguments(&hook.event.common.session.to_string(), &words);
    let cwd = hook.event.common.cwd.clone().or(hook.project_dir()).filter(|dir| dir.is_dir());
    let Some(cwd) = cwd else { return Ok(Flow::Next) };
    let limit = hook.deadline.left().saturating_sub(waiting_times::ANSWER_AFTER_COMMAND);
    let answer = match process::ask_sibling("longhaul", &args, &cwd, limit)? {
        Some(text) => text,
        None if is_now => RESTORE_IN_BACKGROUND.to_owned(),
        None => RESTORE_IN_TERMINAL.to_owned(),
    };
    hook.answer(Reply::end(answer.trim()));
    Ok(Flow::Done)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Reports once after a rewind that the files are not as they were then, and how to restore them.
    fn report_rewind(&mut self) -> Result<(), Error> {
        // Rewinds are found among the stored turns.
        if !self.config.snapshots.enabled || !self.keeps_turns() {
            return Ok(());
        }
        let store = self.store()?;
        let session = self.event.common().session.to_string();
        let Some(rewind) = store.unreported_rewind(&session)? else { return Ok(()) };
        let cwd = self.event.common().cwd.clone().filter(|dir| dir.is_dir());
        let message = match (rewind.snapshot, cwd) {
            (Some(snapshot), Some(cwd)) => self.compare_after_rewind(rewind.at, snapshot, &session, &cwd)?,
            (None, _) | (_, None) => None,
        };
        if store.settle_rewind(&session)?
            && let Some(message) = message
        {
            self.notify(&message);
        }
        Ok(())
    }

    /// Returns the message after a rewind to the message of `snapshot`; `None` if no file differs.
    fn compare_after_rewind(
        &self,
        at: Millis,
        snapshot: i64,
        session: &str,
        cwd: &std::path::Path,
    ) -> Result<Option<String>, Error> {
        let args = ["diff", &snapshot.to_string(), "--json", "--session", session].map(str::to_owned);
        let limit = waiting_times::COUNT_AFTER_REWIND.min(self.deadline.left() / 2);
        let files = match process::ask_sibling("longhaul", &args, cwd, limit)? {
            Some(text) => match serde_json::from_str::<Vec<serde::de::IgnoredAny>>(&text) {
                Ok(files) => Some(files.len()),
                Err(_) => {
                    let text = one_line(&text, 300);
                    self.log.write(&format!("session {session}: cannot compare with snapshot {snapshot}: {text}"));
                    return Ok(None);
                }
            },
            None => None,
        };
        let at = time_of(at, clock_and_env::utc_offset_seconds(at));
        // Without the seconds.
        let at = at.get(..5).unwrap_or(&at);
        Ok((files != Some(0)).then(|| rewind_message(at, files, snapshot)))
    }

    pub(super) fn is_in_repository(&self) -> bool {
        self.event.common().cwd.as_deref().is_some_and(git::is_in_repository)
    }

    /// Starts `longhaul-snapshot` in the background.
    pub(super) fn start_snapshot(&self, kind: &str, is_pinned: bool) -> Result<(), Error> {
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
