//! One step of an installation or uninstallation, as data: planned, shown to the user, then done.

use std::fmt;
use std::path::{Path, PathBuf};

use longhaul_agents::Agent;
use longhaul_core::config::NotifyWay;
use longhaul_runtime::shared_file::Backup;

use crate::agents::{self, ConfigRecord};
use crate::bundle::Bundle;
use crate::claude_command::{self, Plugin};
use crate::codex;
use crate::keybindings;
use crate::manifest::Manifest;
use crate::notify_config;
use crate::settings::{self, Refusal};
use crate::tmux_conf;

/// A change of a file of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Adds the hooks to settings.json. Their executables are in this folder.
    AddHooks(PathBuf),
    /// Removes the hooks from settings.json.
    RemoveHooks,
    /// Adds the status line to settings.json. A shell reads this as its program.
    AddStatusLine(&'static str),
    /// Restores the user's own status line.
    RemoveStatusLine,
    /// Removes members that Claude Code has left behind empty, and the file if it holds nothing else.
    RemoveEmpty(Vec<String>, WhenEmpty),
    /// Adds the chords to keybindings.json.
    AddChords,
    /// Removes the chords from keybindings.json, and the file if it did not exist before.
    RemoveChords {
        /// The text of the file before the installation.
        before: Option<String>,
        /// The chords that were added, if that is recorded.
        added: Option<Vec<String>>,
    },
    /// Adds the line to tmux.conf.
    AddTmuxLine,
    /// Removes the line from tmux.conf.
    RemoveTmuxLine,
    /// Enables notifications in the configuration.
    AddNotifications(NotifyWay),
    /// Removes from the configuration what was added for notifications.
    RemoveNotifications,
    /// Adds the hooks, and the MCP server if it belongs there, to the settings of an agent. They start this program.
    AddAgent(&'static Agent, PathBuf),
    /// Removes them, and the file if it holds nothing else.
    RemoveAgent(Option<ConfigRecord>),
    /// Writes the module of an agent, which starts this program.
    AddModule(&'static Agent, PathBuf),
    /// Removes the module.
    RemoveModule,
    /// Records the settings of an agent before they are changed.
    RecordConfig(ConfigRecord),
    /// Adds the MCP server to Codex's config.toml. Codex starts this program.
    AddCodexMcp(PathBuf),
    /// Removes the MCP server from Codex's config.toml.
    RemoveCodexMcp,
    /// Switches on the feature of Codex that runs hooks, in config.toml.
    EnableCodexHooks(&'static str),
    /// Adds the skill.
    AddSkill,
    /// Removes the skill.
    RemoveSkill,
}

/// What happens to a file in which nothing is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenEmpty {
    /// It existed before the installation: it stays.
    Keep,
    /// It did not exist: it is removed.
    Remove,
}

impl Edit {
    /// Returns whether a backup of the file is kept.
    pub(crate) fn backup(&self) -> Backup {
        match self {
            Self::AddHooks(_) | Self::AddStatusLine(_) | Self::AddChords | Self::AddTmuxLine => Backup::Keep,
            // Removing these restores the file to the byte, or the whole file is Longhaul's.
            Self::AddSkill | Self::RemoveSkill => Backup::None,
            Self::AddAgent(..) | Self::RemoveAgent(_) | Self::AddModule(..) | Self::RemoveModule => Backup::None,
            Self::RecordConfig(_) => Backup::None,
            Self::AddCodexMcp(_) | Self::RemoveCodexMcp | Self::EnableCodexHooks(_) => Backup::None,
            Self::RemoveHooks | Self::RemoveStatusLine | Self::RemoveChords { .. } => Backup::None,
            Self::RemoveEmpty(..) | Self::RemoveTmuxLine => Backup::None,
            // The file is Longhaul's own.
            Self::AddNotifications(_) | Self::RemoveNotifications => Backup::None,
        }
    }

    /// Returns the new text of a file, or `None` if nothing changes. An empty text means that the file is removed.
    pub fn apply(&self, text: Option<&str>) -> Result<Option<String>, Refusal> {
        let old = text.unwrap_or_default();
        match self {
            Self::AddHooks(bin) => settings::with_hooks(text, bin),
            Self::AddStatusLine(program) => settings::with_status_line(text, program),
            Self::AddChords => keybindings::with_chords(text),
            Self::AddTmuxLine => Ok(tmux_conf::with_line(text)),
            Self::AddAgent(agent, program) => agents::with_agent(text, agent, program),
            Self::AddModule(_, program) => agents::with_module(text, program),
            Self::RecordConfig(record) => Ok(Some(record.to_text())),
            Self::AddCodexMcp(program) => codex::with_server(text, program),
            Self::EnableCodexHooks(name) => codex::with_feature(text, name),
            Self::AddSkill => codex::with_skill(text),
            Self::AddNotifications(way) => notify_config::with_notifications(text, *way),
            // Nothing can be removed from a file that is missing or empty.
            _ if old.trim().is_empty() => Ok(None),
            Self::RemoveHooks => settings::without_hooks(old),
            Self::RemoveStatusLine => settings::without_status_line(old),
            Self::RemoveChords { before, added } => {
                keybindings::without_chords(old, before.as_deref(), added.as_deref())
            }
            Self::RemoveTmuxLine => Ok(tmux_conf::without_line(old)),
            Self::RemoveNotifications => notify_config::without_notifications(old),
            Self::RemoveCodexMcp => Ok(codex::without_server(old)),
            Self::RemoveSkill => Ok(codex::without_skill(old)),
            Self::RemoveAgent(record) => agents::restored(old, record.as_ref()),
            Self::RemoveModule => Ok(agents::without_module(old)),
            Self::RemoveEmpty(names, when_empty) => {
                let left = settings::without_empty(old, names)?;
                let kept = |left: String| match when_empty {
                    // It existed before, without any settings.
                    WhenEmpty::Keep if left.is_empty() => (!settings::names(old).is_empty()).then(|| "{}\n".to_owned()),
                    WhenEmpty::Keep | WhenEmpty::Remove => Some(left),
                };
                Ok(left.and_then(kept))
            }
        }
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStep {
    /// Copies a bundle to the folder of its version.
    Copy { bundle: Bundle, to: PathBuf },
    /// Writes the manifest.
    Record(PathBuf, Manifest),
    /// Creates a link, or changes the target of an existing one.
    Link { link: PathBuf, to: PathBuf },
    /// Runs `claude` in a folder.
    Client { arguments: Vec<String>, dir: PathBuf },
    /// Runs `codex`, which makes the change itself. If it cannot, the file is changed.
    Codex { program: PathBuf, arguments: Vec<String>, file: PathBuf, edit: Edit },
    /// Changes a file of the user.
    Edit(PathBuf, Edit),
    /// Creates an empty file, if there is none.
    CreateEmpty(PathBuf),
    /// Sets up the tmux server in which this process runs.
    SetUpTmux,
    /// Undoes the setup of the tmux server in which this process runs.
    TearDownTmux,
    /// Stops the worker, which is of another version or is being uninstalled.
    StopWorker,
    /// Removes a file, a link, or a folder with everything in it.
    Remove(PathBuf),
    /// Removes a folder if it is empty.
    RemoveIfEmpty(PathBuf),
}

impl InstallStep {
    /// Returns a step that runs `claude`.
    pub(crate) fn client<const N: usize>(arguments: [&str; N]) -> Self {
        Self::Client { arguments: arguments.map(str::to_owned).to_vec(), dir: claude_command::ROOT.into() }
    }

    /// Returns the step that uninstalls a plugin. Claude Code finds a project's plugin only in the folder of the project.
    pub(crate) fn uninstall(plugin: &Plugin) -> Self {
        let arguments = ["plugin", "uninstall", &plugin.id, "--scope", &plugin.scope].map(str::to_owned).to_vec();
        Self::Client { arguments, dir: plugin.project_path.clone().unwrap_or_else(|| claude_command::ROOT.into()) }
    }
}

impl fmt::Display for InstallStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |path: &Path| path.display().to_string();
        match self {
            Self::Copy { bundle, to } => {
                write!(f, "copy {} {} to {}", crate::PLUGIN, bundle.version, show(to))
            }
            Self::Record(path, _) => write!(f, "record the installation in {}", show(path)),
            Self::Link { link, to } => write!(f, "link {} to {}", show(link), show(to)),
            Self::Client { arguments, dir } if dir == Path::new(claude_command::ROOT) => {
                write!(f, "claude {}", arguments.join(" "))
            }
            Self::Client { arguments, dir } => write!(f, "claude {} in {}", arguments.join(" "), show(dir)),
            Self::Codex { arguments, .. } => write!(f, "codex {}", arguments.join(" ")),
            Self::Edit(path, edit) => {
                let what = match edit {
                    Edit::AddHooks(_) | Edit::AddAgent(..) => "add the hooks to",
                    Edit::RemoveHooks | Edit::RemoveAgent(_) => "remove the hooks from",
                    Edit::AddStatusLine(_) => "add the status line to",
                    Edit::RemoveStatusLine => "restore the status line in",
                    Edit::RemoveEmpty(..) => "remove empty plugin settings from",
                    Edit::AddChords => "bind the keys that submit and stash in",
                    Edit::RemoveChords { .. } => "remove the key bindings from",
                    Edit::AddTmuxLine => "add the line to",
                    Edit::RemoveTmuxLine => "remove the line from",
                    Edit::AddNotifications(_) => "enable notifications in",
                    Edit::RemoveNotifications => "disable notifications in",
                    Edit::AddModule(..) => "write the module to",
                    Edit::RemoveModule => "remove the module",
                    Edit::RecordConfig(_) => "record the settings before the change in",
                    Edit::AddCodexMcp(_) => "add the MCP server to",
                    Edit::RemoveCodexMcp => "remove the MCP server from",
                    Edit::EnableCodexHooks(_) => "switch on the hooks in",
                    Edit::AddSkill => "write the skill to",
                    Edit::RemoveSkill => "remove the skill",
                };
                write!(f, "{what} {}", show(path))
            }
            Self::CreateEmpty(path) => write!(f, "leave {} empty, as it was", show(path)),
            Self::SetUpTmux => write!(f, "show the sessions in this tmux server"),
            Self::TearDownTmux => write!(f, "undo the setup of this tmux server"),
            Self::StopWorker => write!(f, "stop the worker"),
            Self::Remove(path) => write!(f, "remove {}", show(path)),
            Self::RemoveIfEmpty(path) => write!(f, "remove {}, if it is empty", show(path)),
        }
    }
}
