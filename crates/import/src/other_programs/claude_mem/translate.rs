//! Translates records of claude-mem, without private or secret text and with limited lengths.

use longhaul_core::event::predicates::bookmark_note;
use longhaul_core::{Config, Millis};
use longhaul_memory::{
    Kind, NARRATIVE_CHARS, Observation, PART_CHARS, REQUEST_CHARS, Summary, TITLE_CHARS, is_skipped,
};
use longhaul_store::{ForeignHead, ForeignObservation, ForeignSession, ForeignSummary, Moved, MovedCall};
use longhaul_transcript::DetailKind;

use super::super::{Move, Origin};
use longhaul_runtime::Sanitizer;
use longhaul_runtime::handoff::Project;
use longhaul_runtime::memory::clean_prompt;

/// Maximum number of facts or files of an observation, and maximum length of each.
const FACTS: usize = 40;
const FACT_CHARS: usize = 400;

/// Translates the records of a session.
pub(super) struct Translator<'a> {
    config: &'a Config,
    sanitizer: Sanitizer,
    /// The folder of the project with a trailing slash; empty if it is not known.
    root: String,
    /// The time of records without a time.
    pub(super) began: Millis,
}

/// The result of translating a prompt.
pub(super) enum TranslatedPrompt {
    Kept(String),
    /// The prompt is empty or a bookmark.
    Empty,
    /// The prompt is wholly private, and so is the work for it.
    Private,
}

impl<'a> Translator<'a> {
    pub(super) fn new(mover: &'a Move<'_>, project: &Project, session: &ForeignSession) -> Self {
        let root = if project.path.is_empty() { String::new() } else { format!("{}/", project.path) };
        let began = session.at.unwrap_or(mover.env.now);
        Self { config: mover.config, sanitizer: Sanitizer::new(mover.config), root, began }
    }

    pub(super) fn prompt(&self, text: &str) -> TranslatedPrompt {
        match clean_prompt(text, self.sanitizer) {
            // A bookmark is not a request.
            Some(text) if bookmark_note(&text, self.config.bookmarks.marker.as_str()).is_some() => {
                TranslatedPrompt::Empty
            }
            Some(text) => TranslatedPrompt::Kept(text),
            None if text.trim().is_empty() => TranslatedPrompt::Empty,
            None => TranslatedPrompt::Private,
        }
    }

    pub(super) fn call(&self, foreign: ForeignObservation) -> Option<MovedCall> {
        if !foreign.tool.is_empty() && is_skipped(&foreign.tool, &self.config.memory.skip_tools.0) {
            return None;
        }
        let (input, response) =
            (self.raw(DetailKind::ToolInput, &foreign.input), self.raw(DetailKind::ToolOutput, &foreign.response));
        observation(self.sanitizer, &self.root, foreign).map(|observation| MovedCall { observation, input, response })
    }

    fn raw(&self, kind: DetailKind, text: &str) -> String {
        if text.is_empty() { String::new() } else { self.sanitizer.detail(kind, "", text) }
    }

    pub(super) fn summary(&self, foreign: ForeignSummary) -> Option<Summary> {
        let Summary { request, investigated, learned, completed, next_steps, .. } = foreign.summary;
        let part = |text: &str| self.sanitizer.passage(text, PART_CHARS);
        // The notes have no field of their own, so they are added to `learned`.
        let learned = if foreign.notes.trim().is_empty() { learned } else { format!("{learned}\n{}", foreign.notes) };
        let mut summary = Summary::new(self.sanitizer.line(&request, REQUEST_CHARS));
        summary.investigated = part(&investigated);
        summary.learned = part(&learned);
        summary.completed = part(&completed);
        summary.next_steps = part(&next_steps);
        (summary != Summary::default()).then_some(summary)
    }
}

/// Translates an observation; `None` if nothing of it is left.
fn observation(sanitizer: Sanitizer, root: &str, foreign: ForeignObservation) -> Option<Observation> {
    let passage = match (foreign.subtitle.trim(), foreign.narrative.trim()) {
        (subtitle, "") => subtitle.to_owned(),
        ("", narrative) => narrative.to_owned(),
        (subtitle, narrative) => format!("{subtitle}\n{narrative}"),
    };
    let narrative = sanitizer.passage(&passage, NARRATIVE_CHARS);
    let mut title = sanitizer.line(&foreign.title, TITLE_CHARS);
    if title.is_empty() {
        title = sanitizer.line(narrative.lines().next().unwrap_or_default(), TITLE_CHARS);
    }
    if title.is_empty() {
        return None;
    }
    let lines = |texts: &[String]| -> Vec<String> {
        let lines = texts.iter().take(FACTS).map(|text| sanitizer.line(text, FACT_CHARS));
        lines.filter(|line| !line.is_empty()).collect()
    };
    let files = |paths: &[String]| -> Vec<String> {
        lines(paths).iter().map(|path| path.strip_prefix(root).unwrap_or(path).to_owned()).collect()
    };
    let mut facts = lines(&foreign.facts);
    let concepts = lines(&foreign.concepts);
    if !concepts.is_empty() {
        facts.push(format!("concepts: {}", concepts.join(", ")));
    }
    let tool = match foreign.tool.as_str() {
        "" => Origin::ClaudeMem.as_str().to_owned(),
        tool => sanitizer.line(tool, TITLE_CHARS),
    };
    let mut observation = Observation::new(kind(&foreign.kind), tool, title);
    observation.narrative = narrative;
    observation.facts = facts;
    observation.files_read = files(&foreign.files_read);
    observation.files_modified = files(&foreign.files_modified);
    Some(observation)
}

/// Returns a record without a session as a note.
pub(super) fn note(
    mover: &Move<'_>,
    head: &ForeignHead,
    foreign: ForeignObservation,
) -> Option<Moved<(String, String)>> {
    let (key, at) = (key("o", head), head.at.unwrap_or(mover.env.now));
    let found = observation(Sanitizer::new(mover.config), "", foreign)?;
    let text = [vec![found.narrative], found.facts, found.files_modified].concat();
    let text: Vec<&str> = text.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
    Some(Moved { key, at, what: (found.title, text.join("\n")) })
}

fn kind(theirs: &str) -> Kind {
    match theirs {
        "bugfix" => Kind::Fix,
        "feature" | "refactor" | "change" => Kind::Change,
        "decision" => Kind::Decision,
        "security_alert" | "security_note" => Kind::Problem,
        _ => Kind::Discovery,
    }
}

/// Returns the key that identifies a record: its row and its time, because a new database numbers its rows again.
pub(super) fn key(what: &str, head: &ForeignHead) -> String {
    format!("claude-mem-{what}{}-{}", head.id, head.at.unwrap_or_default().0)
}
