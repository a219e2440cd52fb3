//! The state of a git repository: branch and commit from its files, uncommitted changes from git.
//!
//! A repository is untrusted, and most git commands run programs that its configuration names. Only this module may
//! start git, and it does so only in `closed`.

mod closed;
mod core_worktree;
mod identity;
mod private_git;
mod refs;
mod supported_version;
mod work_tree;

pub(crate) use self::closed::{is_dirty, root_commit};
pub(crate) use self::identity::identity;
pub use self::private_git::{Printed, PrivateGit};
pub(crate) use self::refs::is_in_repository;
pub use self::refs::{branch, commit};
pub use self::supported_version::GitVersion;
pub use self::work_tree::{NoWorkTree, WorkTree, version};

#[cfg(test)]
mod tests;
