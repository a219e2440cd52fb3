//! The list of transcripts that were read completely, so that the next import skips them.
//!
//! It only saves time: a transcript that is missing in the list is read again, without changing anything.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Source;
use longhaul_runtime::{Error, Home, bounded_read, files};

#[derive(Serialize, Deserialize)]
struct LineWire {
    path: String,
    bytes: u64,
    modified: u64,
    /// The inode of the database into which it was read. The entry does not apply to another one.
    database: u64,
}

/// Maximum size of the list, which has a line for each transcript.
const MOST: u64 = 256 << 20;

/// The list of transcripts that were read.
pub(super) struct Ledger {
    path: PathBuf,
    file: File,
    database: u64,
    read: BTreeMap<String, (u64, u64)>,
}

impl Ledger {
    pub(super) fn open(home: &Home) -> Result<Self, Error> {
        let path = home.dir().join("imported.jsonl");
        let database = fs::metadata(home.database()).map_or(0, |metadata| metadata.ino());
        let lines = bounded_read::text(&path, MOST).unwrap_or_default();
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<LineWire>(line).ok());
        let read = lines
            .filter(|line| line.database == database)
            .map(|line| (line.path, (line.bytes, line.modified)))
            .collect();
        Ok(Self { file: files::open_append(&path)?, path, database, read })
    }

    /// Returns whether a transcript is unchanged since it was read.
    pub(super) fn has(&self, source: &Source) -> bool {
        self.read.get(&*source.path.to_string_lossy()) == Some(&(source.bytes, source.modified))
    }

    /// Records that a transcript was read. Must be called after its last commit.
    pub(super) fn add(&mut self, source: &Source) -> Result<(), Error> {
        let path = source.path.to_string_lossy().into_owned();
        let line = self.line(&path, source.bytes, source.modified);
        self.file.write_all(line.as_bytes()).map_err(|source| Error::Write { path: self.path.clone(), source })?;
        self.read.insert(path, (source.bytes, source.modified));
        Ok(())
    }

    /// Writes the list again, with each transcript once.
    pub(super) fn tidy(&self) -> Result<(), Error> {
        let lines = self.read.iter().map(|(path, (bytes, modified))| self.line(path, *bytes, *modified));
        files::replace(&self.path, lines.collect::<String>().as_bytes())
    }

    fn line(&self, path: &str, bytes: u64, modified: u64) -> String {
        let line = LineWire { path: path.to_owned(), bytes, modified, database: self.database };
        serde_json::to_string(&line).map_or_else(|_| String::new(), |line| line + "\n")
    }
}
