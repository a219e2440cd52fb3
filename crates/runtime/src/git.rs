//! What is checked out: the branch and the commit by reading files, uncommitted changes by git.
//!
//! A repository's folder may come from anybody, and most commands of git run programs that the repository's own
//! configuration names. This is the only module that may start git, and it starts it in [`closed`] alone.

mod closed;
mod refs;

pub(crate) use self::closed::is_dirty;
pub use self::refs::branch;
pub(crate) use self::refs::{commit, common_dir};

#[cfg(test)]
mod tests;
