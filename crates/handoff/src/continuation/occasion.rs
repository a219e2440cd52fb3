//! What can happen to a plan.

use super::find_handoff::WrittenFile;

/// How full a context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowUse {
    /// Tokens in it.
    pub tokens: u64,
    /// Tokens that it holds.
    pub window: u64,
}

impl WindowUse {
    /// Returns whether it has come to `limit`: a share of the window up to 1, tokens above.
    pub fn reaches(self, limit: f64) -> bool {
        if limit > 1.0 { self.tokens as f64 >= limit } else { self.share() >= limit }
    }

    /// Returns the share of the window that is taken.
    pub fn share(self) -> f64 {
        if self.window == 0 { 0.0 } else { self.tokens as f64 / self.window as f64 }
    }
}

/// A turn that ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnEnd<'a> {
    /// Whether it went on because a Stop hook had blocked before.
    pub again: bool,
    /// How full the context is; `None` where nobody knows.
    pub fill: Option<WindowUse>,
    /// Whether subagents or anything in the background still runs.
    pub others_run: bool,
    /// Whether the user ended it.
    pub by_user: bool,
    /// The last reply.
    pub reply: &'a str,
    /// Handoffs that were written into files.
    pub files: &'a [WrittenFile],
    /// A fresh random word, in case something is asked.
    pub nonce: &'a str,
}

/// What happened, in the session or pane that the plan is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion<'a> {
    /// A turn ended.
    TurnEnded(TurnEnd<'a>),
    /// The client reported how full the context is, after the turn had ended.
    Measured {
        /// How full the context is.
        fill: WindowUse,
        /// A fresh random word, in case something is asked.
        nonce: &'a str,
    },
    /// The client has cleared: another session is there now.
    Cleared {
        /// That session.
        session: &'a str,
    },
    /// The client was started anew in the plan's pane.
    Restarted {
        /// Its session.
        session: &'a str,
    },
    /// A prompt was submitted, by a person or by the plan itself.
    Prompted {
        /// The session that got it.
        session: &'a str,
        /// The prompt.
        prompt: &'a str,
    },
    /// A session ended.
    Ended {
        /// Which.
        session: &'a str,
        /// Why, as the client says.
        reason: &'a str,
    },
    /// The account's limit is used up.
    RateLimited,
    /// The account's limit is lifted.
    Lifted,
    /// The injector could not type what the plan waits for, or nothing showed that it arrived.
    Undelivered {
        /// Why.
        why: &'a str,
    },
    /// A prompt or a tool call came before what the plan waits for could be typed.
    Overtaken,
    /// Nobody wants any of this any more.
    SwitchedOff,
    /// Something else happened there; the time may have run out.
    Passed,
    /// A person wants it to go on.
    Resumed,
    /// A person wants it to end.
    Cancelled,
}
