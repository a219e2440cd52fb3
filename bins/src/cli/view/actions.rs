//! What the keys do with a session. Each runs in a thread of its own and returns a message for the user.

use anyhow::{Context, bail};
use longhaul_core::{Env, short_session};
use longhaul_inject::DialogAnswer;
use longhaul_runtime::continuation::decide_by_hand;
use longhaul_runtime::{ContinueOutcome, DialogOutcome, Home, continue_session};
use longhaul_view::{Answer, RowId};

use super::app::ShownDialog;
use crate::cli::bookmark;
use crate::cli::send::send_to;
use crate::cli::session_target::of_session;

/// Sends a prompt to a session.
pub(crate) fn send(env: &Env, home: &Home, session: &str, text: &str, waits: &dyn Fn(&str)) -> anyhow::Result<String> {
    let target = of_session(home, session)?;
    let (config, _) = longhaul_runtime::config(env)?;
    send_to(env, home, &target, text, config.inject.patience(), waits)
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
