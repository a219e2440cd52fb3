//! Snapshots of a work tree: takes them, compares them and restores them, with git as a program. Also why none is taken
//! (`Skip`), in words. What is decided without the disk is in `left_out.rs`, `restore_plan.rs` and `summary.rs`.
//!
//! The user's repository is only read. Objects are written to a store in `LONGHAUL_HOME/snapshots`, and the repository's
//! objects are borrowed as alternates. No hook links this crate: hooks start `longhaul run-snapshot`.

mod blame;
mod compare;
mod detached;
mod disk;
mod folders;
mod git_output;
mod journal;
mod left_out;
mod paths;
mod place;
mod restore;
mod restore_plan;
mod rules;
mod scan;
mod summary;
mod take;
mod upkeep;

pub use crate::blame::{
    Blame, BlamedLine, Depth, Explanation, Origin, OriginKind, Question, Told, blame, changed_lines, changed_paths,
    is_in_snapshots, reading_git, text_of_commit,
};
pub use crate::compare::{
    FileChange, FilePatch, count_between, counts, file_changes, file_patch, first_file_changes, show_diff,
};
pub use crate::detached::{limits, run as run_detached, serve as serve_requests};
pub use crate::left_out::Limits;
pub use crate::paths::{decoded_path, encoded_path, is_selected, shown_path};
pub use crate::place::{Place, snapshots_dir, stored_git};
pub use crate::restore::{
    Announced, Destination, PlannedRestore, Recovery, Restored, announce, plan_restore, plan_undo, recover, unfinished,
};
pub use crate::restore_plan::RestorePlan;
pub use crate::summary::{ChangeCount, left_out_line, plan_lines, plan_size};
pub use crate::take::{Event, now_tree, take};
pub use crate::upkeep::{Dropped, StoreSize, UPKEEP_FAILURE, last_failure, store_size, upkeep};

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use longhaul_core::text::error_chain;

use crate::summary::bytes_text;

/// Why a snapshot could not be taken, compared or restored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Skipped(#[from] Skip),
    #[error("cannot change {}", path.display())]
    Change { path: PathBuf, source: io::Error },
    #[error("the output of git is not what was expected")]
    Output,
    #[error("another process takes or restores a snapshot of this work tree: try again")]
    Locked,
    #[error("a restore of this work tree was interrupted: `longhaul restore --undo` undoes it")]
    Unfinished,
    #[error("the snapshot was not finished within {0} s: the machine is busy, or the work tree is too large")]
    TooSlow(u64),
    #[error("no restore of this work tree can be undone")]
    NothingToUndo,
    #[error(
        "the restore of snapshot {0} was interrupted before it changed anything; `longhaul restore --undo` again undoes the restore before it"
    )]
    NotBegun(i64),
    #[error("snapshot {0} is no longer in the store")]
    Gone(i64),
    #[error("{} is neither in the snapshot nor in the work tree", shown_path(.0))]
    Unknown(Vec<u8>),
    #[error("{} is not text, so it has no lines", shown_path(.0))]
    Binary(Vec<u8>),
    #[error("{} was changed meanwhile: nothing was restored; try again", shown_path(.0))]
    Changed(Vec<u8>),
    #[error(transparent)]
    Runtime(#[from] longhaul_runtime::Error),
}

impl From<longhaul_store::StoreError> for Error {
    fn from(error: longhaul_store::StoreError) -> Self {
        Self::Runtime(error.into())
    }
}

impl Error {
    /// Returns the message and its causes on one line.
    pub fn chain(&self) -> String {
        error_chain(self)
    }

    pub(crate) fn change(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Change { path: path.to_owned(), source }
    }
}

/// Why no snapshot is taken.
#[derive(Debug, thiserror::Error)]
pub enum Skip {
    #[error("{0}")]
    NoWorkTree(String),
    #[error("the work tree is, or contains, the home folder or the whole file system")]
    HomeOrRoot,
    #[error("the folder is not in the work tree of its repository")]
    Outside,
    #[error("the work tree lies in the git folder of its repository")]
    InGitFolder,
    #[error("the work tree contains LONGHAUL_HOME")]
    HoldsStore,
    #[error("the work tree has too many files: {0}")]
    TooManyFiles(u64),
    #[error("{} of new files are too many for a snapshot", bytes_text(*.0))]
    TooManyBytes(u64),
    #[error("the ignore rules in {} cannot be read", .0.display())]
    IgnoreRules(PathBuf),
    /// A file of ignore rules or attributes in the work tree is a pipe, a device or huge.
    #[error(
        "{} is not a regular file of usual size, so that git cannot read its rules: remove it",
        shown_path(.0.as_os_str().as_bytes())
    )]
    RuleFile(PathBuf),
    #[error("it was not taken in time")]
    Late,
    /// A limit was exceeded a short time ago.
    #[error("{0}")]
    StillTooLarge(String),
}

impl Skip {
    /// Returns whether the user can repair the cause, so that it is reported as a failure.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::IgnoreRules(_) | Self::RuleFile(_))
    }
}
