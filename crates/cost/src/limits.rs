//! What a session may spend: whether a limit is near or reached, and what the user is told. Calls that are repeated are found
//! in `activity-log/src/limits.rs`.

use std::fmt;

use longhaul_core::config::{Limits, SpendLimit};
use longhaul_core::text::round_tokens;
use serde::{Deserialize, Serialize};

use crate::price::{Cost, Tokens};
use crate::report::Sum;

/// The share of a limit from which on it is near.
const NEAR: f64 = 0.8;

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// The cost of the requests whose price is known.
    pub cost: Cost,
    pub tokens: u64,
    /// The tokens whose price is not known.
    pub unpriced_tokens: u64,
}

impl Spent {
    /// Returns what a request cost; `None` is the cost of one whose price is not known.
    pub fn by_request(tokens: &Tokens, cost: Option<Cost>) -> Self {
        let tokens = tokens.total();
        Self { cost: cost.unwrap_or_default(), tokens, unpriced_tokens: if cost.is_none() { tokens } else { 0 } }
    }

    pub fn add(&mut self, other: &Self) {
        self.cost += other.cost;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
    }

    /// Takes away what was added before.
    pub fn take_away(&mut self, other: &Self) {
        self.cost = Cost(self.cost.0.saturating_sub(other.cost.0));
        self.tokens = self.tokens.saturating_sub(other.tokens);
        self.unpriced_tokens = self.unpriced_tokens.saturating_sub(other.unpriced_tokens);
    }
}

impl From<&Sum> for Spent {
    fn from(sum: &Sum) -> Self {
        Self { cost: sum.cost, tokens: sum.tokens.total(), unpriced_tokens: sum.unpriced_tokens }
    }
}

/// What a limit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One session, with its subagents.
    Session,
    /// All sessions of a day.
    Day,
    /// All sessions of a project of a day.
    ProjectDay,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Session, Self::Day, Self::ProjectDay];

    /// Returns the key of its setting.
    pub fn key(self) -> &'static str {
        ["limits.session", "limits.day", "limits.project_day"][self as usize]
    }

    /// Returns who spends, as the beginning of a sentence.
    pub fn who(self) -> &'static str {
        ["this session has spent", "all sessions have spent", "the sessions of this project have spent"][self as usize]
    }

    pub fn limit(self, limits: &Limits) -> SpendLimit {
        [limits.session, limits.day, limits.project_day][self as usize]
    }
}

/// A limit, and what was spent of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    pub scope: Scope,
    /// The limit in force.
    pub limit: SpendLimit,
    pub spent: Spent,
}

impl Measure {
    /// Returns the share of the limit that is spent; 0 without a limit. Tokens without a price cost nothing.
    pub fn share(&self) -> f64 {
        match self.limit {
            SpendLimit::Off => 0.0,
            SpendLimit::Dollars(most) => self.spent.cost.dollars() / most,
            SpendLimit::Tokens(most) => self.spent.tokens as f64 / most as f64,
        }
    }

    pub fn is_near(&self) -> bool {
        self.share() >= NEAR
    }

    pub fn is_reached(&self) -> bool {
        self.share() >= 1.0
    }

    /// Returns whether tokens are spent whose price is not known, so that a limit in dollars does not see them.
    pub fn is_blind(&self) -> bool {
        matches!(self.limit, SpendLimit::Dollars(_)) && self.spent.unpriced_tokens > 0
    }

    /// Returns the limit raised by `amount`, counted from what is spent where that is more; `None` if one is in dollars and the
    /// other in tokens.
    pub fn raised_by(&self, amount: SpendLimit) -> Option<SpendLimit> {
        match (self.limit, amount) {
            (SpendLimit::Dollars(limit), SpendLimit::Dollars(more)) => {
                Some(SpendLimit::Dollars(limit.max(self.spent.cost.dollars()) + more))
            }
            (SpendLimit::Tokens(limit), SpendLimit::Tokens(more)) => {
                Some(SpendLimit::Tokens(limit.max(self.spent.tokens).saturating_add(more)))
            }
            (SpendLimit::Off | SpendLimit::Dollars(_) | SpendLimit::Tokens(_), _) => None,
        }
    }
}

impl fmt::Display for Measure {
    /// Writes what was spent of the limit, such as `$4.10 of $5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spent { cost, tokens, .. } = self.spent;
        match self.limit {
            SpendLimit::Off => write!(f, "${:.2}, {} tokens", cost.dollars(), round_tokens(tokens))?,
            SpendLimit::Dollars(_) => write!(f, "${:.2} of {}", cost.dollars(), self.limit)?,
            SpendLimit::Tokens(_) => write!(f, "{} of {}", round_tokens(tokens), self.limit)?,
        }
        if self.is_blind() {
            write!(f, ", without {} tokens of unknown price", round_tokens(self.spent.unpriced_tokens))?;
        }
        Ok(())
    }
}

/// What the user was told already, of each scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Told {
    /// The limits that were near, as a bit for each scope.
    pub near: u8,
    /// The limits that do not see all tokens, as a bit for each scope.
    pub blind: u8,
}

impl Told {
    pub fn after(mut self, step: &Step) -> Self {
        match step {
            Step::Nothing => {}
            // Who is stopped has also been told that the limit is near.
            Step::Near(measure) | Step::Stop(measure) => self.near |= bit(measure.scope),
            Step::Blind(measure) => self.blind |= bit(measure.scope),
        }
        self
    }

    /// Returns this without what was told of the limits of a day.
    pub fn on_a_new_day(self) -> Self {
        let session = bit(Scope::Session);
        Self { near: self.near & session, blind: self.blind & session }
    }
}

fn bit(scope: Scope) -> u8 {
    1 << scope as u8
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    Nothing,
    /// The user is told once that a limit is near.
    Near(Measure),
    /// The user is told once that a limit in dollars does not see tokens of unknown price.
    Blind(Measure),
    Stop(Measure),
}

/// Returns the limit of which most is spent.
pub fn furthest(measures: &[Measure]) -> Option<Measure> {
    measures.iter().copied().max_by(|a, b| a.share().total_cmp(&b.share()))
}

/// Decides about the limits of a session. Of several, the one of which most is spent counts.
pub fn reach(measures: &[Measure], told: Told) -> Step {
    if let Some(measure) = furthest(measures).filter(Measure::is_reached) {
        return Step::Stop(measure);
    }
    let near = measures.iter().find(|measure| measure.is_near() && told.near & bit(measure.scope) == 0);
    let blind = || measures.iter().find(|measure| measure.is_blind() && told.blind & bit(measure.scope) == 0);
    near.map(|measure| Step::Near(*measure))
        .or_else(|| blind().map(|measure| Step::Blind(*measure)))
        .unwrap_or(Step::Nothing)
}

/// Returns what was spent of a limit that is reached.
pub fn limit_reached(measure: &Measure) -> String {
    let today = if measure.scope == Scope::Session { "" } else { " today" };
    format!("{} {measure}{today} ({})", measure.scope.who(), measure.scope.key())
}

/// Returns why a session is stopped, and how to go on.
pub fn stop_reason(measure: &Measure) -> String {
    let amount = match measure.limit {
        SpendLimit::Tokens(_) => "5M",
        SpendLimit::Off | SpendLimit::Dollars(_) => "5",
    };
    let or_else = match measure.scope {
        Scope::Session => "; `/clear` or a new session continues with a limit of its own",
        Scope::Day | Scope::ProjectDay => "; tomorrow a new session continues",
    };
    format!(
        "longhaul: {}. To go on, begin the next prompt with a space and `!!` (for one turn), or run `longhaul limit raise {amount}` in \
         a shell (for this session){or_else}.",
        limit_reached(measure),
    )
}

pub fn near_message(measure: &Measure) -> String {
    let today = if measure.scope == Scope::Session { "" } else { " today" };
    let percent = (measure.share() * 100.0).floor();
    format!("{} {measure}{today}, {percent:.0} % of {}", measure.scope.who(), measure.scope.key())
}

pub fn blind_message(measure: &Measure) -> String {
    let tokens = round_tokens(measure.spent.unpriced_tokens);
    format!(
        "{} is in dollars, but the price of {tokens} tokens is not known, so they do not count: set it under models, or a limit in tokens",
        measure.scope.key()
    )
}

/// The beginning of a prompt that goes on although a limit is reached, for one turn. A space comes first: Claude Code opens its
/// shell at a `!` that is the first character.
const GO_ON: &str = "!!";

pub fn goes_on(prompt: &str) -> bool {
    prompt.trim_start().starts_with(GO_ON)
}

/// Numbers of subagents of a session: those that there are, or those that there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Subagents {
    pub running: u64,
    /// How many were started in this turn.
    pub in_turn: u64,
}

/// Returns why another subagent is denied; `None` if it may start. A limit of 0 is none.
pub fn denial(most: Subagents, now: Subagents) -> Option<String> {
    let Subagents { running, in_turn } = now;
    if most.in_turn > 0 && in_turn >= most.in_turn {
        let limit = format!("limits.subagents.in_turn is {}", most.in_turn);
        return Some(format!(
            "{in_turn} subagents were started in this turn, and {limit}: the rest is for the main conversation"
        ));
    }
    let limit = format!("limits.subagents.at_once is {}", most.running);
    (most.running > 0 && running >= most.running)
        .then(|| format!("{running} subagents are running, and {limit}: another one can start when one has returned"))
}
