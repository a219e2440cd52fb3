//! The weights of the order, in one table. They are tuned with `cargo xtask recall`, and only with it.

/// Weights of the order of search results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// A word in another inflection, against 1 for the word itself: `parsers` for `parser`.
    pub stem: f64,
    /// A part of an identifier that the query names as a whole, which counts besides.
    pub part: f64,
    /// A pair of characters: a word of three characters is two pairs, so each counts less than a word.
    pub pair: f64,
    /// A word that was corrected, because the one that was typed is nowhere.
    pub corrected: f64,
    /// How soon the same word again counts for nothing more (bm25's k1).
    pub saturation: f64,
    /// How much a long passage is at a disadvantage (bm25's b). Small: a reply is long because it explains, and what is
    /// close together counts separately.
    pub length: f64,
    /// The length at which there is neither, in words.
    pub usual_length: f64,
    /// What the share of the query that a passage covers decides: two of three words beat one of them twice.
    pub coverage: f64,
    /// What the share of the query within [`Weights::near`] words decides: words that stand together belong together.
    pub proximity: f64,
    /// How far apart words may be to stand together.
    pub near: usize,
    /// What a passage gets of the scores of the passages before and after it: an answer stands beside the words of its
    /// question.
    pub neighbour: f64,
    /// What it gets of those beyond them: a short remark often stands in between.
    pub second_neighbour: f64,
    /// What a passage that decides something gets of the best score of the passages shortly before it, where that is more than
    /// what its neighbours give: a decision follows the words that it is asked for by, and need not repeat them.
    pub decided_after: f64,
    /// What a prompt gets of the best score of what was done for it.
    pub done_for_it: f64,
    /// A prompt with its replies.
    pub passage: f64,
    /// A note: somebody wanted it remembered.
    pub note: f64,
    /// A decision that was recognised as one.
    pub decision: f64,
    /// A passage whose reply says that something was decided: the answer counts more than the question.
    pub decides: f64,
    /// What a tool did: a mention there is rarely what is looked for.
    pub tool: f64,
    /// What a rule quoted from a session: the passage itself says more.
    pub summary: f64,
    /// A summary that a model or a person has written.
    pub written_summary: f64,
    /// What the newest passage has ahead of the oldest.
    pub newer: f64,
    /// What a record of a day, month or year that the query names has ahead of others: what happened then was said then.
    pub dated: f64,
    /// Of two passages that have the same of the query, the newer comes first where its score is at least this share of
    /// the other's.
    pub same_answer: f64,
    /// The same where the newer one says that something was decided anew. A hint from a list of words, so a gentle one.
    pub amended_answer: f64,
    /// The same where both are about the same subject, whatever was asked.
    pub same_subject_answer: f64,
    /// The same where they are, and the newer one says that something was decided anew: an amendment names what it changes
    /// and need not repeat the words of the question.
    pub amended_subject_answer: f64,
    /// How much of what the older passage has of the query the newer must have, to come first for its subject: a question
    /// in the words of the older one asks for it.
    pub same_coverage: f64,
    /// The same where the newer one says that something was decided anew.
    pub amended_coverage: f64,
    /// How much two passages share that are about the same subject.
    pub same_subject: f64,
    /// How much of what either of two passages has of the query both must have to be about the same.
    pub same_question: f64,
    /// The same for a newer decision to make an older one outdated without saying that anything has changed.
    pub decided_again: f64,
    /// What a passage without any word of the query gets of its neighbours' scores, in proportion to others.
    pub silent_neighbour: f64,
    /// What each further result of a session loses, so that several sessions are seen.
    pub spread: f64,
    /// Below this share of the query, a result is marked as weak.
    pub weak: f64,
    /// From this share of the query on, a result by words has most of it: meaning does not push it out of the first results.
    pub most: f64,
    /// What a record that means the same adds, as a share of the best score by words, where the words cover nothing of
    /// the query. At equal weight, results became worse than by words alone.
    pub meaning: f64,
    /// How much of [`Weights::meaning`] is left where a record has every word: there, words know best.
    pub meaning_when_covered: f64,
    /// The similarity up to which two texts have nothing to do with each other.
    pub unrelated: f64,
    /// The similarity that a record without any word of the query must have to be a result at all.
    pub found_alone: f64,
    /// The similarity from which two texts have something to do with each other, whatever the model.
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
    most: 0.55,
    meaning: 6.0,
    meaning_when_covered: 0.05,
    unrelated: 0.1,
    found_alone: 0.25,
    related: 0.6,
};
