//! Near the limit of Codex's context: writes the baton, informs the user, and perhaps continues in a new session. The
//! message is in `handoff/src/continuation/texts.rs`.

use longhaul_core::event::Stop;
use longhaul_handoff::BatonTrigger;
use longhaul_handoff::continuation::texts;

use crate::continuation::settings;
use crate::handoff::Project;
use crate::{Error, Flow, Hook, codex_continuation, usage};

/// Writes a baton once the rollout's token count has passed `continuation.at`, so that the next session goes on.
///
/// The user is informed once for each session. Every later turn renews the baton, which expires otherwise.
pub fn near_limit(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if !hook.config.handoff.enabled || hook.is_excluded() || hook.is_private() {
        return Ok(Flow::Next);
    }
    let settings = settings(&hook.config, &hook.home, hook.project_dir().as_deref());
    let store = hook.store()?;
    let common = &hook.event.common;
    let session = common.session.as_str();
    let fill = usage::fill(&store, session, common.transcript.as_deref(), &hook.config.context.windows)?;
    let Some(fill) = fill.filter(|fill| settings.at.0.iter().any(|limit| fill.reaches(*limit))) else {
        return Ok(Flow::Next);
    };
    let project = Project::of(&hook.env, common.cwd.as_deref());
    let trigger = BatonTrigger::Continuation;
    let batons = store.batons(&project.path)?;
    let own = batons.iter().find(|baton| baton.session == session);
    let is_new = own.is_none_or(|baton| baton.trigger != trigger.as_str());
    // A baton that the user has written is for any agent, and stays so.
    if own.is_none_or(|baton| baton.trigger == trigger.as_str()) {
        hook.write_baton(&store, trigger)?;
    }
    if !is_new {
        return Ok(Flow::Next);
    }
    let goes_on = settings.enabled && codex_continuation::start(hook)?;
    hook.notify(&format!("longhaul: {}", texts::near_limit_of_codex(fill.share(), goes_on)));
    Ok(Flow::Next)
}
