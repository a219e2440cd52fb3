//! Throughline: messages and tool calls of sessions whose transcripts no longer exist.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Included};

use longhaul_core::SessionId;
use longhaul_runtime::memory::is_excluded;
use longhaul_store::{Bulk, OldDetail, OldSession, OldTurn, OldTurnSize, Session, Throughline};
use longhaul_transcript::{Attachment, Batch, Cursor, SourcedText, ToolCall, Turn};

use super::{Folders, Mode, Move, Origin, Report, Sink, Step, Trouble, ours, register, theirs};
use crate::transcripts::{Part, RecordBuilder, past_turn};

/// The suffix of the id of a call's result.
const RESULT: &str = ":result";

/// Maximum number of bytes that are read and stored at once.
const BYTES_AT_ONCE: u64 = 4 << 20;

pub(super) fn run(mover: &Move<'_>, report: &mut Report, progress: &mut dyn FnMut(Step)) -> Result<(), Trouble> {
    let Some(path) = mover.database(report, "throughline.db") else { return Ok(()) };
    let database = Throughline::open(&path).map_err(theirs)?;
    let sessions = database.sessions().map_err(theirs)?;
    progress(Step::Begins(Origin::Throughline, sessions.len()));
    let mut store = mover.store()?;
    let mut house = House {
        mover,
        database: &database,
        sink: Sink::new(mover.mode, &mut store)?,
        folders: Folders::new(mover.env.client_dir.as_deref()),
        report,
    };
    let done = sessions.iter().try_for_each(|session| {
        let done = house.session(session);
        progress(Step::Done(1));
        done
    });
    progress(Step::Ends);
    done
}

/// An import from one database.
struct House<'a, 'b> {
    mover: &'a Move<'a>,
    database: &'a Throughline,
    sink: Sink<'b>,
    folders: Folders,
    report: &'a mut Report,
}

impl House<'_, '_> {
    fn session(&mut self, session: &OldSession) -> Result<(), Trouble> {
        let Some(id) = SessionId::new(&session.id) else { return Ok(()) };
        let known = self.sink.session(&id)?;
        if let Some(why) = self.unwanted(session, &id, known.as_ref()) {
            self.report.leaves("sessions", 1, why);
            return Ok(());
        }
        let sizes = self.database.turn_sizes(&session.id).map_err(theirs)?;
        let mut new = BTreeSet::new();
        for size in &sizes {
            if !self.sink.has(Origin::Throughline, &key(&id, size.number))? {
                new.insert(size.number);
            }
        }
        self.report.leaves("turns", sizes.len() - new.len(), "they were imported before");
        if new.is_empty() {
            return Ok(());
        }
        self.report.brings("sessions", usize::from(known.is_none()));
        self.report.brings("turns", new.len());
        if self.mover.mode == Mode::DryRun {
            return Ok(());
        }
        self.store(session, &id, known.is_none(), &sizes, &new)
    }

    /// Returns why a session is not imported; `None` if it is.
    fn unwanted(&self, session: &OldSession, id: &SessionId, known: Option<&Session>) -> Option<&'static str> {
        let config = &self.mover.config.memory;
        if is_excluded(config, self.mover.env, session.folder.as_ref()) {
            return Some("memory.exclude in the config excludes their folder");
        }
        if known.is_some_and(|known| known.cursor != Cursor::default()) {
            return Some("their turns are already stored");
        }
        self.folders.has_transcript(id).then_some(
            "Claude Code still has their transcripts, which are more complete: `longhaul memory import` reads them",
        )
    }

    /// Stores turns as if they came from a transcript. Every statement can be repeated: after a kill, the next run
    /// imports the same turns again, and none is stored twice.
    fn store(
        &mut self,
        old: &OldSession,
        id: &SessionId,
        is_new: bool,
        sizes: &[OldTurnSize],
        new: &BTreeSet<i64>,
    ) -> Result<(), Trouble> {
        let Sink::Store(bulk) = &mut self.sink else { return Ok(()) };
        let (env, config) = (self.mover.env, self.mover.config);
        let project = self.folders.in_folder(old.folder.as_ref());
        let first = new.first().copied().unwrap_or_default();
        let turns = self.database.turns(&old.id, first.saturating_sub(1), first).map_err(theirs)?;
        let at = old.at.or_else(|| turns.first()?.at).unwrap_or(env.now);
        register(bulk.plain(), id, &project, at)?;
        let Some(session) = bulk.plain().session(id.as_str()).map_err(ours)? else { return Ok(()) };
        let mut builder = RecordBuilder::new(config, project.path, at);
        let (mut prompt_number, mut prompts, mut observations) = (0, 0, 0);
        let mut take_in = |bulk: &Bulk<'_>, mut parts: Vec<Part>| {
            let past = parts.iter_mut().map(|part| past_turn(part, false)).collect();
            let past = bulk.take_in_past(id.as_str(), past, prompt_number).map_err(ours)?.unwrap_or_default();
            prompt_number = past.prompt_number;
            prompts += past.prompts;
            observations += past.observations;
            Ok::<i64, Trouble>(prompt_number)
        };
        for (after, last) in pieces(sizes) {
            if new.range((Excluded(after), Included(last))).next().is_none() {
                continue;
            }
            let mut turns = self.database.turns(&old.id, after, last).map_err(theirs)?;
            turns.retain(|turn| new.contains(&turn.number));
            let translated: Vec<Turn> = turns.into_iter().map(|turn| translate(id, &turn)).collect();
            let mut batch = Batch::default();
            batch.cursor = session.cursor.clone();
            batch.turns = translated;
            bulk.plain().ingest(&session, &session.cursor, &batch, config, env.now).map_err(ours)?;
            take_in(bulk, builder.go_on(batch.turns))?;
        }
        let (rest, summary) = builder.end();
        let last_prompt = take_in(bulk, rest)?;
        if let Some(summary) = summary {
            let is_news = bulk.write_past_summary(id.as_str(), last_prompt, &summary, builder.last_at);
            self.report.brings("summaries", usize::from(is_news.map_err(ours)?));
        }
        self.report.brings("prompts", prompts);
        self.report.brings("observations", observations);
        if is_new {
            bulk.plain().complete_session(id.as_str(), "imported", builder.last_at).map_err(ours)?;
        }
        let keys: Vec<String> = new.iter().map(|number| key(id, *number)).collect();
        let noted = bulk.plain().note_moved_in(Origin::Throughline.as_str(), keys.iter().map(String::as_str));
        noted.map_err(ours)
    }
}

/// Divides turns into ranges that are read at once: after one number, up to and including another.
fn pieces(sizes: &[OldTurnSize]) -> Vec<(i64, i64)> {
    let mut pieces: Vec<(i64, i64)> = Vec::new();
    let mut bytes = BYTES_AT_ONCE;
    for size in sizes {
        if bytes >= BYTES_AT_ONCE {
            pieces.push((pieces.last().map_or(i64::MIN, |(_, last)| *last), size.number));
            bytes = 0;
        } else if let Some((_, last)) = pieces.last_mut() {
            *last = size.number;
        }
        bytes = bytes.saturating_add(size.bytes);
    }
    pieces
}

fn key(session: &SessionId, number: i64) -> String {
    format!("throughline-{session}-{number}")
}

/// Returns a turn as if it came from a transcript.
fn translate(session: &SessionId, old: &OldTurn) -> Turn {
    // Marked like a turn from a hook, so that a transcript that is read later replaces it.
    let id = format!("hook:throughline-{}", old.number);
    let at = old.at.or(old.replied_at);
    let said =
        |text: &str, what: &str, at| (!text.is_empty()).then(|| SourcedText::new(format!("{id}:{what}"), at, text));
    let mut turn = Turn::new(id.as_str());
    turn.at = at;
    turn.prompt = said(&old.asked, "asked", at);
    turn.replies.extend(said(&old.replied, "replied", old.replied_at));
    for (index, detail) in old.details.iter().enumerate() {
        add(&mut turn, detail, format!("throughline-{session}-{}-{index}", old.number));
    }
    turn
}

/// Adds a detail. `name` is its id if it has none.
fn add(turn: &mut Turn, detail: &OldDetail, name: String) {
    let source = if detail.source.is_empty() { name } else { detail.source.clone() };
    let text = if detail.output.is_empty() { &detail.input } else { &detail.output };
    match detail.kind.as_str() {
        "thinking" => turn.thinking.push(SourcedText::new(source, detail.at, text.as_str())),
        "system" | "image" => {
            let name = if detail.kind == "image" { "image" } else { &detail.name };
            let mut attachment = Attachment::new(source, name);
            attachment.at = detail.at;
            attachment.text.clone_from(text);
            turn.attachments.push(attachment);
        }
        _ => {
            let id = source.strip_suffix(RESULT).unwrap_or(&source);
            if !turn.calls.iter().any(|call| call.id == id) {
                let mut call = ToolCall::new(id);
                call.at = detail.at;
                turn.calls.push(call);
            }
            let Some(call) = turn.calls.iter_mut().find(|call| call.id == id) else { return };
            call.name = call.name.take().or_else(|| Some(detail.name.clone()).filter(|name| !name.is_empty()));
            if !detail.input.is_empty() {
                call.input = Some(json_of(&detail.input));
            }
            if !detail.output.is_empty() {
                call.output = Some(detail.output.clone());
            }
        }
    }
}

/// Returns the input of a tool as JSON. It may no longer be valid JSON because it was cut.
fn json_of(text: &str) -> String {
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(_) => text.to_owned(),
        Err(_) => serde_json::Value::from(text).to_string(),
    }
}
