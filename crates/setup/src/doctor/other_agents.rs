//! Checks of the hooks of other agents, and of Codex, which runs only hooks that the user has trusted.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longhaul_agents::{ALL, Agent, ConfigShape, EventRule, find};
use longhaul_core::SessionId;
use longhaul_inject::TerminalCommand;
use longhaul_runtime::{NextLine, ProgramLines, SessionRecord, bounded_read, is_executable, waiting_times};
use serde_json::{Value, json};

use super::sessions::SessionFacts;
use super::{Facts, Report, ago, few};
use crate::AgentSetup;
use crate::agents::{Registered, is_our_hook};
use crate::codex::{ask_codex, is_registered, switched_off};

/// Checks the hooks of each agent that Longhaul is installed for. Codex has a check of its own.
pub(super) fn agents(facts: &Facts<'_>, report: &mut Report) {
    let is_there = |agent: &&'static Agent| AgentSetup::is_there(agent, facts.env, facts.shell);
    for agent in ALL.into_iter().filter(|agent| agent.config.shape != ConfigShape::CodexHooks).filter(is_there) {
        if let Ok(setup) = AgentSetup::read(agent, facts.env, facts.shell, &facts.paths) {
            of_agent(agent, &setup, facts, report);
        }
    }
}

fn of_agent(agent: &'static Agent, setup: &AgentSetup, facts: &Facts<'_>, report: &mut Report) {
    let title = agent.title;
    let install = || format!("run `longhaul install --agent {}`", agent.name);
    let mut problems: Vec<(String, String)> = Vec::new();
    match setup.registered() {
        Registered::Nothing => return,
        Registered::Unreadable => {
            let path = setup.path().display();
            problems.push((format!("{path} has hooks of Longhaul, but is not JSON"), format!("correct {path}")));
        }
        Registered::Hooks(hooks) => {
            if hooks.all_disabled {
                let fix = "enable hooks in its settings: `hooksConfig.enabled`, or `disableAllHooks` for Qwen Code";
                problems.push(("its settings disable every hook".to_owned(), fix.to_owned()));
            }
            if hooks.is_disabled {
                let fix = format!("type `/hooks enable longhaul` in {title}");
                problems.push(("its settings disable the hooks of Longhaul".to_owned(), fix));
            }
            let events = agent.events.iter().map(|rule| rule.theirs);
            let missing = few(events.filter(|event| !hooks.events.iter().any(|known| known == event)));
            if !missing.is_empty() {
                problems.push((format!("no hook is registered for {missing}"), install()));
            }
            let is_missing = |program: &&PathBuf| program.is_absolute() && !is_executable(program);
            let programs = few(hooks.programs.iter().filter(is_missing).map(|program| program.display()));
            if !programs.is_empty() {
                problems.push((format!("its hooks start a program that does not exist: {programs}"), install()));
            }
            if !hooks.has_server {
                problems.push(("the MCP server is not registered, or is excluded".to_owned(), install()));
            }
        }
    }
    if problems.is_empty() {
        let is_its = |record: &SessionRecord| {
            SessionId::new(&record.session).is_some_and(|session| session.client() == agent.name)
        };
        match SessionRecord::all(&facts.paths.data).into_iter().find(is_its) {
            Some(newest) => {
                report.ok(format!("{title}: the newest session began {}", ago(facts.now, newest.started_at)));
            }
            None => report.note(format!("{title}: its hooks are registered, and none has run yet")),
        }
    }
    for (what, fix) in problems {
        report.warning(format!("{title}: {what}"), fix);
    }
}

/// The command that repairs everything that Longhaul has added to Codex.
const INSTALL: &str = "run `longhaul install --codex`";

/// Returns the events that are registered, as Codex's table has them.
fn events() -> impl Iterator<Item = &'static EventRule> {
    find("codex").into_iter().flat_map(|agent| agent.events)
}

/// Returns the place of Longhaul's hook for an event in hooks.json, as Codex names it.
fn place(hooks: &Value, rule: &EventRule) -> Option<String> {
    let groups = hooks["hooks"][rule.theirs].as_array()?;
    groups.iter().enumerate().find_map(|(group, content)| {
        let is_ours = |hook: &Value| hook["command"].as_str().is_some_and(is_our_hook);
        let own = content["hooks"].as_array()?.iter().position(is_ours)?;
        Some(format!("{}:{group}:{own}", rule.argument.replace('-', "_")))
    })
}

/// Checks Codex, if it was ever used here.
pub(super) fn codex(facts: &Facts<'_>, report: &mut Report) {
    let Some(folder) = facts.env.codex_dir.as_deref().filter(|folder| folder.is_dir()) else { return };
    let text = |name: &str| bounded_read::text(&folder.join(name), bounded_read::LARGE).unwrap_or_default();
    let config = text("config.toml");
    let hooks: Value = serde_json::from_str(&text("hooks.json")).unwrap_or_default();
    let program = facts.shell.find("codex").into_iter().next();
    let printed = program.as_deref().and_then(|program| ask_codex(program, &["--version"]));
    let version = printed.map(|printed| longhaul_inject::printable(printed.trim()));
    let name = version.as_deref().unwrap_or("Codex");
    let registered: Vec<(&str, String)> =
        events().filter_map(|rule| Some((rule.theirs, place(&hooks, rule)?))).collect();
    if registered.is_empty() {
        return report.note(format!("{name} does not run Longhaul's hooks; `longhaul install --codex` adds them"));
    }
    let missing = few(events().filter(|rule| place(&hooks, rule).is_none()).map(|rule| rule.theirs));
    if !missing.is_empty() {
        report.warning(format!("hooks.json has no hook of Longhaul for {missing}"), INSTALL);
    }
    let trust = HookTrust::ask(program.as_deref(), &folder.join("hooks.json"), &config);
    let with = |wanted: Trust| {
        let places = registered.iter().filter(|(_, place)| trust.of(place) == wanted);
        few(places.map(|(event, _)| event))
    };
    let (untrusted, disabled) = (with(Trust::Untrusted), with(Trust::Disabled));
    if !untrusted.is_empty() {
        let what = format!("hooks that are not trusted, so that Codex does not run them: {untrusted}");
        report.warning(what, "type /hooks in Codex, and trust them");
    }
    if !disabled.is_empty() {
        report.warning(format!("hooks that are disabled: {disabled}"), "type /hooks in Codex, and enable them");
    }
    let asked = program.as_deref();
    if let Some(feature) = asked.and_then(|program| switched_off(Some(program), Some(&config))) {
        let what = format!("the feature {feature:?} of Codex is switched off, so that no hook runs");
        report.warning(what, format!("{INSTALL}, or `codex features enable {feature}`"));
    }
    if !is_registered(&config) {
        report.warning("the MCP server is not registered in config.toml", INSTALL);
    }
    if version.is_none() {
        report.note("`codex` is not on the PATH, or does not answer");
    }
    if report.is_empty() {
        let last = SessionFacts::collect(&facts.paths.data, "codex:").iter().filter_map(|facts| facts.last_hook).max();
        let heard = last.map_or("no hook has run yet".to_owned(), |at| format!("last event {}", ago(facts.now, at)));
        report.ok(format!("{name}: hooks trusted, MCP server registered, {heard}"));
    }
}

/// The number of bytes that the list of hooks may have.
const MAX_LIST: usize = 1024 * 1024;

/// Whether Codex runs a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Trusted,
    /// The user has not trusted it, or it was changed since.
    Untrusted,
    Disabled,
}

/// What Codex says of its hooks.
struct HookTrust<'a> {
    /// The hooks that Codex lists, by their keys. Empty if it did not answer.
    listed: Vec<(String, Trust)>,
    config: &'a str,
    /// Its hooks.json: as it is named, and with links resolved.
    files: Vec<PathBuf>,
}

impl<'a> HookTrust<'a> {
    /// Asks Codex, in the root folder, because the user may not trust the current one.
    fn ask(program: Option<&Path>, hooks_json: &Path, config: &'a str) -> Self {
        let resolved = std::fs::canonicalize(hooks_json).ok();
        let files = std::iter::once(hooks_json.to_owned()).chain(resolved).collect();
        Self { listed: program.and_then(list).unwrap_or_default(), config, files }
    }

    /// Returns whether Codex runs the hook at `place` in hooks.json, such as `stop:0:0`.
    fn of(&self, place: &str) -> Trust {
        let keys: Vec<String> = self.files.iter().map(|file| format!("{}:{place}", file.display())).collect();
        let listed = self.listed.iter().find(|(key, _)| keys.contains(key)).map(|(_, trust)| *trust);
        // The hash is not compared without Codex's help: how it is computed differs between versions.
        listed.or_else(|| keys.iter().find_map(|key| in_config(self.config, key))).unwrap_or(Trust::Untrusted)
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
mod tests;
