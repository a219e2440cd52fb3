//! The weights of the ranking, in one table. They are tuned only with `cargo xtask recall`.

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
    /// A corrected word, because the typed one occurs nowhere.
    pub corrected: f64,
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
    /// The share of the scores of the next but one passages, because a short remark is often in between.
    pub second_neighbour: f64,
    /// The share that a passage with a decision gets of the best score of the passages shortly before it, if that is
    /// more than the share of its neighbours: a decision follows the words of its question and need not repeat them.
    pub decided_after: f64,
    /// The share that a prompt gets of the best score of its tool calls.
    pub done_for_it: f64,
    /// A prompt with its replies.
    pub passage: f64,
    /// A note, which somebody wanted to be remembered.
    pub note: f64,
    /// A recognised decision.
    pub decision: f64,
    /// A passage whose reply states a decision: the answer counts more than the question.
    pub decides: f64,
    /// A tool call: a word in its output is rarely what is searched for.
    pub tool: f64,
    /// A summary by rules: the passage itself is more useful.
    pub summary: f64,
    /// A summary by a model or a person.
    pub written_summary: f64,
    /// The advantage of the newest passage over the oldest.
    pub newer: f64,
    /// The advantage of a record from a day, month or year that the query names.
    pub dated: f64,
    /// Of two passages with the same words of the query, the newer comes first if its score is at least this share of
    /// the other's.
    pub same_answer: f64,
    /// The same if the newer one says that a decision was changed. The value is moderate, because this is recognised by
    /// a list of words.
    pub amended_answer: f64,
    /// The same if both are about the same subject, whatever was asked.
    pub same_subject_answer: f64,
    /// The same if both are about the same subject and the newer one says that a decision was changed: an amendment
    /// names what it changes and need not repeat the words of the question.
    pub amended_subject_answer: f64,
    /// The share of the older passage's words of the query that the newer one must have to come first because of its
    /// subject: a question in the words of the older one asks for the older one.
    pub same_coverage: f64,
    /// The same if the newer one says that a decision was changed.
    pub amended_coverage: f64,
    /// The share of words that two passages about the same subject have in common.
    pub same_subject: f64,
    /// The share of the query's words in either of two passages that both must have to answer the same question.
    pub same_question: f64,
    /// The same for a newer decision to replace an older one without saying that anything has changed.
    pub decided_again: f64,
    /// The share of its neighbours' scores that a passage without any word of the query gets, compared with others.
    pub silent_neighbour: f64,
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
    /// A result by words with at least this share of the query has most of it, and meaning does not remove it from the
    /// first results.
    pub most: f64,
    /// The part that a record with the same meaning adds, as a share of the best score by words, if the words cover
    /// nothing of the query.
    pub meaning: f64,
    /// The same for a similarity of the closest sentences, which says more than that of a whole text.
    pub closest_sentences: f64,
    /// The share of [`Weights::meaning`] that remains if a record has every word, because words are then more reliable.
    pub meaning_when_covered: f64,
    /// A newer record that is to come before one of which few words are there needs at least this share of its meaning.
    pub replaced_meaning: f64,
    /// The similarity up to which two texts are unrelated.
    pub unrelated: f64,
    /// The minimum similarity of a result without any word of the query.
    pub found_alone: f64,
    /// The similarity from which two texts are related, for every model.
    pub related: f64,
}

/// The weights in use.
pub const WEIGHTS: Weights = Weights {
    stem: 0.85,
    part: 0.6,
    pair: 0.6,
    corrected: 0.7,
    saturation: 1.2,
    length: 0.35,
    usual_length: 120.0,
    coverage: 0.7,
    proximity: 0.5,
    near: 28,
    neighbour: 0.3,
    second_neighbour: 0.12,
    decided_after: 0.4,
    done_for_it: 0.3,
    passage: 1.0,
    note: 1.15,
    decision: 1.05,
    decides: 1.12,
    tool: 0.5,
    summary: 0.45,
    written_summary: 0.95,
    newer: 0.06,
    dated: 0.3,
    same_answer: 0.9,
    amended_answer: 0.75,
    same_subject_answer: 0.7,
    amended_subject_answer: 0.2,
    same_coverage: 0.75,
    amended_coverage: 0.4,
    same_subject: 0.15,
    same_question: 0.45,
    decided_again: 0.8,
    silent_neighbour: 0.5,
    spread: 0.04,
    weak: 0.45,
    telling: 0.37,
    telling_share: 0.15,
    related_share: 0.2,
    related_score: 0.28,
    related_meaning: 0.32,
    most: 0.55,
    meaning: 6.0,
    closest_sentences: 24.0,
    meaning_when_covered: 0.05,
    replaced_meaning: 0.7,
    unrelated: 0.1,
    found_alone: 0.25,
    related: 0.6,
};
