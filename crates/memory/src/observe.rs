//! What is remembered of a tool call, told by rule.

mod check;
mod command;
mod decision;
mod files;
mod others;

pub(crate) use self::check::is_check;
pub(crate) use self::command::normalized;
pub use self::command::{command_key, fix_of};
pub(crate) use self::decision::{decisions, is_decision};

use crate::call::Call;
use crate::json_fields::Fields;
use crate::observation::{Kind, Observation};
use crate::text::{one_line, passage};

/// The longest title, in characters.
pub const TITLE_CHARS: usize = 120;

/// The longest narrative, in characters.
pub const NARRATIVE_CHARS: usize = 2_000;

/// The longest fact, and how many of them, and of files, one observation has.
const FACT_CHARS: usize = 300;
const FACTS: usize = 12;
const FILES: usize = 20;

/// Returns what is remembered of a call; `None` for one without a tool.
///
/// `project_root` is the project's absolute path: files inside it are named as seen from there. Every tool has some
/// rule: one that is not known is told by its name, and input that cannot be read is told as far as it can.
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

/// A call, ready to be asked.
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

    /// Tells a call that failed, where that is all there is to say.
    fn failure(&self, title: String) -> Observation {
        let mut observation = self.observation(Kind::Discovery, title);
        observation.narrative = self.response.said();
        observation
    }

    /// Returns whether a person, or a rule of theirs, said no: then nothing was done.
    fn is_refused(&self) -> bool {
        let said = self.response.said();
        let refusals =
            ["The user doesn't want to", "User rejected", "Permission to use", "[Request interrupted by user"];
        refusals.iter().any(|refusal| said.trim_start_matches("Error: ").starts_with(refusal))
    }

    /// Returns a path as seen from the project's root, or as it is where it lies elsewhere.
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

    /// Returns the files of a list, as seen from the project's root.
    fn paths(&self, paths: &[String]) -> Vec<String> {
        paths.iter().filter(|path| !path.trim().is_empty()).take(FILES).map(|path| self.path(path)).collect()
    }
}

/// Returns `path` as seen from `/` where `cwd` is known; `.` and `..` are followed.
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

/// Cuts every part to its length, and takes out what a terminal would act on.
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
