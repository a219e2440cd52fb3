//! Doing what was planned.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use fs2::FileExt;
use longhaul_core::Env;
use longhaul_inject::TerminalCommand as Program;
use longhaul_runtime::shared_file::{self, NewFile};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{bounded_read, run_program, worker};

use crate::paths::Places;
use crate::step::Step;
use crate::{Error, Result, client, installed_files};

/// How long our own executable may take to set tmux up.
const SETUP_LIMIT: Duration = Duration::from_secs(10);

/// The right to install or uninstall, which one process has at a time.
pub struct Turn(#[expect(dead_code, reason = "held, not read: the lock goes with the file")] File);

/// Waits until nobody else installs or uninstalls for this user.
pub fn wait_for_turn(home: &Path) -> Result<Turn> {
    // The home itself: whatever else could be locked may not be there yet, or go meanwhile.
    let failed = |source| Error::Read { path: home.to_owned(), source };
    let file = bounded_read::open_dir(home).map_err(failed)?;
    file.lock_exclusive().map_err(failed)?;
    Ok(Turn(file))
}

/// Says why a plan cannot be carried out, before anything is done.
pub fn check(steps: &[Step]) -> Result<()> {
    for path in steps.iter().filter_map(|step| if let Step::Edit(path, _) = step { Some(path) } else { None }) {
        if path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o200 == 0) {
            return Err(longhaul_runtime::Error::ReadOnly { path: path.clone() }.into());
        }
    }
    Ok(())
}

/// Does one step; those of the client's are left out where there is none.
pub fn perform(step: &Step, places: &Places, client: Option<&Path>, env: &Env) -> Result<()> {
    match step {
        Step::Copy { bundle, to } => {
            make_own_dir(&places.lib)?;
            make_own_dir(&places.versions())?;
            bundle.copy(to)
        }
        Step::Record(path, manifest) => {
            make_own_dir(&places.lib)?;
            manifest.save(path)
        }
        Step::Link { link, to } => make_link(link, to),
        Step::Client { arguments, dir } => {
            let Some(program) = client else { return Ok(()) };
            client::run(program, dir, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Step::Edit(path, edit) => {
            let refused = |refusal| Error::Refused { path: path.clone(), refusal };
            let how = (edit.backup(), NewFile::Private);
            shared_file::change(path, how, |text| edit.apply(text).map_err(refused)).map(drop)
        }
        Step::SetUpTmux => {
            let argv = [&places.link.to_string_lossy(), "tmux", "setup"].map(str::to_owned).to_vec();
            Ok(run_program(&Program { argv, stdin: None }, SETUP_LIMIT).map(drop)?)
        }
        Step::TearDownTmux => Ok(Server::of(env).map_or(Ok(()), |server| server.teardown())?),
        Step::StopWorker => Ok(worker::stop(&places.data).map(drop)?),
        Step::Remove(path) => remove(path),
        Step::RemoveIfEmpty(path) => {
            // One that holds something is somebody's.
            let _ = fs::remove_dir(path);
            Ok(())
        }
    }
}

fn make_own_dir(path: &Path) -> Result<()> {
    installed_files::create_own_dir(path).map_err(|source| Error::Write { path: path.to_owned(), source })
}

fn make_dir(path: &Path) -> Result<()> {
    installed_files::create_dir(path).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Turns a link in one step: at every moment it leads to the old or to the new.
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
