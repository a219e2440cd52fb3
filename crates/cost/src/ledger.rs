//! Counts every request once.

use std::collections::HashMap;

use longhaul_core::Millis;

use crate::price::Tokens;
use crate::usage_line::{Request, RequestKey, UsageLine};

/// The maximum number of requests, so that the memory is bounded: about 2 GB. Years of work have a hundredth of it.
const MOST: usize = 20_000_000;

/// The maximum length of a name in bytes. A longer one is damaged or hostile, and is cut.
const MAX_NAME: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectIndex(u32);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Project {
    pub(crate) key: String,
    pub(crate) name: String,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) at: Millis,
    pub(crate) model: u32,
    pub(crate) session: u32,
    pub(crate) project: u32,
    pub(crate) tokens: Tokens,
    pub(crate) web_searches: u64,
    pub(crate) is_us_only: bool,
    /// It was seen only in a copy so far, not in the transcript of the session that made it.
    is_copy: bool,
}

/// Requests of many transcripts, each counted once.
///
/// A request is repeated where a reply was streamed in pieces, and in the transcripts of sessions that were resumed or
/// forked. Of all repetitions, the one with most tokens counts, because the first pieces of a stream report only a part of
/// the output. The request belongs to the session whose transcript was added first, so add the oldest file first.
#[derive(Debug, Default)]
pub struct Ledger {
    pub(crate) requests: Vec<Counted>,
    known: HashMap<RequestKey, u32>,
    pub(crate) models: Names,
    pub(crate) sessions: Names,
    pub(crate) projects: Vec<Project>,
    project_keys: HashMap<String, u32>,
    left_out: u64,
}

impl Ledger {
    /// Returns the project with this key, and adds it with this name if it is new.
    pub fn project(&mut self, key: &str, name: &str) -> ProjectIndex {
        if let Some(index) = self.project_keys.get(key) {
            return ProjectIndex(*index);
        }
        let index = self.projects.len() as u32;
        self.projects.push(Project { key: key.to_owned(), name: name.to_owned() });
        self.project_keys.insert(key.to_owned(), index);
        ProjectIndex(index)
    }

    /// Counts the requests of a line. `session` is the session if the line names none.
    pub fn add(&mut self, line: &UsageLine<'_>, session: &str, project: ProjectIndex) {
        let session = self.sessions.index(line.session.as_deref().unwrap_or(session));
        for request in &line.requests {
            let counted = Counted {
                at: line.at,
                model: self.models.index(&request.model),
                session,
                project: project.0,
                tokens: request.tokens,
                web_searches: request.web_searches,
                is_us_only: request.is_us_only,
                is_copy: line.is_copy,
            };
            self.count(request, counted);
        }
    }

    /// Returns how many requests were left out, because there were too many.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    pub fn len(&self) -> usize {
        self.requests.len()
    }

    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    fn count(&mut self, request: &Request, new: Counted) {
        if let Some(index) = request.key.and_then(|key| self.known.get(&key)) {
            self.requests[*index as usize].repeat(&new);
        } else if self.requests.len() >= MOST {
            self.left_out += 1;
        } else {
            if let Some(key) = request.key {
                self.known.insert(key, self.requests.len() as u32);
            }
            self.requests.push(new);
        }
    }
}

impl Counted {
    /// Takes in a repetition of the same request.
    fn repeat(&mut self, other: &Self) {
        if self.is_copy && !other.is_copy {
            (self.session, self.project, self.is_copy) = (other.session, other.project, false);
        }
        if other.tokens.total() > self.tokens.total() {
            let Self { at, model, tokens, web_searches, is_us_only, .. } = *other;
            *self = Self { at, model, tokens, web_searches, is_us_only, ..*self };
        }
    }
}

/// Names, each stored once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    all: Vec<String>,
    indexes: HashMap<String, u32>,
}

impl Names {
    fn index(&mut self, name: &str) -> u32 {
        let name = &name[..name.floor_char_boundary(MAX_NAME)];
        if let Some(index) = self.indexes.get(name) {
            return *index;
        }
        let index = self.all.len() as u32;
        self.all.push(name.to_owned());
        self.indexes.insert(name.to_owned(), index);
        index
    }

    pub(crate) fn all(&self) -> &[String] {
        &self.all
    }

    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.indexes.get(name).copied()
    }
}
