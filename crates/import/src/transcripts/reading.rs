//! Reads transcripts on a thread of its own, while another one writes to the database.

use std::io::Read;
use std::sync::mpsc::SyncSender;

use longhaul_core::{Config, Env, Millis};
use longhaul_memory::Summary;
use longhaul_transcript::{Batch, Reader};

use super::head::Head;
use super::turns_to_records::{Part, RecordBuilder};
use super::{Source, Task};
use longhaul_runtime::Error;
use longhaul_runtime::TranscriptFile;
use longhaul_runtime::memory::is_excluded;

/// Number of bytes that are read at a time and stored in one transaction: large enough for few commits, small enough
/// that no hook waits long.
const PIECE: usize = 2 * 1024 * 1024;

/// Maximum number of pieces that wait to be stored.
pub(super) const WAITING: usize = 4;

/// A message of the reader about a transcript: `Begins`, pieces and `Ends`, or why there are none.
pub(super) enum ReaderMessage {
    Begins(Head),
    Piece { batch: Batch, parts: Vec<Part> },
    Ends { parts: Vec<Part>, summary: Option<Summary>, last_at: Millis },
    Empty,
    Excluded,
    Failed(Error),
}

/// The receiver is gone, because the import ended early.
struct ReceiverGone;

/// Reads transcripts in order, until the receiver is gone.
pub(super) fn read_all(tasks: &[Task<'_>], env: &Env, config: &Config, to: &SyncSender<ReaderMessage>) {
    for task in tasks.iter().filter(|task| !task.is_unchanged) {
        let send = |message: ReaderMessage| to.send(message).map_err(|_| ReceiverGone);
        let sent = match begin(task, env, config) {
            Ok(ReaderMessage::Begins(head)) => read(task, &head, config, &send),
            Ok(other) => send(other),
            Err(error) => send(ReaderMessage::Failed(error)),
        };
        if sent.is_err() {
            return;
        }
    }
}

fn begin(task: &Task<'_>, env: &Env, config: &Config) -> Result<ReaderMessage, Error> {
    let Some(head) = Head::read(&task.source.path)? else { return Ok(ReaderMessage::Empty) };
    let folder = task.known.as_ref().map_or_else(|| head.cwd.clone(), |known| known.project_path.clone().into());
    Ok(if is_excluded(&config.memory, env, &folder) { ReaderMessage::Excluded } else { ReaderMessage::Begins(head) })
}

fn read(
    task: &Task<'_>,
    head: &Head,
    config: &Config,
    send: &impl Fn(ReaderMessage) -> Result<(), ReceiverGone>,
) -> Result<(), ReceiverGone> {
    let failed = |source| ReaderMessage::Failed(Error::Read { path: task.source.path.clone(), source });
    let mut file = match TranscriptFile::open(&task.source.path) {
        Ok(file) => file,
        Err(error) => return send(failed(error)),
    };
    send(ReaderMessage::Begins(head.clone()))?;
    let root = task.known.as_ref().map(|known| known.project_path.clone());
    let root = root.unwrap_or_else(|| head.cwd.to_string_lossy().into_owned());
    let mut builder = RecordBuilder::new(config, root, head.at.unwrap_or_default());
    let mut reader = Reader::default();
    let mut piece = vec![0; piece_len(task.source)];
    loop {
        let read = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) => return send(failed(error)),
        };
        reader.feed(&piece[..read]);
        let batch = reader.take();
        let parts = builder.go_on(batch.turns.clone());
        send(ReaderMessage::Piece { batch, parts })?;
    }
    reader.finish();
    let batch = reader.take();
    let parts = builder.go_on(batch.turns.clone());
    send(ReaderMessage::Piece { batch, parts })?;
    let (parts, summary) = builder.end();
    send(ReaderMessage::Ends { parts, summary, last_at: builder.last_at })
}

fn piece_len(source: &Source) -> usize {
    PIECE.min(usize::try_from(source.bytes).unwrap_or(PIECE)).max(1)
}
