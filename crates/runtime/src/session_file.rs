//! The files of a session: ours, with its process and terminal, and the client's transcript.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use longhaul_core::SessionId;
use longhaul_core::event::{SessionStart, StartSource};
use longhaul_inject::Terminal;
use ruzstd::decoding::StreamingDecoder;
use serde::{Deserialize, Serialize};

use crate::{Error, Home, Hook, bounded_read, files};

/// `sessions/<id>.json`, written at SessionStart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionRecord {
    pub session: String,
    /// Time of the last SessionStart, in milliseconds since the Unix epoch.
    pub started_at: u64,
    /// The terminal, if text can be typed into it.
    #[serde(default)]
    pub terminal: Option<Terminal>,
    #[serde(default)]
    pub no_terminal: Option<String>,
    #[serde(default)]
    pub client_pid: Option<u32>,
    /// Whether it began with `/clear`.
    #[serde(default)]
    pub cleared: bool,
    /// The working directory.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    #[serde(default)]
    pub transcript: Option<PathBuf>,
}

impl SessionRecord {
    pub(crate) fn of(hook: &Hook<SessionStart>) -> Self {
        let common = &hook.event.common;
        let detected = match common.session.client() {
            "claude" => Terminal::detect(&hook.env).map_err(|problem| problem.to_string()),
            // A bookmark and a prompt from elsewhere are for Claude Code. Continuing has its own way to type.
            "codex" => Err("nothing is typed into Codex, except to continue near the limit".to_owned()),
            // The layout of its screen is not known.
            client => Err(format!("nothing is typed into {client}")),
        };
        Self {
            session: common.session.to_string(),
            started_at: hook.env.now.0,
            no_terminal: detected.as_ref().err().cloned(),
            terminal: detected.ok(),
            client_pid: hook.env.client_pid,
            cleared: hook.event.source == StartSource::Clear,
            cwd: common.cwd.clone(),
            transcript: common.transcript.clone(),
        }
    }

    /// Reads the record of a session; `None` if there is no readable one.
    pub fn load(home: &Home, session: &SessionId) -> Option<Self> {
        let text = bounded_read::bytes(&home.session_file(session, "json"), bounded_read::LARGE).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub fn save(&self, home: &Home, session: &SessionId) -> Result<(), Error> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        files::replace(&home.session_file(session, "json"), &json)
    }

    /// Returns all readable records, the newest first.
    pub fn all(home: &Home) -> Vec<Self> {
        let entries = std::fs::read_dir(home.sessions()).into_iter().flatten().flatten();
        let mut records: Vec<Self> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .filter_map(|path| serde_json::from_slice(&bounded_read::bytes(&path, bounded_read::LARGE).ok()?).ok())
            .collect();
        records.sort_by_key(|record| std::cmp::Reverse(record.started_at));
        records
    }
}

// The file of a transcript, plain or compressed. Codex compresses rollouts that were not changed for a while.

/// The file extension of a compressed transcript.
const PACKED: &str = "zst";

/// Maximum number of bytes read from a compressed transcript: a small file can expand to a huge one.
const MOST_UNPACKED: u64 = 4 << 30;

/// Returns the path of a transcript: as given, or that of the compressed file beside it; `None` if neither exists.
pub fn transcript_place(path: &Path) -> Option<PathBuf> {
    [path.to_owned(), packed(path)].into_iter().find(|place| place.exists())
}

pub struct TranscriptFile {
    path: PathBuf,
    content: Content,
}

enum Content {
    Plain(File),
    Packed(io::Take<Box<StreamingDecoder<File, ruzstd::decoding::FrameDecoder>>>),
}

impl TranscriptFile {
    /// Opens a transcript, or the compressed file if the plain one no longer exists.
    pub fn open(path: &Path) -> io::Result<Self> {
        let opened = match bounded_read::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let packed = packed(path);
                (bounded_read::open(&packed).map_err(|_| error)?, packed)
            }
            file => (file?, path.to_owned()),
        };
        let (file, path) = opened;
        Ok(Self { content: Content::of(file, &path)?, path })
    }

    /// Returns the length; `None` for a compressed file, whose length is not known.
    pub(crate) fn length(&self) -> io::Result<Option<u64>> {
        match &self.content {
            Content::Plain(file) => Ok(Some(file.metadata()?.len())),
            Content::Packed(_) => Ok(None),
        }
    }

    /// Seeks to an offset from the beginning. An offset behind the end of a compressed file is an error.
    ///
    /// A compressed file can only be read from its beginning.
    pub fn go_to(&mut self, offset: u64) -> io::Result<()> {
        match &mut self.content {
            Content::Plain(file) => file.seek(SeekFrom::Start(offset)).map(drop),
            Content::Packed(_) => {
                self.content = Content::of(bounded_read::open(&self.path)?, &self.path)?;
                let skipped = io::copy(&mut self.by_ref().take(offset), &mut io::sink())?;
                if skipped == offset { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
            }
        }
    }
}

impl Content {
    fn of(file: File, path: &Path) -> io::Result<Self> {
        if path.extension().is_none_or(|extension| extension != PACKED) {
            return Ok(Self::Plain(file));
        }
        let decoder = StreamingDecoder::new(file).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Self::Packed(Box::new(decoder).take(MOST_UNPACKED)))
    }
}

impl Read for TranscriptFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::Plain(file) => file.read(buffer),
            Content::Packed(decoder) => decoder.read(buffer),
        }
    }
}

pub(crate) fn packed(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(PACKED);
    name.into()
}
