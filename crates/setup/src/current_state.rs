//! What is installed now, read once before an installation or uninstallation is planned: the paths, the manifest, and the
//! state of Claude Code and tmux.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use longhaul_core::Env;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Home, Shell, bounded_read, install_record, running_clients, shared_file, worker};
use serde::{Deserialize, Serialize};

use crate::bundle;
use crate::claude_command::{self, Marketplace, Plugin};
use crate::{Error, Result, tmux};

/// What is at the path of the `longhaul` link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    Missing,
    /// A link into the folder of installed versions, or one whose target does not exist.
    Ours(PathBuf),
    /// Something that was not installed by Longhaul.
    Foreign,
}

/// The tmux server in which this process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TmuxServer {
    /// It does not run in tmux, or the server does not answer.
    None,
    /// A server that is not set up.
    Plain,
    /// A server that shows the sessions.
    SetUp,
}

/// What is installed now.
pub struct CurrentState {
    pub paths: InstallPaths,
    /// The manifest of the last installation.
    pub manifest: Option<Manifest>,
    /// The path of `claude`, if it is there and works.
    pub client: Option<PathBuf>,
    /// Why `claude` counts as missing although it is there.
    pub client_trouble: Option<String>,
    /// Every plugin that Claude Code has installed.
    pub plugins: Vec<Plugin>,
    /// Longhaul's marketplace, as Claude Code knows it.
    pub marketplace: Option<Marketplace>,
    pub link: Link,
    /// The text of settings.json, if it exists.
    pub settings: Option<String>,
    /// The text of keybindings.json, if it exists; `Err` holds the reason why it cannot be changed.
    pub keybindings: std::result::Result<Option<String>, String>,
    /// The text of the configuration file, in the same way.
    pub config: std::result::Result<Option<String>, String>,
    /// The tmux.conf files that exist, with their texts.
    pub tmux_confs: Vec<(PathBuf, String)>,
    pub has_tmux: bool,
    pub tmux_server: TmuxServer,
    /// The ids of the installed versions.
    pub versions: Vec<String>,
    /// How many Claude Code processes run. They may use any of the versions.
    pub running_clients: usize,
    pub worker_runs: bool,
    /// Whether the folder of the link is on the `PATH`.
    pub has_link_on_path: bool,
}

impl CurrentState {
    pub fn read(env: &Env, shell: &Shell) -> Result<Self> {
        let paths = InstallPaths::of(env, shell)?;
        let asked = shell.client().map(|client| {
            let answer = claude_command::plugins(&client)
                .and_then(|plugins| Ok((plugins, claude_command::marketplace(&client)?)));
            answer.map(|(plugins, marketplace)| (client, plugins, marketplace))
        });
        let (client, plugins, marketplace, client_trouble) = match asked {
            Some(Ok((client, plugins, marketplace))) => (Some(client), plugins, marketplace, None),
            Some(Err(error)) => (None, Vec::new(), None, Some(error.to_string())),
            None => (None, Vec::new(), None, None),
        };
        // These are only inspected. An edit refuses a file that is not UTF-8.
        let text = |path: &PathBuf| {
            let bytes = bounded_read::bytes(path, bounded_read::LARGE).ok()?;
            Some((path.clone(), String::from_utf8_lossy(&bytes).into_owned()))
        };
        let dir = paths.link.parent();
        let mut on_path = shell.path.iter().flat_map(std::env::split_paths);
        Ok(Self {
            manifest: Manifest::load(&paths.manifest()),
            plugins,
            marketplace,
            client,
            client_trouble,
            link: link(&paths),
            settings: shared_file::read(&paths.settings)?,
            keybindings: changeable(&paths.keybindings),
            config: changeable(&paths.config),
            tmux_confs: paths.tmux_confs.iter().filter_map(text).collect(),
            has_tmux: !shell.find("tmux").is_empty(),
            tmux_server: tmux_server(env),
            versions: names(&paths.versions()),
            running_clients: running_clients(env).len(),
            worker_runs: worker::running(&paths.data).is_some(),
            has_link_on_path: on_path.any(|on_path| Some(on_path.as_path()) == dir),
            paths,
        })
    }
}

fn link(paths: &InstallPaths) -> Link {
    match (fs::read_link(&paths.link), paths.link.symlink_metadata()) {
        (Ok(target), _) if target.starts_with(&paths.lib) || !paths.link.exists() => Link::Ours(target),
        (Err(_), Err(_)) => Link::Missing,
        (Ok(_) | Err(_), _) => Link::Foreign,
    }
}

fn tmux_server(env: &Env) -> TmuxServer {
    match Server::of(env).map(|server| tmux::setup_state(&server)) {
        Some(Ok(state)) if state.command.is_empty() => TmuxServer::Plain,
        Some(Ok(_)) => TmuxServer::SetUp,
        Some(Err(_)) | None => TmuxServer::None,
    }
}

/// Returns the names in a folder, sorted. Hidden ones are left out: a copy is hidden until it is complete.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// Reads keybindings.json or the configuration. If it cannot be changed, it is left alone: everything works without it.
fn changeable(path: &Path) -> std::result::Result<Option<String>, String> {
    if path.symlink_metadata().is_ok() && !path.exists() {
        return Err("is a link whose target does not exist".to_owned());
    }
    if path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o200 == 0) {
        return Err("is read-only".to_owned());
    }
    shared_file::read(path).map_err(|error| error.chain())
}

/// How the hooks are registered in Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InstallMode {
    #[default]
    Plugin,
    /// In settings.json.
    Hooks,
}

/// `installed.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    pub version: String,
    /// The id of the bundle that the links point to.
    pub id: String,
    /// The id of the bundle that was installed before.
    pub previous: Option<String>,
    /// The folder that it was installed from.
    pub source: Option<PathBuf>,
    /// The time of the installation, in milliseconds.
    pub installed_at: u64,
    /// How the hooks are registered. The file calls it `way`.
    #[serde(rename = "way")]
    pub mode: InstallMode,
    /// The names in settings.json before the first installation; `None` if there was no such file.
    pub settings_before: Option<Vec<String>>,
    /// Whether the user does not want the chords in keybindings.json.
    pub no_keybinding: bool,
    /// The chords that were added to keybindings.json.
    pub added_chords: Vec<String>,
    /// Whether the user has answered the question about notifications.
    pub asked_notify: bool,
    /// Folders that did not exist before the first installation, outermost first.
    pub made_dirs: Vec<PathBuf>,
}

impl Manifest {
    pub fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&bounded_read::bytes(path, bounded_read::LARGE).ok()?).ok()
    }

    pub fn save(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        let temporary = path.with_extension("tmp");
        let written = bundle::write(&temporary, text.as_bytes(), bundle::PLAIN);
        written.and_then(|()| fs::rename(&temporary, path)).map_err(Error::writing(path))
    }
}

/// `longhaul` on the path, below `$HOME`.
pub(crate) const LINK: &str = ".local/bin/longhaul";

#[derive(Debug, Clone)]
pub struct InstallPaths {
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
    pub config: PathBuf,
}

impl InstallPaths {
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
