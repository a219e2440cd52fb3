//! What the keys do with a session. Each runs in a thread of its own and returns a message for the user.

use anyhow::{Context, bail};
use longhaul_core::config::OneLineText;
use longhaul_core::{Env, short_session};
use longhaul_inject::DialogAnswer;
use longhaul_runtime::continuation::decide_by_hand;
use longhaul_runtime::{ContinueOutcome, DialogOutcome, Home, PromptOutcome, continue_session, send_prompt};
use longhaul_view::{Answer, RowId};

use super::app::ShownDialog;
use super::session_target::{Target, of_session};
use crate::cli::bookmark;

/// Sends a prompt to a session.
pub(crate) fn send(env: &Env, home: &Home, session: &str, text: &str, waits: &dyn Fn(&str)) -> anyhow::Result<String> {
    let target = of_session(home, session)?;
    let (config, _) = longhaul_runtime::config(env)?;
    send_to(env, home, &target, text, config.inject.patience(), waits)
}

/// Sends a prompt to a session that was found, and returns what has happened.
pub(crate) fn send_to(
    env: &Env,
    home: &Home,
    target: &Target,
    text: &str,
    patience: std::time::Duration,
    waits: &dyn Fn(&str),
) -> anyhow::Result<String> {
    let project = &target.agent.project;
    let spaced: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let text = OneLineText::new(&spaced).context(
        "a prompt must not be empty, contain control characters, or start with /, !, #, @ or ?: type that in the session itself",
    )?;
    match send_prompt(env, home, &target.record, &text, patience, waits)? {
        PromptOutcome::Received => Ok(format!("{project} has received the prompt.")),
        PromptOutcome::NotSent(why) => bail!("nothing was sent to {project}: {why}"),
        PromptOutcome::NotConfirmed => {
            bail!("the prompt was typed into {project}, but Claude Code has not confirmed it: go there")
        }
    }
}

/// Answers the dialog that was shown.
pub(crate) fn answer(
    env: &Env,
    home: &Home,
    id: &RowId,
    shown: &ShownDialog,
    answer: Answer,
) -> anyhow::Result<String> {
    let (answer, word) = match answer {
        Answer::Yes => (DialogAnswer::Yes, "Yes"),
        Answer::No => (DialogAnswer::No, "No"),
    };
    let project = of_session(home, &id.session).map_or_else(|_| id.session.clone(), |target| target.agent.project);
    match shown.pane.answer(env, home, &shown.seen, answer)? {
        DialogOutcome::Answered => Ok(format!("Answered {word} in {project}.")),
        DialogOutcome::NothingTyped(why) => bail!("Nothing was typed: {why}"),
        DialogOutcome::NoEffect => bail!("The dialog of {project} did not react: go there"),
    }
}

/// Sets a bookmark.
pub(crate) fn bookmark(env: &Env, home: &Home, session: &str, note: &str) -> anyhow::Result<String> {
    let target = of_session(home, session)?;
    bookmark::set(env, home, &target.record, note)?;
    Ok(format!("Bookmark set in {}.", target.agent.project))
}

/// Continues a session in a new one.
pub(crate) fn carry_on(env: &Env, home: &Home, session: &str, waits: &dyn Fn(&str)) -> anyhow::Result<String> {
    let target = of_session(home, session)?;
    let project = &target.agent.project;
    let (config, _) = longhaul_runtime::config(env)?;
    let chain = home.existing_store()?.map(|store| store.chain_of(session)).transpose()?.flatten();
    if let Some(chain) = chain.filter(|chain| chain.plan.is_stuck() || chain.plan.waits_for_typing()) {
        let chain = decide_by_hand(env, true, chain.id)?.context("the chain does not exist any more")?;
        return Ok(format!("{project}: {} again.", chain.plan.state));
    }
    let times = (config.inject.patience(), config.continuation.step_seconds.as_duration());
    match continue_session(env, home, &target.record, &config.continuation.prompt, times, waits)? {
        ContinueOutcome::Continued(new) => Ok(format!("{project} continues in session {}.", short_session(&new))),
        ContinueOutcome::NotCleared(why) => bail!("{project} is not continued: {why}"),
        ContinueOutcome::NotPrompted(why) => bail!("{project} was cleared, but not prompted: {why}"),
    }
}
