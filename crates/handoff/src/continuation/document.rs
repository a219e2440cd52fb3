//! The handoff that the model writes: front matter, then sections.

use std::fmt;

use longhaul_core::Millis;
use saphyr::{LoadableYamlNode, ScalarOwned, YamlOwned};

/// The file whose mere presence means to go on.
pub const MARKER_FILE: &str = "handoff-continue.md";

/// A handoff.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// Whether the work is to go on.
    pub goes_on: bool,
    /// What shows that it answers our question, and not an older one.
    pub nonce: Option<String>,
    /// Whatever else stands in the front matter, in its order.
    pub other: Vec<(String, String)>,
    /// Everything below the front matter.
    pub body: String,
}

/// Why a text is no handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// It does not begin with a front matter.
    NoFrontMatter,
    /// The front matter is not YAML, or not a mapping.
    NotYaml,
    /// The front matter does not say whether to go on.
    NoVerdict,
    /// There is nothing below the front matter.
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
    /// Reads a handoff. Words before it and a code fence around it are passed over: models add them.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
        let is_rule = |line: &&str| line.trim() == "---";
        let mut problem = Malformed::NoFrontMatter;
        let mut from = 0;
        while let Some(begin) = lines[from..].iter().position(is_rule).map(|at| from + at) {
            let Some(end) = lines[begin + 1..].iter().position(is_rule).map(|at| begin + 1 + at) else { break };
            match Self::of(&lines[begin + 1..end], body(&lines, begin, end)) {
                Ok(document) => return Ok(document),
                // A rule in somebody's prose opens no front matter; the real one may follow.
                Err(malformed) if from == 0 => problem = malformed,
                Err(_) => {}
            }
            from = begin + 1;
        }
        Err(problem)
    }

    fn of(front: &[&str], body: String) -> Result<Self, Malformed> {
        let documents = YamlOwned::load_from_str(&front.join("\n")).map_err(|_| Malformed::NotYaml)?;
        let mapping = documents.first().and_then(YamlOwned::as_mapping).ok_or(Malformed::NotYaml)?;
        let mut document = Self { body, ..Self::default() };
        let mut verdict = None;
        for (key, value) in mapping {
            let (Some(key), value) = (key.as_str(), plain(value)) else { continue };
            match key {
                "continue" => verdict = value.parse().ok(),
                "nonce" => document.nonce = Some(value),
                key => document.other.push((key.to_owned(), value)),
            }
        }
        document.goes_on = verdict.ok_or(Malformed::NoVerdict)?;
        if document.goes_on && document.body.is_empty() {
            return Err(Malformed::NoBody);
        }
        Ok(document)
    }

    /// Returns the text of the section with that heading, of whatever level; `None` where there is none.
    pub fn section(&self, heading: &str) -> Option<&str> {
        let mut offset = 0;
        let mut start = None;
        for line in self.body.split_inclusive('\n') {
            if let Some(title) = heading_of(line) {
                match start {
                    None if title.eq_ignore_ascii_case(heading) => start = Some(offset + line.len()),
                    None => {}
                    Some(start) => return Some(self.body[start..offset].trim()),
                }
            }
            offset += line.len();
        }
        start.map(|start| self.body[start..].trim())
    }

    /// Returns what is left to do, in a form in which two handoffs can be compared.
    pub fn remaining(&self) -> String {
        normalize(self.section("Remaining").unwrap_or_default())
    }
}

/// Returns what stands below the front matter; the fence that was opened above it is closed below.
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
        YamlOwned::Representation(text, ..) => text.clone(),
        YamlOwned::Sequence(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    }
}

/// Returns a line's heading: `## Remaining`, `**Remaining**`, with or without a colon.
fn heading_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let title = match line.strip_prefix('#') {
        Some(rest) => rest.trim_start_matches('#'),
        None => line.strip_prefix("**")?.strip_suffix("**").or_else(|| line.strip_prefix("**")?.strip_suffix("**:"))?,
    };
    Some(title.trim().trim_end_matches(':').trim_matches('*').trim()).filter(|title| !title.is_empty())
}

/// Marks of lists, spaces and case say nothing about what is left to do.
fn normalize(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', '+', '•']).trim_start();
        let line = line.strip_prefix("[ ]").or_else(|| line.strip_prefix("[x]")).unwrap_or(line);
        line.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    };
    text.lines().map(line).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What a written file says by being there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenAs {
    /// What it says in its front matter.
    Handoff,
    /// That the work goes on.
    Marker,
}

/// A handoff that was written into a file, although a reply was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Which of the two files it is.
    pub kind: WrittenAs,
    /// When it was last written.
    pub modified: Millis,
    /// Its text.
    pub text: String,
}

/// Finds the handoff that answers what was asked at `asked` with `nonce`: the reply, else a file written since.
///
/// Returns why there is none: an answer to an older question, or none at all.
pub fn find_handoff(reply: &str, files: &[Written], nonce: &str, asked: Millis) -> Result<Document, String> {
    let answers = |document: &Document| document.nonce.as_deref().is_some_and(|found| found.trim() == nonce);
    let from_reply = Document::parse(reply);
    if let Ok(document) = &from_reply
        && answers(document)
    {
        return Ok(document.clone());
    }
    for file in files.iter().filter(|file| file.modified >= asked && !file.text.trim().is_empty()) {
        match (file.kind, Document::parse(&file.text)) {
            (WrittenAs::Handoff, Ok(document)) if answers(&document) => return Ok(document),
            (WrittenAs::Marker, Ok(document)) => return Ok(Document { goes_on: true, ..document }),
            (WrittenAs::Marker, Err(_)) => {
                let body = file.text.trim().to_owned();
                return Ok(Document { goes_on: true, body, ..Document::default() });
            }
            (WrittenAs::Handoff, _) => {}
        }
    }
    Err(match from_reply {
        Ok(Document { nonce: None, .. }) => "the reply's front matter has no nonce".to_owned(),
        Ok(_) => "the reply answers another question: its nonce is wrong".to_owned(),
        Err(malformed) => format!("the reply is no handoff: {malformed}"),
    })
}
