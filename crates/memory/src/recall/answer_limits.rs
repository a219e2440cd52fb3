//! How long an answer of recall is: tokens, passages, and how many search results it is chosen from.

use std::ops::RangeInclusive;

/// Default number of tokens of an answer.
pub const ANSWER_TOKENS: usize = 1_500;

/// The allowed numbers of tokens. Fewer are not enough for one passage.
pub const ANSWER_TOKENS_RANGE: RangeInclusive<usize> = 100..=20_000;

/// Maximum number of passages of an answer.
pub const ANSWER_PASSAGES: usize = 12;

/// Maximum number of passages of an answer of which none is good.
pub(super) const WEAK_ANSWER_PASSAGES: usize = 3;

/// Number of search results that an answer is chosen from. More do not fit into it.
pub const ANSWER_CANDIDATES: usize = 24;

/// The limits of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Maximum number of characters of [`Answer::text`](super::Answer::text).
    pub chars: usize,
    /// Maximum number of passages.
    pub passages: usize,
}
