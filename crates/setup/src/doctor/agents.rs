//! Checks the hooks of the other agents.

use std::path::PathBuf;

use longhaul_agents::{ALL, Agent, ConfigShape};
use longhaul_core::{Env, SessionId};
use longhaul_runtime::{SessionRecord, Shell, is_executable};

use super::Finding;
use super::facts::Facts;
use super::judge::{ago, few};
use crate::AgentSetup;
use crate::agents::{Registered, RegisteredHooks};
use crate::paths::InstallPaths;

/// The name of the check.
const CHECK: &str = "agents";

/// The facts about an agent whose settings Longhaul's hooks are in.
#[derive(Debug, Clone)]
pub struct AgentFacts {
    /// The agent.
    agent: &'static Agent,
    /// The file with the hooks.
    path: PathBuf,
    /// The hooks; `None` if the file is not JSON.
    hooks: Option<RegisteredHooks>,
    /// The programs that are registered and cannot be run.
    missing_programs: Vec<PathBuf>,
    /// When its newest session started, in milliseconds.
    newest: Option<u64>,
}

impl AgentFacts {
    /// Collects the facts about the agents that Longhaul is installed for.
    pub(super) fn collect(env: &Env, shell: &Shell, paths: &InstallPaths) -> Vec<Self> {
        // Codex has a check of its own.
        let is_general = |agent: &&'static Agent| agent.config.shape != ConfigShape::CodexHooks;
        let there: Vec<&'static Agent> =
            ALL.into_iter().filter(is_general).filter(|agent| AgentSetup::is_there(agent, env, shell)).collect();
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
        let hooks = match setup.registered() {
            Registered::Nothing => return None,
            Registered::Unreadable => None,
            Registered::Hooks(hooks) => Some(hooks),
        };
        let is_its =
            |record: &&SessionRecord| SessionId::new(&record.session).is_some_and(|id| id.client() == agent.name);
        let programs = hooks.iter().flat_map(|hooks| &hooks.programs);
        Some(Self {
            agent,
            path: setup.path().to_owned(),
            missing_programs: programs
                .filter(|program| program.is_absolute() && !is_executable(program))
                .cloned()
                .collect(),
            hooks,
            newest: records.iter().find(is_its).map(|record| record.started_at),
        })
    }
}

/// Checks the hooks of each agent.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    facts.agents.iter().flat_map(|agent| of_agent(agent, facts.now)).collect()
}

fn of_agent(facts: &AgentFacts, now: u64) -> Vec<Finding> {
    let title = facts.agent.title;
    let warning = |what: &str, fix: String| Finding::warning(CHECK, format!("{title}: {what}"), fix);
    let install = || format!("run `longhaul install --agent {}`", facts.agent.name);
    let Some(hooks) = &facts.hooks else {
        let what = format!("{} has hooks of Longhaul, but is not JSON", facts.path.display());
        return vec![warning(&what, format!("correct {}", facts.path.display()))];
    };
    let mut found = Vec::new();
    if hooks.all_disabled {
        let fix = "enable hooks in its settings: `hooksConfig.enabled`, or `disableAllHooks` for Qwen Code";
        found.push(warning("its settings disable every hook", fix.to_owned()));
    }
    if hooks.is_disabled {
        let fix = format!("type `/hooks enable longhaul` in {title}");
        found.push(warning("its settings disable the hooks of Longhaul", fix));
    }
    let events = facts.agent.events.iter().map(|rule| rule.theirs.to_owned());
    let missing: Vec<String> = events.filter(|event| !hooks.events.contains(event)).collect();
    if !missing.is_empty() {
        found.push(warning(&format!("no hook is registered for {}", few(missing.into_iter())), install()));
    }
    if !facts.missing_programs.is_empty() {
        let programs = few(facts.missing_programs.iter().map(|program| program.display().to_string()));
        found.push(warning(&format!("its hooks start a program that does not exist: {programs}"), install()));
    }
    if !hooks.has_server {
        found.push(warning("the MCP server is not registered, or is excluded", install()));
    }
    if found.is_empty() {
        found.push(match facts.newest {
            Some(at) => Finding::ok(CHECK, format!("{title}: the newest session began {}", ago(now, at))),
            None => Finding::note(CHECK, format!("{title}: its hooks are registered, and none has run yet")),
        });
    }
    found
}
