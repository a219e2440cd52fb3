//! Makes an observation of a tool call by rules.

mod check;
mod command;
mod decision;
mod files;
mod others;

pub(crate) use self::check::is_check;
pub(crate) use self::command::normalized;
pub use self::command::{command_key, fix_of};
pub use self::decision::decisions;
pub(crate) use self::decision::is_decision;

use longhaul_core::event::predicates::INTERRUPTED;

use crate::call::Call;
use crate::json_fields::Fields;
use crate::observation::{Kind, Observation};
use crate::text::{one_line, passage};

/// Maximum length of a title, in characters.
pub const TITLE_CHARS: usize = 120;

/// Maximum length of a narrative, in characters.
pub const NARRATIVE_CHARS: usize = 2_000;

/// Maximum length of a fact, and maximum number of facts and of files of an observation.
const FACT_CHARS: usize = 300;
const FACTS: usize = 12;
const FILES: usize = 20;

/// Returns the observation of a call; `None` for a call without a tool.
///
/// `project_root` is the absolute path of the project: files inside it get relative paths. There is a rule for every
/// tool: an unknown tool is described by its name, and input that cannot be parsed is used as far as possible.
pub fn observe(call: &Call, project_root: Option<&str>) -> Option<Observation> {
    if call.tool.trim().is_empty() {
        return None;
    }
    let seen = Seen { call, input: Fields(&call.input), response: Fields(&call.response), project_root };
    let observation = match call.tool.as_str() {
        _ if call.is_error && seen.is_refused() => others::refused(&seen),
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => files::changed(&seen),
        "apply_patch" => files::patched(&seen),
        "Read" | "NotebookRead" => files::read(&seen),
        "Grep" => files::searched(&seen),
        "Glob" => files::looked_for(&seen),
        "LS" => files::listed(&seen),
        "Bash" | "PowerShell" => command::ran(&seen),
        "BashOutput" | "TaskOutput" | "AgentOutputTool" => command::output_read(&seen),
        "KillShell" | "KillBash" | "TaskStop" => command::stopped(&seen),
        "WebFetch" => others::fetched(&seen),
        "WebSearch" => others::searched_web(&seen),
        "Agent" | "Task" => others::delegated(&seen),
        tool => match tool.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
            Some((server, name)) => others::used(&seen, Some(server), name),
            None => others::used(&seen, None, tool),
        },
    };
    Some(finish(observation))
}

/// A call with its parsed fields.
struct Seen<'a> {
    call: &'a Call,
    input: Fields<'a>,
    response: Fields<'a>,
    project_root: Option<&'a str>,
}

impl Seen<'_> {
    fn observation(&self, kind: Kind, title: String) -> Observation {
        Observation {
            kind,
            tool: self.call.tool.clone(),
            title,
            narrative: String::new(),
            facts: Vec::new(),
            files_read: Vec::new(),
            files_modified: Vec::new(),
        }
    }

    /// Describes a failed call of which only the failure is known.
    fn failure(&self, title: String) -> Observation {
        let mut observation = self.observation(Kind::Discovery, title);
        observation.narrative = self.response.said();
        observation
    }

    /// Returns whether the user, or one of the user's rules, refused the call, so that nothing was done.
    fn is_refused(&self) -> bool {
        let said = self.response.said();
        let refusals = ["The user doesn't want to", "User rejected", "Permission to use", INTERRUPTED];
        refusals.iter().any(|refusal| said.trim_start_matches("Error: ").starts_with(refusal))
    }

    /// Returns a path relative to the project's root, or unchanged if it is outside of it.
    fn path(&self, path: &str) -> String {
        let (path, root) = (path.trim(), self.project_root.map(|root| root.trim_end_matches('/')));
        let Some(root) = root.filter(|root| !root.is_empty()) else { return path.to_owned() };
        let absolute = if path.starts_with('/') { path.to_owned() } else { joined(&self.call.cwd, path) };
        match absolute.strip_prefix(root) {
            Some("" | "/") => ".".to_owned(),
            Some(inside) if inside.starts_with('/') => inside.trim_start_matches('/').to_owned(),
            _ => path.to_owned(),
        }
    }

    /// Returns the paths of a list, relative to the project's root.
    fn paths(&self, paths: &[String]) -> Vec<String> {
        paths.iter().filter(|path| !path.trim().is_empty()).take(FILES).map(|path| self.path(path)).collect()
    }
}

/// Returns `path` as an absolute path if `cwd` is known. `.` and `..` are resolved.
fn joined(cwd: &str, path: &str) -> String {
    if !cwd.starts_with('/') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in cwd.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Cuts every part to its maximum length, and removes terminal sequences.
fn finish(mut observation: Observation) -> Observation {
    observation.title = one_line(&observation.title, TITLE_CHARS);
    observation.narrative = passage(&observation.narrative, NARRATIVE_CHARS);
    observation.facts = observation.facts.iter().map(|fact| one_line(fact, FACT_CHARS)).collect();
    observation.facts.retain(|fact| !fact.is_empty());
    observation.facts.truncate(FACTS);
    for files in [&mut observation.files_read, &mut observation.files_modified] {
        *files = files.iter().map(|file| one_line(file, FACT_CHARS)).collect();
        files.retain(|file| !file.is_empty());
        files.dedup();
        files.truncate(FILES);
    }
    observation
}
