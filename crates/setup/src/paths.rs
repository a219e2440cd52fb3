//! The paths of an installation, as the environment determines them.

use std::path::{Path, PathBuf};

use longhaul_core::Env;
use longhaul_runtime::{Home, Shell, install_record};

use crate::{Error, Result};

/// `longhaul` on the path, below `$HOME`.
pub(crate) const LINK: &str = ".local/bin/longhaul";

/// The paths of an installation.
#[derive(Debug, Clone)]
pub struct InstallPaths {
    /// `$HOME`.
    pub home: PathBuf,
    /// The folder of the installed versions. It is not in `LONGHAUL_HOME`, which holds the user's data.
    pub lib: PathBuf,
    /// The link by which `longhaul` is on the path.
    pub link: PathBuf,
    /// Claude Code's folder, `~/.claude`.
    pub client_dir: PathBuf,
    /// Claude Code's settings of this user.
    pub settings: PathBuf,
    /// Claude Code's key bindings of this user.
    pub keybindings: PathBuf,
    /// The files that tmux may read. If none exists, the first one is created.
    pub tmux_confs: [PathBuf; 2],
    /// `LONGHAUL_HOME`.
    pub data: Home,
    /// The configuration file.
    pub config: PathBuf,
}

impl InstallPaths {
    /// Returns the paths of this user.
    pub fn of(env: &Env, shell: &Shell) -> Result<Self> {
        let home = env.home_dir.clone().filter(|home| home.is_absolute()).ok_or(Error::NoHome)?;
        let client_dir = env.client_dir.clone().ok_or(Error::NoHome)?;
        let config = shell.config_home.clone().unwrap_or_else(|| home.join(".config"));
        Ok(Self {
            lib: home.join(".local/lib/longhaul"),
            link: home.join(LINK),
            settings: client_dir.join("settings.json"),
            keybindings: client_dir.join("keybindings.json"),
            client_dir,
            tmux_confs: [home.join(".tmux.conf"), config.join("tmux/tmux.conf")],
            data: Home::of(env)?,
            config: env.config_path.clone().ok_or(Error::NoHome)?,
            home,
        })
    }

    /// Returns the folder of the versions that are installed.
    pub fn versions(&self) -> PathBuf {
        self.lib.join("versions")
    }

    /// Returns the marketplace of a version.
    pub fn version(&self, id: &str) -> PathBuf {
        self.versions().join(id)
    }

    /// Returns the executables of a version.
    pub fn bin(&self, id: &str) -> PathBuf {
        self.version(id).join(crate::PLUGIN).join("bin")
    }

    /// Returns the file that records what was installed.
    pub fn manifest(&self) -> PathBuf {
        install_record(&self.home)
    }

    /// Returns the folder in which Claude Code keeps copies of Longhaul's plugins.
    pub fn cache(&self) -> PathBuf {
        self.client_dir.join("plugins/cache").join(crate::MARKETPLACE)
    }
}

/// Returns a path of this executable that stays valid after an update, or `exe` itself if there is none.
pub fn stable_path(env: &Env, exe: &Path) -> PathBuf {
    let link = env.home_dir.as_ref().map(|home| home.join(LINK));
    // `exe` may itself be a link.
    let target = std::fs::canonicalize(exe).ok();
    let leads_here = |link: &PathBuf| target.is_some() && std::fs::canonicalize(link).ok() == target;
    link.filter(leads_here).unwrap_or_else(|| exe.to_owned())
}
