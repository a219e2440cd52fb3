//! Reads transcripts on a thread of its own, while another one writes to the database, and converts their turns to
//! prompts, observations and a summary.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Read;
use std::sync::mpsc::SyncSender;

use longhaul_core::event::predicates::bookmark_note;
use longhaul_core::{Config, Env, Millis};
use longhaul_memory::{Call, Kind, Observation, SUMMED_UP, Summary, TurnText, command_key, fix_of, observe, summarize};
use longhaul_runtime::memory::{clean_prompt, is_excluded, recorded_call};
use longhaul_runtime::{Error, Sanitizer, TranscriptFile};
use longhaul_transcript::{self as transcript, Batch, PromptOrigin, Reader, Turn, merge_turns};

use super::{Head, Source, Task};

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

/// The conversion of one session.
pub(crate) struct RecordBuilder<'a> {
    config: &'a Config,
    /// The folder of the project.
    root: String,
    sanitizer: Sanitizer,
    /// Time of the last event.
    pub(crate) last_at: Millis,
    /// The turn that may continue in the next piece.
    open: Vec<Turn>,
    running: Running,
    /// Ids of prompts that are in use. A prompt that was typed during a turn has the id of that turn.
    prompt_ids: HashSet<String>,
    said: VecDeque<(String, String)>,
    seen: VecDeque<Observation>,
    /// The kind of the last observation of each command.
    ended: HashMap<String, Kind>,
}

/// The state of the current turn.
#[derive(Default)]
struct Running {
    id: String,
    prompt_id: Option<String>,
    /// Whether nothing of it may be stored.
    is_private: bool,
    /// The prompt, until it is stored.
    asked: Option<Prompted>,
}

/// A prompt.
pub(crate) struct Prompted {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) at: Millis,
    /// Stored only if it had an effect: `/model` asks nothing of the model.
    is_command: bool,
}

/// A part of a turn, without private text.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) asked: Option<Prompted>,
    pub(crate) done: Vec<Done>,
}

/// A tool call and its observation.
pub(crate) struct Done {
    pub(crate) call: Call,
    pub(crate) command_key: Option<String>,
    pub(crate) observation: Observation,
    /// The observation that is stored instead if the same command had failed before.
    pub(crate) fix: Option<Observation>,
}

impl<'a> RecordBuilder<'a> {
    pub(crate) fn new(config: &'a Config, root: String, began: Millis) -> Self {
        Self {
            config,
            root,
            sanitizer: Sanitizer::new(config),
            last_at: began,
            open: Vec::new(),
            running: Running::default(),
            prompt_ids: HashSet::new(),
            said: VecDeque::new(),
            seen: VecDeque::new(),
            ended: HashMap::new(),
        }
    }

    /// Adds turns in the order of the transcript. Returns the parts that are complete by now.
    pub(crate) fn go_on(&mut self, turns: Vec<Turn>) -> Vec<Part> {
        merge_turns(&mut self.open, turns);
        self.parts(false)
    }

    /// Returns the remaining parts and the summary of the session; `None` if there is nothing to summarize.
    pub(crate) fn end(&mut self) -> (Vec<Part>, Option<Summary>) {
        let parts = self.parts(true);
        let turns: Vec<TurnText<'_>> = self.said.iter().map(|(asked, replied)| TurnText { asked, replied }).collect();
        let summary = summarize(&turns, self.seen.make_contiguous());
        (parts, Some(summary).filter(|summary| *summary != Summary::default()))
    }

    /// Returns the parts of the open turns. All turns but the last are over; with `is_over`, that one as well.
    fn parts(&mut self, is_over: bool) -> Vec<Part> {
        let mut turns = std::mem::take(&mut self.open);
        let count = turns.len();
        let mut parts = Vec::with_capacity(count);
        for (index, turn) in turns.iter_mut().enumerate() {
            parts.push(self.part(turn, is_over || index + 1 < count));
        }
        // The last one stays open: its replies are needed when it is over, but its calls are done.
        self.open = turns.split_off(if is_over { count } else { count.saturating_sub(1) });
        parts.retain(|part| part.asked.is_some() || !part.done.is_empty());
        parts
    }

    /// Takes the complete parts of a turn.
    fn part(&mut self, turn: &mut Turn, is_over: bool) -> Part {
        if self.running.id != turn.id {
            self.begin(turn);
        }
        turn.thinking.clear();
        turn.attachments.clear();
        self.last_at = self.last_at.max(latest(turn));
        let calls = std::mem::take(&mut turn.calls);
        let (whole, waiting): (Vec<_>, Vec<_>) = calls.into_iter().partition(is_whole);
        turn.calls = waiting;
        if self.running.is_private {
            turn.replies.clear();
            // A public prompt during a private turn may be stored, but not the work for it.
            return Part { asked: self.running.asked.take(), done: Vec::new() };
        }
        let mut part = Part { asked: None, done: self.done(turn, whole) };
        let led_to_something = !turn.replies.is_empty() || !part.done.is_empty();
        if let Some(asked) = self.running.asked.take_if(|asked| !asked.is_command || led_to_something) {
            part.asked = Some(asked);
        }
        if is_over {
            let asked = turn.prompt.as_ref().filter(|_| turn.origin.is_person());
            let asked = asked.map(|asked| self.sanitizer.capped(&asked.text)).unwrap_or_default();
            keep_newest(&mut self.said, (asked, self.sanitizer.capped(&turn.reply())));
        }
        part
    }

    fn begin(&mut self, turn: &Turn) {
        let before = std::mem::take(&mut self.running);
        let text = turn.prompt.as_ref().map(|prompt| prompt.text.as_str()).unwrap_or_default();
        let kept = clean_prompt(text, self.sanitizer);
        let is_hidden = kept.is_none() && !text.trim().is_empty();
        // A notification or a prompt during a private turn does not make it public.
        let is_within = before.is_private
            && (!turn.origin.is_person() || same(before.prompt_id.as_deref(), turn.prompt_id.as_deref()));
        self.running = Running {
            id: turn.id.clone(),
            prompt_id: turn.prompt_id.clone(),
            is_private: is_hidden || is_within,
            asked: None,
        };
        // A bookmark is not a request.
        let marker = self.config.bookmarks.marker.as_str();
        let asks = |kept: &String| turn.origin.is_person() && bookmark_note(kept, marker).is_none();
        let Some(text) = kept.filter(asks) else { return };
        let own = turn.prompt_id.clone().filter(|id| self.prompt_ids.insert(id.clone()));
        self.running.asked = Some(Prompted {
            id: own.unwrap_or_else(|| turn.id.clone()),
            text,
            at: turn.at.unwrap_or(self.last_at),
            is_command: matches!(turn.origin, PromptOrigin::Command | PromptOrigin::Shell),
        });
    }

    fn done(&mut self, turn: &Turn, calls: Vec<transcript::ToolCall>) -> Vec<Done> {
        let mut done = Vec::with_capacity(calls.len());
        for call in calls {
            let converted = recorded_call(call, turn, &self.root, self.last_at, self.config, self.sanitizer);
            done.extend(converted.and_then(|call| self.observe(call)));
        }
        done
    }

    fn observe(&mut self, call: Call) -> Option<Done> {
        let command_key = command_key(&call);
        let observation = observe(&call, Some(&self.root))?;
        let fix = fix_of(&call, command_key.as_deref(), &observation);
        self.remember(command_key.as_deref(), &observation, fix.as_ref());
        Some(Done { call, command_key, observation, fix })
    }

    /// Keeps an observation for the summary, as the store will have it.
    fn remember(&mut self, key: Option<&str>, observation: &Observation, fix: Option<&Observation>) {
        let before = key.and_then(|key| self.ended.get(key));
        let stored = fix.filter(|_| before == Some(&Kind::Problem)).unwrap_or(observation);
        if let Some(key) = key {
            self.ended.insert(key.to_owned(), stored.kind);
        }
        let mut seen = stored.clone();
        seen.narrative.clear();
        keep_newest(&mut self.seen, seen);
    }
}

/// Returns whether a call has both input and output.
fn is_whole(call: &transcript::ToolCall) -> bool {
    call.input.is_some() && call.output.is_some()
}

fn same(before: Option<&str>, now: Option<&str>) -> bool {
    before.is_some() && before == now
}

/// Returns the time of the last event in a turn.
fn latest(turn: &Turn) -> Millis {
    let calls = turn.calls.iter().filter_map(|call| call.at);
    let replies = turn.replies.iter().filter_map(|said| said.at);
    calls.chain(replies).chain(turn.at).max().unwrap_or_default()
}

fn keep_newest<T>(kept: &mut VecDeque<T>, item: T) {
    kept.push_back(item);
    if kept.len() > SUMMED_UP {
        kept.pop_front();
    }
}
