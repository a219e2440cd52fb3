//! The bundle: the folder of files that is installed. They are created so that only their owner can change them, whatever
//! the umask is.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::hash::Hasher;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_inject::TerminalCommand;
use longhaul_runtime::{bounded_read, is_executable, run_program_bounded};
use longhaul_universal_bundle::{Location, PACKED, choose, machine_named};
use serde_json::{Value, json};

use crate::{Error, MARKETPLACE, PLUGIN, Result};

/// A bundle with the layout of a plugin: `bin/`, `hooks/`, `.claude-plugin/` and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    pub folder: PathBuf,
    pub version: String,
    /// The version and a hash of all files: two builds of one version have different ids.
    pub id: String,
    about: Value,
}

impl Bundle {
    /// Returns the bundle whose `bin/` holds `exe`.
    pub fn of_executable(exe: &Path) -> Result<Self> {
        let location = Location::of(exe);
        location.and_then(|location| Self::at(location.bundle)).ok_or_else(|| Error::NoBundle { exe: exe.to_owned() })
    }

    /// Returns the bundle in `folder`, or in the marketplace there; `None` if it holds none.
    pub fn at(folder: &Path) -> Option<Self> {
        let below = folder.join(PLUGIN);
        let folder =
            if is_bundle(folder) { folder.to_owned() } else { Some(below).filter(|below| is_bundle(below))? };
        let about: Value = serde_json::from_slice(&read(&folder.join(".claude-plugin/plugin.json")).ok()?).ok()?;
        let version = about["version"].as_str().filter(|version| is_plain(version))?.to_owned();
        let id = format!("{version}-{:016x}", digest(&folder).ok()?);
        (about["name"] == PLUGIN).then_some(Self { folder, version, id, about })
    }

    /// Returns the text of marketplace.json for a marketplace with this bundle only.
    pub fn marketplace(&self) -> String {
        let plugin = json!({
            "source": format!("./{PLUGIN}"),
            "name": PLUGIN,
            "version": self.version,
            "description": self.about["description"],
            "author": self.about["author"],
        });
        let marketplace = json!({
            "name": MARKETPLACE,
            "owner": self.about["author"],
            "metadata": { "description": self.about["description"], "version": self.version },
            "plugins": [plugin],
        });
        format!("{marketplace:#}\n")
    }

    /// Copies the bundle into a new marketplace at `to`. The folder appears only when it is complete.
    ///
    /// Of a universal bundle, only the executables for this machine are copied, in place of the launchers.
    pub fn copy(&self, to: &Path) -> Result<()> {
        let staging = to.with_file_name(format!(".{}.tmp", std::process::id()));
        // A process with the same id may have been killed here.
        let _ = fs::remove_dir_all(&staging);
        let copied = copy_tree(&self.folder, &staging.join(PLUGIN)).and_then(|()| {
            let about = staging.join(".claude-plugin");
            create_dir(&about)?;
            write(&about.join("marketplace.json"), self.marketplace().as_bytes(), PLAIN)?;
            // Another process may have copied the same files at the same time.
            fs::rename(&staging, to).or_else(|error| if to.exists() { Ok(()) } else { Err(error) })
        });
        let _ = fs::remove_dir_all(&staging);
        copied.map_err(Error::writing(to))
    }
}

/// Replaces the files of `copy` that are the same as in `folder` by hard links to those, so that they take no space.
///
/// A file that cannot be linked stays: the copy may be on another file system.
pub(crate) fn share(folder: &Path, copy: &Path) -> io::Result<()> {
    for file in files(folder)? {
        let theirs = copy.join(file.strip_prefix(folder).unwrap_or(&file));
        let (Ok(own), Ok(metadata)) = (file.symlink_metadata(), theirs.symlink_metadata()) else { continue };
        let is_candidate =
            own.is_file() && metadata.is_file() && own.len() == metadata.len() && own.ino() != metadata.ino();
        if !is_candidate || own.mode() != metadata.mode() || read(&file)? != read(&theirs)? {
            continue;
        }
        let temporary = theirs.with_file_name(format!(".longhaul-{}.tmp", std::process::id()));
        let linked = fs::hard_link(&file, &temporary).and_then(|()| fs::rename(&temporary, &theirs));
        if linked.is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }
    Ok(())
}

fn is_bundle(folder: &Path) -> bool {
    folder.join(".claude-plugin/plugin.json").is_file() && is_executable(&folder.join("bin").join(PLUGIN))
}

/// Returns whether a version can be the name of a folder.
fn is_plain(version: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    version.chars().next().is_some_and(|c| c.is_ascii_alphanumeric()) && version.chars().all(is_plain)
}

/// Returns a hash that distinguishes two builds. It protects against mistakes, not against an attacker.
fn digest(folder: &Path) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    for file in installed(folder)? {
        hasher.write(file.name.as_os_str().as_encoded_bytes());
        let bytes = file.content()?;
        hasher.write_usize(bytes.len());
        hasher.write(&bytes);
    }
    Ok(hasher.finish())
}

struct InstalledFile {
    /// Its path in the installed bundle.
    name: PathBuf,
    /// The file that it is copied from.
    source: PathBuf,
}

impl InstalledFile {
    fn content(&self) -> io::Result<Vec<u8>> {
        if self.source.extension().is_none_or(|end| end != PACKED) {
            return read(&self.source);
        }
        let argv = ["gzip".to_owned(), "-dc".to_owned(), self.source.display().to_string()].to_vec();
        let unpack = TerminalCommand { argv, stdin: None };
        run_program_bounded(&unpack, MAX_FILE as usize, UNPACKING).map_err(io::Error::other)
    }
}

/// Returns the files of a bundle that are installed on this machine, in order.
///
/// Those of a universal bundle are the same before and after its launchers were replaced by links.
fn installed(folder: &Path) -> io::Result<Vec<InstalledFile>> {
    let bin = folder.join("bin");
    let native = native_target(&bin)?.map(|target| bin.join(target));
    let mut found = Vec::new();
    for source in files(folder)?.into_iter().filter(|file| native.is_none() || !file.starts_with(&bin)) {
        let name = source.strip_prefix(folder).unwrap_or(&source).to_owned();
        found.push(InstalledFile { name, source });
    }
    for source in native.map(|native| files(&native)).transpose()?.unwrap_or_default() {
        // A packed executable counts, not what a launcher has unpacked, which may be that of an earlier version.
        let is_packed = source.extension().is_some_and(|end| end == PACKED);
        let unpacked = if is_packed { source.with_extension("") } else { source.clone() };
        // What a launcher has left that was killed has another extension.
        let is_complete = unpacked.extension().is_none();
        if is_complete && (is_packed || !source.with_extension(PACKED).exists()) {
            let name = Path::new("bin").join(unpacked.file_name().unwrap_or_default());
            found.push(InstalledFile { name, source });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Returns the target of this machine in the `bin/` of a universal bundle; `None` if the bundle is not universal.
fn native_target(bin: &Path) -> io::Result<Option<String>> {
    let entries = fs::read_dir(bin)?.map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()));
    let names = entries.collect::<io::Result<Vec<String>>>()?;
    let chosen = choose(names.iter().map(String::as_str));
    let machine = machine_named(std::env::consts::OS, std::env::consts::ARCH);
    match chosen.iter().find(|(of, _)| Some(*of) == machine) {
        Some((_, target)) => Ok(Some((*target).to_owned())),
        None if chosen.is_empty() => Ok(None),
        None => Err(io::Error::new(io::ErrorKind::NotFound, "the bundle has no executables for this machine")),
    }
}

/// Returns the files below a folder, in order.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    for file in installed(from)? {
        let to = to.join(&file.name);
        create_dir(to.parent().unwrap_or(&to))?;
        let is_packed = file.source.extension().is_some_and(|end| end == PACKED);
        let mode = if is_packed || is_executable(&file.source) { EXECUTABLE } else { PLAIN };
        write(&to, &file.content()?, mode)?;
    }
    Ok(())
}

/// How long an executable may take to be unpacked.
const UNPACKING: Duration = Duration::from_secs(60);

/// The largest file of a bundle.
const MAX_FILE: u64 = 1 << 30;

/// The permission bits that group and others must not have.
const OTHERS_WRITE: u32 = 0o022;

/// The permissions of installed files.
const EXECUTABLE: u32 = 0o755;
pub(crate) const PLAIN: u32 = 0o644;

/// Creates a folder and its missing parents. Other users can read them but not write to them.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// Creates a folder like [`create_dir`]. If it exists and other users can write to it, that permission is removed.
pub(crate) fn create_own_dir(path: &Path) -> Result<()> {
    let restrict = || {
        create_dir(path)?;
        let mode = path.metadata()?.permissions().mode();
        if mode & OTHERS_WRITE == 0 {
            return Ok(());
        }
        fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 & !OTHERS_WRITE))
    };
    restrict().map_err(Error::writing(path))
}

/// Writes a new file, replacing an existing one.
pub(crate) fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(bytes)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    bounded_read::bytes(path, MAX_FILE)
}
