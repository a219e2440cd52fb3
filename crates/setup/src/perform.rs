//! Does the steps of a plan. How files of the user are changed and copied is in `runtime/src/shared_file.rs`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use fs2::FileExt;
use longhaul_core::Env;
use longhaul_inject::TerminalCommand as Program;
use longhaul_runtime::shared_file::{self, NewFile};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{bounded_read, run_program, run_program_in, waiting_times, worker};

use crate::paths::InstallPaths;
use crate::step::{Edit, InstallStep};
use crate::{Error, Result, claude_command, installed_files, tmux_server};

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
        InstallStep::TearDownTmux => Ok(Server::of(env).map_or(Ok(()), |server| tmux_server::tear_down(&server))?),
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
    installed_files::create_own_dir(path).map_err(|source| Error::Write { path: path.to_owned(), source })
}

fn make_dir(path: &Path) -> Result<()> {
    installed_files::create_dir(path).map_err(|source| Error::Write { path: path.to_owned(), source })
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
