//! Observations of commands.

use super::check::{is_check, is_telling, says_failed};
use super::{FACT_CHARS, Seen, TITLE_CHARS, finish};
use crate::call::Call;
use crate::json_fields::Fields;
use crate::observation::{Kind, Observation};
use crate::text::{clean, one_line, passage};

/// Maximum length of a command in a title, and in a narrative.
const TITLE_COMMAND_CHARS: usize = 80;
const COMMAND_CHARS: usize = 500;

/// Maximum length of the output in a narrative.
const OUTPUT_CHARS: usize = 1_300;

/// Maximum number of lines about errors that become facts.
const TELLING_LINES: usize = 3;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    /// It still runs, or was interrupted by the user, so that the result is not known.
    Unknown,
}

pub(super) fn ran(seen: &Seen<'_>) -> Observation {
    let command = seen.input.text("command").unwrap_or_default();
    let output = output(seen.response);
    let outcome = outcome(seen.call, &command, &output);
    let exit = exit_status(seen.response, &output);
    let short = format!("`{}`", one_line(&command, TITLE_COMMAND_CHARS));
    let status = exit.filter(|exit| *exit != 0).map_or_else(String::new, |exit| format!(" (exit status {exit})"));
    let (kind, title) = match outcome {
        Outcome::Failed if is_check(&command) => (Kind::Problem, format!("Failed: {short}{status}")),
        Outcome::Failed if status.is_empty() => (Kind::Command, format!("Ran {short} (failed)")),
        Outcome::Failed => (Kind::Command, format!("Ran {short}{status}")),
        Outcome::Passed => (Kind::Command, format!("Ran {short}")),
        Outcome::Unknown if is_background(seen.response) => {
            (Kind::Command, format!("Started {short} in the background"))
        }
        Outcome::Unknown => (Kind::Command, format!("Ran {short} (interrupted)")),
    };
    let mut observation = seen.observation(kind, title);
    let telling = output.lines().filter(|line| outcome == Outcome::Failed && is_telling(line)).take(TELLING_LINES);
    let status = exit.filter(|_| outcome == Outcome::Failed).map(|exit| format!("exit status {exit}"));
    observation.facts = status.into_iter().chain(telling.map(|line| one_line(line, FACT_CHARS))).collect();
    observation.narrative = narrative(seen, &command, &output);
    // What the command changed, where the client reports that. If others worked at the same time, it may be theirs.
    let diff = seen.response.object("bashEditDiff");
    if !diff.flag("shared") {
        observation.files_modified = seen.paths(&diff.list("changedFiles"));
    }
    observation
}

fn narrative(seen: &Seen<'_>, command: &str, output: &str) -> String {
    let description = seen.input.text("description");
    let command = format!("$ {}", passage(command, COMMAND_CHARS));
    let output = Some(passage(output, OUTPUT_CHARS)).filter(|output| !output.is_empty());
    description.into_iter().chain([command]).chain(output).collect::<Vec<_>>().join("\n")
}

/// Returns the output of a command, or the error message of one that failed.
fn output(response: Fields<'_>) -> String {
    let parts = [response.text("stdout"), response.text("stderr")];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    let is_empty = text.is_empty() && response.0.trim_start().starts_with('{');
    clean(&if text.is_empty() && !is_empty { response.said() } else { text })
}

fn outcome(call: &Call, command: &str, output: &str) -> Outcome {
    let response = Fields(&call.response);
    if is_background(response) || response.flag("interrupted") {
        return Outcome::Unknown;
    }
    let failed = call.is_error || exit_status(response, output).is_some_and(|exit| exit != 0);
    if failed || (is_check(command) && output.lines().any(says_failed)) { Outcome::Failed } else { Outcome::Passed }
}

fn is_background(response: Fields<'_>) -> bool {
    response.text("backgroundTaskId").is_some()
}

fn exit_status(response: Fields<'_>, output: &str) -> Option<u64> {
    let said = || {
        let first = output.trim_start().trim_start_matches("Error: ");
        let status = first.strip_prefix("Exit code ")?;
        status.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    ["exitCode", "exit_code", "returnCode"].iter().find_map(|key| response.number(key)).or_else(said)
}

/// Returns a key that is equal for two runs of the same command, so that a success after a failure can be recognised.
///
/// The key does not depend on redirections or on the directory that is entered first. Returns `None` for other tools,
/// and for a run without a result: in the background, interrupted, or refused.
pub fn command_key(call: &Call) -> Option<String> {
    if !matches!(call.tool.as_str(), "Bash" | "PowerShell") {
        return None;
    }
    let seen = Seen { call, input: Fields(&call.input), response: Fields(&call.response), project_root: None };
    let command = seen.input.text("command")?;
    let refused = call.is_error && seen.is_refused();
    if refused || outcome(call, &command, &output(seen.response)) == Outcome::Unknown {
        return None;
    }
    Some(normalized(&command)).filter(|key| !key.is_empty())
}

/// Returns a command without the directory that it enters first, and without filters for its output.
pub(crate) fn normalized(command: &str) -> String {
    let mut words = command.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some((_, rest)) = words.split_once(" && ").filter(|(first, _)| first.starts_with("cd ")) {
        words = rest.to_owned();
    }
    let viewers =
        [" | tail", " | head", " | grep", " | less", " | cat", " | tee", " | rg", " | sed", " | awk", " | wc"];
    let end = viewers.iter().filter_map(|viewer| words.find(viewer)).min().unwrap_or(words.len());
    let kept = words[..end].split(' ').filter(|word| !is_redirection(word)).collect::<Vec<_>>().join(" ");
    kept.trim_end_matches([';', ' ']).to_owned()
}

fn is_redirection(word: &str) -> bool {
    matches!(word, "2>&1" | ">/dev/null" | "2>/dev/null" | "&>/dev/null" | "1>&2")
}

/// Returns the observation that is stored instead of `observation` if the same command (`key`) had failed before.
///
/// Returns `None` if it cannot be a fix: it is not a command, or has failed itself.
pub fn fix_of(call: &Call, key: Option<&str>, observation: &Observation) -> Option<Observation> {
    let may_fix = key.is_some() && observation.kind == Kind::Command && !call.is_error;
    may_fix.then(|| {
        let what = observation.title.strip_prefix("Ran ").unwrap_or(&observation.title);
        let title = one_line(&format!("Fixed: {what} passes again"), TITLE_CHARS);
        finish(Observation { title, kind: Kind::Fix, ..observation.clone() })
    })
}

pub(super) fn output_read(seen: &Seen<'_>) -> Observation {
    let id = seen.input.first_text(&["bash_id", "task_id", "shell_id", "agentId"]).unwrap_or_default();
    let mut observation = seen.observation(Kind::Command, format!("Read the output of background task {id}"));
    let output = output(seen.response);
    observation.narrative = passage(&output, OUTPUT_CHARS);
    observation.facts =
        exit_status(seen.response, &output).map(|exit| format!("exit status {exit}")).into_iter().collect();
    observation
}

pub(super) fn stopped(seen: &Seen<'_>) -> Observation {
    let id = seen.input.first_text(&["shell_id", "bash_id", "task_id"]).unwrap_or_default();
    seen.observation(Kind::Command, format!("Stopped background task {id}"))
}
