//! Recall: which words of a query are wanted, how well a passage answers them, and the answer that passages make.

mod amends;
mod answer;
mod answer_choice;
mod answer_limits;
mod answer_text;
mod brought;
mod dates;
mod excerpt;
mod form_beginnings;
mod looking;
mod marked_text;
mod matched_words;
mod normalised_text;
mod ordinary_words;
mod prompt;
mod prompt_choice;
mod prompt_kind;
mod said_already;
mod similarity;
mod subject;
mod text_parts;
mod thresholds;
mod typing_errors;
mod wanted;
mod weights;

pub use self::amends::{amends, decides};
pub use self::answer::{Answer, AnswerPassage, AnswerSession, FoundPassage, PassageKind};
pub use self::answer_limits::{ANSWER_CANDIDATES, ANSWER_PASSAGES, ANSWER_TOKENS, ANSWER_TOKENS_RANGE, AnswerLimits};
pub use self::answer_text::{AnswerLine, LinePart};
pub use self::brought::{
    Brought, BroughtPassage, PROMPT_CHARS, PROMPT_PASSAGES, REPORT_PASSAGES, bring, recalled_message,
};
pub use self::dates::{NamedDate, dates_in};
pub use self::looking::{Field, Look, Looker, Spot};
pub use self::marked_text::MarkedText;
pub use self::matched_words::{WordMarker, WordMatch};
pub use self::prompt::{Evidence, PromptQuestion, Verdict, decide};
pub use self::prompt_choice::{ChosenPassage, PromptRank, choose};
pub use self::prompt_kind::{PromptKind, is_short};
pub use self::said_already::{is_said_already, said_parts};
pub use self::similarity::{BEST_RESULTS, FIRST_RESULTS, MeaningScale, keep_among_first};
pub use self::subject::{Subject, Subjects};
pub use self::thresholds::{Needed, NeededInReport, NeededMeaning, NeededWeakly, THRESHOLDS, Thresholds};
pub use self::typing_errors::{
    MAX_CORRECTED_WORDS, MAX_WORDS_FOR_ALL_ERRORS, MAX_WORDS_TO_CORRECT_ONE, MIN_BEGINNING_CHARS, spelled_like,
};
pub use self::wanted::{WantedTerm, are_names, common_terms, wanted_terms};
pub use self::weights::{WEIGHTS, Weights};
