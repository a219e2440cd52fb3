//! Checks of the hooks of other agents, and of Codex, which runs only hooks that the user has trusted.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longhaul_agents::{ALL, Agent, ConfigShape, EventRule, find};
use longhaul_core::{Env, SessionId};
use longhaul_inject::TerminalCommand;
use longhaul_runtime::{NextLine, ProgramLines, SessionRecord, Shell, bounded_read, is_executable, waiting_times};
use serde_json::{Value, json};

use super::facts::Facts;
use super::sessions::SessionFacts;
use super::{Finding, ago, few};
use crate::AgentSetup;
use crate::agents::{Registered, RegisteredHooks, is_our_hook};
use crate::codex::{ask_codex, is_registered, switched_off};
use crate::current_state::InstallPaths;

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
pub(super) fn agents(facts: &Facts) -> Vec<Finding> {
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

/// The command that repairs everything that Longhaul has added to Codex.
const INSTALL: &str = "run `longhaul install --codex`";

/// What is known of Codex.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodexFacts {
    /// What it prints as its version; `None` if it is not on the path or does not answer.
    pub version: Option<String>,
    /// Events whose hook is registered.
    pub hooks: Vec<String>,
    /// Events whose hook is registered and not trusted, or was changed since.
    pub untrusted: Vec<String>,
    /// Events whose hook is registered and disabled.
    pub disabled: Vec<String>,
    /// Features that Longhaul needs and that are switched off.
    pub features_off: Vec<String>,
    /// Whether the MCP server is registered.
    pub has_server: bool,
    /// When a hook of Codex last ran.
    pub last_event: Option<u64>,
}

impl CodexFacts {
    /// Collects the facts; `None` if Codex was never used here.
    pub(super) fn collect(env: &Env, shell: &Shell, paths: &InstallPaths) -> Option<Self> {
        let folder = env.codex_dir.as_deref().filter(|folder| folder.is_dir())?;
        let text = |name: &str| bounded_read::text(&folder.join(name), bounded_read::LARGE).unwrap_or_default();
        let config = text("config.toml");
        let hooks: Value = serde_json::from_str(&text("hooks.json")).unwrap_or_default();
        let registered: Vec<(String, String)> = registered(&hooks).collect();
        let program = shell.find("codex").into_iter().next();
        let ask = |arguments: &[&str]| program.as_deref().and_then(|program| ask_codex(program, arguments));
        let asked = program.as_deref().filter(|_| !registered.is_empty());
        let trust = HookTrust::ask(asked, &folder.join("hooks.json"), &config);
        let with = |wanted: Trust| -> Vec<String> {
            let found = registered.iter().filter(|(_, place)| trust.of(place) == wanted);
            found.map(|(event, _)| event.clone()).collect()
        };
        Some(Self {
            version: ask(&["--version"]).map(|printed| longhaul_inject::printable(printed.trim())),
            untrusted: with(Trust::Untrusted),
            disabled: with(Trust::Disabled),
            hooks: registered.into_iter().map(|(event, _)| event).collect(),
            features_off: asked
                .and_then(|program| switched_off(Some(program), Some(&config)))
                .map(str::to_owned)
                .into_iter()
                .collect(),
            has_server: is_registered(&config),
            last_event: SessionFacts::collect(&paths.data, "codex:").iter().filter_map(|facts| facts.last_hook).max(),
        })
    }
}

/// Returns the events that are registered, as Codex's table has them.
fn events() -> impl Iterator<Item = &'static EventRule> {
    find("codex").into_iter().flat_map(|agent| agent.events)
}

/// Returns the events with a hook of Longhaul in hooks.json, each with its place as Codex names it.
fn registered(hooks: &Value) -> impl Iterator<Item = (String, String)> + '_ {
    events().filter_map(|rule| {
        let groups = hooks["hooks"][rule.theirs].as_array()?;
        let place = groups.iter().enumerate().find_map(|(group, content)| {
            let commands = content["hooks"].as_array()?.iter();
            let own =
                commands.map(|hook| hook["command"].as_str().is_some_and(is_our_hook)).position(|is_ours| is_ours)?;
            Some(format!("{}:{group}:{own}", rule.argument.replace('-', "_")))
        })?;
        Some((rule.theirs.to_owned(), place))
    })
}

/// Checks Codex.
pub(super) fn codex(facts: &Facts) -> Vec<Finding> {
    let check = "codex";
    let Some(codex) = &facts.codex else { return Vec::new() };
    let version = codex.version.as_deref().unwrap_or("Codex");
    if codex.hooks.is_empty() {
        let what = format!("{version} does not run Longhaul's hooks; `longhaul install --codex` adds them");
        return vec![Finding::note(check, what)];
    }
    let mut found = Vec::new();
    let is_missing = |event: &&str| !codex.hooks.iter().any(|known| known == event);
    let missing: Vec<&str> = events().map(|rule| rule.theirs).filter(is_missing).collect();
    if !missing.is_empty() {
        let names = few(missing.iter().map(|name| (*name).to_owned()));
        found.push(Finding::warning(check, format!("hooks.json has no hook of Longhaul for {names}"), INSTALL));
    }
    if !codex.untrusted.is_empty() {
        let what = format!(
            "hooks that are not trusted, so that Codex does not run them: {}",
            few(codex.untrusted.iter().cloned())
        );
        found.push(Finding::warning(check, what, "type /hooks in Codex, and trust them"));
    }
    if !codex.disabled.is_empty() {
        let what = format!("hooks that are disabled: {}", few(codex.disabled.iter().cloned()));
        found.push(Finding::warning(check, what, "type /hooks in Codex, and enable them"));
    }
    for feature in &codex.features_off {
        let what = format!("the feature {feature:?} of Codex is switched off, so that no hook runs");
        found.push(Finding::warning(
            check,
            what,
            format!("run `longhaul install --codex`, or `codex features enable {feature}`"),
        ));
    }
    if !codex.has_server {
        found.push(Finding::warning(check, "the MCP server is not registered in config.toml", INSTALL));
    }
    if codex.version.is_none() {
        found.push(Finding::note(check, "`codex` is not on the PATH, or does not answer"));
    }
    if found.is_empty() {
        let heard = codex
            .last_event
            .map_or("no hook has run yet".to_owned(), |at| format!("last event {}", ago(facts.now, at)));
        found.push(Finding::ok(check, format!("{version}: hooks trusted, MCP server registered, {heard}")));
    }
    found
}

/// The number of bytes that the list of hooks may have.
const MAX_LIST: usize = 1024 * 1024;

/// Whether Codex runs a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// It does.
    Trusted,
    /// The user has not trusted it, or it was changed since.
    Untrusted,
    /// The user has disabled it.
    Disabled,
}

/// What Codex says of its hooks.
struct HookTrust {
    /// The hooks that Codex lists, by their keys. Empty if it did not answer.
    listed: Vec<(String, Trust)>,
    /// Its config.toml.
    config: String,
    /// Its hooks.json: as it is named, and with links resolved.
    files: Vec<PathBuf>,
}

impl HookTrust {
    /// Asks Codex, in the root folder, because the user may not trust the current one.
    pub(super) fn ask(program: Option<&Path>, hooks_json: &Path, config: &str) -> Self {
        let resolved = std::fs::canonicalize(hooks_json).ok();
        Self {
            listed: program.and_then(list).unwrap_or_default(),
            config: config.to_owned(),
            files: std::iter::once(hooks_json.to_owned()).chain(resolved).collect(),
        }
    }

    /// Returns whether Codex runs the hook at `place` in hooks.json, such as `stop:0:0`.
    pub(super) fn of(&self, place: &str) -> Trust {
        let keys: Vec<String> = self.files.iter().map(|file| format!("{}:{place}", file.display())).collect();
        let listed = self.listed.iter().find(|(key, _)| keys.contains(key)).map(|(_, trust)| *trust);
        // The hash is not compared without Codex's help: how it is computed differs between versions.
        listed.or_else(|| keys.iter().find_map(|key| in_config(&self.config, key))).unwrap_or(Trust::Untrusted)
    }
}

/// Returns the hooks that `codex app-server` lists, by their keys; `None` if it does not answer in time.
fn list(program: &Path) -> Option<Vec<(String, Trust)>> {
    let requests = [
        json!({ "id": 0, "method": "initialize", "params": { "clientInfo": { "name": crate::PLUGIN, "version": env!("CARGO_PKG_VERSION") } } }),
        json!({ "method": "initialized" }),
        json!({ "id": 1, "method": "hooks/list", "params": { "cwds": ["/"] } }),
    ];
    let step = TerminalCommand {
        argv: vec![program.to_str()?.to_owned(), "app-server".to_owned()],
        stdin: Some(requests.iter().map(|request| format!("{request}\n")).collect()),
    };
    let deadline = Instant::now() + waiting_times::CODEX_FOR_DOCTOR;
    let mut server = ProgramLines::start_in(Path::new("/"), &step, MAX_LIST).ok()?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let NextLine::Line(line) = server.next_line(left.max(Duration::from_millis(1))) else { return None };
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message["id"] == 1 {
            return hooks_in(&message["result"]);
        }
        if left.is_zero() {
            return None;
        }
    }
}

fn hooks_in(result: &Value) -> Option<Vec<(String, Trust)>> {
    let folders = result["data"].as_array()?;
    let hooks = folders.iter().filter_map(|folder| folder["hooks"].as_array()).flatten();
    let trust = |hook: &Value| match hook["trustStatus"].as_str() {
        _ if hook["enabled"] == false => Trust::Disabled,
        Some("trusted" | "managed") => Trust::Trusted,
        _ => Trust::Untrusted,
    };
    Some(hooks.filter_map(|hook| Some((hook["key"].as_str()?.to_owned(), trust(hook)))).collect())
}

/// Returns what config.toml records of the hook with this key; `None` if it records nothing.
fn in_config(config: &str, key: &str) -> Option<Trust> {
    let headers = [format!("[hooks.state.{}]", Value::from(key)), format!("[hooks.state.'{key}']")];
    let mut lines = config.lines().map(str::trim);
    lines.find(|line| headers.iter().any(|header| line.starts_with(header)))?;
    let mut is_trusted = false;
    for line in lines.take_while(|line| !line.starts_with('[')) {
        match line.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some(("trusted_hash", _)) => is_trusted = true,
            Some(("enabled", value)) if value.starts_with("false") => return Some(Trust::Disabled),
            _ => {}
        }
    }
    Some(if is_trusted { Trust::Trusted } else { Trust::Untrusted })
}

#[cfg(test)]
mod tests {
    use super::{Trust, hooks_in, in_config};

    const KEY: &str = "/home/dev/.codex/hooks.json:stop:0:0";

    #[test]
    fn config_names_the_whole_path_and_may_disable_a_hook() {
        let of = |header: &str, rest: &str| in_config(&format!("a = 1\n{header}\n{rest}\n[z]\nenabled = false\n"), KEY);
        let quoted = format!("[hooks.state.\"{KEY}\"]");
        assert_eq!(of(&quoted, "trusted_hash = \"sha256:1\""), Some(Trust::Trusted));
        assert_eq!(of(&format!("[hooks.state.'{KEY}'] # mine"), "trusted_hash = \"x\""), Some(Trust::Trusted));
        assert_eq!(of(&quoted, "trusted_hash = \"x\"\nenabled = false"), Some(Trust::Disabled));
        assert_eq!(of(&quoted, "# trusted_hash = \"x\""), Some(Trust::Untrusted));
        assert_eq!(of("[hooks.state.\"/other/hooks.json:stop:0:0\"]", "trusted_hash = \"x\""), None);
    }

    #[test]
    fn codexs_own_answer_tells_a_changed_command_from_a_trusted_one() {
        let hook = |key: &str, status: &str, enabled: bool| serde_json::json!({ "key": key, "trustStatus": status, "enabled": enabled });
        let hooks = [hook("a", "trusted", true), hook("b", "modified", true), hook("c", "trusted", false)];
        let listed = hooks_in(&serde_json::json!({ "data": [{ "cwd": "/", "hooks": hooks }] })).unwrap();
        let found: Vec<(&str, Trust)> = listed.iter().map(|(key, trust)| (key.as_str(), *trust)).collect();
        assert_eq!(found, [("a", Trust::Trusted), ("b", Trust::Untrusted), ("c", Trust::Disabled)]);
        assert!(hooks_in(&serde_json::json!({ "error": 1 })).is_none());
    }
}
