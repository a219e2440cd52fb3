//! Recall: which words of a query are wanted, how well a passage answers them, and the answer that passages make.

mod amends;
mod answer;
mod brought;
mod dates;
mod excerpt;
mod looking;
mod matched_words;
mod normalised_text;
mod ordinary_words;
mod prompt;
mod similarity;
mod subject;
mod wanted;
mod weights;

pub use self::amends::{amends, decides};
pub use self::answer::{
    ANSWER_CANDIDATES, ANSWER_PASSAGES, ANSWER_TOKENS, ANSWER_TOKENS_RANGE, Answer, AnswerLimits, AnswerLine,
    AnswerPassage, AnswerSession, FoundPassage, LinePart, PassageKind,
};
pub use self::brought::{
    Brought, BroughtPassage, PROMPT_CHARS, PROMPT_PASSAGES, REPORT_PASSAGES, bring, recalled_message,
};
pub use self::dates::{NamedDate, dates_in};
pub use self::excerpt::MarkedText;
pub use self::looking::{Field, Look, Looker, Spot};
pub use self::matched_words::{WordMarker, WordMatch};
pub use self::prompt::{
    ChosenPassage, Evidence, PromptKind, PromptQuestion, PromptRank, Verdict, choose, decide, is_short,
};
pub use self::similarity::{FIRST_RESULTS, keep_among_first};
pub use self::subject::{Subject, Subjects, is_said_already, said_parts};
pub use self::wanted::{
    MAX_CORRECTED_WORDS, MAX_WORDS_FOR_ALL_ERRORS, MAX_WORDS_TO_CORRECT_ONE, MIN_BEGINNING_CHARS, WantedTerm,
    are_names, common_terms, spelled_like, wanted_terms,
};
pub use self::weights::{
    Needed, NeededInReport, NeededMeaning, NeededWeakly, THRESHOLDS, Thresholds, WEIGHTS, Weights,
};
