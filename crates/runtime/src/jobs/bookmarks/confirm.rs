//! A submitted prompt: the confirmation of a bookmark, or the start of a turn. How long a confirmation may take is in
//! `activity-log/src/decision.rs`; the note for the model during a turn is in `mid_turn.rs`.

use longhaul_activity_log::LogLine;
use longhaul_core::event::UserPromptSubmit;
use longhaul_core::event::predicates::{bookmark_note, in_subagent, is_bookmark_command, is_task_notification};
use longhaul_core::{Reply, Status};
use longhaul_store::NewBookmark;

use super::mid_turn;
use crate::memory::{Spool, noted_bookmark};
use crate::{Error, Flow, Hook, git, usage};

/// The message to the user when a marker is received between turns. The model reads the marker with the next prompt.
const SET: &str = "bookmark set";

/// Confirms a bookmark, or records the start of a turn.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    if !hook.wants_activity() || in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let log = hook.activity()?;
    let at = hook.env.now;
    let marker = hook.config.bookmarks.marker.as_str();
    let Some(note) = bookmark_note(&hook.event.prompt, marker).filter(|_| hook.config.bookmarks.enabled) else {
        // Claude Code's notification that a subagent is done starts a turn as well, but is not a prompt of the user.
        let line = if is_task_notification(&hook.event.prompt) {
            LogLine::Status { at, status: Status::Working }
        } else {
            LogLine::Prompt { at }
        };
        let turn = hook.event.common.prompt_id.as_deref().map(|id| LogLine::turn(at, id));
        let lines: Vec<LogLine> = [Some(line), turn].into_iter().flatten().collect();
        log.append(&lines)?;
        return Ok(Flow::Next);
    };
    let note = note.map(|note| hook.sanitizer().capped(note)).filter(|note| !note.trim().is_empty());
    let common = &hook.event.common;
    // No hook reports the end of a turn by Esc, but a prompt outside of that turn has another id.
    let is_running = log.metrics()?.is_turn_running() && log.may_be_of_newest_turn(common.prompt_id.as_deref())?;
    hook.append_once(&log, &[LogLine::Bookmark { at }])?;
    if is_running && !is_bookmark_command(&hook.event.prompt) {
        hook.show(mid_turn::NOTE);
    } else {
        hook.answer(Reply::end(SET));
    }
    store(hook, note.as_deref())?;
    Ok(Flow::Done)
}

/// Adds to a new bookmark, after the answer, whether the work tree has uncommitted changes.
pub fn add_git_state(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let marker = hook.config.bookmarks.marker.as_str();
    let (Some(cwd), Some(_)) = (&hook.event.common.cwd, bookmark_note(&hook.event.prompt, marker)) else {
        return Ok(Flow::Next);
    };
    if hook.config.bookmarks.enabled
        && let Some(dirty) = git::is_dirty(&hook.home, cwd)
    {
        hook.store()?.set_dirty(hook.event.common.session.as_str(), hook.env.now.0, dirty)?;
    }
    Ok(Flow::Next)
}

fn store(hook: &Hook<UserPromptSubmit>, note: Option<&str>) -> Result<(), Error> {
    let common = &hook.event.common;
    let cwd = common.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
    let commit = common.cwd.as_deref().and_then(git::commit);
    let usage = usage::newest(common.transcript.as_deref());
    let bookmark = NewBookmark {
        session: common.session.as_str(),
        created_at: hook.env.now.0,
        prompt_id: common.prompt_id.as_deref(),
        note,
        cwd: cwd.as_deref(),
        git_commit: commit.as_deref(),
        context_tokens: usage.map(|usage| usage.tokens),
    };
    let stored = hook.store().and_then(|store| Ok(store.add_bookmark(&bookmark)?));
    match stored {
        // It is stored when the database is available again, with the tool calls if these are recorded.
        Err(error) if error.is_busy() => Spool::of(&hook.home, &common.session).append(&noted_bookmark(&bookmark)),
        stored => stored,
    }
}
