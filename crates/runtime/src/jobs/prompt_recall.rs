//! Adds passages of earlier sessions to a prompt.

use longhaul_core::event::predicates::{in_subagent, is_task_notification};
use longhaul_core::event::{SessionStart, UserPromptSubmit};
use longhaul_core::{private_tags, short_session};
use longhaul_memory::{
    Brought, BroughtPassage, ChosenPassage, PromptCandidate, PromptQuestion, bring, choose, is_said_already,
    recalled_message, said_parts,
};
use longhaul_store::{PromptPassage, PromptSearch, RecordId};

use crate::memory::meaning::near_prompt;
use crate::shown_records::{ShownRecords, note_recalled, note_said};
use crate::{Error, Flow, Hook, clock_and_env};

/// Maximum number of bytes of a prompt that are read, so that a pasted file of megabytes costs no more than a page.
const LOOKED_AT: usize = 8_192;

/// Records what the session is shown at its start, so that it is not recalled for its prompts.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if hook.config.memory.recall_on_prompt && hook.remembers() {
        note_said(&hook.home, &hook.event.common.session, hook.shown_so_far())?;
    }
    Ok(Flow::Next)
}

/// Shows the model passages of other sessions of the project about the subject of the prompt, if they are certain
/// enough.
///
/// Most prompts get none, which their words alone decide. The job never waits and starts no process: if the database
/// cannot be read at once, or its index is being built, nothing is shown.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    let prompt = &hook.event.prompt;
    if !hook.config.memory.recall_on_prompt
        || !hook.remembers()
        || in_subagent(common)
        || is_task_notification(prompt)
        || prompt.trim() == hook.config.continuation.prompt.as_str()
    {
        return Ok(Flow::Next);
    }
    // Private text is not used for the search. A tag that is not closed because of the cut hides the rest.
    let text = private_tags::strip(&prompt[..prompt.floor_char_boundary(LOOKED_AT)]);
    let Some(question) = PromptQuestion::of(&text).filter(|_| !hook.is_private()) else { return Ok(Flow::Next) };
    // An earlier job has reported that the database is locked.
    let Ok(store) = hook.store() else { return Ok(Flow::Next) };
    let session = common.session.clone();
    let Some(known) = store.session(session.as_str())? else { return Ok(Flow::Next) };
    let mut shown = ShownRecords::load(&hook.home, &session);
    // The handoff may have been shown with this prompt.
    shown.said.extend(said_parts(hook.shown_so_far()));
    let near = near_prompt(&hook.env, &hook.home, &hook.config, &store, &known.project_key, &text);
    let near = near.unwrap_or_else(|error| {
        hook.log.write(&format!("session {session}: {}", error.chain()));
        Vec::new()
    });
    let search =
        PromptSearch { near: &near, question: &question, project_key: &known.project_key, session: session.as_str() };
    let passages = match store.passages_for_prompt(&search) {
        Ok(passages) => strong(&question, passages, &shown),
        // The index is marked as damaged, and upkeep builds it again.
        Err(error) if error.is_index_damage() => return Err(error.into()),
        Err(error) => {
            // The prompt works without passages, and other jobs handle a damaged database.
            hook.log.write(&format!("session {session}: {}", Error::from(error).chain()));
            return Ok(Flow::Next);
        }
    };
    drop(store);
    let brought = render(&passages, clock_and_env::utc_offset_seconds(hook.env.now));
    let records: Vec<RecordId> = passages.iter().take(brought.shown).map(|(_, passage)| passage.record).collect();
    if records.is_empty() || brought.text.chars().count() > hook.room() {
        return Ok(Flow::Next);
    }
    note_recalled(&hook.home, &session, &records)?;
    let ids: Vec<String> = records.iter().map(ToString::to_string).collect();
    hook.show(&brought.text);
    hook.notify(&recalled_message(&ids));
    Ok(Flow::Next)
}

/// Returns the passages to show, the best first.
fn strong(
    question: &PromptQuestion,
    passages: Vec<PromptPassage>,
    shown: &ShownRecords,
) -> Vec<(ChosenPassage, PromptPassage)> {
    let candidate = |passage: &PromptPassage| {
        let PromptPassage { by_words, with_meaning, .. } = *passage;
        PromptCandidate { by_words, with_meaning }
    };
    let is_known = |index: usize| {
        let passage = &passages[index];
        shown.recalled.contains(&passage.record) || is_said_already(&passage.replied, &shown.said)
    };
    let chosen = choose(question, &passages.iter().map(candidate).collect::<Vec<_>>(), is_known);
    chosen.into_iter().map(|one| (one, passages[one.index].clone())).collect()
}

fn render(passages: &[(ChosenPassage, PromptPassage)], offset_seconds: i32) -> Brought {
    let ids: Vec<String> = passages.iter().map(|(_, passage)| passage.record.to_string()).collect();
    let brought: Vec<BroughtPassage<'_>> = passages
        .iter()
        .zip(&ids)
        .map(|((chosen, passage), id)| {
            let mut brought = BroughtPassage::new(id, passage.at, &passage.asked, &passage.replied);
            brought.session = short_session(&passage.session);
            brought.host = passage.host.as_deref();
            brought.spot = passage.spot;
            brought.is_older = passage.is_older;
            brought.is_weak = chosen.is_weak;
            brought.found_by = chosen.found_by;
            brought
        })
        .collect();
    bring(&brought, offset_seconds)
}
