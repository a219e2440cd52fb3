//! Adds passages of earlier sessions to a prompt. Their text is also made by the search process.

use longhaul_core::config::MemoryPart;
use longhaul_core::event::predicates::{in_subagent, is_task_notification};
use longhaul_core::event::{HookEvent, SessionStart, UserPromptSubmit};
use longhaul_core::{private_tags, short_session};
use longhaul_handoff::continuation::texts;
use longhaul_memory::{
    BroughtPassage, ChosenPassage, PromptQuestion, PromptRank, bring, choose, is_said_already, recalled_message,
    said_parts,
};
use longhaul_store::{NearRecords, PromptPassage, PromptSearch, Store, StoreError};
use serde::{Deserialize, Serialize};

use super::meaning::{Meaning, near_prompt};
use crate::search_process::{self, PendingSearch};
use crate::shown_records::{ShownRecords, note_recalled, note_said};
use crate::{Error, Flow, Hook, clock_and_env};

/// Maximum number of bytes of a prompt that are read, so that a pasted file of megabytes costs no more than a page.
const LOOKED_AT: usize = 8_192;

/// Records what the session is shown at its start, so that it is not recalled for its prompts.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if hook.config.memory.show.contains(MemoryPart::Passages) && hook.remembers() {
        note_said(&hook.home, &hook.event.common.session, hook.shown_so_far())?;
    }
    Ok(Flow::Next)
}

/// A prompt for which passages of other sessions are searched.
#[derive(Debug)]
pub(crate) struct SearchedPrompt {
    /// Its text, without private parts.
    text: String,
    question: PromptQuestion,
    /// The search in the search process, if that runs.
    pending: Option<PendingSearch>,
}

/// Decides whether passages are searched for a prompt, and asks the search process for them if it runs.
///
/// Most prompts get none, which their words alone decide.
pub fn begin_search(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    let prompt = &hook.event.prompt;
    if !hook.config.memory.show.contains(MemoryPart::Passages)
        || !hook.remembers()
        || in_subagent(common)
        || is_task_notification(prompt)
        || prompt.trim() == texts::PROMPT
    {
        return Ok(Flow::Next);
    }
    // Private text is not used for the search. A tag that is not closed because of the cut hides the rest.
    let text = private_tags::strip(&prompt[..prompt.floor_char_boundary(LOOKED_AT)]);
    let Some(question) = PromptQuestion::of(&text).filter(|_| !hook.is_private()) else { return Ok(Flow::Next) };
    let pending = search_process::is_wanted(&hook.config)
        .then(|| search_process::ask(&hook.env, &hook.home, &common.session, &text))
        .flatten();
    hook.searched_prompt = Some(SearchedPrompt { text, question, pending });
    Ok(Flow::Next)
}

/// Shows the model passages of other sessions of the project about the subject of the prompt, if they are certain
/// enough.
///
/// Without an answer of the search process, the hook searches. If the database cannot be read at once, or its index is being
/// built, nothing is shown.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let Some(searched) = hook.searched_prompt.take() else { return Ok(Flow::Next) };
    let SearchedPrompt { text, question, pending } = searched;
    // The process does not know what this hook has shown, such as a handoff.
    let pending = pending.filter(|_| hook.shown_so_far().is_empty());
    let answer = pending.and_then(PendingSearch::answer);
    let Some(RecalledText { text, records }) = (match answer {
        Some(recalled) => Some(recalled),
        None => search(hook, &text, &question)?,
    }) else {
        return Ok(Flow::Next);
    };
    if records.is_empty() || text.chars().count() > hook.room() {
        return Ok(Flow::Next);
    }
    note_recalled(&hook.home, &hook.event.common.session, &records)?;
    hook.show(&text);
    hook.notify(&recalled_message(&records));
    Ok(Flow::Next)
}

/// Searches for a prompt in this process; `None` if that is not possible now.
fn search(
    hook: &mut Hook<UserPromptSubmit>,
    text: &str,
    question: &PromptQuestion,
) -> Result<Option<RecalledText>, Error> {
    // An earlier job has reported that the database is locked.
    let Ok(store) = hook.store() else { return Ok(None) };
    hook.done.has_searched = true;
    let session = &hook.event.common.session;
    let Some(known) = store.session(session.as_str())? else { return Ok(None) };
    let mut shown = ShownRecords::load(&hook.home, session);
    // The handoff may have been shown with this prompt.
    shown.said.extend(said_parts(hook.shown_so_far()));
    let report = |error: Error| hook.log.write(&format!("session {session}: {}", error.chain()));
    let near = || {
        let near = Meaning::open(&hook.env, &hook.home, &hook.config).and_then(|meaning| match meaning {
            Some(meaning) => near_prompt(&meaning, &store, &known.project_key, text),
            None => Ok(NearRecords::default()),
        });
        near.unwrap_or_else(|error| {
            report(error);
            NearRecords::default()
        })
    };
    let search = PromptSearch { question, project_key: &known.project_key, session: session.as_str() };
    match recall_for_prompt(&store, &search, &shown, clock_and_env::utc_offset_seconds(hook.env.now), near) {
        Ok(recalled) => Ok(Some(recalled)),
        // The index is marked as damaged, and upkeep builds it again.
        Err(error) if error.is_index_damage() => Err(error.into()),
        Err(error) => {
            // The prompt works without passages, and other jobs handle a damaged database.
            report(error.into());
            Ok(None)
        }
    }
}

/// Starts the search process, after the answer, if this hook has searched and the memory is large.
pub fn start_search_process(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    if hook.done.has_searched {
        start_if_missing(hook)?;
    }
    Ok(Flow::Next)
}

/// Starts the search process, after the answer, so that the first prompt finds it running.
pub fn prepare_search(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if hook.config.memory.show.contains(MemoryPart::Passages) && hook.remembers() {
        start_if_missing(hook)?;
    }
    Ok(Flow::Next)
}

fn start_if_missing<E: HookEvent<'static>>(hook: &Hook<E>) -> Result<(), Error> {
    if !search_process::is_wanted(&hook.config) || search_process::listens(&hook.env, &hook.home) {
        return Ok(());
    }
    // Other jobs report a database that cannot be opened.
    let Ok(store) = hook.store() else { return Ok(()) };
    search_process::start_if_large(&hook.env, &hook.home, &store)
}

/// The text that is shown with a prompt, which is empty if nothing is, and the names of the records in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecalledText {
    text: String,
    pub(crate) records: Vec<String>,
}

/// Searches for a prompt, and returns what is shown with it: nothing that its session was shown already, with dates of the time
/// zone. `near` is as in [`Store::passages_for_prompt`].
pub(crate) fn recall_for_prompt(
    store: &Store,
    search: &PromptSearch<'_>,
    shown: &ShownRecords,
    utc_offset_seconds: i32,
    near: impl FnOnce() -> NearRecords,
) -> Result<RecalledText, StoreError> {
    let passages = store.passages_for_prompt(search, near)?;
    let ranks: Vec<PromptRank> = passages.iter().map(|passage| passage.rank).collect();
    let is_known = |index: usize| {
        let passage = &passages[index];
        shown.recalled.contains(&passage.record) || is_said_already(&passage.replied, &shown.said)
    };
    let chosen = choose(search.question, &ranks, is_known);
    Ok(render(&chosen, &passages, utc_offset_seconds))
}

fn render(chosen: &[ChosenPassage], passages: &[PromptPassage], utc_offset_seconds: i32) -> RecalledText {
    let ids: Vec<String> = chosen.iter().map(|choice| passages[choice.index].record.to_string()).collect();
    let brought: Vec<BroughtPassage<'_>> = chosen
        .iter()
        .zip(&ids)
        .map(|(choice, id)| {
            let passage = &passages[choice.index];
            let mut brought = BroughtPassage::new(id, passage.at, &passage.asked, &passage.replied);
            brought.session = short_session(&passage.session);
            brought.host = passage.host.as_deref();
            brought.spot = passage.spot;
            brought.is_older = passage.is_older;
            brought.is_weak = choice.is_weak;
            brought
        })
        .collect();
    let brought = bring(&brought, utc_offset_seconds);
    RecalledText { text: brought.text, records: ids.into_iter().take(brought.shown).collect() }
}
