//! The thresholds of recall at the prompt, in one table. Tuned with the tuning half of `cargo xtask recall`.

/// The minimum for a prompt of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Needed {
    /// Words of the prompt in a passage. A word that only one passage of the project has counts 1, a common one almost
    /// 0, so this is evidence and not a share.
    pub words: f64,
    /// The share of the prompt that a passage has.
    pub covered: f64,
    /// The share that it has close together.
    pub near: f64,
    /// This many words are enough, however long the prompt is: a long prompt asks for more than one thing.
    pub enough: f64,
}

/// The minimum for a passage with other words than the prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NeededMeaning {
    /// The similarity of its meaning.
    pub similarity: f32,
    /// How much more similar it is than an unrelated passage. A passage that is similar to everything is no evidence.
    pub stands_out: f32,
    /// Words that it shares nevertheless; see [`Needed::words`].
    pub words: f64,
}

/// The minimum for one passage, so that a short question or topic gets the best ones, marked as uncertain.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NeededWeakly {
    /// The words that it has; see [`Needed::words`].
    pub words: f64,
    /// The share of the prompt that these words make up.
    pub covered: f64,
    /// The similarity of its meaning, if the words are not enough.
    pub similarity: f32,
    /// How much more similar it is than unrelated passages.
    pub stands_out: f32,
}

/// The minimum for one passage, so that a longer text, such as a bug report, gets the best ones.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NeededInReport {
    /// Words of the text in a passage; see [`Needed::words`]. They are not a share: most words of a log are in no passage.
    pub words: f64,
    /// The same for a text that gives an order.
    pub words_in_order: f64,
    /// Words of a passage that is similar in meaning.
    pub words_of_similar: f64,
    /// How much more similar that is than unrelated passages.
    pub stands_out: f32,
}

/// Thresholds of recall at the prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Thresholds {
    /// The weight of an ordinary word such as `test` or `rename`, which most prompts contain.
    pub ordinary: f64,
    /// The prompt asks what was said or decided before.
    pub asks_past: Needed,
    /// Another question.
    pub question: Needed,
    /// Neither a question nor an order: a few words, or an error message.
    pub statement: Needed,
    /// An order, or a remark about the current work. Most of these prompts need no earlier passage.
    pub order: Needed,
    /// The words differ, but the meaning is similar.
    pub meaning: NeededMeaning,
    /// No word, or almost none, is the same: the meaning must be very similar.
    pub meaning_alone: NeededMeaning,
    /// A short question or topic, which gets an answer if there is any.
    pub weak: NeededWeakly,
    /// A text of several lines, or a long one.
    pub report: NeededInReport,
    /// The weight of a place in the order by meaning, compared with one in the order by words.
    pub report_meaning: f64,
    /// The minimum share of the first passage's score for a second and third one.
    pub others: f64,
    /// The minimum number of significant words of a prompt, without ordinary ones.
    pub telling: usize,
    /// The same for an order.
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
    weak: NeededWeakly { words: 0.15, covered: 0.2, similarity: 0.32, stands_out: 0.12 },
    report: NeededInReport { words: 1.2, words_in_order: 2.0, words_of_similar: 0.5, stands_out: 0.1 },
    report_meaning: 0.5,
    others: 0.25,
    telling: 1,
    telling_in_order: 3,
};
