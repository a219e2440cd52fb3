//! The events that can change a plan.

use longhaul_core::Millis;
use serde_json::{Map, Value};

use crate::continuation::document::WrittenFile;

/// The use of a context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowUse {
    /// The number of tokens in the context.
    pub tokens: u64,
    /// The size of the context window, in tokens.
    pub window: u64,
}

impl WindowUse {
    /// Returns whether the use has reached `limit`. A limit up to 1 is a share of the window, above 1 a number of tokens.
    pub fn reaches(self, limit: f64) -> bool {
        if limit > 1.0 { self.tokens as f64 >= limit } else { self.share() >= limit }
    }

    /// Returns the share of the window that is used; 0 for an unknown window.
    pub fn share(self) -> f64 {
        if self.window == 0 { 0.0 } else { self.tokens as f64 / self.window as f64 }
    }
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TurnEnd<'a> {
    /// Whether the turn continued because a Stop hook had blocked its end.
    pub again: bool,
    /// How full the context is; `None` where that is unknown.
    pub fill: Option<WindowUse>,
    /// Whether something is still running that `/clear` would end, such as a subagent.
    pub others_run: bool,
    /// Whether the user stopped the turn.
    pub by_user: bool,
    /// The last reply.
    pub reply: &'a str,
    /// The handoffs that were written into files.
    pub files: &'a [WrittenFile],
    /// A new random nonce, in case a handoff is asked for.
    pub nonce: &'a str,
    /// The time at which it is decided on, if that is later than the time of the event. Another hook for the same event has
    /// begun before.
    pub decided_at: Option<Millis>,
}

impl<'a> TurnEnd<'a> {
    /// Returns the end of a turn whose last reply was `reply`. `nonce` is new and random, in case a handoff is asked for.
    ///
    /// The context is of unknown size, and nothing else runs.
    pub fn new(reply: &'a str, nonce: &'a str) -> Self {
        Self { reply, nonce, ..Self::default() }
    }
}

/// An event in the session or pane of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Occasion<'a> {
    /// A turn ended.
    TurnEnded(TurnEnd<'a>),
    /// Claude Code reported how full the context is, after the turn had ended.
    Measured {
        /// How full the context is.
        fill: WindowUse,
        /// A new random nonce, in case a handoff is asked for.
        nonce: &'a str,
    },
    /// The session was cleared, and another session has started.
    Cleared {
        /// The id of the new session.
        session: &'a str,
    },
    /// Claude Code was started again in the plan's pane.
    Restarted {
        /// The id of its session.
        session: &'a str,
    },
    /// A prompt was submitted, by the user or by the plan itself.
    Prompted {
        /// The id of the session that received it.
        session: &'a str,
        /// The prompt.
        prompt: &'a str,
    },
    /// A session ended.
    Ended {
        /// The id of the session.
        session: &'a str,
        /// Why it ended, as the hook's payload says.
        reason: &'a str,
    },
    /// The account has reached its rate limit.
    RateLimited,
    /// The account's rate limit has been lifted.
    Lifted,
    /// The text that the plan waits for could not be typed, or was not confirmed.
    Undelivered {
        /// Why it could not be delivered.
        why: &'a str,
    },
    /// A prompt or a tool call came before the text that the plan waits for could be typed.
    Overtaken,
    /// The setting for continuation was switched off.
    SwitchedOff,
    /// The conversation was compacted.
    Compacted,
    /// Anything else happened. The plan may have expired in the meantime.
    Passed,
    /// The user asked to resume the plan.
    Resumed,
    /// The user asked to cancel the plan.
    Cancelled,
}

// The account's rate limit: which error reports it, and when it is lifted.

/// A limit of which this percentage is used is used up.
const USED_UP_PERCENT: f64 = 99.0;

/// Returns whether a turn that ended in `error` has reached the account's rate limit.
pub fn is_rate_limit(error: &str) -> bool {
    error.contains("rate_limit")
}

/// Returns the time at which the account can be used again: the last reset time of the limits that are used up, or the
/// next one of all limits.
///
/// `limits` is the JSON object that Claude Code passes to its status line.
pub fn lifted_at(limits: &str) -> Option<Millis> {
    let limits: Map<String, Value> = serde_json::from_str(limits).ok()?;
    let resets = |limit: &Value| limit.get("resets_at")?.as_u64();
    let used = |limit: &Value| limit.get("used_percentage").and_then(Value::as_f64);
    let is_used_up = |limit: &&Value| used(limit).is_some_and(|used| used >= USED_UP_PERCENT);
    let used_up = limits.values().filter(is_used_up).filter_map(resets).max();
    let next = || limits.values().filter_map(resets).min();
    used_up.or_else(next).map(|seconds| Millis(seconds * 1000))
}
