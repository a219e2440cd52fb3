//! Decisions that the model labels as such.

use super::finish;
use crate::observation::{Kind, Observation};

/// Maximum number of decisions in one text.
const DECISIONS: usize = 5;

/// The labels of decisions at the beginning of a line.
const LABELS: [&str; 4] = ["decision:", "decided:", "decision made:", "final decision:"];

/// Returns the decisions in a text: lines that begin with `Decision:`, `Decided:` or `**Decision**`.
///
/// The lines up to the next empty one are the reasons. Code blocks are ignored.
pub fn decisions(assistant_text: &str) -> Vec<Observation> {
    let mut found: Vec<Observation> = Vec::new();
    let mut in_code = false;
    let mut open = false;
    for line in assistant_text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            open = false;
        }
        if in_code {
            continue;
        }
        if let Some(what) = decision(line) {
            if found.len() == DECISIONS {
                break;
            }
            found.push(observation(what));
            open = true;
        } else if line.trim().is_empty() {
            open = false;
        } else if let Some(last) = found.last_mut().filter(|_| open) {
            last.narrative.push('\n');
            last.narrative.push_str(line.trim_end());
        }
    }
    found.into_iter().map(finish).collect()
}

fn observation(what: &str) -> Observation {
    Observation {
        kind: Kind::Decision,
        tool: String::new(),
        title: what.to_owned(),
        narrative: what.to_owned(),
        facts: Vec::new(),
        files_read: Vec::new(),
        files_modified: Vec::new(),
    }
}

/// Returns whether a line is a labelled decision.
pub(crate) fn is_decision(line: &str) -> bool {
    decision(line).is_some()
}

/// Returns the text of a decision.
fn decision(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches(['-', '#', '>', ' ']);
    // `**Decision**: x`, `**Decision:** x`, `**Decision** x` and `Decision: x` are equivalent.
    let bold = ["**Decision**", "**Decided**"].into_iter().find_map(|label| line.strip_prefix(label));
    let plain = || {
        let (label, what) = line.split_at(line.find(':')? + 1);
        let label = label.trim_start_matches(['*', '_', ' ']).to_lowercase();
        LABELS.contains(&label.as_str()).then_some(what)
    };
    let what = bold.or_else(plain)?.trim_start_matches(['*', '_', ':', '–', '—', '-', ' ']).trim_end();
    (!what.is_empty()).then_some(what)
}
