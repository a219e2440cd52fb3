//! The weights of the ranking, and the thresholds of recall at the prompt, each in one table. They are tuned only with
//! `cargo xtask recall`.

/// Weights of the ranking of search results.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Weights {
    /// A word in another inflection, compared with 1 for the word itself: `parsers` for `parser`.
    pub stem: f64,
    /// A part of an identifier that the query names as a whole, in addition to the whole.
    pub part: f64,
    /// A pair of characters. A word of three characters has two pairs, so each counts less than a word.
    pub pair: f64,
    /// How soon repetitions of a word no longer count (bm25's k1).
    pub saturation: f64,
    /// The disadvantage of a long passage (bm25's b). It is small, because a reply is long when it explains, and words
    /// that are close together count separately.
    pub length: f64,
    /// The length without advantage or disadvantage, in words.
    pub usual_length: f64,
    /// The influence of the share of the query that a passage covers: two of three words count more than one of them
    /// twice.
    pub coverage: f64,
    /// The influence of the share of the query within [`Weights::near`] words, because words that are close together
    /// belong together.
    pub proximity: f64,
    /// Maximum distance of words that are close together.
    pub near: usize,
    /// The share of the scores of the passages before and after that a passage gets, because an answer is next to the
    /// words of its question.
    pub neighbour: f64,
    /// The share of its neighbours' scores that a passage without any word of the query gets, compared with others.
    pub silent_neighbour: f64,
    /// The share that a passage with a decision gets of the best score of the passages shortly before it, if that is
    /// more than the share of its neighbours: a decision follows the words of its question and need not repeat them.
    pub decided_after: f64,
    /// The share that a prompt gets of the best score of its tool calls.
    pub done_for_it: f64,
    /// A note, a decision, or a passage whose reply states one: the answer counts more than the question.
    pub decides: f64,
    /// A tool call: a word in its output is rarely what is searched for.
    pub tool: f64,
    /// A summary by rules: the passage itself is more useful.
    pub summary: f64,
    /// The advantage of the newest passage over the oldest.
    pub newer: f64,
    /// The advantage of a record from a day, month or year that the query names.
    pub dated: f64,
    /// Of two passages with the same words of the query, the newer comes first if its score is at least this share of
    /// the other's.
    pub same_answer: f64,
    /// The same if both are about the same subject and the newer one says that a decision was changed: an amendment
    /// names what it changes and need not repeat the words of the question.
    pub amended_answer: f64,
    /// The share of words that two passages about the same subject have in common.
    pub same_subject: f64,
    /// The share of the query's words in either of two passages that both must have to answer the same question.
    pub same_question: f64,
    /// The same for a newer decision to replace an older one without saying that anything has changed.
    pub decided_again: f64,
    /// What each further result of a session loses, so that several sessions are shown.
    pub spread: f64,
    /// A result with less than this share of the query is marked as weak, unless it has [`Weights::telling`].
    pub weak: f64,
    /// A score by words that is enough however long the question is, compared with the rarity of a word that one record
    /// has: two rare words, while a question without an answer shares one with something.
    pub telling: f64,
    /// The share of the query that such a result has at least.
    pub telling_share: f64,
    /// A question whose best result has a lower share of it, only one of its words, and a lower score than
    /// [`Weights::related_score`], has no answer.
    pub related_share: f64,
    /// That score, compared with the rarity of a word that one record has.
    pub related_score: f64,
    /// Unless the meaning of the result is at least this similar.
    pub related_meaning: f32,
    /// What the share of a question's words that a record has counts, compared with the similarity of its closest sentences.
    pub covered: f64,
    /// The same for the similarity of the whole record.
    pub whole: f64,
    /// What a record without any relation to a question has of all three.
    pub unrelated: f64,
    /// The minimum similarity of a result without any word of the query.
    pub found_alone: f64,
}

/// The weights in use.
pub const WEIGHTS: Weights = Weights {
    stem: 0.85,
    part: 0.6,
    pair: 0.6,
    saturation: 1.2,
    length: 0.35,
    usual_length: 120.0,
    coverage: 0.7,
    proximity: 0.5,
    near: 28,
    neighbour: 0.3,
    silent_neighbour: 0.5,
    decided_after: 0.4,
    done_for_it: 0.3,
    decides: 1.12,
    tool: 0.5,
    summary: 0.45,
    newer: 0.06,
    dated: 0.3,
    same_answer: 0.9,
    amended_answer: 0.2,
    same_subject: 0.15,
    same_question: 0.45,
    decided_again: 0.8,
    spread: 0.04,
    weak: 0.45,
    telling: 0.37,
    telling_share: 0.15,
    related_share: 0.2,
    related_score: 0.28,
    related_meaning: 0.32,
    covered: 0.2,
    whole: 0.5,
    unrelated: 0.3,
    found_alone: 0.25,
};

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
