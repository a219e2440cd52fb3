//! One step of an installation or uninstallation, as data: planned, shown to the user, then done by [`perform`].

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use fs2::FileExt;
use longhaul_agents::Agent;
use longhaul_core::Env;
use longhaul_core::config::NotifyWay;
use longhaul_inject::TerminalCommand as Program;
use longhaul_runtime::shared_file::{self, Backup, NewFile};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{bounded_read, run_program, run_program_in, waiting_times, worker};

use crate::agents::{self, ConfigRecord};
use crate::bundle::{self, Bundle};
use crate::claude_command::{self, Plugin};
use crate::current_state::{InstallPaths, Manifest};
use crate::settings::{self, Refusal};
use crate::{Error, Result, codex, keybindings, tmux};

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
            Self::AddTmuxLine => Ok(tmux::with_line(text)),
            Self::AddAgent(agent, program) => agents::with_agent(text, agent, program),
            Self::AddModule(_, program) => agents::with_module(text, program),
            Self::RecordConfig(record) => Ok(Some(record.to_text())),
            Self::AddCodexMcp(program) => codex::with_server(text, program),
            Self::EnableCodexHooks(name) => codex::with_feature(text, name),
            Self::AddSkill => codex::with_skill(text),
            Self::AddNotifications(way) => settings::with_notifications(text, *way),
            // Nothing can be removed from a file that is missing or empty.
            _ if old.trim().is_empty() => Ok(None),
            Self::RemoveHooks => settings::without_hooks(old),
            Self::RemoveStatusLine => settings::without_status_line(old),
            Self::RemoveChords { before, added } => {
                keybindings::without_chords(old, before.as_deref(), added.as_deref())
            }
            Self::RemoveTmuxLine => Ok(tmux::without_line(old)),
            Self::RemoveNotifications => settings::without_notifications(old),
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
    /// Replaces the files of a copy that Claude Code has made by hard links to those of the folder.
    Share { folder: PathBuf, copy: PathBuf },
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
            Self::Share { copy, .. } => write!(f, "link the files in {} to the installed ones", show(copy)),
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

/// The lock that only one process that installs or uninstalls can hold.
pub struct InstallLock(#[expect(dead_code, reason = "held, not read: the lock goes with the file")] File);

/// Waits until no other process installs or uninstalls for this user, and takes the lock.
pub fn lock_installation(home: &Path) -> Result<InstallLock> {
    // The home directory is locked: every other folder may not exist yet, or may be removed meanwhile.
    let failed = |source| Error::Read { path: home.to_owned(), source };
    let file = bounded_read::open_dir(home).map_err(failed)?;
    file.lock_exclusive().map_err(failed)?;
    Ok(InstallLock(file))
}

/// Returns an error if a step would fail because a file is read-only, before any step is done.
pub fn check(steps: &[InstallStep]) -> Result<()> {
    for path in steps.iter().filter_map(|step| if let InstallStep::Edit(path, _) = step { Some(path) } else { None }) {
        if path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o200 == 0) {
            return Err(longhaul_runtime::Error::ReadOnly { path: path.clone() }.into());
        }
    }
    Ok(())
}

/// Does one step. A step that runs `claude` is skipped if `client` is `None`.
pub fn perform(step: &InstallStep, paths: &InstallPaths, client: Option<&Path>, env: &Env) -> Result<()> {
    match step {
        InstallStep::Copy { bundle, to } => {
            make_own_dir(&paths.lib)?;
            make_own_dir(&paths.versions())?;
            bundle.copy(to)
        }
        InstallStep::Share { folder, copy } => {
            bundle::share(folder, copy).map_err(|source| Error::Write { path: copy.clone(), source })
        }
        InstallStep::Record(path, manifest) => {
            make_own_dir(&paths.lib)?;
            manifest.save(path)
        }
        InstallStep::Link { link, to } => make_link(link, to),
        InstallStep::Client { arguments, dir } => {
            let Some(program) = client else { return Ok(()) };
            claude_command::run(program, dir, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
        }
        InstallStep::Codex { program, arguments, file, edit } => {
            let argv = std::iter::once(program.display().to_string()).chain(arguments.iter().cloned()).collect();
            // In the current folder it would read the configuration of a project that the user may not trust.
            let _ = run_program_in(
                Path::new(claude_command::ROOT),
                &Program { argv, stdin: None },
                waiting_times::CODEX_MCP,
            );
            change(file, edit)
        }
        InstallStep::Edit(path, edit) => change(path, edit),
        InstallStep::CreateEmpty(path) => create_empty(path),
        InstallStep::SetUpTmux => {
            let argv = [&paths.link.to_string_lossy(), "tmux", "setup"].map(str::to_owned).to_vec();
            Ok(run_program(&Program { argv, stdin: None }, waiting_times::TMUX_SETUP).map(drop)?)
        }
        InstallStep::TearDownTmux => Ok(Server::of(env).map_or(Ok(()), |server| tmux::tear_down(&server))?),
        InstallStep::StopWorker => Ok(worker::stop(&paths.data).map(drop)?),
        InstallStep::Remove(path) => remove(path),
        InstallStep::RemoveIfEmpty(path) => {
            // A folder that is not empty is not only Longhaul's.
            let _ = fs::remove_dir(path);
            Ok(())
        }
    }
}

/// Changes a file of the user, if the change is not made yet.
fn change(path: &Path, edit: &Edit) -> Result<()> {
    let refused = |refusal| Error::Refused { path: path.to_owned(), refusal };
    let how = (edit.backup(), NewFile::Private);
    shared_file::change(path, how, |text| edit.apply(text).map_err(refused)).map(drop)
}

fn create_empty(path: &Path) -> Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop).map_err(|source| Error::Write { path: path.to_owned(), source }),
    }
}

fn make_own_dir(path: &Path) -> Result<()> {
    bundle::create_own_dir(path).map_err(|source| Error::Write { path: path.to_owned(), source })
}

fn make_dir(path: &Path) -> Result<()> {
    bundle::create_dir(path).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Replaces a link atomically: at every moment it points to the old target or to the new one.
fn make_link(link: &Path, to: &Path) -> Result<()> {
    let failed = |source| Error::Write { path: link.to_owned(), source };
    make_dir(link.parent().unwrap_or(link))?;
    let temporary = link.with_file_name(format!(".longhaul-{}.tmp", std::process::id()));
    let _ = fs::remove_file(&temporary);
    let made = std::os::unix::fs::symlink(to, &temporary).and_then(|()| fs::rename(&temporary, link));
    made.inspect_err(|_| drop(fs::remove_file(&temporary))).map_err(failed)
}

fn remove(path: &Path) -> Result<()> {
    let is_dir = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let removed = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|source| Error::Remove { path: path.to_owned(), source }),
    }
}
