//! One line of the activity log.

use std::fmt;
use std::str::FromStr;

use longhaul_core::hash::fnv1a;
use longhaul_core::{Millis, Status};

/// A line of the activity log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant describes its fields")]
pub enum LogLine {
    /// `T <ms> <chars> [<mark>]`: a tool call of the main conversation, with the size of its output in characters and
    /// what distinguishes it from other calls; see [`mark`](crate::limits::mark).
    Tool { at: Millis, chars: u64, mark: Option<u16> },
    /// `K <ms> <agent> [<mark>]`: a tool call that failed, or one of a subagent. It does not count as work. `agent` is 0 for
    /// the main conversation; see [`agent_mark`](crate::limits::agent_mark).
    Call { at: Millis, agent: u16, mark: Option<u16> },
    /// `L <ms> <agent> <stage>`: what was done about calls that are repeated: 1 if the model was told, 2 if the user was
    /// notified, 0 if it is over; see [`LoopStep`](crate::limits::LoopStep).
    Loop { at: Millis, agent: u16, stage: u8 },
    /// `A <ms> <chars>`: a subagent returned, with the size of its reply in characters.
    Agent { at: Millis, chars: u64 },
    /// `I <ms>`: an injection: a text is about to be typed.
    Injection { at: Millis },
    /// `G <ms>`: the injection was given up before anything was typed.
    GivenUp { at: Millis },
    /// `B <ms>`: a bookmark was confirmed.
    Bookmark { at: Millis },
    /// `C <ms>`: the conversation was compacted.
    Compaction { at: Millis },
    /// `P <ms>`: a prompt was submitted; a turn begins.
    Prompt { at: Millis },
    /// `N <ms> <prompt>`: the turn that runs now, by a hash of the id of the prompt that started it; see [`LogLine::turn`].
    Turn { at: Millis, prompt: u64 },
    /// `S <ms> <status>`: the status of the main conversation changed.
    Status { at: Millis, status: Status },
}

impl LogLine {
    /// Parses a line without its newline.
    ///
    /// Returns `None` for a bad time, an unknown letter or an unknown status. A bad count is read as 0.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.trim_ascii().split(|byte| *byte == b' ').filter(|field| !field.is_empty());
        let letter = fields.next()?;
        let at = Millis(number(fields.next()?)?);
        let rest = fields.next();
        let chars = rest.and_then(number).unwrap_or(0);
        Some(match letter {
            b"T" => Self::Tool { at, chars, mark: fields.next().and_then(number) },
            b"K" => Self::Call { at, agent: number(rest?)?, mark: fields.next().and_then(number) },
            b"L" => Self::Loop { at, agent: number(rest?)?, stage: number(fields.next()?)? },
            b"A" => Self::Agent { at, chars },
            b"I" => Self::Injection { at },
            b"G" => Self::GivenUp { at },
            b"B" => Self::Bookmark { at },
            b"C" => Self::Compaction { at },
            b"P" => Self::Prompt { at },
            b"N" => Self::Turn { at, prompt: number(rest?)? },
            b"S" => Self::Status { at, status: Status::from_name(std::str::from_utf8(rest?).ok()?)? },
            _ => return None,
        })
    }

    /// Returns the line for the turn of a prompt.
    pub fn turn(at: Millis, prompt_id: &str) -> Self {
        Self::Turn { at, prompt: fnv1a(prompt_id.bytes()) }
    }

    /// Returns the time of the line.
    pub fn at(&self) -> Millis {
        match self {
            Self::Tool { at, .. }
            | Self::Call { at, .. }
            | Self::Loop { at, .. }
            | Self::Agent { at, .. }
            | Self::Injection { at }
            | Self::GivenUp { at }
            | Self::Bookmark { at }
            | Self::Compaction { at }
            | Self::Prompt { at }
            | Self::Turn { at, .. }
            | Self::Status { at, .. } => *at,
        }
    }
}

/// Parses digits only: no sign, no spaces; returns `None` on overflow.
fn number<T: FromStr>(field: &[u8]) -> Option<T> {
    let digits = std::str::from_utf8(field).ok().filter(|_| field.iter().all(u8::is_ascii_digit))?;
    digits.parse().ok()
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool { at, chars, mark: None } => write!(f, "T {at} {chars}"),
            Self::Tool { at, chars, mark: Some(mark) } => write!(f, "T {at} {chars} {mark}"),
            Self::Call { at, agent, mark: None } => write!(f, "K {at} {agent}"),
            Self::Call { at, agent, mark: Some(mark) } => write!(f, "K {at} {agent} {mark}"),
            Self::Loop { at, agent, stage } => write!(f, "L {at} {agent} {stage}"),
            Self::Agent { at, chars } => write!(f, "A {at} {chars}"),
            Self::Injection { at } => write!(f, "I {at}"),
            Self::GivenUp { at } => write!(f, "G {at}"),
            Self::Bookmark { at } => write!(f, "B {at}"),
            Self::Compaction { at } => write!(f, "C {at}"),
            Self::Prompt { at } => write!(f, "P {at}"),
            Self::Turn { at, prompt } => write!(f, "N {at} {prompt}"),
            Self::Status { at, status } => write!(f, "S {at} {}", status.as_str()),
        }
    }
}
