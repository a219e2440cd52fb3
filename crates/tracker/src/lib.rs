#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod age_text;
mod agent;
mod attention_order;
mod state;
mod wants;

mod menu;
mod options;
mod script;
mod status_line;

mod codex_window;
mod processes;
mod reap;
mod reconcile;
pub mod reopen;
mod scan;

pub use crate::age_text::age;
pub use crate::agent::{
    Agent, Pane, REASON_CHARS, TEAMMATE, agent_type, free_orphans, project_and_worktree, prompt_summary,
};
pub use crate::attention_order::{Attention, attention};
pub use crate::codex_window::{CodexWindow, codex_window};
pub use crate::menu::{Menu, MenuItem, menu};
pub use crate::options::{OPTIONS, OptionName, Options};
pub use crate::processes::{Process, agent_below, client_name, is_below};
pub use crate::reap::{LivePane, RemovalReason, dead_agents, stale_agents};
pub use crate::reconcile::{ClientRecord, ClientStatus, Viewer, has_been_seen, may_be_interrupted, reconcile};
pub use crate::scan::{FoundSession, scan};
pub use crate::script::{Script, script_text, without_control_chars};
pub use crate::state::{
    NOTIFICATION_LAG_SECONDS, NotifiedDialog, Transition, Trigger, next, notified_dialog, transition, turn_ended,
};
pub use crate::status_line::{escape, render, reopen_offer};
pub use crate::wants::{failure_reason, permission_reason, shown_input, wants};

#[cfg(test)]
mod tests;
