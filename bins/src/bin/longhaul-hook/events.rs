//! The events of Claude Code: the jobs that each of them runs, in order. PostToolUse has an executable of its own.

use longhaul_core::event::{
    Notification, PermissionRequest, PostToolUseFailure, PreCompact, PreToolUse, SessionEnd, SessionStart, Stop,
    StopFailure, SubagentStart, SubagentStop, TaskCompleted, TeammateIdle, UserPromptSubmit,
};
use longhaul_runtime::memory::{self, prompt_recall};
use longhaul_runtime::{
    Hook, activity, bookmarks, compaction, context, continuation, handoff, housekeeping, limits, model, native_links,
    private_turns, project_file, reopen, snapshots, sync, tracker,
};

/// `SessionStart`: a session begins or is resumed. Records where it runs, shows it what came before, removes old files.
pub(crate) fn session_start() {
    Hook::<SessionStart>::run_then(
        &[
            housekeeping::show_config_warnings,
            housekeeping::tell_salvaged,
            housekeeping::welcome,
            project_file::on_session_start,
            sync::on_session_start, // detached: it runs while the page is made
            activity::on_session_start,
            reopen::on_session_start, // before the tracker, which adds the window
            tracker::on_session_start,
            limits::on_session_start,
            continuation::on_session_start,
            snapshots::on_resume,
            compaction::on_session_start,
            handoff::on_session_start, // the transcript of the old session comes after its handoff
            memory::on_session_start,  // the page gets the space that is left
            prompt_recall::on_session_start, // records what was shown, so that it is not shown again
            housekeeping::tell_of_replaced_database,
        ],
        &[
            snapshots::on_session_start,
            housekeeping::remove_old_files,
            housekeeping::remove_old_versions,
            native_links::on_session_start,
            continuation::carry_on,
            limits::count_others,
            memory::drop_old_text,
            prompt_recall::prepare_search,
        ],
    );
}

/// `UserPromptSubmit`: a bookmark has arrived, or a turn begins.
pub(crate) fn user_prompt_submit() {
    Hook::<UserPromptSubmit>::run_then(
        &[
            bookmarks::on_list_command,    // costs no request and is no prompt: no job below sees it
            bookmarks::on_prompt,          // a marker is not a prompt: no job below sees it
            snapshots::on_restore_command, // costs no request and does not count as work
            private_turns::on_prompt,
            prompt_recall::begin_search, // it goes on while the prompt is stored
            continuation::on_prompt,
            handoff::on_baton_command, // costs no request and does not count as work
            limits::on_prompt,         // nor does a prompt that a limit refuses
            reopen::note_mode,
            tracker::on_prompt,
            handoff::on_prompt,
            memory::on_prompt,
            prompt_recall::on_prompt, // last, so that the prompt is stored in any case
        ],
        &[snapshots::on_prompt, bookmarks::add_git_state, continuation::carry_on, prompt_recall::start_search_process],
    );
}

/// `PreToolUse` of `Agent` and `Task`: no new subagents when the context is nearly full, or at a limit.
pub(crate) fn pre_tool_use() {
    Hook::<PreToolUse<'static>>::run(&[context::on_agent_launch, limits::on_agent_launch]);
}

/// `PostToolUseFailure`: a call failed, and the session continues to work.
pub(crate) fn post_tool_use_failure() {
    Hook::<PostToolUseFailure<'static>>::run(&[
        tracker::on_tool_failure,
        memory::on_tool_failure,
        limits::on_tool_failure,
    ]);
}

/// `PermissionRequest`: the session waits for an answer.
pub(crate) fn permission_request() {
    Hook::<PermissionRequest<'static>>::run(&[tracker::on_permission]);
}

/// `Notification`: the session waits for an answer. This event comes later than `PermissionRequest`.
pub(crate) fn notification() {
    Hook::<Notification>::run(&[tracker::on_notification, continuation::on_notification, continuation::carry_on]);
}

/// `SubagentStart`: a subagent runs, so that a dialog may open at any time.
pub(crate) fn subagent_start() {
    Hook::<SubagentStart>::run(&[
        private_turns::on_subagent_start,
        bookmarks::on_subagent_start,
        tracker::on_subagent_start,
        limits::on_subagent_start,
    ]);
}

/// `SubagentStop`: a subagent has returned. Counts it; may compact or set a bookmark.
pub(crate) fn subagent_stop() {
    Hook::<SubagentStop>::run(&[
        compaction::on_summary, // of a compaction; the others have nothing to do with that
        activity::on_agent_return,
        bookmarks::on_agent_return,
        tracker::on_agent_return,
        limits::on_agent_return,
        context::on_agent_return, // if it compacts, no bookmark is set
        bookmarks::after_agent_return,
    ]);
}

/// `Stop`: the turn is over. Stores it; may start a continuation, compact, or set a bookmark.
pub(crate) fn stop() {
    Hook::<Stop>::run_then(
        &[
            handoff::before_continuation,
            continuation::on_turn_end, // if it asks for a handoff, the turn is not over
            activity::on_turn_end,
            bookmarks::on_turn_end,
            tracker::on_turn_end,
            limits::on_turn_end,
            reopen::note_mode,
            handoff::without_continuation,
            memory::on_turn_end,
            snapshots::on_turn_end,
            tracker::show_turn_end, // before what may type for seconds
            continuation::carry_on, // if it clears, no bookmark is set
            context::on_turn_end,   // if it compacts, no bookmark is set
            bookmarks::after_turn,
        ],
        &[model::start_worker, sync::on_turn_end],
    );
}

/// `StopFailure`: the turn ended in an error.
pub(crate) fn stop_failure() {
    Hook::<StopFailure>::run(&[
        tracker::on_failure,
        limits::on_turn_failure,
        continuation::on_failure,
        continuation::carry_on,
    ]);
}

/// `PreCompact`: stores the conversation before it is compacted, with what will be needed of it, and restarts the count of
/// work.
pub(crate) fn pre_compact() {
    Hook::<PreCompact>::run(&[activity::on_compact, snapshots::on_compact, handoff::on_compact, compaction::collect]);
}

/// `TeammateIdle`: a teammate has nothing to do.
pub(crate) fn teammate_idle() {
    Hook::<TeammateIdle>::run(&[tracker::on_teammate_idle]);
}

/// `TaskCompleted`: a task is done.
pub(crate) fn task_completed() {
    Hook::<TaskCompleted>::run(&[tracker::on_task_completed]);
}

/// `SessionEnd`: the session has ended. After `/clear` it leaves a baton for the next one.
pub(crate) fn session_end() {
    Hook::<SessionEnd>::run_then(
        &[
            limits::on_session_end, // the baton of a limit says why the session stopped
            handoff::on_session_end,
            memory::on_session_end,
            reopen::on_session_end,
            tracker::on_session_end,
            continuation::on_session_end,
        ],
        &[model::start_worker, sync::on_session_end],
    );
}
