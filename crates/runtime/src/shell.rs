//! The variables of a user's shell: the search path, and where settings are stored.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use longhaul_agents::{ALL, Folder, FolderVariable};

/// The variables that only the command line needs. Not part of `Env`, which every hook reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shell {
    /// `$PATH`.
    pub path: Option<OsString>,
    /// `$CLAUDE_BIN`: the executable of Claude Code, if it is not `claude` on the path.
    pub client: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, if it is an absolute path.
    pub config_home: Option<PathBuf>,
    /// The folders of agents that have a variable for the place of their settings, by the name of the agent.
    pub agent_folders: Vec<(&'static str, PathBuf)>,
}

impl Shell {
    /// Reads the environment of this process.
    #[expect(clippy::disallowed_methods, reason = "the environment is read here, in longhaul-runtime")]
    pub fn read() -> Self {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = |name: &str| var(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let of_agent = |agent: &longhaul_agents::Agent| match (agent.config.variable?, agent.config.folder) {
            (FolderVariable::Home(name), Folder::Home(below) | Folder::Config(below)) => {
                Some(folder(name)?.join(below))
            }
            (FolderVariable::Home(_), Folder::Codex) => None,
            (FolderVariable::Folder(name), _) => folder(name),
        };
        Self {
            path: var("PATH"),
            client: var("CLAUDE_BIN").map(PathBuf::from),
            config_home: folder("XDG_CONFIG_HOME"),
            agent_folders: ALL.into_iter().filter_map(|agent| Some((agent.name, of_agent(agent)?))).collect(),
        }
    }

    /// Returns all programs of that name on the path, in the order of the path.
    pub fn find(&self, name: &str) -> Vec<PathBuf> {
        let dirs = self.path.iter().flat_map(std::env::split_paths).filter(|dir| dir.is_absolute());
        dirs.map(|dir| dir.join(name)).filter(|path| is_executable(path)).collect()
    }

    /// Returns the executable of Claude Code.
    pub fn client(&self) -> Option<PathBuf> {
        match &self.client {
            Some(named) if named.components().count() > 1 => Some(named.clone()).filter(|path| is_executable(path)),
            Some(named) => self.find(&named.to_string_lossy()).into_iter().next(),
            None => self.find("claude").into_iter().next(),
        }
    }
}

/// Returns whether `path` is a file that at least one user may execute.
pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
