//! Starts snapshots of the work tree in the background, reports after a rewind that the files have not gone back, and
//! restores a snapshot at the user's command.

use std::time::Duration;

use longhaul_core::clock::time_of;
use longhaul_core::event::predicates::{bookmark_note, in_subagent, is_list_command, is_task_notification};
use longhaul_core::event::{HookEvent, PreCompact, SessionStart, StartSource, Stop, UserPromptSubmit};
use longhaul_core::{Millis, Reply, counted, one_line};

use crate::hook::ANSWER_AFTER_COMMAND;
use crate::{Error, Flow, Hook, clock_and_env, git, process};

/// The most time for counting the files that differ from a snapshot, after a rewind.
const COUNT_AFTER_REWIND: Duration = Duration::from_secs(2);

/// Takes a first snapshot of a session.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if hook.event.source != StartSource::Compact {
        hook.start_snapshot("start", "-")?;
    }
    Ok(Flow::Next)
}

/// Takes a snapshot of what the compacted conversation was about.
pub fn on_compact(hook: &mut Hook<PreCompact>) -> Result<Flow, Error> {
    if hook.is_in_repository() {
        hook.start_snapshot("compaction", "-")?;
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
    match bookmark_note(prompt, marker).filter(|_| hook.config.bookmarks.is_on()) {
        Some(note) => hook.start_snapshot("bookmark", if note.is_some() { "pinned" } else { "-" })?,
        // Outside of a repository there is none, as the list says since the start of the session.
        None if !hook.is_in_repository() => {}
        None => hook.start_snapshot("prompt", if hook.is_private() { "private" } else { "-" })?,
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
    let limit = hook.deadline.left().saturating_sub(ANSWER_AFTER_COMMAND);
    let answer = match process::ask_own("restore", &args, &cwd, limit)? {
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
        let args = [&snapshot.to_string(), "--json", "--session", session].map(str::to_owned);
        let limit = COUNT_AFTER_REWIND.min(self.deadline.left() / 2);
        let files = match process::ask_own("diff", &args, cwd, limit)? {
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

    pub(crate) fn is_in_repository(&self) -> bool {
        self.event.common().cwd.as_deref().is_some_and(git::is_in_repository)
    }

    /// Starts `longhaul run-snapshot` in the background. `mark` says that the snapshot is dropped last (`pinned`), or that a
    /// private turn begins with it (`private`).
    pub(crate) fn start_snapshot(&self, kind: &str, mark: &str) -> Result<(), Error> {
        let common = self.event.common();
        let Some(cwd) = common.cwd.as_deref().filter(|dir| self.config.snapshots.enabled && dir.is_dir()) else {
            return Ok(());
        };
        let args = [
            common.session.to_string(),
            kind.to_owned(),
            self.env.now.0.to_string(),
            common.prompt_id.clone().unwrap_or_default(),
            mark.to_owned(),
        ];
        process::spawn_own_in("run-snapshot", &args, cwd)
    }
}

// `/longhaul:restore`, the command of the user inside Claude Code, with its answers, and the message after a rewind.

/// The slash command that restores a snapshot, in the complete bundle and in the bundle of the one job. Claude Code knows a
/// command of a plugin only under such a name: `/restore` would be a command of the user's own.
const COMMANDS: [&str; 2] = ["/longhaul:restore", "/longhaul-bookmarks:restore"];

/// The answer to the slash command if snapshots are disabled.
const RESTORE_DISABLED: &str = "Snapshots are disabled (snapshots.enabled is false), so nothing was restored. `longhaul restore` in a \
                        terminal restores one that was taken before.";

/// The answer to the slash command without a word that names a snapshot.
const RESTORE_USAGE: &str = "Which one? `/longhaul:restore A` shows what would change, `/longhaul:restore A now` does it. A is a number of \
                     `longhaul snapshots`, a time such as 14:03, or `last`. `/longhaul:restore undo now` undoes the last restore.";

/// The answer if the restore takes longer than a prompt may.
const RESTORE_IN_BACKGROUND: &str = "The restore goes on in the background; `longhaul snapshots` lists it.";

/// The answer if showing what would change takes longer than a prompt may.
const RESTORE_IN_TERMINAL: &str = "That takes longer than a prompt may: run `longhaul restore` in a terminal.";

/// Returns the words after the slash command; `None` for any other prompt.
fn restore_command(prompt: &str) -> Option<Vec<&str>> {
    let mut words = prompt.split_whitespace();
    words.next().filter(|word| COMMANDS.contains(word) && prompt.lines().count() == 1)?;
    Some(words.collect())
}

/// Returns the arguments of `longhaul` for the words after the slash command, and whether files are changed. After `--`, every
/// word is the path of a file, also `now` and `undo`.
fn restore_arguments(session: &str, words: &[&str]) -> (Vec<String>, bool) {
    let options = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let (options, paths) = words.split_at(options);
    let is_now = options.contains(&"now");
    let mut args = vec!["--from-session", session, if is_now { "--yes" } else { "--dry-run" }];
    args.extend(
        options.iter().filter(|word| **word != "now").map(|word| if *word == "undo" { "--undo" } else { word }),
    );
    args.extend(paths);
    (args.into_iter().map(str::to_owned).collect(), is_now)
}

/// Returns the message after a rewind; `files` is `None` if counting took too long.
fn rewind_message(at: &str, files: Option<usize>, snapshot: i64) -> String {
    let differ = match files {
        Some(1) => ": 1 file differs".to_owned(),
        Some(files) => format!(": {} differ", counted(files, "file")),
        None => String::new(),
    };
    let command = COMMANDS[0];
    format!(
        "longhaul: the conversation is back at {at}, the files are not{differ}. {command} {snapshot} shows what it would \
         change, {command} {snapshot} now restores them."
    )
}

#[cfg(test)]
mod tests {
    use super::{restore_arguments, restore_command, rewind_message};

    #[test]
    fn the_message_after_a_rewind_names_the_time_the_files_and_the_command() {
        assert_eq!(
            rewind_message("14:20", Some(3), 7),
            "longhaul: the conversation is back at 14:20, the files are not: 3 files differ. /longhaul:restore 7 shows what it \
             would change, /longhaul:restore 7 now restores them."
        );
        assert!(rewind_message("14:20", Some(1), 7).contains("are not: 1 file differs. "));
        assert!(rewind_message("14:20", None, 7).contains("the files are not. "));
    }

    #[test]
    fn only_the_command_itself_restores() {
        assert_eq!(restore_command("/longhaul:restore 12 now"), Some(vec!["12", "now"]));
        assert_eq!(restore_command("/longhaul-bookmarks:restore last"), Some(vec!["last"]));
        assert_eq!(restore_command(" /longhaul:restore\n"), Some(Vec::new()));
        for other in [
            "restore 12",
            "/restore 12",
            "/other:restore 12",
            "/longhaul:restored 1",
            "please /longhaul:restore 1",
            "/longhaul:restore 1\nand then",
        ] {
            assert_eq!(restore_command(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_may_be_called_as_a_word_of_the_command() {
        let check = |words: &[&str], expected: &[&str]| {
            let (args, is_now) = restore_arguments("s", words);
            assert_eq!(args[..2], ["--from-session", "s"], "{words:?}");
            assert_eq!(args[2..], *expected, "{words:?}");
            assert_eq!(is_now, expected[0] == "--yes", "{words:?}");
        };
        check(&["12"], &["--dry-run", "12"]);
        check(&["undo", "now"], &["--yes", "--undo"]);
        check(&["12", "--", "now", "undo"], &["--dry-run", "12", "--", "now", "undo"]);
        check(&["12", "now", "--", "now"], &["--yes", "12", "--", "now"]);
    }
}
