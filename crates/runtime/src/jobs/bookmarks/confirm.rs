//! A submitted prompt: a bookmark that has arrived, or a turn that begins.

use longhaul_activity_log::LogLine;
use longhaul_core::event::UserPromptSubmit;
use longhaul_core::event::predicates::{bookmark_note, in_subagent, is_bookmark_command, is_task_notification};
use longhaul_core::{Reply, Status};
use longhaul_store::NewBookmark;

use crate::{Error, Flow, Hook, git, turn_file, usage};

/// What the model is told of a marker in the middle of its turn.
const MID_TURN: &str = "This message is an automatic bookmark set by the user's tooling as a rewind point. It asks \
                        for nothing and needs no reply; the work in progress goes on unchanged.";

/// What the user is shown of a marker between turns; the model reads it with the next prompt.
const SET: &str = "bookmark set";

/// Confirms a bookmark, or notes that a turn begins.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    if !hook.wants_activity() || in_subagent(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let log = hook.activity()?;
    let at = hook.env.now;
    let marker = hook.config.bookmarks.marker.as_str();
    let Some(note) = bookmark_note(&hook.event.prompt, marker).filter(|_| hook.config.bookmarks.enabled) else {
        // The client's own word that a subagent is done begins a turn, too, but nobody has typed anything.
        let line = if is_task_notification(&hook.event.prompt) {
            LogLine::Status { at, status: Status::Working }
        } else {
            LogLine::Prompt { at }
        };
        log.append(&[line])?;
        turn_file::begin(&hook.home, &hook.event.common.session, hook.event.common.prompt_id.as_deref())?;
        return Ok(Flow::Next);
    };
    let note = note.map(|note| hook.sanitizer().capped(note)).filter(|note| !note.trim().is_empty());
    let common = &hook.event.common;
    // No hook tells of a turn that Esc ended; a prompt outside of the turn has an id of its own.
    let is_running =
        log.metrics()?.is_turn_running() && turn_file::may_be(&hook.home, &common.session, common.prompt_id.as_deref());
    hook.append_once(&log, &[LogLine::Bookmark { at }])?;
    if is_running && !is_bookmark_command(&hook.event.prompt) {
        hook.show(MID_TURN);
    } else {
        hook.answer(Reply::end(SET));
    }
    store(hook, note.as_deref())?;
    Ok(Flow::Done)
}

/// Adds, once the answer is out, whether the work tree of a new bookmark had uncommitted changes.
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
    hook.store()?.add_bookmark(&NewBookmark {
        session: common.session.as_str(),
        created_at: hook.env.now.0,
        prompt_id: common.prompt_id.as_deref(),
        note,
        cwd: cwd.as_deref(),
        git_commit: commit.as_deref(),
        context_tokens: usage.map(|usage| usage.tokens),
    })?;
    Ok(())
}
