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
    Announced, Destination, Prepared, Recovery, Restored, announce, prepare, prepare_undo, recover, unfinished,
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
    /// There is no snapshot here, and there will be none.
    #[error("{0}")]
    Skipped(Skip),
    /// A file or folder of the work tree or of the store could not be changed.
    #[error("cannot change {}", path.display())]
    Change { path: PathBuf, source: io::Error },
    /// The output of git is not what it should be.
    #[error("the output of git is not what was expected")]
    Output,
    /// Another process takes or restores a snapshot of the same work tree.
    #[error("another process takes or restores a snapshot of this work tree: try again")]
    Locked,
    /// A restore was interrupted.
    #[error("a restore of this work tree was interrupted: `longhaul restore --undo` undoes it")]
    Unfinished,
    /// A snapshot was not finished within its time limit.
    #[error("the snapshot was not finished within {0} s: the machine is busy, or the work tree is too large")]
    TooSlow(u64),
    /// There is no restore to undo.
    #[error("no restore of this work tree can be undone")]
    NothingToUndo,
    /// The last restore was killed before its first change.
    #[error(
        "the restore of snapshot {0} was interrupted before it changed anything; `longhaul restore --undo` again undoes the restore before it"
    )]
    NotBegun(i64),
    /// The files of a snapshot are no longer in the store.
    #[error("snapshot {0} is no longer in the store")]
    Gone(i64),
    /// A path of a selection names nothing.
    #[error("{} is neither in the snapshot nor in the work tree", shown_path(.0))]
    Unknown(Vec<u8>),
    /// A file has no lines.
    #[error("{} is not text, so it has no lines", shown_path(.0))]
    Binary(Vec<u8>),
    /// A file was changed while the restore was prepared.
    #[error("{} was changed meanwhile: nothing was restored; try again", shown_path(.0))]
    Changed(Vec<u8>),
    /// The runtime or git reported an error.
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
#[derive(Debug)]
pub enum Skip {
    /// There is no work tree, for this reason.
    NoWorkTree(String),
    /// The work tree is the home folder, the root of the file system, or contains the home folder.
    HomeOrRoot,
    /// The session's folder is not in the work tree that git reports.
    Outside,
    /// The work tree lies in the git folder of its repository.
    InGitFolder,
    /// The data folder of Longhaul is in the work tree.
    HoldsStore,
    /// There are too many files.
    TooManyFiles(u64),
    /// Too many bytes would have to be stored.
    TooManyBytes(u64),
    /// The ignore rules of the user or of the repository cannot be read.
    IgnoreRules(PathBuf),
    /// A file of ignore rules or attributes in the work tree is a pipe, a device or huge, so that git could not read it.
    RuleFile(PathBuf),
    /// The request was served too late.
    Late,
    /// A limit was exceeded a short time ago.
    StillTooLarge(String),
}

impl Skip {
    /// Returns whether the user can repair the cause, so that it is reported as a failure.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::IgnoreRules(_) | Self::RuleFile(_))
    }
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoWorkTree(why) => f.write_str(why),
            Self::HomeOrRoot => f.write_str("the work tree is, or contains, the home folder or the whole file system"),
            Self::Outside => f.write_str("the folder is not in the work tree of its repository"),
            Self::InGitFolder => f.write_str("the work tree lies in the git folder of its repository"),
            Self::HoldsStore => f.write_str("the work tree contains LONGHAUL_HOME"),
            Self::TooManyFiles(files) => write!(f, "the work tree has too many files: {files}"),
            Self::TooManyBytes(bytes) => {
                write!(f, "{} of new files are too many for a snapshot", bytes_text(*bytes))
            }
            Self::IgnoreRules(path) => write!(f, "the ignore rules in {} cannot be read", path.display()),
            Self::RuleFile(path) => {
                let path = shown_path(path.as_os_str().as_bytes());
                write!(f, "{path} is not a regular file of usual size, so that git cannot read its rules: remove it")
            }
            Self::Late => f.write_str("it was not taken in time"),
            Self::StillTooLarge(why) => f.write_str(why),
        }
    }
}

impl From<Skip> for Error {
    fn from(skip: Skip) -> Self {
        Self::Skipped(skip)
    }
}

#[cfg(test)]
mod tests;
