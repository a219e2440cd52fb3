//! What is recalled for a prompt: passages of other sessions, as text. Used by the hook and by the search process.

use longhaul_core::short_session;
use longhaul_memory::{BroughtPassage, ChosenPassage, PromptQuestion, PromptRank, bring, choose, is_said_already};
use longhaul_store::{PromptPassage, PromptSearch, RecordId, Store, StoreError};

use crate::shown_records::ShownRecords;

/// A prompt to search for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prompt<'a> {
    /// Its question.
    pub(crate) question: &'a PromptQuestion,
    /// Its project.
    pub(crate) project_key: &'a str,
    /// Its session.
    pub(crate) session: &'a str,
    /// What its session was shown already.
    pub(crate) shown: &'a ShownRecords,
    /// The offset of the time zone in which dates are written.
    pub(crate) utc_offset_seconds: i32,
}

/// The text that is shown with a prompt; empty if nothing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecalledText {
    /// The text.
    pub(crate) text: String,
    /// The records that it is made of.
    pub(crate) records: Vec<RecordId>,
}

/// Searches for a prompt, and returns what is shown with it. `near` is as in [`Store::passages_for_prompt`].
pub(crate) fn recall_for_prompt(
    store: &Store,
    prompt: Prompt<'_>,
    near: impl FnOnce() -> Vec<(RecordId, f32)>,
) -> Result<RecalledText, StoreError> {
    let Prompt { question, project_key, session, shown, utc_offset_seconds } = prompt;
    let passages = store.passages_for_prompt(&PromptSearch { question, project_key, session }, near)?;
    let ranks: Vec<PromptRank> = passages.iter().map(|passage| passage.rank).collect();
    let is_known = |index: usize| {
        let passage = &passages[index];
        shown.recalled.contains(&passage.record) || is_said_already(&passage.replied, &shown.said)
    };
    let chosen = choose(question, &ranks, is_known);
    Ok(render(&chosen, &passages, utc_offset_seconds))
}

fn render(chosen: &[ChosenPassage], passages: &[PromptPassage], utc_offset_seconds: i32) -> RecalledText {
    let ids: Vec<String> = chosen.iter().map(|one| passages[one.index].record.to_string()).collect();
    let brought: Vec<BroughtPassage<'_>> = chosen
        .iter()
        .zip(&ids)
        .map(|(one, id)| {
            let passage = &passages[one.index];
            let mut brought = BroughtPassage::new(id, passage.at, &passage.asked, &passage.replied);
            brought.session = short_session(&passage.session);
            brought.host = passage.host.as_deref();
            brought.spot = passage.spot;
            brought.is_older = passage.is_older;
            brought.is_weak = one.is_weak;
            brought
        })
        .collect();
    let brought = bring(&brought, utc_offset_seconds);
    let records = chosen.iter().take(brought.shown).map(|one| passages[one.index].record).collect();
    RecalledText { text: brought.text, records }
}
