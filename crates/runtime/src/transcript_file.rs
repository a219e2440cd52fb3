//! The file of a transcript, plain or compressed. Codex compresses rollouts that were not changed for a while.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ruzstd::decoding::StreamingDecoder;

use crate::bounded_read;

/// The file extension of a compressed transcript.
const PACKED: &str = "zst";

/// Maximum number of bytes read from a compressed transcript: a small file can expand to a huge one.
const MOST_UNPACKED: u64 = 4 << 30;

/// Returns the path of a transcript: as given, or that of the compressed file beside it; `None` if neither exists.
pub fn transcript_place(path: &Path) -> Option<PathBuf> {
    [path.to_owned(), packed(path)].into_iter().find(|place| place.exists())
}

/// An open transcript.
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

/// Returns the path of a transcript when it is compressed.
pub(crate) fn packed(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(PACKED);
    name.into()
}
