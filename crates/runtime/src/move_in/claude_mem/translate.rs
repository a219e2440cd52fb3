//! claude-mem's records as ours: nothing private, nothing secret, nothing too long.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_core::guard::bookmark_note;
use longhaul_core::{Config, Millis};
use longhaul_memory::{
    Kind, NARRATIVE_CHARS, Observation, PART_CHARS, REQUEST_CHARS, Summary, TITLE_CHARS, is_skipped,
};
use longhaul_store::{
    Clean, ForeignObservation, ForeignPrompt, ForeignSession, ForeignSummary, Moved, MovedCall, MovedTurn,
};
use longhaul_transcript::DetailKind;

use super::super::{Move, Origin};
use super::AT_ONCE;
use crate::Keeper;
use crate::handoff::Project;
use crate::memory::clean_prompt;

/// How many facts or files of one observation are kept, and how long each may be.
const FACTS: usize = 40;
const FACT_CHARS: usize = 400;

/// Translates a session.
pub(super) struct Translator<'a> {
    config: &'a Config,
    keeper: Keeper,
    /// The project's folder, with a slash behind it; empty where nobody knows it.
    root: String,
    /// When something happened of which the time is not known.
    began: Millis,
    /// How many prompts were wholly private.
    pub(super) private: usize,
    /// How many records say nothing that may be kept.
    pub(super) empty: usize,
}

/// What there is for one number of a prompt.
#[derive(Default)]
struct Numbered {
    prompts: Vec<Moved<String>>,
    calls: Vec<Moved<MovedCall>>,
    summaries: Vec<Moved<Summary>>,
}

impl<'a> Translator<'a> {
    pub(super) fn new(mover: &'a Move<'_>, project: &Project, session: &ForeignSession) -> Self {
        let root = if project.path.is_empty() { String::new() } else { format!("{}/", project.path) };
        let began = session.at.unwrap_or(mover.env.now);
        Self { config: mover.config, keeper: Keeper::new(mover.config), root, began, private: 0, empty: 0 }
    }

    /// Puts together what belongs together: a prompt, what was observed for it, what it came to.
    pub(super) fn turns(
        &mut self,
        prompts: Vec<ForeignPrompt>,
        observations: Vec<ForeignObservation>,
        summaries: Vec<ForeignSummary>,
    ) -> Vec<MovedTurn> {
        let mut numbered: BTreeMap<i64, Numbered> = BTreeMap::new();
        let mut private = BTreeSet::new();
        let began: Vec<(i64, Millis)> = prompts.iter().map(|one| (one.number, one.at.unwrap_or(self.began))).collect();
        // Which prompt ran at a time, where a record does not say for which it was.
        let running = |at: Option<Millis>| {
            let at = at?;
            began.iter().filter(|(_, began)| *began <= at).max_by_key(|(_, began)| *began).map(|(number, _)| *number)
        };
        for prompt in prompts {
            let at = prompt.at.unwrap_or(self.began);
            let key = key("p", prompt.id, prompt.at);
            match clean_prompt(&prompt.text, self.keeper) {
                // A mark to go back to asks nothing.
                Some(text) if bookmark_note(&text, self.config.bookmarks.marker.as_str()).is_some() => self.empty += 1,
                Some(what) => numbered.entry(prompt.number).or_default().prompts.push(Moved { key, at, what }),
                None if prompt.text.trim().is_empty() => self.empty += 1,
                None => {
                    private.insert(prompt.number);
                    self.private += 1;
                }
            }
        }
        for one in observations {
            let number = one.prompt_number.or_else(|| running(one.at)).unwrap_or_default();
            let (key, at) = (key("o", one.id, one.at), one.at.unwrap_or(self.began));
            match self.call(one).filter(|_| !private.contains(&number)) {
                Some(what) => numbered.entry(number).or_default().calls.push(Moved { key, at, what }),
                None => self.empty += 1,
            }
        }
        for one in summaries {
            let number = one.prompt_number.or_else(|| running(one.at)).unwrap_or_default();
            let (key, at) = (key("s", one.id, one.at), one.at.unwrap_or(self.began));
            match self.summary(one).filter(|_| !private.contains(&number)) {
                Some(what) => numbered.entry(number).or_default().summaries.push(Moved { key, at, what }),
                None => self.empty += 1,
            }
        }
        numbered.into_values().flat_map(Numbered::turns).collect()
    }

    fn call(&self, one: ForeignObservation) -> Option<MovedCall> {
        if !one.tool.is_empty() && is_skipped(&one.tool, &self.config.memory.skip_tools.0) {
            return None;
        }
        let (input, response) =
            (self.raw(DetailKind::ToolInput, &one.input), self.raw(DetailKind::ToolOutput, &one.response));
        observation(self.keeper, &self.root, one).map(|observation| MovedCall { observation, input, response })
    }

    fn raw(&self, kind: DetailKind, text: &str) -> String {
        if text.is_empty() { String::new() } else { self.keeper.detail(kind, text) }
    }

    fn summary(&self, one: ForeignSummary) -> Option<Summary> {
        let Summary { request, investigated, learned, completed, next_steps } = one.summary;
        let part = |text: &str| self.keeper.passage(text, PART_CHARS);
        // What has no place of its own here is said with what was learned.
        let learned = if one.notes.trim().is_empty() { learned } else { format!("{learned}\n{}", one.notes) };
        let summary = Summary {
            request: self.keeper.line(&request, REQUEST_CHARS),
            investigated: part(&investigated),
            learned: part(&learned),
            completed: part(&completed),
            next_steps: part(&next_steps),
        };
        (summary != Summary::default()).then_some(summary)
    }
}

impl Numbered {
    fn turns(self) -> Vec<MovedTurn> {
        let mut prompts = self.prompts.into_iter();
        let last = prompts.next_back();
        let mut turns: Vec<MovedTurn> =
            prompts.map(|prompt| MovedTurn { prompt: Some(prompt), ..MovedTurn::default() }).collect();
        let mut turn = MovedTurn { prompt: last, ..MovedTurn::default() };
        for call in self.calls {
            // A turn that is long is stored in several pieces.
            if turn.calls.len() >= AT_ONCE {
                turns.push(std::mem::take(&mut turn));
            }
            turn.calls.push(call);
        }
        turn.summaries = self.summaries;
        turns.push(turn);
        turns
    }
}

/// Returns what was observed in our words; `None` where nothing of it is left.
fn observation(keeper: Keeper, root: &str, one: ForeignObservation) -> Option<Observation> {
    let passage = match (one.subtitle.trim(), one.narrative.trim()) {
        (subtitle, "") => subtitle.to_owned(),
        ("", narrative) => narrative.to_owned(),
        (subtitle, narrative) => format!("{subtitle}\n{narrative}"),
    };
    let narrative = keeper.passage(&passage, NARRATIVE_CHARS);
    let mut title = keeper.line(&one.title, TITLE_CHARS);
    if title.is_empty() {
        title = keeper.line(narrative.lines().next().unwrap_or_default(), TITLE_CHARS);
    }
    if title.is_empty() {
        return None;
    }
    let lines = |texts: &[String]| -> Vec<String> {
        let lines = texts.iter().take(FACTS).map(|text| keeper.line(text, FACT_CHARS));
        lines.filter(|line| !line.is_empty()).collect()
    };
    let files = |paths: &[String]| -> Vec<String> {
        lines(paths).iter().map(|path| path.strip_prefix(root).unwrap_or(path).to_owned()).collect()
    };
    let mut facts = lines(&one.facts);
    let concepts = lines(&one.concepts);
    if !concepts.is_empty() {
        facts.push(format!("concepts: {}", concepts.join(", ")));
    }
    Some(Observation {
        kind: kind(&one.kind),
        tool: if one.tool.is_empty() {
            Origin::ClaudeMem.name().to_owned()
        } else {
            keeper.line(&one.tool, TITLE_CHARS)
        },
        title,
        narrative,
        facts,
        files_read: files(&one.files_read),
        files_modified: files(&one.files_modified),
    })
}

/// Returns what belongs to no session, as a note.
pub(super) fn note(mover: &Move<'_>, one: &ForeignObservation) -> Option<Moved<(String, String)>> {
    let (key, at) = (key("o", one.id, one.at), one.at.unwrap_or(mover.env.now));
    let found = observation(Keeper::new(mover.config), "", one.clone())?;
    let text = [vec![found.narrative], found.facts, found.files_modified].concat();
    let text: Vec<&str> = text.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
    Some(Moved { key, at, what: (found.title, text.join("\n")) })
}

/// Returns what an observation is about, in our words.
fn kind(theirs: &str) -> Kind {
    match theirs {
        "bugfix" => Kind::Fix,
        "feature" | "refactor" | "change" => Kind::Change,
        "decision" => Kind::Decision,
        "security_alert" | "security_note" => Kind::Problem,
        _ => Kind::Discovery,
    }
}

/// Returns by what a record is known: its row, and its time, as rows are numbered anew in a new database.
pub(super) fn key(what: &str, row: i64, at: Option<Millis>) -> String {
    format!("claude-mem-{what}{row}-{}", at.unwrap_or_default().0)
}
