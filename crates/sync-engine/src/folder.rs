//! The engine for one person: a folder that another program copies or shares, such as Syncthing, NFS or a USB stick.
//!
//! ```text
//! circle/00000001                        the header with the first key, 00000002 after the first rotation
//! hosts/HOST                             the name and the last sight of a host; only that host writes it
//! records/HOST/FIRST-LAST-BYTES-SUM.lhs  records of a host
//! ```
//!
//! A file of records is never changed: it is replaced by another one with another name. So the files may arrive in any
//! order, and what is not complete yet is recognised by its length and its checksum.

mod record_files;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_runtime::{bounded_read, files, waiting_times};
use longhaul_sync::{CircleHeader, Heads, HostId, IdxRange, RecordId, SealedRecord};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use self::record_files::RecordFiles;
use crate::{Engine, EngineError, EngineHost, Overview, PageLimit, RecordPlace};

/// The newest layout of the folder that this version knows.
const SCHEMA: i64 = 1;

/// The file with the number of the layout.
const SCHEMA_FILE: &str = "longhaul-sync-schema";

#[derive(Debug)]
pub struct Folder {
    dir: PathBuf,
    pub(crate) lock_limit: Duration,
}

impl Folder {
    /// Returns the engine in `dir`. Nothing is read yet.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), lock_limit: waiting_times::SYNC_FOLDER_LOCK }
    }

    /// Returns the number of the layout; `None` if nothing was set up here.
    fn schema(&self) -> Result<Option<i64>, EngineError> {
        if !self.dir.is_dir() {
            let problem = "there is no such folder: is it mounted?".to_owned();
            return Err(EngineError::Unreachable { engine: self.shown_address(), problem });
        }
        match bounded_read::text(&self.dir.join(SCHEMA_FILE), bounded_read::SMALL) {
            Ok(text) => match text.trim().parse() {
                Ok(found) if found > SCHEMA => {
                    Err(EngineError::NewerSchema { engine: self.shown_address(), found, known: SCHEMA })
                }
                Ok(found) => Ok(Some(found)),
                // It is being copied.
                Err(_) => Ok(None),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Returns the newest header that is complete.
    fn header(&self) -> Result<Option<CircleHeader>, EngineError> {
        if self.schema()?.is_none() {
            return Ok(None);
        }
        let mut newest: Option<CircleHeader> = None;
        for (_, path) in self.list("circle")?.into_iter().filter(|(name, _)| !name.starts_with('.')) {
            let bytes = bounded_read::bytes(&path, bounded_read::LARGE);
            let header = bytes.ok().and_then(|bytes| CircleHeader::from_bytes(&bytes).ok());
            newest = newest.into_iter().chain(header).max_by_key(|header| header.epoch);
        }
        Ok(newest)
    }

    fn header_file(&self, header: &CircleHeader) -> PathBuf {
        self.dir.join("circle").join(format!("{:08}", header.epoch))
    }

    /// Returns the names and paths in a folder below this one; none if it does not exist.
    fn list(&self, below: &str) -> Result<Vec<(String, PathBuf)>, EngineError> {
        let entries = match fs::read_dir(self.dir.join(below)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed(&error)),
        };
        let named = entries.flatten().filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
        Ok(named.collect())
    }

    fn records(&self, host: HostId) -> RecordFiles {
        RecordFiles::new(self.dir.join("records").join(host.to_string()), host, self.lock_limit)
    }

    fn failed(&self, error: &io::Error) -> EngineError {
        let (engine, problem) = (self.shown_address(), error.to_string());
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                EngineError::NoPermission { engine, problem }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => EngineError::Full { engine, problem },
            _ => EngineError::Other { engine, problem },
        }
    }
}

impl Engine for Folder {
    fn shown_address(&self) -> String {
        format!("folder:{}", self.dir.display())
    }

    fn overview(&mut self) -> Result<Option<Overview>, EngineError> {
        let Some(header) = self.header()? else { return Ok(None) };
        let mut heads = Heads::new();
        for (name, _) in self.list("records")? {
            let Ok(host) = name.parse::<HostId>() else { continue };
            let head = self.records(host).head().map_err(|error| self.failed(&error))?;
            if head > 0 {
                heads.insert(host, head);
            }
        }
        Ok(Some(Overview { header, heads, time_ms: None }))
    }

    fn create(&mut self, header: &CircleHeader) -> Result<Vec<String>, EngineError> {
        // Its parent must exist: a typing error, or a disk that is not mounted, must not become a new folder.
        if !self.dir.is_dir() {
            fs::create_dir(&self.dir).map_err(|error| self.failed(&error))?;
        }
        if self.header()?.is_some() || !self.list("records")?.is_empty() {
            return Err(EngineError::CircleExists(self.shown_address()));
        }
        let written = write_durably(&self.header_file(header), &header.to_bytes())
            // Last: without it, the folder counts as empty.
            .and_then(|()| write_durably(&self.dir.join(SCHEMA_FILE), SCHEMA.to_string().as_bytes()));
        written.map_err(|error| self.failed(&error))?;
        Ok(Vec::new())
    }

    fn replace_header(&mut self, header: &CircleHeader) -> Result<(), EngineError> {
        let found = self.header()?.ok_or_else(|| EngineError::NoCircle(self.shown_address()))?;
        if found.circle != header.circle || found.epoch + 1 != header.epoch {
            return Err(EngineError::HeaderChanged);
        }
        write_durably(&self.header_file(header), &header.to_bytes()).map_err(|error| self.failed(&error))
    }

    fn insert(&mut self, page: &[SealedRecord]) -> Result<(), EngineError> {
        let Some(first) = page.first() else { return Ok(()) };
        match self.records(first.host).insert(page) {
            Ok(None) => Ok(()),
            Ok(Some(idx)) => Err(EngineError::Clash { host: first.host, idx }),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn fetch(&mut self, range: IdxRange, limit: PageLimit) -> Result<Vec<SealedRecord>, EngineError> {
        self.records(range.host).fetch(range, limit).map_err(|error| self.failed(&error))
    }

    fn erase(&mut self, places: &[RecordPlace]) -> Result<Vec<RecordId>, EngineError> {
        let mut sorted = places.to_vec();
        sorted.sort_unstable();
        let mut erased = Vec::new();
        for of_host in sorted.chunk_by(|record, other| record.host == other.host) {
            let files = self.records(of_host[0].host);
            erased.extend(files.erase(of_host).map_err(|error| self.failed(&error))?);
        }
        Ok(erased)
    }

    fn first_double(&mut self, host: HostId) -> Result<Option<u64>, EngineError> {
        match self.records(host).first_double() {
            // Another process has replaced a file: the next exchange compares them.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map_err(|error| self.failed(&error)),
        }
    }

    fn remove_damaged(&mut self, host: HostId) -> Result<u64, EngineError> {
        match self.records(host).remove_damaged() {
            // What cannot be written can still be fetched.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) =>
            {
                Ok(0)
            }
            removed => removed.map_err(|error| self.failed(&error)),
        }
    }

    fn erased(&mut self, host: HostId) -> Result<Vec<u64>, EngineError> {
        match self.records(host).erased() {
            // Another process has replaced a file: a later exchange looks again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            found => found.map_err(|error| self.failed(&error)),
        }
    }

    fn put_host(&mut self, host: &EngineHost) -> Result<(), EngineError> {
        let path = self.dir.join("hosts").join(host.host.to_string());
        write_durably(&path, &encode_host(host)).map_err(|error| self.failed(&error))
    }

    fn hosts(&mut self) -> Result<Vec<EngineHost>, EngineError> {
        let read = |(name, path): (String, PathBuf)| {
            let host = name.parse().ok()?;
            decode_host(host, &bounded_read::bytes(&path, bounded_read::SMALL).ok()?)
        };
        Ok(self.list("hosts")?.into_iter().filter_map(read).collect())
    }

    fn remove_host(&mut self, host: HostId) -> Result<(), EngineError> {
        match fs::remove_file(self.dir.join("hosts").join(host.to_string())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }
}

fn encode_host(host: &EngineHost) -> Vec<u8> {
    let mut bytes = host.seen_ms.to_be_bytes().to_vec();
    bytes.extend(&host.name);
    with_checksum(bytes)
}

/// Returns `None` for a file that is incomplete or damaged.
fn decode_host(host: HostId, bytes: &[u8]) -> Option<EngineHost> {
    let (seen, name) = checked(bytes)?.split_first_chunk::<8>()?;
    let seen_ms = u64::from_be_bytes(*seen);
    // A folder has no clock of its own.
    Some(EngineHost { host, name: name.to_vec(), seen_ms, clock_ahead_ms: 0 })
}

/// Adds the checksum at the end.
fn with_checksum(mut content: Vec<u8>) -> Vec<u8> {
    let sum = Sha256::digest(&content);
    content.extend(sum);
    content
}

/// Returns the content without its checksum; `None` if it is incomplete or damaged.
fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (content, sum) = bytes.split_last_chunk::<32>()?;
    (Sha256::digest(content).as_slice() == sum).then_some(content)
}

/// What the name of an unfinished file begins with. Other hosts ignore it.
const UNFINISHED: &str = ".unfinished-";

/// Writes a file under a temporary name, syncs it, renames it, and syncs its folder, which is created if missing.
fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(path);
    fs::create_dir_all(dir)?;
    // Others may write to the folder: a name that they know could be a link to a file of this user.
    let random = files::random::<8>().map_err(|error| io::Error::other(error.to_string()))?;
    let temporary = dir.join(format!("{UNFINISHED}{:016x}", u64::from_be_bytes(random)));
    // Fails if anything has this name, also a link.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let written = file.write_all(content).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    // Some file systems cannot sync a folder. The file itself is synced.
    let _ = bounded_read::open_dir(dir).and_then(|dir| dir.sync_all());
    Ok(())
}

/// Opens a file in order to lock it, and creates it if it is missing. A link is not followed, and a pipe is not waited for.
fn open_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags.bits() as i32).open(path)
}
