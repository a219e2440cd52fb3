//! The records of a tool call and of a session.

use std::fmt;

use crate::exchanges::Exchange;

longhaul_core::named! {
    /// The kind of an observation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Kind {
        /// A file was changed.
        Change = "change",
        /// Something was read or found.
        Discovery = "discovery",
        /// A command was run.
        Command = "command",
        /// A test or a build failed.
        Problem = "problem",
        /// A command succeeds that had failed.
        Fix = "fix",
        /// Something was decided.
        Decision = "decision",
        /// A subagent did something.
        Delegation = "delegation",
        /// The user or the model asked to remember it.
        Note = "note",
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

longhaul_core::named! {
    /// What wrote a text.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum MadeBy {
        /// A rule.
        Rule = "rule",
        /// A model.
        Model = "model",
        /// The user, or the model on the user's behalf.
        Person = "person",
    }
}

/// The record of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Observation {
    /// The kind.
    pub kind: Kind,
    /// The tool; empty for a note.
    pub tool: String,
    /// A title of one line: `Edited src/auth.rs`.
    pub title: String,
    /// A description of a few lines that can be understood alone.
    pub narrative: String,
    /// Single facts, such as a URL, an exit status or a count.
    pub facts: Vec<String>,
    /// Files that were read.
    pub files_read: Vec<String>,
    /// Files that were changed.
    pub files_modified: Vec<String>,
}

impl Observation {
    /// Returns an observation without a narrative, facts and files.
    pub fn new(kind: Kind, tool: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            kind,
            tool: tool.into(),
            title: title.into(),
            narrative: String::new(),
            facts: Vec::new(),
            files_read: Vec::new(),
            files_modified: Vec::new(),
        }
    }
}

/// The summary of a session up to one of its prompts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// The request.
    pub request: String,
    /// What was investigated.
    pub investigated: String,
    /// What was found out.
    pub learned: String,
    /// What was done.
    pub completed: String,
    /// What is left to do.
    pub next_steps: String,
    /// Requests with their results, the most important first; empty unless the summary was made by rules.
    pub exchanges: Vec<Exchange>,
}

impl Summary {
    /// Returns a summary of which only the request is known.
    pub fn new(request: impl Into<String>) -> Self {
        Self { request: request.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, MadeBy};

    #[test]
    fn names_are_read_back() {
        assert_eq!(MadeBy::ALL.map(MadeBy::as_str), ["rule", "model", "person"]);
        assert!(MadeBy::ALL.iter().all(|maker| MadeBy::from_name(maker.as_str()) == Some(*maker)));
        assert!(Kind::ALL.iter().all(|kind| Kind::from_name(kind.as_str()) == Some(*kind)));
        assert_eq!((MadeBy::from_name("other"), Kind::from_name("nothing")), (None, None));
    }
}
