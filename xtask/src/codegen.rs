//! `cargo xtask codegen`: generates the files and documentation tables whose content is defined in code.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use longhaul_agents::{Feature, Support};
use longhaul_core::Config;
use longhaul_core::catalog::{HOOK_EXECUTABLE, Job, registrations};
use longhaul_tracker::OPTIONS;
use serde_json::{Map, Value, json};

use crate::dist;
use crate::workspace::Workspace;

/// What to do about a file that is out of date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Write,
    /// Name it and fail.
    Check,
}

/// Writes every generated file that is out of date, or checks that none is.
pub fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let read =
        |name: &str| fs::read_to_string(workspace.root.join(name)).with_context(|| format!("cannot read {name}"));
    let mut files = vec![
        ("plugin/hooks/hooks.json", hooks_json(None)?),
        ("plugin/hooks/codex.json", codex_json()?),
        ("plugin/.codex-plugin/plugin.json", dist::codex_plugin(workspace)?),
        ("plugin/config.schema.json", config_schema()?),
    ];
    files.extend(pages(read)?);
    let mut stdout = io::stdout();
    match (update(&workspace.root, &files, mode)?.as_slice(), mode) {
        ([], _) => writeln!(stdout, "{} generated files are up to date", files.len())?,
        (written, Mode::Write) => writeln!(stdout, "wrote {}", written.join(", "))?,
        (stale, Mode::Check) => bail!("out of date: {}\nto fix it: cargo xtask codegen", stale.join(", ")),
    }
    Ok(())
}

/// Returns the JSON Schema of the config file, as it is shipped.
pub fn config_schema() -> Result<String> {
    pretty(&Config::json_schema())
}

/// Returns `value` as indented JSON with a newline at the end.
pub fn pretty(value: &Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Returns the names of the files below `root` that do not have these texts; in [`Mode::Write`], they are written.
pub fn update<'a>(root: &Path, files: &[(&'a str, String)], mode: Mode) -> Result<Vec<&'a str>> {
    let mut stale = Vec::new();
    for (name, text) in files {
        let path = root.join(name);
        match fs::read_to_string(&path) {
            Ok(found) if found == *text => continue,
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
            Ok(_) | Err(_) => stale.push(*name),
        }
        if mode == Mode::Write {
            dist::put(&path, text)?;
        }
    }
    Ok(stale)
}

/// A page, the name of the table in it, and the function that makes the table.
type Page = (&'static str, &'static str, fn() -> String);

/// The pages that have a generated table.
const PAGES: [Page; 7] = [
    ("docs/hooks.md", "hooks", || hook_table(None)),
    ("docs/tracker.md", "options", option_table),
    ("docs/codex.md", "codex", codex_table),
    ("docs/agents.md", "agent-features", agent_feature_table),
    ("docs/agents.md", "agent-events", agent_event_table),
    ("docs/configuration.md", "config", config_table),
    ("docs/project-configuration.md", "project-keys", project_key_table),
];

/// Returns every page with its table regenerated.
pub(crate) fn pages(read: impl Fn(&str) -> Result<String>) -> Result<Vec<(&'static str, String)>> {
    let mut pages: Vec<(&str, String)> = Vec::new();
    for (path, name, table) in PAGES {
        // A page may have several tables.
        let text = match pages.iter().position(|(known, _)| *known == path) {
            Some(at) => pages.remove(at).1,
            None => read(path)?,
        };
        pages.push((path, replace(&text, name, &table()).with_context(|| path.to_owned())?));
    }
    Ok(pages)
}

fn project_key_table() -> String {
    let rows = Config::project_keys().map(|(path, without, with)| [code(path), without.to_owned(), with.to_owned()]);
    table(["Key", "Without consent it may be", "With consent it may be"], rows)
}

/// Returns the table of what happens on which event, for `job` or for all of them.
pub(crate) fn hook_table(job: Option<Job>) -> String {
    let rows = registrations(job).map(|registration| {
        let mut event = code(registration.event.as_str());
        if let Some(matcher) = registration.matcher {
            event.push_str(&format!(" ({})", code(matcher)));
        }
        [
            event,
            code(&[&[registration.executable], registration.arguments].concat().join(" ")),
            format!("{} s", registration.timeout_seconds),
            registration.about.to_owned(),
        ]
    });
    table(["Event", "Command", "Timeout", "What happens"], rows)
}

fn codex_table() -> String {
    let rules = longhaul_agents::find("codex").into_iter().flat_map(|agent| agent.events);
    let rows = rules.map(|rule| [code(rule.theirs), format!("{} s", rule.seconds), rule.about.to_owned()]);
    table(["Event of Codex", "Timeout", "What happens"], rows)
}

/// Returns the table of what works for which agent, and why something does not.
fn agent_feature_table() -> String {
    let cell = |feature, agent: &longhaul_agents::Agent| match agent.support(feature) {
        Support::Works => "✓".to_owned(),
        Support::Partly(limit) => format!("✓, but {limit}"),
        Support::No(reason) => format!("no: {reason}"),
    };
    let titles = longhaul_agents::ALL.map(|agent| agent.title);
    let rows = Feature::ALL.into_iter().map(|(feature, about)| {
        let cells = longhaul_agents::ALL.map(|agent| cell(feature, agent));
        std::iter::once(about.to_owned()).chain(cells).collect()
    });
    lines(std::iter::once("").chain(titles).map(str::to_owned).collect(), rows)
}

fn agent_event_table() -> String {
    let rows = longhaul_agents::ALL.into_iter().flat_map(|agent| {
        let row = |rule: &longhaul_agents::EventRule| {
            [agent.title.to_owned(), code(rule.theirs), code(rule.ours.as_str()), format!("{} s", rule.seconds)]
        };
        agent.events.iter().map(row).collect::<Vec<_>>()
    });
    table(["Agent", "Event", "Treated as", "Timeout"], rows)
}

fn option_table() -> String {
    let value = |default: &str| if default.is_empty() { String::new() } else { code(default) };
    let rows = OPTIONS.iter().map(|option| [code(option.name), value(option.default), option.about.to_owned()]);
    table(["`@longhaul-…`", "Default", "Meaning"], rows)
}

fn config_table() -> String {
    let rows = Config::keys().into_iter().map(|key| {
        let range = key.range.map(|range| format!(" ({range})")).unwrap_or_default();
        [code(&key.path), code(&key.default.to_string()), format!("{}{range}", key.about)]
    });
    table(["Key", "Default", "Meaning"], rows)
}

fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    lines(head.map(str::to_owned).to_vec(), rows.map(|row| row.to_vec()))
}

/// Returns the lines of a table, each of whose rows has as many cells as the head.
fn lines(head: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let rule = vec!["---".to_owned(); head.len()];
    let rows = rows.map(|row| row.into_iter().map(|cell| cell.replace('|', "\\|")).collect());
    [head, rule].into_iter().chain(rows).map(|row: Vec<String>| format!("| {} |\n", row.join(" | "))).collect()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Returns `text` with `content` between the marks called `name`.
fn replace(text: &str, name: &str, content: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- codegen:{name} -->"), format!("<!-- /codegen:{name} -->"));
    let found = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let Some((before, after)) = found else {
        bail!("the page lacks {begin} followed by {end}: put both where the table belongs, then run it again");
    };
    Ok(format!("{before}{begin}\n{content}{end}{after}"))
}

/// The module that Claude Code loads, as hooks.json names it.
const MODULE: &str = "./bridge.ts";

/// The jobs that use the module.
pub const BRIDGED: &[Job] = &[Job::Bookmarks, Job::Tracker, Job::Continuation];

/// Returns the text of hooks.json for `job`, or for all of them.
///
/// Hooks are in the exec form: with `args`, even empty ones, Claude Code starts the program itself, without a shell.
/// All bundles have the same executables; in the bundle of one job, the last argument names that job.
pub fn hooks_json(job: Option<Job>) -> Result<String> {
    let mut events = Map::new();
    for registration in registrations(job) {
        let hook = json!({
            "type": "command",
            "command": format!("${{CLAUDE_PLUGIN_ROOT}}/bin/{}", registration.executable),
            "args": registration.arguments.iter().copied().chain(job.map(Job::as_str)).collect::<Vec<_>>(),
            "timeout": registration.timeout_seconds,
        });
        let mut group = Map::new();
        if let Some(matcher) = registration.matcher {
            group.insert("matcher".to_owned(), json!(matcher));
        }
        group.insert("hooks".to_owned(), json!([hook]));
        let groups = events.entry(registration.event.as_str()).or_insert_with(|| json!([]));
        if let Value::Array(groups) = groups {
            groups.push(group.into());
        }
    }
    let mut file = Map::new();
    if job.is_none_or(|job| BRIDGED.contains(&job)) {
        file.insert("modules".to_owned(), json!([MODULE]));
    }
    file.insert("hooks".to_owned(), events.into());
    pretty(&file.into())
}

/// Returns the hooks for Codex, which has no exec form: each command is a line for a shell, the same in every version.
pub fn codex_json() -> Result<String> {
    let mut events = Map::new();
    let codex = longhaul_agents::find("codex").context("Codex has no table")?;
    for rule in codex.events {
        let hook = json!({
            "type": "command",
            "command": format!("\"${{PLUGIN_ROOT}}/bin/{HOOK_EXECUTABLE}\" {} {}", codex.name, rule.argument),
            "timeout": codex.timeout_units * rule.seconds,
        });
        events.insert(rule.theirs.to_owned(), json!([{ "hooks": [hook] }]));
    }
    pretty(&json!({ "hooks": events }))
}

#[cfg(test)]
mod tests;
