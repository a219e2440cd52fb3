#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod agent;
mod reconcile;
pub mod reopen;
mod state;
mod tmux;

pub use crate::agent::{
    Agent, LOOPING, Pane, REASON_CHARS, TEAMMATE, age, agent_type, attention, free_orphans, project_and_worktree,
    prompt_summary,
};
pub use crate::reconcile::{
    ClientRecord, ClientStatus, CodexWindow, LivePane, Process, RemovalReason, Viewer, agent_below, client_name,
    codex_window, dead_agents, has_been_seen, is_below, may_be_interrupted, reconcile, scan, stale_agents,
};
pub use crate::state::{
    NOTIFICATION_LAG_SECONDS, NotifiedDialog, Script, Transition, Trigger, failure_reason, next, notified_dialog,
    permission_reason, script_text, shown_input, transition, turn_ended, wants, without_control_chars,
};
pub use crate::tmux::{Menu, MenuItem, OPTIONS, OptionName, Options, escape, menu, render, reopen_offer};

#[cfg(test)]
mod tests;
