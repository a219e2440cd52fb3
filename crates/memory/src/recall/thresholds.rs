//! When a prompt brings passages of earlier sessions by itself: one table. Tuned with the tuning half of `cargo xtask recall`.

/// What a prompt of one kind needs, at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Needed {
    /// Words that a passage has of the prompt. A word that only one passage of the project has counts 1, a common one
    /// next to nothing, so this is evidence and not a share.
    pub words: f64,
    /// The share of what the prompt asks for that a passage has.
    pub covered: f64,
    /// The share that it has in one place.
    pub near: f64,
    /// So many words are enough, however much else the prompt says: a long prompt asks for more than one thing.
    pub enough: f64,
}

/// What a passage needs that has other words than the prompt, at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeededMeaning {
    /// How similar its meaning is.
    pub similarity: f32,
    /// How much more similar it is than what has nothing to do with the prompt: what is similar to everything says nothing.
    pub stands_out: f32,
    /// Words that it shares all the same; see [`Needed::words`].
    pub words: f64,
}

/// What one passage needs, at least, for a short question or topic to bring the best ones, marked as uncertain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeededWeakly {
    /// The words that it has; see [`Needed::words`].
    pub words: f64,
    /// The share of the prompt that these words are.
    pub covered: f64,
    /// How similar its meaning is, where the words are not enough.
    pub similarity: f32,
    /// How much more similar it is than unrelated passages.
    pub stands_out: f32,
}

/// Thresholds of recall at the prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// What an ordinary word such as `test` or `rename` weighs: prompts are full of them.
    pub ordinary: f64,
    /// The prompt asks what was said or decided before: the answer is wanted.
    pub asks_past: Needed,
    /// Another question.
    pub question: Needed,
    /// Neither a question nor an order: a few words, an error message.
    pub statement: Needed,
    /// Something is to be done, or what the session is doing is spoken of. Most of these prompts need nothing of the past.
    pub order: Needed,
    /// The words are others, but the meaning is similar.
    pub meaning: NeededMeaning,
    /// No word is the same, or next to none: the meaning has to be very similar.
    pub meaning_alone: NeededMeaning,
    /// A short question or topic, which wants an answer where there is any.
    pub weak: NeededWeakly,
    /// A second and third passage must have this share of the first one's score.
    pub others: f64,
    /// A prompt with fewer telling words than this, ordinary ones not counted, brings nothing.
    pub telling: usize,
    /// The same of an order.
    pub telling_in_order: usize,
}

/// The thresholds in use.
pub const THRESHOLDS: Thresholds = Thresholds {
    ordinary: 0.3,
    asks_past: Needed { words: 0.5, covered: 0.35, near: 0.25, enough: 1.4 },
    question: Needed { words: 0.6, covered: 0.45, near: 0.42, enough: 1.7 },
    statement: Needed { words: 0.8, covered: 0.4, near: 0.4, enough: 1.4 },
    order: Needed { words: 2.0, covered: 0.6, near: 0.5, enough: f64::INFINITY },
    meaning: NeededMeaning { similarity: 0.4, stands_out: 0.12, words: 0.4 },
    meaning_alone: NeededMeaning { similarity: 0.5, stands_out: 0.13, words: 0.0 },
    weak: NeededWeakly { words: 0.15, covered: 0.12, similarity: 0.28, stands_out: 0.1 },
    others: 0.25,
    telling: 1,
    telling_in_order: 3,
};
