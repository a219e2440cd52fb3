//! A session's activity log, as the tests read and write it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use longhaul_activity_log::{LogLine, Metrics, TailStart, measure};

/// The log of one session.
pub(crate) struct ActivityLog(PathBuf);

impl ActivityLog {
    /// Returns the log of `session` below the data folder, whether it exists or not.
    pub(crate) fn new(data: &Path, session: &str) -> Self {
        Self(data.join("sessions").join(format!("{session}.log")))
    }

    /// Returns its lines; none if there is no log yet.
    pub(crate) fn lines(&self) -> Vec<String> {
        fs::read_to_string(&self.0).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Returns the metrics since the last bookmark.
    pub(crate) fn metrics(&self) -> Metrics {
        measure(&fs::read(&self.0).unwrap_or_default(), TailStart::LogStart)
    }

    /// Replaces its content.
    pub(crate) fn write(&self, lines: &[LogLine]) -> Result<()> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let folder = self.0.parent().unwrap_or(&self.0);
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        fs::write(&self.0, text).with_context(|| format!("cannot write {}", self.0.display()))
    }

    /// Returns its length in bytes.
    pub(crate) fn length(&self) -> Result<u64> {
        Ok(fs::metadata(&self.0).with_context(|| format!("cannot read {}", self.0.display()))?.len())
    }

    /// Returns what was appended after the first `length` bytes.
    pub(crate) fn since(&self, length: u64) -> Result<String> {
        let mut new = String::new();
        let read = File::open(&self.0).and_then(|mut file| {
            file.seek(SeekFrom::Start(length))?;
            file.read_to_string(&mut new)
        });
        read.with_context(|| format!("cannot read {}", self.0.display()))?;
        Ok(new)
    }

    /// Removes what was appended after the first `length` bytes.
    pub(crate) fn cut(&self, length: u64) -> Result<()> {
        let file = OpenOptions::new().write(true).open(&self.0);
        file.and_then(|file| file.set_len(length)).with_context(|| format!("cannot truncate {}", self.0.display()))
    }
}
