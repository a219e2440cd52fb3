//! Recall: the index of passages, and searching it.
//!
//! A passage is a prompt with every reply of its turns. Observations and summaries stand beside it in the same index.

pub(crate) mod backlog;
mod beginnings;
mod candidate;
mod effort;
mod expression;
pub(crate) mod index;
mod index_tables;
pub(crate) mod key;
mod meaning;
mod order;
mod postings;
mod prompt_search;
mod ranked;
pub(crate) mod replies;
mod search;
pub(crate) mod segments;
mod strict;
mod trigrams;

pub use self::backlog::IndexProgress;
pub(crate) use self::candidate::Candidate;
pub use self::meaning::{NEAREST, NearRecords};
pub(crate) use self::postings::newest_notes;
pub use self::prompt_search::{PromptPassage, PromptSearch};
pub use self::search::SearchQuery;
