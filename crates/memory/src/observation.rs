//! What is remembered of a tool call, and of a session.

use std::fmt;

use crate::exchanges::Exchange;

/// What an observation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A file was changed.
    Change,
    /// Something was read or found.
    Discovery,
    /// A command was run.
    Command,
    /// A test or a build failed.
    Problem,
    /// What had failed succeeds.
    Fix,
    /// Something was decided.
    Decision,
    /// Another agent did something.
    Delegation,
    /// A person or the model wanted it remembered.
    Note,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Change,
        Self::Discovery,
        Self::Command,
        Self::Problem,
        Self::Fix,
        Self::Decision,
        Self::Delegation,
        Self::Note,
    ];

    /// Returns the name under which it is stored and asked for.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Discovery => "discovery",
            Self::Command => "command",
            Self::Problem => "problem",
            Self::Fix => "fix",
            Self::Decision => "decision",
            Self::Delegation => "delegation",
            Self::Note => "note",
        }
    }

    /// Reads a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who put something into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MadeBy {
    /// A rule.
    Rule,
    /// A model.
    Model,
    /// A person, or the model on a person's behalf.
    Person,
}

impl MadeBy {
    /// Every maker.
    pub const ALL: [Self; 3] = [Self::Rule, Self::Model, Self::Person];

    /// Returns the name under which it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Model => "model",
            Self::Person => "person",
        }
    }

    /// Reads a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|maker| maker.as_str() == name)
    }
}

/// What is remembered of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// What it is about.
    pub kind: Kind,
    /// The tool; empty for a note.
    pub tool: String,
    /// It in one line: `Edited src/auth.rs`.
    pub title: String,
    /// It in a few lines, for a reader who has only this.
    pub narrative: String,
    /// Single facts, such as a URL, an exit status, a count.
    pub facts: Vec<String>,
    /// Files that were read.
    pub files_read: Vec<String>,
    /// Files that were changed.
    pub files_modified: Vec<String>,
}

/// What is remembered of a session as a whole, up to one of its prompts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// What was asked.
    pub request: String,
    /// What was looked at.
    pub investigated: String,
    /// What was found out.
    pub learned: String,
    /// What was done.
    pub completed: String,
    /// What is left to do.
    pub next_steps: String,
    /// Requests with their outcomes, the most important first; empty unless a rule made the summary.
    pub exchanges: Vec<Exchange>,
}
