//! The only crate that does I/O: standard input, clock, environment, files, processes. Its jobs join stored values with
//! the decisions of the domain crates.

pub mod activity;
mod agents;
pub mod bookmarks;
pub mod bounded_read;
pub mod bridge;
mod client_records;
mod clock_and_env;
pub mod codex;
pub mod compaction;
pub mod context;
pub mod continuation;
pub mod cost;
pub mod files;
pub mod git;
pub mod handoff;
mod home;
mod hook;
pub mod housekeeping;
pub mod injector;
pub mod limits;
pub mod memory;
pub mod model;
pub mod native_links;
mod notifications;
pub mod private_turns;
mod process;
mod program_output;
pub mod project_file;
pub mod reopen;
pub mod search_process;
mod session_file;
pub mod shared_file;
mod shown_records;
pub mod snapshots;
mod statusline;
mod stdin;
mod storage;
pub mod sync;
mod tied_child;
pub mod tmux;
pub mod tracker;
mod typing;
pub mod waiting_times;
pub mod worker;

use std::io;
use std::path::PathBuf;

use longhaul_core::text::error_chain;

pub use crate::activity::{ActivityLog, Ticket};
pub use crate::agents::AgentCall;
pub use crate::client_records::{is_headless, records as running_clients};
pub use crate::clock_and_env::{
    Shell, env, has_display, is_executable, local_days, midnight, now, of_test, unless_tested, utc_offset_seconds,
};
pub use crate::codex::turns_left_out as codex_turns_left_out;
pub use crate::context::{Observation, Observed, Observer, Transcript, agent_json, how_full};
pub use crate::git::branch as git_branch;
pub use crate::home::{ErrorLog, Home, config, config_text, install_record};
pub use crate::hook::{Deadline, Flow, Hook, JobFn};
pub use crate::model::{ModelAccess, ModelStatus, model_budget, model_dir, model_status, today};
pub use crate::native_links::has_launcher;
pub use crate::process::{
    is_same as is_same_process, leave_session, run as run_program, run_bounded as run_program_bounded,
    run_in as run_program_in, run_in_terminal as run_program_in_terminal, spawn_own, start_ticks, tty, variable,
};
pub use crate::program_output::{NextLine, ProgramLines, run_shown, run_silently};
pub use crate::session_file::{SessionRecord, TranscriptFile, transcript_place};
pub use crate::shown_records::recalled_passages;
pub use crate::statusline::Relay;
pub use crate::stdin::{StdinError, read as read_stdin};
pub use crate::storage::StorageTrouble;
pub use crate::tied_child::{Ended, GuardError, guard, run_guarded};
pub use crate::tracker::Tracker;
pub use crate::typing::{
    ContinueOutcome, DialogOutcome, DialogPane, Order, Outcome, PromptOutcome, Receipt, SeenDialog, continue_session,
    ignores_chord, inject, inspect_pane, open_draft_at, plain_rows, send_prompt,
};
pub use longhaul_store::Sanitizer;

#[cfg(test)]
mod tests;

/// The errors of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no data directory: set LONGHAUL_HOME or HOME")]
    NoDataDir,
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} {problem}: correct it first", path.display())]
    Config { path: PathBuf, problem: String },
    #[error("{} is not UTF-8: correct it or move it away; it was not changed", path.display())]
    NotText { path: PathBuf },
    #[error("{} is read-only: `chmod u+w` it first; it was not changed", path.display())]
    ReadOnly { path: PathBuf },
    #[error("{} is being changed by another program: try again; it was not changed", path.display())]
    Contended { path: PathBuf },
    #[error("cannot start {program}")]
    Start { program: String, source: io::Error },
    #[error("{program} failed: {message}")]
    Program { program: String, message: String },
    #[error("{program} did not answer within {ms} ms")]
    TimedOut { program: String, ms: u64 },
    #[error("the tmux socket {} is not used: {problem}; remove the socket or its folder, or start tmux with another TMUX_TMPDIR", path.display())]
    UnsafeSocket { path: PathBuf, problem: &'static str },
    #[error("the object {id} is missing: the repository has pruned it since, so this snapshot cannot be used")]
    MissingObject { id: String },
    #[error("{program} ended at once: {advice}")]
    EndedEarly { program: String, advice: &'static str },
    #[error("the database was damaged; it was renamed to {}, a new one is created, and what can be read is salvaged in the background", aside.display())]
    Damaged { aside: PathBuf, source: longhaul_store::StoreError },
    #[error("the database is in use by another process")]
    Busy,
    #[error("cannot use the model {}: {problem}; make it again, or remove it", path.display())]
    Model { path: PathBuf, problem: longhaul_memory::embedding::FormatError },
    #[error("cannot use {}: {problem}; install the plugin again", path.display())]
    Checksums { path: PathBuf, problem: longhaul_universal_bundle::ParseError },
    #[error("{} is not the executable that was released: install the plugin again", path.display())]
    DamagedExecutable { path: PathBuf },
    #[error(transparent)]
    Store(#[from] longhaul_store::StoreError),
}

impl Error {
    /// Returns whether another process kept the database locked for too long.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_busy())
    }

    /// Returns whether the database is damaged.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_corrupt())
    }

    /// Returns whether another user may listen on the socket of a tmux server.
    pub fn is_unsafe_socket(&self) -> bool {
        matches!(self, Self::UnsafeSocket { .. })
    }

    /// Returns whether a tmux server does not run, or died while it was used.
    pub fn is_tmux_server_gone(&self) -> bool {
        const MESSAGES: [&str; 4] = ["no server running", "error connecting to", "server exited", "lost server"];
        // A command whose server ends meanwhile may also fail without a word.
        matches!(self, Self::Program { program, message }
            if program == "tmux" && (message.is_empty() || MESSAGES.iter().any(|gone| message.starts_with(gone))))
    }

    /// Returns whether tmux has not found the pane or window of a command, or has none any more.
    pub fn is_without_target(&self) -> bool {
        matches!(self, Self::Program { program, message } if program == "tmux" && tmux::has_no_target(message))
    }

    /// Returns whether the error only means that a file does not exist.
    pub fn is_missing_file(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Returns the message and its causes on one line.
    pub fn chain(&self) -> String {
        error_chain(self)
    }
}
