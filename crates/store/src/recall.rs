//! Recall: the index of passages, and searching it.
//!
//! A passage is a prompt with every reply of its turns. Observations and summaries stand beside it in the same index.

pub(crate) mod backlog;
mod candidate;
mod expression;
pub(crate) mod index;
pub(crate) mod key;
mod order;
mod postings;
mod prompt_search;
pub(crate) mod replies;
mod search;
mod trigrams;

pub use self::backlog::IndexProgress;
pub(crate) use self::candidate::Candidate;
pub use self::order::{Compared, NEAREST, NearRecords};
pub(crate) use self::postings::newest_notes;
pub use self::prompt_search::{PromptPassage, PromptSearch};
pub use self::search::SearchQuery;
