//! The state of a git repository: branch and commit from its files, uncommitted changes from git.
//!
//! A repository is untrusted, and most git commands run programs that its configuration names. Only this module may
//! start git, and it does so only in [`closed`].

mod closed;
mod refs;

pub(crate) use self::closed::is_dirty;
pub use self::refs::branch;
pub(crate) use self::refs::{commit, common_dir};

#[cfg(test)]
mod tests;
