//! Observations of changes, reads and searches of files.

use super::Seen;
use crate::observation::{Kind, Observation};
use crate::text::{count, one_line, passage};

/// Maximum length of the replaced text, and of the new text.
const CHANGE_CHARS: usize = 900;

/// Maximum length of a pattern in a title.
const PATTERN_CHARS: usize = 60;

pub(super) fn changed(seen: &Seen<'_>) -> Observation {
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
pub(super) fn patched(seen: &Seen<'_>) -> Observation {
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

pub(super) fn read(seen: &Seen<'_>) -> Observation {
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

pub(super) fn searched(seen: &Seen<'_>) -> Observation {
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

pub(super) fn looked_for(seen: &Seen<'_>) -> Observation {
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

pub(super) fn listed(seen: &Seen<'_>) -> Observation {
    let path = seen.path(&seen.input.text("path").unwrap_or_else(|| ".".to_owned()));
    if seen.call.is_error {
        return seen.failure(format!("Could not list {path}"));
    }
    let mut observation = seen.observation(Kind::Discovery, format!("Listed {path}"));
    observation.narrative = seen.response.said();
    observation.files_read.push(path);
    observation
}
