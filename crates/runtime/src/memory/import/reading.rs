//! Reads transcripts on a thread of its own, while another one writes to the database.

use std::io::Read;
use std::sync::mpsc::SyncSender;

use longhaul_core::{Config, Env, Millis};
use longhaul_memory::Summary;
use longhaul_transcript::{Batch, Reader};

use super::super::is_excluded;
use super::head::Head;
use super::turns_to_records::{Part, Teller};
use super::{Source, Task};
use crate::Error;
use crate::transcript_file::TranscriptFile;

/// Number of bytes that are read at a time and stored in one transaction: large enough for few commits, small enough
/// that no hook waits long.
const PIECE: usize = 2 * 1024 * 1024;

/// Maximum number of pieces that wait to be stored.
pub(super) const WAITING: usize = 4;

/// A message of the reader about a transcript: `Begins`, pieces and `Ends`, or why there are none.
pub(super) enum Told {
    Begins(Head),
    Piece { batch: Batch, parts: Vec<Part> },
    Ends { parts: Vec<Part>, summary: Option<Summary>, last_at: Millis },
    Empty,
    Excluded,
    Failed(Error),
}

/// The receiver is gone, because the import ended early.
struct HungUp;

/// Reads transcripts in order, until the receiver is gone.
pub(super) fn read_all(tasks: &[Task<'_>], env: &Env, config: &Config, to: &SyncSender<Told>) {
    for task in tasks.iter().filter(|task| !task.is_unchanged) {
        let tell = |message: Told| to.send(message).map_err(|_| HungUp);
        let sent = match begin(task, env, config) {
            Ok(Told::Begins(head)) => read(task, &head, config, &tell),
            Ok(other) => tell(other),
            Err(error) => tell(Told::Failed(error)),
        };
        if sent.is_err() {
            return;
        }
    }
}

fn begin(task: &Task<'_>, env: &Env, config: &Config) -> Result<Told, Error> {
    let Some(head) = Head::read(&task.source.path)? else { return Ok(Told::Empty) };
    let folder = task.known.as_ref().map_or_else(|| head.cwd.clone(), |known| known.project_path.clone().into());
    Ok(if is_excluded(&config.memory, env, &folder) { Told::Excluded } else { Told::Begins(head) })
}

fn read(
    task: &Task<'_>,
    head: &Head,
    config: &Config,
    tell: &impl Fn(Told) -> Result<(), HungUp>,
) -> Result<(), HungUp> {
    let failed = |source| Told::Failed(Error::Read { path: task.source.path.clone(), source });
    let mut file = match TranscriptFile::open(&task.source.path) {
        Ok(file) => file,
        Err(error) => return tell(failed(error)),
    };
    tell(Told::Begins(head.clone()))?;
    let root = task.known.as_ref().map(|known| known.project_path.clone());
    let root = root.unwrap_or_else(|| head.cwd.to_string_lossy().into_owned());
    let mut teller = Teller::new(config, root, head.at.unwrap_or_default());
    let mut reader = Reader::default();
    let mut piece = vec![0; piece_len(task.source)];
    loop {
        let read = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) => return tell(failed(error)),
        };
        reader.feed(&piece[..read]);
        let batch = reader.take();
        let parts = teller.go_on(batch.turns.clone());
        tell(Told::Piece { batch, parts })?;
    }
    reader.finish();
    let batch = reader.take();
    let parts = teller.go_on(batch.turns.clone());
    tell(Told::Piece { batch, parts })?;
    let (parts, summary) = teller.end();
    tell(Told::Ends { parts, summary, last_at: teller.last_at })
}

fn piece_len(source: &Source) -> usize {
    PIECE.min(usize::try_from(source.bytes).unwrap_or(PIECE)).max(1)
}
