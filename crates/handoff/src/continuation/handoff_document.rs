//! The handoff that the model writes: front matter followed by sections.

use std::fmt;

use saphyr::{LoadableYamlNode, ScalarOwned, YamlOwned};

use super::document_sections::section;

/// The maximum size of a front matter, in bytes. A longer text between two `---` lines is something else.
const MAX_FRONT: usize = 4 * 1024;

/// A handoff document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Document {
    /// Whether the work is to be continued.
    pub goes_on: bool,
    /// The nonce, which shows which question the document answers.
    pub nonce: Option<String>,
    /// The complete front matter as it was written, without the `---` lines.
    pub front: String,
    /// The text after the front matter.
    pub body: String,
}

/// Why a text is not a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// It has no front matter.
    NoFrontMatter,
    /// The front matter is not YAML, or not a mapping.
    NotYaml,
    /// The front matter has no valid `continue`.
    NoVerdict,
    /// There is no text after the front matter.
    NoBody,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoFrontMatter => "it has no front matter",
            Self::NotYaml => "its front matter is not YAML",
            Self::NoVerdict => "its front matter does not say `continue: true` or `continue: false`",
            Self::NoBody => "there is nothing below its front matter",
        })
    }
}

impl Document {
    /// Parses a handoff. Text before it and a code fence around it, which models add, are ignored.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        Self::parse_answer(text, "")
    }

    /// Parses the handoff with `nonce`, or else the first one in `text`. Models quote older handoffs.
    pub fn parse_answer(text: &str, nonce: &str) -> Result<Self, Malformed> {
        let lines = text.trim_start_matches('\u{feff}').lines();
        // `lines` removes one carriage return; a second one must not stay, because reading the result again removes it.
        let lines: Vec<&str> = lines.map(|line| line.trim_end_matches('\r')).collect();
        let rules: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].trim() == "---").collect();
        let mut problem = None;
        let mut first = None;
        for pair in rules.windows(2) {
            let (begin, end) = (pair[0], pair[1]);
            match Self::of(&lines[begin + 1..end]) {
                Ok(document) if document.answers(nonce) => return document.with_body(body(&lines, begin, end)),
                Ok(document) if first.is_none() => {
                    match document.with_body(body(&lines, begin, end)) {
                        Ok(document) => first = Some(document),
                        Err(malformed) => problem = problem.or(Some(malformed)),
                    };
                }
                Ok(_) => {}
                // A `---` line in ordinary text begins no front matter; the real one may follow.
                Err(malformed) => problem = problem.or(Some(malformed)),
            }
        }
        first.ok_or(problem.unwrap_or(Malformed::NoFrontMatter))
    }

    /// Returns whether the document has the nonce `nonce`.
    pub fn answers(&self, nonce: &str) -> bool {
        self.nonce.as_deref().is_some_and(|found| found.trim() == nonce)
    }

    /// Parses a front matter into a document without a body.
    fn of(front: &[&str]) -> Result<Self, Malformed> {
        let front = front.join("\n");
        // YAML aliases can expand a small text into a huge one.
        if front.len() > MAX_FRONT || (front.contains('&') && front.contains('*')) {
            return Err(Malformed::NotYaml);
        }
        let documents = YamlOwned::load_from_str(&front).map_err(|_| Malformed::NotYaml)?;
        let mapping = documents.first().and_then(YamlOwned::as_mapping).ok_or(Malformed::NotYaml)?;
        let mut document = Self::default();
        let mut verdict = None;
        for (key, value) in mapping {
            let (Some(key), value) = (key.as_str(), plain(value)) else { continue };
            match key {
                "continue" => verdict = value.parse().ok(),
                "nonce" => document.nonce = Some(value),
                _ => {}
            }
        }
        document.goes_on = verdict.ok_or(Malformed::NoVerdict)?;
        Ok(Self { front, ..document })
    }

    fn with_body(self, body: String) -> Result<Self, Malformed> {
        if self.goes_on && body.is_empty() {
            return Err(Malformed::NoBody);
        }
        Ok(Self { body, ..self })
    }

    /// Returns the text of the document's file: the complete front matter and the body.
    pub fn to_text(&self) -> String {
        let front = if self.front.is_empty() { format!("continue: {}", self.goes_on) } else { self.front.clone() };
        format!("---\n{front}\n---\n\n{}\n", self.body)
    }

    /// Returns the text of the section with that heading, of any level; `None` where there is none.
    pub fn section(&self, heading: &str) -> Option<&str> {
        section(&self.body, heading)
    }
}

/// Returns the text after the front matter, without the end of a code fence that begins before it.
fn body(lines: &[&str], begin: usize, end: usize) -> String {
    let fence = lines[..begin].iter().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim());
    let fence = fence.filter(|line| line.starts_with("```")).map(|line| line.trim_end_matches(|c: char| c != '`'));
    let mut below = &lines[end + 1..];
    if let Some(fence) = fence.filter(|fence| !fence.is_empty())
        && let Some(close) = below.iter().rposition(|line| line.trim() == fence)
    {
        below = &below[..close];
    }
    below.join("\n").trim().to_owned()
}

fn plain(value: &YamlOwned) -> String {
    match value {
        YamlOwned::Value(ScalarOwned::String(text)) => text.clone(),
        YamlOwned::Value(ScalarOwned::Boolean(flag)) => flag.to_string(),
        YamlOwned::Value(ScalarOwned::Integer(number)) => number.to_string(),
        YamlOwned::Value(ScalarOwned::FloatingPoint(number)) => number.to_string(),
        YamlOwned::Sequence(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    }
}
