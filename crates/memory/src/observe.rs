//! Makes an observation of a tool call by rules: of changes, reads and searches of files, of the web, of subagents, of
//! unknown tools; and of the decisions that the model labels as such. Those of commands are in `observe/command.rs`.

mod command;

use longhaul_core::event::predicates::INTERRUPTED;

use crate::call::Call;
use crate::json::Fields;
use crate::observation::{Kind, Observation};
use crate::text::{count, first_lines, one_line, passage};

pub use self::command::{command_key, fix_of};
pub(crate) use self::command::{is_check, normalized};

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
        _ if call.is_error && seen.is_refused() => refused(&seen),
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => changed(&seen),
        "apply_patch" => patched(&seen),
        "Read" | "NotebookRead" => read(&seen),
        "Grep" => searched(&seen),
        "Glob" => looked_for(&seen),
        "LS" => listed(&seen),
        "Bash" | "PowerShell" => command::ran(&seen),
        "BashOutput" | "TaskOutput" | "AgentOutputTool" => command::output_read(&seen),
        "KillShell" | "KillBash" | "TaskStop" => command::stopped(&seen),
        "WebFetch" => fetched(&seen),
        "WebSearch" => searched_web(&seen),
        "Agent" | "Task" => delegated(&seen),
        tool => match tool.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
            Some((server, name)) => used(&seen, Some(server), name),
            None => used(&seen, None, tool),
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

/// Maximum length of the replaced text, and of the new text.
const CHANGE_CHARS: usize = 900;

/// Maximum length of a pattern in a title.
const PATTERN_CHARS: usize = 60;

fn changed(seen: &Seen<'_>) -> Observation {
    let path = seen.input.first_text(&["file_path", "notebook_path"]);
    let path = path.or_else(|| seen.response.first_text(&["filePath", "notebook_path"]));
    let file = path.map_or_else(|| "a file".to_owned(), |path| seen.path(&path));
    if seen.call.is_error {
        let verb = if seen.call.tool == "Write" { "write" } else { "edit" };
        return seen.failure(format!("Could not {verb} {file}"));
    }
    let is_new = seen.call.tool == "Write" && seen.response.text("type").is_some_and(|kind| kind == "create");
    let verb = match seen.call.tool.as_str() {
        _ if is_new => "Created",
        "Write" => "Wrote",
        _ => "Edited",
    };
    let mut observation = seen.observation(Kind::Change, format!("{verb} {file}"));
    observation.narrative = change(seen);
    observation.facts = facts(seen);
    if file != "a file" {
        observation.files_modified.push(file);
    }
    observation
}

/// Describes a patch in the format of Codex, whose lines `*** Add File: NAME` and similar name the changed files.
fn patched(seen: &Seen<'_>) -> Observation {
    let patch = seen.input.first_text(&["patch", "input", "command"]).unwrap_or_default();
    let kinds = [("*** Add File: ", "Created"), ("*** Update File: ", "Edited"), ("*** Delete File: ", "Deleted")];
    let changes: Vec<(&str, String)> = patch
        .lines()
        .filter_map(|line| kinds.iter().find_map(|(mark, verb)| Some((*verb, seen.path(line.strip_prefix(mark)?)))))
        .collect();
    let first = changes.first().map_or_else(|| "Edited a file".to_owned(), |(verb, file)| format!("{verb} {file}"));
    let title = match changes.len() {
        0 | 1 => first,
        more => format!("{first} and {} more", more - 1),
    };
    if seen.call.is_error {
        return seen.failure(format!("Could not apply a patch ({title})"));
    }
    let mut observation = seen.observation(Kind::Change, title);
    observation.narrative = patch;
    observation.files_modified = changes.into_iter().map(|(_, file)| file).collect();
    observation
}

fn facts(seen: &Seen<'_>) -> Vec<String> {
    let edits = seen.input.every("new_string").len() as u64;
    let several = (seen.call.tool == "MultiEdit" && edits > 1).then(|| count(edits, "edit"));
    let everywhere = seen.input.flag("replace_all").then(|| "every occurrence".to_owned());
    let by_hand = seen.response.flag("userModified").then(|| "changed by the user before it was applied".to_owned());
    let cell = seen.input.text("cell_id").map(|cell| format!("cell {cell}"));
    [several, everywhere, by_hand, cell].into_iter().flatten().collect()
}

/// Returns the replaced and the new text, or the written text.
fn change(seen: &Seen<'_>) -> String {
    if let Some(content) = seen.input.first_text(&["content", "new_source"]) {
        return format!("Content ({}):\n{}", count(content.lines().count() as u64, "line"), content);
    }
    let (old, new) = (seen.input.every("old_string"), seen.input.every("new_string"));
    let room = CHANGE_CHARS / old.len().clamp(1, 4);
    let edits = old.iter().zip(&new).take(4);
    let texts = edits.map(|(old, new)| match (old.trim(), new.trim()) {
        ("", new) => format!("Added:\n{}", passage(new, room)),
        (old, "") => format!("Removed:\n{}", passage(old, room)),
        (old, new) => format!("Replaced:\n{}\nwith:\n{}", passage(old, room), passage(new, room)),
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn read(seen: &Seen<'_>) -> Observation {
    let path = seen.input.first_text(&["file_path", "notebook_path"]);
    let file = path.map_or_else(|| "a file".to_owned(), |path| seen.path(&path));
    if seen.call.is_error {
        return seen.failure(format!("Could not read {file}"));
    }
    let mut observation = seen.observation(Kind::Discovery, format!("Read {file}"));
    let part = seen.response.object("file");
    let number = |key: &str| part.number(key).or_else(|| seen.response.number(key));
    if let (Some(lines), Some(total)) = (number("numLines"), number("totalLines")) {
        let start = number("startLine").unwrap_or(1);
        let last = (start + lines).saturating_sub(1);
        observation.facts.push(match lines < total {
            true => format!("lines {start} to {last} of {total}"),
            false => count(total, "line"),
        });
    }
    observation.narrative =
        observation.facts.first().map_or_else(String::new, |lines| format!("Read {file}: {lines}."));
    if file != "a file" {
        observation.files_read.push(file);
    }
    observation
}

fn searched(seen: &Seen<'_>) -> Observation {
    let pattern = one_line(&seen.input.text("pattern").unwrap_or_default(), PATTERN_CHARS);
    let place = place(seen);
    if seen.call.is_error {
        return seen.failure(format!("Could not search for `{pattern}`{place}"));
    }
    let files = seen.response.list("filenames");
    let hits = hits(seen, files.len());
    let mut observation = seen.observation(Kind::Discovery, format!("Searched for `{pattern}`{place}: {hits}"));
    let narrowed = [("glob", seen.input.text("glob")), ("type", seen.input.text("type"))];
    observation.facts = narrowed.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))).collect();
    observation.narrative = match seen.response.text("content") {
        Some(content) => content,
        None => seen.paths(&files).join("\n"),
    };
    observation.files_read = seen.paths(&files);
    observation
}

/// Returns the number of results of a search, in the unit that was requested.
fn hits(seen: &Seen<'_>, files: usize) -> String {
    let number = |key: &str| seen.response.number(key);
    let (hits, noun) = match seen.response.text("mode").as_deref() {
        Some("content") => (number("numLines"), "line"),
        Some("count") => (number("numMatches"), "match"),
        _ => (number("numFiles").or(Some(files as u64)), "file"),
    };
    match (hits, noun) {
        (None, _) => "found".to_owned(),
        (Some(0), _) => "nothing found".to_owned(),
        (Some(hits), "match") if hits != 1 => format!("{} matches", longhaul_core::grouped(hits)),
        (Some(hits), noun) => count(hits, noun),
    }
}

fn place(seen: &Seen<'_>) -> String {
    let path = seen.input.text("path").map(|path| seen.path(&path)).filter(|path| path != ".");
    path.map_or_else(String::new, |path| format!(" in {path}"))
}

fn looked_for(seen: &Seen<'_>) -> Observation {
    let pattern = one_line(&seen.input.text("pattern").unwrap_or_default(), PATTERN_CHARS);
    let place = place(seen);
    if seen.call.is_error {
        return seen.failure(format!("Could not look for `{pattern}`{place}"));
    }
    let files = seen.response.list("filenames");
    let number = seen.response.number("numFiles").unwrap_or(files.len() as u64);
    let found = if number == 0 { "nothing found".to_owned() } else { count(number, "file") };
    let mut observation = seen.observation(Kind::Discovery, format!("Looked for `{pattern}`{place}: {found}"));
    observation.files_read = seen.paths(&files);
    observation.narrative = observation.files_read.join("\n");
    observation
}

fn listed(seen: &Seen<'_>) -> Observation {
    let path = seen.path(&seen.input.text("path").unwrap_or_else(|| ".".to_owned()));
    if seen.call.is_error {
        return seen.failure(format!("Could not list {path}"));
    }
    let mut observation = seen.observation(Kind::Discovery, format!("Listed {path}"));
    observation.narrative = seen.response.said();
    observation.files_read.push(path);
    observation
}

/// Maximum length of the question, and of the answer.
const ASKED_CHARS: usize = 700;
const ANSWER_CHARS: usize = 1_200;

fn fetched(seen: &Seen<'_>) -> Observation {
    let url = seen.input.text("url").unwrap_or_default();
    if seen.call.is_error {
        return seen.failure(format!("Could not fetch {url}"));
    }
    let mut observation = seen.observation(Kind::Discovery, format!("Fetched {url}"));
    let status = seen.response.number("code").filter(|code| *code != 200).map(|code| format!("status {code}"));
    observation.narrative = asked_and_answered(seen.input.text("prompt"), &seen.response.said());
    observation.facts = [Some(url), status].into_iter().flatten().collect();
    observation
}

fn searched_web(seen: &Seen<'_>) -> Observation {
    let query = seen.input.text("query").unwrap_or_default();
    if seen.call.is_error {
        return seen.failure(format!("Could not search the web for “{query}”"));
    }
    let mut observation = seen.observation(Kind::Discovery, format!("Searched the web for “{query}”"));
    let (titles, urls) = (seen.response.every("title"), seen.response.every("url"));
    let found: Vec<String> = titles.iter().zip(&urls).map(|(title, url)| format!("{title} <{url}>")).collect();
    observation.narrative = if found.is_empty() { seen.response.said() } else { found.join("\n") };
    observation.facts = [format!("query: {query}")].into_iter().chain(urls).collect();
    observation
}

fn delegated(seen: &Seen<'_>) -> Observation {
    let prompt = seen.input.text("prompt");
    let what = seen.input.text("description").or_else(|| prompt.as_deref().map(|prompt| first_lines(prompt, 1)));
    let what = what.unwrap_or_else(|| "a task".to_owned());
    let (title, answer) = if seen.call.is_error {
        (format!("Agent failed: {what}"), seen.response.said())
    } else if seen.response.flag("isAsync") {
        (format!("Delegated: {what} (in the background)"), String::new())
    } else {
        (format!("Delegated: {what}"), seen.response.every("text").join("\n"))
    };
    let answer = if answer.is_empty() && !seen.response.flag("isAsync") { seen.response.said() } else { answer };
    let mut observation = seen.observation(Kind::Delegation, title);
    observation.narrative = asked_and_answered(prompt, &answer);
    let agent = seen.input.text("subagent_type").map(|agent| format!("agent {agent}"));
    let tools = seen.response.number("totalToolUseCount").map(|calls| count(calls, "tool call"));
    let tokens = seen.response.number("totalTokens").map(|tokens| count(tokens, "token"));
    observation.facts = [agent, tools, tokens].into_iter().flatten().collect();
    observation
}

fn asked_and_answered(asked: Option<String>, answer: &str) -> String {
    let asked = asked.map(|asked| format!("Asked: {}", passage(&asked, ASKED_CHARS)));
    let answer = Some(answer).filter(|answer| !answer.trim().is_empty());
    let answer = answer.map(|answer| format!("Came back: {}", passage(answer, ANSWER_CHARS)));
    asked.into_iter().chain(answer).collect::<Vec<_>>().join("\n")
}

/// Describes a call of an unknown tool by its name.
fn used(seen: &Seen<'_>, server: Option<&str>, name: &str) -> Observation {
    let label = server.map_or_else(|| name.to_owned(), |server| format!("{server}: {name}"));
    if seen.call.is_error {
        return seen.failure(format!("{label} failed"));
    }
    let telling = ["query", "url", "path", "file_path", "name", "id", "title", "command", "description", "prompt"];
    let about = seen.input.first_text(&telling).map(|about| format!(" – {}", one_line(&about, TITLE_CHARS / 2)));
    // A tool that only reads is recognised by the verb in its name.
    let looks = ["get", "list", "read", "search", "find", "fetch", "query", "show", "describe"];
    let verb = name.split(['_', '-', '.']).next().unwrap_or_default().to_ascii_lowercase();
    let kind = if looks.contains(&verb.as_str()) { Kind::Discovery } else { Kind::Command };
    let mut observation = seen.observation(kind, format!("{label}{}", about.unwrap_or_default()));
    let input = Some(seen.call.input.trim()).filter(|input| !matches!(*input, "" | "{}" | "null"));
    observation.narrative = asked_and_answered(input.map(str::to_owned), &seen.response.said());
    observation.facts = server.map(|server| format!("MCP server {server}")).into_iter().collect();
    observation
}

fn refused(seen: &Seen<'_>) -> Observation {
    let telling = ["command", "file_path", "notebook_path", "url", "query", "pattern", "description"];
    let what = seen.input.first_text(&telling).map(|what| if what.starts_with('/') { seen.path(&what) } else { what });
    let what = what.map(|what| format!(" `{}`", one_line(&what, TITLE_CHARS / 2)));
    seen.failure(format!("Not allowed: {}{}", seen.call.tool, what.unwrap_or_default()))
}

const DECISIONS: usize = 5;

/// The labels of decisions at the beginning of a line.
const LABELS: [&str; 4] = ["decision:", "decided:", "decision made:", "final decision:"];

/// Returns the decisions in a text: lines that begin with `Decision:`, `Decided:` or `**Decision**`.
///
/// The lines up to the next empty one are the reasons. Code blocks are ignored.
pub fn decisions(assistant_text: &str) -> Vec<Observation> {
    let mut found: Vec<Observation> = Vec::new();
    let mut in_code = false;
    let mut open = false;
    for line in assistant_text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            open = false;
        }
        if in_code {
            continue;
        }
        if let Some(what) = decision(line) {
            if found.len() == DECISIONS {
                break;
            }
            found.push(observation(what));
            open = true;
        } else if line.trim().is_empty() {
            open = false;
        } else if let Some(last) = found.last_mut().filter(|_| open) {
            last.narrative.push('\n');
            last.narrative.push_str(line.trim_end());
        }
    }
    found.into_iter().map(finish).collect()
}

fn observation(what: &str) -> Observation {
    Observation {
        kind: Kind::Decision,
        tool: String::new(),
        title: what.to_owned(),
        narrative: what.to_owned(),
        facts: Vec::new(),
        files_read: Vec::new(),
        files_modified: Vec::new(),
    }
}

pub(crate) fn is_decision(line: &str) -> bool {
    decision(line).is_some()
}

fn decision(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches(['-', '#', '>', ' ']);
    // `**Decision**: x`, `**Decision:** x`, `**Decision** x` and `Decision: x` are equivalent.
    let bold = ["**Decision**", "**Decided**"].into_iter().find_map(|label| line.strip_prefix(label));
    let plain = || {
        let (label, what) = line.split_at(line.find(':')? + 1);
        let label = label.trim_start_matches(['*', '_', ' ']).to_lowercase();
        LABELS.contains(&label.as_str()).then_some(what)
    };
    let what = bold.or_else(plain)?.trim_start_matches(['*', '_', ':', '–', '—', '-', ' ']).trim_end();
    (!what.is_empty()).then_some(what)
}
