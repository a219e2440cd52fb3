//! Replaces the launchers of a universal bundle by links to the executables for this machine, so that later sessions start
//! those directly.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use longhaul_core::catalog::HOOK_EXECUTABLE;
use longhaul_core::event::SessionStart;
use longhaul_universal_bundle::{CHECKSUMS, Checksums, Link, Location, is_launcher, links};
use sha2::{Digest, Sha256};

use crate::bounded_read::{self, Links};
use crate::{Deadline, Error, Flow, Hook, files, is_executable};

/// How much of a file is read to recognise a launcher.
const BEGINNING: u64 = 64;

/// The size of the pieces in which an executable is read.
const PIECE: usize = 128 * 1024;

/// Replaces the launchers of the bundle that `exe` is in; returns whether any was replaced.
///
/// Nothing is done unless `exe` is in the folder of a target: an ordinary bundle costs no system call, and one whose
/// launchers have been replaced costs one. Each launcher is replaced by one rename, after the checksum of its executable
/// was verified. A launcher works as well as a link, so a process may be killed at any point, and several may do this at
/// the same time. What is not done by the deadline is left to the next session.
fn replace_launchers(exe: &Path, deadline: Deadline) -> Result<bool, Error> {
    let Some(Location { bundle, target: Some(target) }) = Location::of(exe).filter(|_| exe.is_absolute()) else {
        return Ok(false);
    };
    let bin = bundle.join("bin");
    // The launcher that is replaced last.
    if !has_launcher(&bin.join(HOOK_EXECUTABLE)) || !is_real_folder(&bin) || !is_real_folder(&bin.join(target)) {
        return Ok(false);
    }
    let links = links(&checksums(&bin.join(CHECKSUMS))?, target);
    let mut replaced = false;
    let mut problem = None;
    for link in links.iter().filter(|link| has_launcher(&bin.join(link.name))) {
        if deadline.left().is_zero() || (link.name == HOOK_EXECUTABLE && problem.is_some()) {
            break;
        }
        match verify(&bin.join(&link.to), &link.checksum) {
            Ok(()) => {
                put(&bin, link).map_err(|source| Error::Write { path: bin.join(link.name), source })?;
                replaced = true;
            }
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    problem.map_or(Ok(replaced), Err)
}

/// Returns whether a launcher is at this path. A link is none, whatever it leads to.
pub fn has_launcher(path: &Path) -> bool {
    let Ok(file) = bounded_read::open_with(path, Links::Refuse) else { return false };
    let mut beginning = Vec::new();
    file.take(BEGINNING).read_to_end(&mut beginning).is_ok() && is_launcher(&beginning)
}

/// Returns whether this is a folder, and not a link, which could lead out of the bundle.
fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

fn checksums(path: &Path) -> Result<Checksums, Error> {
    let text = bounded_read::text(path, bounded_read::SMALL);
    let text = text.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Checksums::parse(&text).map_err(|problem| Error::Checksums { path: path.to_owned(), problem })
}

/// Checks that a file is the executable that was released.
fn verify(path: &Path, expected: &str) -> Result<(), Error> {
    if checksum(path)? == expected && is_executable(path) {
        return Ok(());
    }
    Err(Error::DamagedExecutable { path: path.to_owned() })
}

/// Returns the checksum of a file. A link is an error, because it could lead out of the bundle.
fn checksum(path: &Path) -> Result<String, Error> {
    let read = || {
        let mut file = bounded_read::open_with(path, Links::Refuse)?;
        let mut hasher = Sha256::new();
        let mut piece = vec![0; PIECE];
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(hasher.finalize()),
                read => hasher.update(&piece[..read]),
            }
        }
    };
    let hash = read().map_err(|source: io::Error| Error::Read { path: path.to_owned(), source })?;
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Makes a link under a temporary name and renames it to the launcher's.
///
/// The temporary name is always the same: a link that a killed process has left is used, and no other file is left.
fn put(bin: &Path, link: &Link) -> io::Result<()> {
    let (launcher, temporary) = (bin.join(link.name), temporary(bin, link));
    let leads_there = |path: &Path| fs::read_link(path).is_ok_and(|to| to == Path::new(&link.to));
    match symlink(&link.to, &temporary) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && !leads_there(&temporary) => {
            fs::remove_file(&temporary)?;
            symlink(&link.to, &temporary)?;
        }
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    match fs::rename(&temporary, &launcher) {
        // Another session has renamed the same link.
        Err(error) if error.kind() == ErrorKind::NotFound && leads_there(&launcher) => Ok(()),
        renamed => renamed,
    }
}

fn temporary(bin: &Path, link: &Link) -> PathBuf {
    bin.join(format!(".{}.link", link.name))
}

/// Replaces the launchers of this bundle. A problem is logged once, until it changes or is gone.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let Ok(exe) = std::env::current_exe() else { return Ok(Flow::Next) };
    let record = hook.home.launcher_problem();
    match replace_launchers(&exe, hook.deadline) {
        Ok(false) => {}
        // There is no record, unless there was a problem before.
        Ok(true) => drop(fs::remove_file(record)),
        Err(error) => {
            let problem = error.chain();
            if bounded_read::text(&record, bounded_read::SMALL).is_ok_and(|logged| logged == problem) {
                return Ok(Flow::Next);
            }
            hook.log.write(&format!("the hooks still start through launchers: {problem}"));
            files::replace(&record, problem.as_bytes())?;
        }
    }
    Ok(Flow::Next)
}
