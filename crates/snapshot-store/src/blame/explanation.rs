//! What is known of the origin of one line: the prompt, what the reply said about it, the call, and what stood there before.

use longhaul_core::text::cut_middle;
use longhaul_core::{SessionId, short_session};
use longhaul_store::{Store, TurnText};
use serde_json::{Value, json};

use super::{Blame, Origin};
use crate::{Error, encoded_path, shown_path};

/// How many sentences of the reply are shown.
const SENTENCES: usize = 4;

/// The shortest word that says what a line is about.
const WORD_CHARS: usize = 5;

const PROMPT_CHARS: usize = 4_000;

const SENTENCE_CHARS: usize = 400;

/// What is known of an origin.
#[derive(Debug, Clone)]
pub struct Told {
    pub origin: Origin,
    /// The turn, if the memory has it.
    pub turn: Option<TurnText>,
    /// The sentences of the reply that are about the line.
    pub said: Vec<String>,
    /// The number of the record of the call, and its title.
    pub call: Option<(i64, String)>,
    /// What may have written the line, if several turns may.
    pub candidates: Vec<Self>,
}

/// Why a line is there.
#[derive(Debug, Clone)]
pub struct Explanation {
    pub path: Vec<u8>,
    /// The number of the line, from 1.
    pub number: usize,
    /// The line.
    pub text: String,
    /// Where it comes from.
    pub told: Told,
    /// What stood there before, and where that came from.
    pub before: Option<(String, Told)>,
}

impl Blame {
    /// Explains a line, from 1; `None` if there is no such line.
    pub fn explain(&self, store: &Store, number: usize) -> Result<Option<Explanation>, Error> {
        let Some(line) = number.checked_sub(1).and_then(|at| self.lines.get(at)) else { return Ok(None) };
        let text = String::from_utf8_lossy(&line.text).trim_end_matches('\r').to_owned();
        let about = |text: &str| words(text, &self.path);
        let told = Told::of(store, &self.origins[line.origin], &about(&text))?;
        let before = match &line.before {
            Some((old, origin)) => {
                let old = String::from_utf8_lossy(old).trim_end_matches('\r').to_owned();
                let told = Told::of(store, &self.origins[*origin], &about(&old))?;
                Some((old, told))
            }
            None => None,
        };
        Ok(Some(Explanation { path: self.path.clone(), number, text, told, before }))
    }
}

impl Told {
    /// Reads what the memory knows of an origin; `about` are the words of the line.
    pub fn of(store: &Store, origin: &Origin, about: &[String]) -> Result<Self, Error> {
        let turn = match &origin.session {
            Some(session) => store.turn_text(session, origin.prompt_id.as_deref(), origin.at)?,
            None => None,
        };
        let said = turn.as_ref().map(|turn| sentences_about(&turn.reply, about)).unwrap_or_default();
        let call = match &origin.call {
            Some(call) => store.call_title(call)?,
            None => None,
        };
        let candidates =
            origin.candidates.iter().map(|candidate| Self::of(store, candidate, about)).collect::<Result<_, _>>()?;
        Ok(Self { origin: origin.clone(), turn, said, call, candidates })
    }

    /// Returns it as text: a line for what it is, and more for what was said.
    fn write(&self, text: &mut String, when: &dyn Fn(u64) -> String, indent: &str) {
        let origin = &self.origin;
        text.push_str(&format!("{indent}{}\n", origin.describe(self.turn.as_ref(), when)));
        if let Some(turn) = &self.turn {
            let prompt = cut_middle(&turn.prompt, PROMPT_CHARS);
            for line in prompt.lines() {
                text.push_str(&format!("{indent}  > {line}\n"));
            }
        }
        if let Some((id, title)) = &self.call {
            text.push_str(&format!("{indent}  O{id}: {title}\n"));
        }
        for sentence in &self.said {
            text.push_str(&format!("{indent}  said: {sentence}\n"));
        }
        for decision in self.turn.iter().flat_map(|turn| &turn.decisions) {
            text.push_str(&format!("{indent}  decided: {decision}\n"));
        }
        for candidate in &self.candidates {
            candidate.write(text, when, &format!("{indent}  "));
        }
    }

    pub fn to_json(&self) -> Value {
        let mut value = self.origin.to_json();
        value["prompt"] = json!(self.turn.as_ref().map(|turn| format!("P{}", turn.id)));
        value["text"] = json!(self.turn.as_ref().map(|turn| turn.prompt.as_str()));
        value["said"] = json!(self.said);
        value["decisions"] = json!(self.turn.as_ref().map(|turn| turn.decisions.clone()).unwrap_or_default());
        value["record"] = json!(self.call.as_ref().map(|(id, _)| format!("O{id}")));
        value["call_title"] = json!(self.call.as_ref().map(|(_, title)| title.as_str()));
        value["candidates"] = self.candidates.iter().map(Self::to_json).collect();
        value
    }
}

impl Origin {
    /// Returns the origin as JSON, without what the memory knows of it.
    pub fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.as_str(),
            "session": self.session,
            "agent": self.agent(),
            "prompt_id": self.prompt_id,
            "at_ms": (self.at > 0).then_some(self.at),
            "call": self.call,
            "commit": self.commit,
            "certainty": if self.by_text { "text" } else { "sure" },
            "candidates": self.candidates.iter().map(Self::to_json).collect::<Vec<_>>(),
        })
    }

    /// Returns the client of the session.
    pub fn agent(&self) -> Option<&'static str> {
        self.session.as_deref().and_then(SessionId::new).map(|id| id.client())
    }

    pub fn describe(&self, turn: Option<&TurnText>, when: &dyn Fn(u64) -> String) -> String {
        use super::OriginKind::{Command, Commit, Outside, Private, Prompt, Unknown};
        let of_turn = || {
            let session = self.session.as_deref().map(short_session).unwrap_or_default();
            let prompt = turn.map(|turn| format!("P{}", turn.id)).unwrap_or_else(|| "a prompt".to_owned());
            format!("{prompt} of {}, session {session} ({})", when(self.at), self.agent().unwrap_or("claude"))
        };
        let commit = self.commit.as_deref().map(|id| id.get(..10).unwrap_or(id));
        match self.kind {
            Prompt if self.by_text => format!("{}, by its text: no snapshot shows the change", of_turn()),
            Prompt => of_turn(),
            Command => format!("{}, changed by a command or program during its turn", of_turn()),
            Outside => match commit {
                Some(id) => {
                    format!("changed while no turn ran, before {}, when commit {id} was checked out", when(self.at))
                }
                None => format!("changed while no turn ran, before {}", when(self.at)),
            },
            Commit => match commit {
                Some(id) => format!("commit {id} of {}: older than the first snapshot", when(self.at)),
                None => "older than the first snapshot".to_owned(),
            },
            Private => "changed during a private turn".to_owned(),
            Unknown if self.candidates.is_empty() => "unknown".to_owned(),
            Unknown => "unknown; one of:".to_owned(),
        }
    }
}

impl Explanation {
    /// Returns it as text of several lines; `when` writes a time.
    pub fn to_text(&self, when: &dyn Fn(u64) -> String) -> String {
        let mut text = format!("{}:{}: {}\n", shown_path(&self.path), self.number, self.text.trim());
        self.told.write(&mut text, when, "");
        if let Some((old, told)) = &self.before {
            text.push_str(&format!("before: {}\n", old.trim()));
            told.write(&mut text, when, "  ");
        }
        text
    }

    pub fn to_json(&self) -> Value {
        let mut value = self.told.to_json();
        value["path"] = json!(encoded_path(&self.path));
        value["line"] = json!(self.number);
        value["line_text"] = json!(self.text);
        value["before"] = match &self.before {
            Some((old, told)) => {
                let mut before = told.to_json();
                before["line_text"] = json!(old);
                before
            }
            None => Value::Null,
        };
        value
    }
}

/// Returns the words that say what a line is about, and the name of its file.
fn words(line: &str, path: &[u8]) -> Vec<String> {
    let name = String::from_utf8_lossy(path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)).into_owned();
    let each = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut words: Vec<String> = each
        .filter(|word| word.chars().count() >= WORD_CHARS && !word.chars().all(char::is_numeric))
        .map(str::to_owned)
        .collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words.push(name);
    words
}

/// Returns the sentences of a reply that have one of the words, those with a word of the line before those with the file's name.
fn sentences_about(reply: &str, about: &[String]) -> Vec<String> {
    let Some((file, words)) = about.split_last() else { return Vec::new() };
    let sentences: Vec<&str> = reply
        .lines()
        .flat_map(|line| line.split_inclusive(". "))
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
        .collect();
    let of_line = sentences.iter().filter(|sentence| words.iter().any(|word| sentence.contains(word.as_str())));
    let of_file = sentences.iter().filter(|sentence| sentence.contains(file.as_str()));
    let mut found: Vec<String> = Vec::new();
    for sentence in of_line.chain(of_file) {
        let sentence = cut_middle(sentence, SENTENCE_CHARS);
        if found.len() < SENTENCES && !found.contains(&sentence) {
            found.push(sentence);
        }
    }
    found
}
