//! The context guard: types `/compact` and denies new subagents. The decisions and the text are in
//! `activity-log/src/decision.rs`.

use longhaul_activity_log::{
    BookmarkVerdict, Pressure, SkipReason, ThresholdMet, denial, should_compact, should_deny_agents, starts_subagent,
};
use longhaul_core::Reply;
use longhaul_core::event::predicates::{is_compaction, stopped_by_user};
use longhaul_core::event::{HookEvent, PreToolUse, Stop, SubagentStop};
use longhaul_inject::{DeliveryMethod, Errand, delivery_method};
use longhaul_transcript::window_tokens;

use crate::injector::When;
use crate::{Error, Flow, Hook, Receipt, bridge, usage};

/// Denies a new subagent if the context is nearly full.
pub fn on_agent_launch(hook: &mut Hook<PreToolUse<'static>>) -> Result<Flow, Error> {
    if !hook.config.guard.enabled || !starts_subagent(&hook.event.tool_name) {
        return Ok(Flow::Next);
    }
    let pressure = hook.pressure()?;
    if should_deny_agents(&hook.config.guard, pressure) {
        hook.answer(Reply::deny(denial(&hook.config.guard, pressure)));
    }
    Ok(Flow::Next)
}

/// Compacts at the end of a turn if the context fills up.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if stopped_by_user(&hook.event) { Ok(Flow::Next) } else { hook.compact_when_full() }
}

/// Compacts after the return of a subagent if the context fills up.
pub fn on_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    if is_compaction(&hook.event.common) { Ok(Flow::Next) } else { hook.compact_when_full() }
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns the context use: as Claude Code or the newest reply reports it, or otherwise as estimated from the log.
    fn pressure(&self) -> Result<Pressure, Error> {
        let windows = &self.config.context.windows;
        let common = self.event.common();
        let fill = usage::fill(&*self.store()?, common.session.as_str(), common.transcript.as_deref(), windows)?;
        Ok(match fill {
            Some(fill) => Pressure::of(fill.tokens, fill.window),
            None => Pressure::estimate(&self.activity()?.metrics()?, window_tokens(None, 0, windows)),
        })
    }

    fn compact_when_full(&self) -> Result<Flow, Error> {
        if !self.config.guard.enabled {
            return Ok(Flow::Next);
        }
        let (terminal, client_pid) = self.place();
        let has_bridge = bridge::is_there(&self.config, &*self.store()?, client_pid)?;
        let means = delivery_method(Errand::Compact, has_bridge, terminal.as_ref());
        if means == DeliveryMethod::None {
            return Ok(Flow::Next);
        }
        let pressure = self.pressure()?;
        let claim = self.activity()?.claim(self.env.now, |metrics| {
            if should_compact(&self.config.guard, pressure, metrics, self.env.now) {
                let actual = (pressure.0 * 100.0) as u64;
                let limit = self.config.guard.compact_percent.0 * 100.0;
                BookmarkVerdict::Inject(ThresholdMet::new("percent of the context", actual, limit))
            } else {
                BookmarkVerdict::Skip(SkipReason::BelowThresholds)
            }
        })?;
        let Ok(ticket) = claim else { return Ok(Flow::Next) };
        if let (DeliveryMethod::Bridge, Some(client_pid)) = (means, client_pid) {
            // A second run of this job would not get the claim. The injector types if the bridge does not act.
            let left = self.store().and_then(|store| Ok(store.leave_errand(client_pid, bridge::COMPACT)?));
            if let Err(error) = left {
                self.log.write(&format!("session {}: {}", self.event.common().session, error.chain()));
            }
        }
        self.spawn_injector("/compact", Receipt::Compaction, When::Idle, ticket)?;
        Ok(Flow::Done)
    }
}
