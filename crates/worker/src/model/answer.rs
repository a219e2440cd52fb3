//! Reads the answer of a model.

use longhaul_core::record::defuse;
use longhaul_core::text::is_invisible;
use longhaul_memory::{NARRATIVE_CHARS, PART_CHARS, REQUEST_CHARS, Summary, TITLE_CHARS};
use longhaul_runtime::Sanitizer;
use longhaul_store::{ModelJob, Words};
use serde::Deserialize;
use serde_json::Value;

/// How long a turn's line may be, in characters.
pub(crate) const LINE_CHARS: usize = 200;

/// An answer in the format of the schema, without unknown fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerWire {
    request: String,
    investigated: String,
    learned: String,
    completed: String,
    next_steps: String,
    observations: Vec<ObservationWire>,
    /// A model may leave them out; the rest of its answer is still used.
    #[serde(default)]
    turns: Vec<TurnWire>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObservationWire {
    id: i64,
    title: String,
    narrative: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnWire {
    id: usize,
    line: String,
}

/// Parses an answer; `None` if it does not have the requested format.
///
/// Private text and secrets are removed, long texts are cut, and observations and turns that were not requested are left
/// out. If nothing is left of a title, a line or the whole summary, the text written by rules stays.
pub(crate) fn read(answer: &Value, job: &ModelJob, sanitizer: Sanitizer) -> Option<Words> {
    let answer = AnswerWire::deserialize(answer).ok()?;
    let is_too_much = answer.observations.len() > job.observations.len() || answer.turns.len() > job.turns.len();
    // Without a requested summary, the field is not used.
    if is_too_much || (job.summary.is_some() && answer.request.trim().is_empty()) {
        return None;
    }
    let mut summary = Summary::new(sanitizer.line(&answer.request, REQUEST_CHARS));
    summary.investigated = sanitizer.passage(&answer.investigated, PART_CHARS);
    summary.learned = sanitizer.passage(&answer.learned, PART_CHARS);
    summary.completed = sanitizer.passage(&answer.completed, PART_CHARS);
    summary.next_steps = sanitizer.passage(&answer.next_steps, PART_CHARS);
    let summary = job.summary.as_ref().map(|(id, _)| (*id, summary)).filter(|(_, new)| !new.request.is_empty());
    let mut words = Words { summary, observations: Vec::new(), lines: vec![String::new(); job.turns.len()] };
    for TurnWire { id, line: said } in answer.turns {
        let place = id.checked_sub(1).and_then(|at| words.lines.get_mut(at));
        if let Some(place) = place.filter(|place| place.is_empty()) {
            *place = line(&said, sanitizer);
        }
    }
    for ObservationWire { id, title, narrative } in answer.observations {
        let (title, narrative) = (sanitizer.line(&title, TITLE_CHARS), sanitizer.passage(&narrative, NARRATIVE_CHARS));
        let is_asked = job.observations.iter().any(|(asked, _)| *asked == id);
        let is_new = words.observations.iter().all(|(known, ..)| *known != id);
        if is_asked && is_new && !title.is_empty() {
            words.observations.push((id, title, narrative));
        }
    }
    Some(words)
}

/// Returns the line of a turn as it is stored. It is shown to a model later, in a frame that it must not end.
fn line(said: &str, sanitizer: Sanitizer) -> String {
    let visible: String = said.chars().filter(|c| !is_invisible(*c)).collect();
    defuse(&sanitizer.line(&visible, LINE_CHARS))
}

/// Returns the JSON in a text that is perhaps wrapped in a fence of Markdown.
pub(crate) fn json_in(text: &str) -> Option<Value> {
    let text = text.trim();
    let inner =
        text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).and_then(|text| text.strip_suffix("```"));
    serde_json::from_str(inner.unwrap_or(text)).ok()
}
