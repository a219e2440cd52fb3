//! Checks the installation for Codex: its version, the hooks, whether they are trusted, and the MCP server.

use longhaul_agents::{EventRule, find};
use longhaul_core::Env;
use longhaul_runtime::{Shell, bounded_read};
use serde_json::Value;

use super::Finding;
use super::codex_trust::{HookTrust, Trust};
use super::facts::Facts;
use super::judge::{ago, few};
use super::sessions::SessionFacts;
use crate::agents::is_ours;
use crate::codex::{ask_codex, is_registered, switched_off};
use crate::paths::InstallPaths;

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
            let own = commands.map(|hook| hook["command"].as_str().is_some_and(is_ours)).position(|is_ours| is_ours)?;
            Some(format!("{}:{group}:{own}", rule.argument.replace('-', "_")))
        })?;
        Some((rule.theirs.to_owned(), place))
    })
}

/// Checks Codex.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
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
