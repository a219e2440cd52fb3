//! What a model has answered.

use longhaul_memory::{NARRATIVE_CHARS, PART_CHARS, REQUEST_CHARS, Summary, TITLE_CHARS};
use longhaul_runtime::Keeper;
use longhaul_store::{ModelJob, Words};
use serde::Deserialize;
use serde_json::Value;

/// An answer, as the schema has it: everything there, nothing else.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerWire {
    request: String,
    investigated: String,
    learned: String,
    completed: String,
    next_steps: String,
    observations: Vec<ObservationWire>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObservationWire {
    id: i64,
    title: String,
    narrative: String,
}

/// Reads an answer; `None` where it is not what was asked for.
///
/// What is private or secret in it goes, what is too long is cut, and observations that nobody asked for are left out.
/// Where nothing is left of a title, or of the whole summary, the words of the rule stay.
pub(crate) fn read(answer: &Value, job: &ModelJob, keeper: Keeper) -> Option<Words> {
    let answer = AnswerWire::deserialize(answer).ok()?;
    if answer.request.trim().is_empty() || answer.observations.len() > job.observations.len() {
        return None;
    }
    let summary = Summary {
        request: keeper.line(&answer.request, REQUEST_CHARS),
        investigated: keeper.passage(&answer.investigated, PART_CHARS),
        learned: keeper.passage(&answer.learned, PART_CHARS),
        completed: keeper.passage(&answer.completed, PART_CHARS),
        next_steps: keeper.passage(&answer.next_steps, PART_CHARS),
    };
    let summary = job.summary.as_ref().map(|(id, _)| (*id, summary)).filter(|(_, new)| !new.request.is_empty());
    let mut words = Words { summary, observations: Vec::new() };
    for ObservationWire { id, title, narrative } in answer.observations {
        let (title, narrative) = (keeper.line(&title, TITLE_CHARS), keeper.passage(&narrative, NARRATIVE_CHARS));
        let is_asked = job.observations.iter().any(|(asked, _)| *asked == id);
        let is_new = words.observations.iter().all(|(known, ..)| *known != id);
        if is_asked && is_new && !title.is_empty() {
            words.observations.push((id, title, narrative));
        }
    }
    Some(words)
}

/// Returns the JSON in a text that is perhaps wrapped in a fence of Markdown.
pub(crate) fn json_in(text: &str) -> Option<Value> {
    let text = text.trim();
    let inner =
        text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).and_then(|text| text.strip_suffix("```"));
    serde_json::from_str(inner.unwrap_or(text)).ok()
}
