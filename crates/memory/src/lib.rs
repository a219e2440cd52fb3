#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod call;
mod conclusions;
mod cue_table;
pub mod embedding;
mod exchanges;
mod json;
mod key_block;
mod left_to_do;
mod observation;
mod observe;
mod page;
mod query;
mod recall;
mod redact;
mod strip;
mod summarize;
mod terms;
mod text;

pub use crate::call::{
    Call, INPUT_CHARS, REPLY_CHARS, RESPONSE_CHARS, RawCall, SAID_CHARS, Secrets, fold_key, input_chars, is_skipped,
    matches,
};
pub use crate::exchanges::Exchange;
pub use crate::observation::{Kind, MadeBy, Observation, Summary};
pub use crate::observe::{NARRATIVE_CHARS, TITLE_CHARS, command_key, decisions, fix_of, observe};
pub use crate::page::{
    PAGE_MIN_CHARS, PAGE_NEW_SUMMARIES, PAGE_NOTES, PAGE_RECORDS, PAGE_SESSIONS, Page, PageInput, PageRecord,
    PageSession, page,
};
pub use crate::query::{Query, Term};
pub use crate::recall::{
    ANSWER_CANDIDATES, ANSWER_PASSAGES, ANSWER_TOKENS, ANSWER_TOKENS_RANGE, Answer, AnswerLimits, AnswerLine,
    AnswerPassage, AnswerSession, Brought, BroughtPassage, ChosenPassage, Evidence, FIRST_RESULTS, Field, FoundPassage,
    LinePart, Look, Looker, MAX_CORRECTED_WORDS, MAX_WORDS_FOR_ALL_ERRORS, MAX_WORDS_TO_CORRECT_ONE,
    MIN_BEGINNING_CHARS, MarkedText, NamedDate, Needed, NeededInReport, NeededMeaning, NeededWeakly, PROMPT_CHARS,
    PROMPT_PASSAGES, PassageKind, PromptKind, PromptQuestion, PromptRank, REPORT_PASSAGES, Spot, Subject, Subjects,
    THRESHOLDS, Thresholds, Verdict, WEIGHTS, WantedTerm, Weights, WordMarker, WordMatch, amends, are_names, bring,
    choose, common_terms, dates_in, decide, decides, is_said_already, is_short, keep_among_first, recalled_message,
    said_parts, spelled_like, wanted_terms,
};
pub use crate::redact::{redact, redact_command, redact_input_commands, redacted_ends};
pub use crate::strip::strip_json;
pub use crate::summarize::{PART_CHARS, REQUEST_CHARS, SUMMED_UP, TurnText, summarize};
pub use crate::terms::{Form, Language, Piece, TERMS_VERSION, Terms, fold, forms, is_stop_word, split};

#[cfg(test)]
mod tests;
