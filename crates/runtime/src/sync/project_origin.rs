//! Asks git for what identifies a project on every machine: remote and first commit. What is made of them is in
//! `sync/src/project_identity.rs`.

use std::path::Path;

use longhaul_core::Env;

use crate::git::{WorkTree, root_commit};
use crate::{Home, waiting_times};

/// What identifies a project. Never its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectOrigin {
    /// A repository with a remote.
    Remote {
        /// The URL of the remote.
        url: String,
        /// The first commit.
        root_commit: String,
    },
    /// A name that the user chose.
    Name(String),
}

/// Returns the origin of the repository around `dir`; `None` if it has no remote, no commit, or only a part of its history.
pub fn project_origin(env: &Env, home: &Home, dir: &Path) -> Option<ProjectOrigin> {
    let tree = WorkTree::around(env, dir, waiting_times::GIT_ROOT_COMMIT).ok()?;
    let url = tree.setting("remote.origin.url").or_else(|| tree.setting("remote.upstream.url"))?;
    let url = String::from_utf8(url.to_vec()).ok().filter(|url| !url.is_empty())?;
    Some(ProjectOrigin::Remote { url, root_commit: root_commit(home, dir, waiting_times::GIT_ROOT_COMMIT)? })
}
