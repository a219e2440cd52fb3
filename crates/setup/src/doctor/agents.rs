//! Checks the hooks of the other agents.

use longhaul_agents::{ALL, Agent, ConfigShape};
use longhaul_core::{Env, SessionId};
use longhaul_runtime::{SessionRecord, Shell, bounded_read};
use serde_json::Value;

use super::Finding;
use super::facts::Facts;
use super::judge::{ago, few};
use crate::AgentSetup;
use crate::paths::InstallPaths;

/// The facts about an agent whose settings Longhaul's hooks are in.
#[derive(Debug, Clone)]
pub struct AgentFacts {
    /// The agent.
    pub agent: &'static Agent,
    /// The events that are not registered.
    pub missing: Vec<&'static str>,
    /// Whether its settings disable every hook.
    pub is_switched_off: bool,
    /// When its newest session started, in milliseconds.
    pub newest: Option<u64>,
}

impl AgentFacts {
    /// Collects the facts about the agents that Longhaul is installed for.
    pub(super) fn collect(env: &Env, shell: &Shell, paths: &InstallPaths) -> Vec<Self> {
        let there: Vec<&'static Agent> =
            ALL.into_iter().filter(|agent| AgentSetup::is_there(agent, env, shell)).collect();
        if there.is_empty() {
            return Vec::new();
        }
        let records = SessionRecord::all(&paths.data);
        there.into_iter().filter_map(|agent| Self::of(agent, env, shell, paths, &records)).collect()
    }

    fn of(
        agent: &'static Agent,
        env: &Env,
        shell: &Shell,
        paths: &InstallPaths,
        records: &[SessionRecord],
    ) -> Option<Self> {
        let setup = AgentSetup::read(agent, env, shell, paths).ok()?;
        let registered = setup.registered();
        if registered.is_empty() {
            return None;
        }
        let events = agent.events.iter().map(|rule| rule.theirs);
        let is_its =
            |record: &&SessionRecord| SessionId::new(&record.session).is_some_and(|id| id.client() == agent.name);
        Some(Self {
            agent,
            missing: events.filter(|event| !registered.iter().any(|name| name == event)).collect(),
            is_switched_off: agent.config.shape == ConfigShape::HookGroups && disables_hooks(&setup),
            newest: records.iter().find(is_its).map(|record| record.started_at),
        })
    }
}

/// Returns whether settings disable every hook: Gemini CLI and Qwen Code have a setting for it.
fn disables_hooks(setup: &AgentSetup) -> bool {
    let text = bounded_read::bytes(setup.path(), bounded_read::LARGE).unwrap_or_default();
    let settings: Value = serde_json::from_slice(&text).unwrap_or_default();
    settings["hooksConfig"]["enabled"] == false || settings["disableAllHooks"] == true
}

/// Checks the hooks of each agent.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    facts.agents.iter().map(|agent| of_agent(agent, facts.now)).collect()
}

fn of_agent(facts: &AgentFacts, now: u64) -> Finding {
    let (check, title) = ("agents", facts.agent.title);
    if facts.is_switched_off {
        let fix = "enable hooks in its settings: `hooksConfig.enabled`, or `disableAllHooks` for Qwen Code";
        return Finding::warning(check, format!("{title}: its settings disable every hook"), fix);
    }
    if !facts.missing.is_empty() {
        let missing = few(facts.missing.iter().map(|event| (*event).to_owned()));
        let fix = format!("run `longhaul install --agent {}`", facts.agent.name);
        return Finding::warning(check, format!("{title}: no hook is registered for {missing}"), fix);
    }
    match facts.newest {
        Some(at) => Finding::ok(check, format!("{title}: the newest session began {}", ago(now, at))),
        None => Finding::note(check, format!("{title}: its hooks are registered, and none has run yet")),
    }
}
