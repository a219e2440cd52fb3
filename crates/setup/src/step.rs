//! One step of an installation or uninstallation, as data: planned, shown to the user, then done by [`perform`].

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use fs2::FileExt;
use longhaul_core::Env;
use longhaul_inject::TerminalCommand as Program;
use longhaul_runtime::shared_file::{self, Backup, NewFile};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{bounded_read, run_program, run_program_in, waiting_times, worker};

use crate::bundle::{self, Bundle};
use crate::claude_command::{self, Plugin};
use crate::current_state::{InstallPaths, Manifest};
use crate::settings::Change;
use crate::{Error, Result, tmux};

/// Returns the new text of a file, or `None` if nothing changes. An empty text means that the file is removed.
type NewText = dyn Fn(Option<&str>) -> Change;

/// A change of the text of a file of the user.
pub struct Edit {
    /// What it does, before the path: `add the hooks to`.
    about: &'static str,
    backup: Backup,
    change: Box<NewText>,
}

impl Edit {
    pub(crate) fn new(about: &'static str, change: impl Fn(Option<&str>) -> Change + 'static) -> Self {
        Self { about, backup: Backup::None, change: Box::new(change) }
    }

    /// Nothing can be removed from a file that is missing or empty.
    pub(crate) fn removal(about: &'static str, change: impl Fn(&str) -> Change + 'static) -> Self {
        Self::new(about, move |text| match text {
            Some(text) if !text.trim().is_empty() => change(text),
            Some(_) | None => Ok(None),
        })
    }

    /// Keeps a backup of the file, where removing what was added may not restore it to the byte.
    pub(crate) fn with_backup(self) -> Self {
        Self { backup: Backup::Keep, ..self }
    }

    pub(crate) fn apply(&self, text: Option<&str>) -> Change {
        (self.change)(text)
    }
}

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
            Self::Copy { bundle, to } => write!(f, "copy {} {} to {}", crate::PLUGIN, bundle.version, show(to)),
            Self::Share { copy, .. } => write!(f, "link the files in {} to the installed ones", show(copy)),
            Self::Record(path, _) => write!(f, "record the installation in {}", show(path)),
            Self::Link { link, to } => write!(f, "link {} to {}", show(link), show(to)),
            Self::Client { arguments, dir } if dir == Path::new(claude_command::ROOT) => {
                write!(f, "claude {}", arguments.join(" "))
            }
            Self::Client { arguments, dir } => write!(f, "claude {} in {}", arguments.join(" "), show(dir)),
            Self::Codex { arguments, .. } => write!(f, "codex {}", arguments.join(" ")),
            Self::Edit(path, edit) => write!(f, "{} {}", edit.about, show(path)),
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
            bundle::create_own_dir(&paths.lib)?;
            bundle::create_own_dir(&paths.versions())?;
            bundle.copy(to)
        }
        InstallStep::Share { folder, copy } => bundle::share(folder, copy).map_err(Error::writing(copy)),
        InstallStep::Record(path, manifest) => {
            bundle::create_own_dir(&paths.lib)?;
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
            let codex = Program { argv, stdin: None };
            let _ = run_program_in(Path::new(claude_command::ROOT), &codex, waiting_times::CODEX_MCP);
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
    shared_file::change(path, (edit.backup, NewFile::Private), |text| edit.apply(text).map_err(refused)).map(drop)
}

fn create_empty(path: &Path) -> Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop).map_err(Error::writing(path)),
    }
}

/// Replaces a link atomically: at every moment it points to the old target or to the new one.
fn make_link(link: &Path, to: &Path) -> Result<()> {
    let dir = link.parent().unwrap_or(link);
    bundle::create_dir(dir).map_err(Error::writing(dir))?;
    let temporary = link.with_file_name(format!(".longhaul-{}.tmp", std::process::id()));
    let _ = fs::remove_file(&temporary);
    let made = std::os::unix::fs::symlink(to, &temporary).and_then(|()| fs::rename(&temporary, link));
    made.inspect_err(|_| drop(fs::remove_file(&temporary))).map_err(Error::writing(link))
}

fn remove(path: &Path) -> Result<()> {
    let is_dir = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let removed = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|source| Error::Remove { path: path.to_owned(), source }),
    }
}
