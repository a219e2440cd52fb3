//! The handoff that the model writes: front matter followed by sections.

use longhaul_core::Millis;
use saphyr::{LoadableYamlNode, ScalarOwned, YamlOwned};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// It has no front matter.
    #[error("it has no front matter")]
    NoFrontMatter,
    /// The front matter is not YAML, or not a mapping.
    #[error("its front matter is not YAML")]
    NotYaml,
    /// The front matter has no valid `continue`.
    #[error("its front matter does not say `continue: true` or `continue: false`")]
    NoVerdict,
    /// There is no text after the front matter.
    #[error("there is nothing below its front matter")]
    NoBody,
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

// The sections of a handoff, found by their headings. `texts.rs` says which ones the model is asked for.

/// The level of a heading that is a bold line: deeper than every other.
const BOLD: usize = 7;

/// A line that begins a section.
struct Heading<'a> {
    title: &'a str,
    level: usize,
    /// The offsets of the beginning and the end of its line.
    line: (usize, usize),
}

/// Returns the text of the first section with that heading, of any level; `None` where there is none.
///
/// The section ends at the next heading of the same or a higher level. Deeper headings and bold lines belong to it.
pub(super) fn section<'a>(body: &'a str, heading: &str) -> Option<&'a str> {
    let headings = headings(body);
    let at = headings.iter().position(|found| is_titled(found.title, heading))?;
    let Heading { level, line: (_, start), .. } = headings[at];
    let end = headings[at + 1..].iter().find(|next| next.level <= level).map_or(body.len(), |next| next.line.0);
    Some(body[start..end].trim())
}

/// Splits `body` into parts, each with its heading, at the level of the section `heading`.
///
/// Text before the first heading is a part, too. Returns `None` where there is no such section.
pub(super) fn parts<'a>(body: &'a str, heading: &str) -> Option<Vec<&'a str>> {
    let headings = headings(body);
    let level = headings.iter().find(|found| is_titled(found.title, heading))?.level;
    let starts = headings.iter().filter(|found| found.level <= level).map(|found| found.line.0);
    let starts: Vec<usize> = std::iter::once(0).chain(starts).chain([body.len()]).collect();
    Some(starts.windows(2).map(|pair| body[pair[0]..pair[1]].trim()).filter(|part| !part.is_empty()).collect())
}

/// Returns whether a part begins with that heading.
pub(super) fn is_headed(part: &str, heading: &str) -> bool {
    headings(part).first().is_some_and(|found| is_titled(found.title, heading))
}

/// Returns whether a title is `heading`, possibly followed by more words: "Remaining work", "Remaining (3)".
fn is_titled(title: &str, heading: &str) -> bool {
    let (Some(start), rest) = (title.get(..heading.len()), title.get(heading.len()..).unwrap_or_default()) else {
        return false;
    };
    start.eq_ignore_ascii_case(heading) && !rest.starts_with(char::is_alphanumeric)
}

/// Returns the headings outside of code blocks.
fn headings(body: &str) -> Vec<Heading<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    let mut offset = 0;
    for line in body.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        match (fence, fence_of(line)) {
            (Some(open), Some(close)) if close.starts_with(open) && line.trim() == close => fence = None,
            (Some(_), _) => {}
            (None, opened @ Some(_)) => fence = opened,
            (None, None) => {
                found.extend(heading(line).map(|(title, level)| Heading { title, level, line: (start, offset) }))
            }
        }
    }
    found
}

/// Returns the characters that begin or end a code block.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let length = line.len() - line.trim_start_matches('`').len().min(line.trim_start_matches('~').len());
    (length >= 3).then(|| &line[..length])
}

/// Returns the title and the level of a heading: `## Remaining`, `**Remaining**`, with or without a colon.
fn heading(line: &str) -> Option<(&str, usize)> {
    let line = line.trim();
    let rest = line.trim_start_matches('#');
    let (title, level) = match line.len() - rest.len() {
        0 => {
            let line = line.strip_suffix(':').unwrap_or(line);
            (line.strip_prefix("**")?.strip_suffix("**")?, BOLD)
        }
        // `#123` is an issue number, and `#!/bin/sh` begins a script.
        level @ 1..BOLD if rest.starts_with(char::is_whitespace) => (rest, level),
        _ => return None,
    };
    let title = title.trim().trim_end_matches(':').trim_matches('*').trim_end_matches(':').trim();
    (!title.is_empty()).then_some((title, level))
}

// Finding the handoff that was asked for: in the reply, or in a file. The caller reads the files, and chooses the name of
// the one that is not [`MARKER_FILE`].

/// The name of the file whose presence alone means that the work is to be continued.
pub const MARKER_FILE: &str = "handoff-continue.md";

/// How far in the future a file's time may be, because file systems and clocks differ. A later time is not valid.
const SLACK_MS: u64 = 5_000;

/// The kind of a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenKind {
    /// A handoff, whose front matter says whether to continue.
    Handoff,
    /// A marker, whose presence means that the work is to be continued.
    Marker,
}

/// A handoff that the model wrote into a file, instead of replying with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// The kind of file.
    pub kind: WrittenKind,
    /// The time at which it was last modified.
    pub modified: Millis,
    /// The text of the file.
    pub text: String,
}

/// Returns whether a text is a handoff with `nonce` that says to continue.
pub(super) fn says_to_go_on(text: &str, nonce: &str) -> bool {
    Document::parse_answer(text, nonce).is_ok_and(|document| document.goes_on && document.answers(nonce))
}

/// Finds the handoff with `nonce` that was asked for at the time `asked`: in the reply, or else in a file written since.
///
/// The error describes why there is none.
pub fn find_handoff(
    reply: &str,
    files: &[WrittenFile],
    nonce: &str,
    asked: Millis,
    now: Millis,
) -> Result<Document, String> {
    let from_reply = Document::parse_answer(reply, nonce);
    if let Ok(document) = &from_reply
        && document.answers(nonce)
    {
        return Ok(document.clone());
    }
    let is_fresh = |file: &&WrittenFile| file.modified >= asked && file.modified.0 <= now.0 + SLACK_MS;
    for file in files.iter().filter(is_fresh).filter(|file| !file.text.trim().is_empty()) {
        match (file.kind, Document::parse_answer(&file.text, nonce)) {
            (WrittenKind::Handoff, Ok(document)) if document.answers(nonce) => return Ok(document),
            (WrittenKind::Marker, Ok(document)) => return Ok(Document { goes_on: true, ..document }),
            (WrittenKind::Marker, Err(_)) => {
                let body = file.text.trim().to_owned();
                return Ok(Document { goes_on: true, body, ..Document::default() });
            }
            (WrittenKind::Handoff, _) => {}
        }
    }
    Err(match from_reply {
        Ok(Document { nonce: None, .. }) => "the reply's front matter has no nonce".to_owned(),
        Ok(_) => "the reply answers another question: its nonce is wrong".to_owned(),
        Err(malformed) => format!("the reply is no handoff: {malformed}"),
    })
}
