//! Finds the sections of a handoff by their headings. `texts_for_model` says which sections the model is asked for.

/// The level of a heading that is a bold line: deeper than every other.
const BOLD: usize = 7;

/// A line that begins a section.
struct Heading<'a> {
    title: &'a str,
    level: usize,
    /// The offsets of the beginning and the end of its line.
    line: (usize, usize),
}

/// Returns the text of the first section with that heading, of any level; `None` where there is none.
///
/// The section ends at the next heading of the same or a higher level. Deeper headings and bold lines belong to it.
pub(super) fn section<'a>(body: &'a str, heading: &str) -> Option<&'a str> {
    let headings = headings(body);
    let at = headings.iter().position(|found| is_titled(found.title, heading))?;
    let Heading { level, line: (_, start), .. } = headings[at];
    let end = headings[at + 1..].iter().find(|next| next.level <= level).map_or(body.len(), |next| next.line.0);
    Some(body[start..end].trim())
}

/// Splits `body` into parts, each with its heading, at the level of the section `heading`.
///
/// Text before the first heading is a part, too. Returns `None` where there is no such section.
pub(super) fn parts<'a>(body: &'a str, heading: &str) -> Option<Vec<&'a str>> {
    let headings = headings(body);
    let level = headings.iter().find(|found| is_titled(found.title, heading))?.level;
    let starts = headings.iter().filter(|found| found.level <= level).map(|found| found.line.0);
    let starts: Vec<usize> = std::iter::once(0).chain(starts).chain([body.len()]).collect();
    Some(starts.windows(2).map(|pair| body[pair[0]..pair[1]].trim()).filter(|part| !part.is_empty()).collect())
}

/// Returns whether a part begins with that heading.
pub(super) fn is_headed(part: &str, heading: &str) -> bool {
    headings(part).first().is_some_and(|found| is_titled(found.title, heading))
}

/// Returns whether a title is `heading`, possibly followed by more words: "Remaining work", "Remaining (3)".
fn is_titled(title: &str, heading: &str) -> bool {
    let (Some(start), rest) = (title.get(..heading.len()), title.get(heading.len()..).unwrap_or_default()) else {
        return false;
    };
    start.eq_ignore_ascii_case(heading) && !rest.starts_with(char::is_alphanumeric)
}

/// Returns the headings outside of code blocks.
fn headings(body: &str) -> Vec<Heading<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    let mut offset = 0;
    for line in body.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        match (fence, fence_of(line)) {
            (Some(open), Some(close)) if close.starts_with(open) && line.trim() == close => fence = None,
            (Some(_), _) => {}
            (None, opened @ Some(_)) => fence = opened,
            (None, None) => {
                found.extend(heading(line).map(|(title, level)| Heading { title, level, line: (start, offset) }))
            }
        }
    }
    found
}

/// Returns the characters that begin or end a code block.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let length = line.len() - line.trim_start_matches('`').len().min(line.trim_start_matches('~').len());
    (length >= 3).then(|| &line[..length])
}

/// Returns the title and the level of a heading: `## Remaining`, `**Remaining**`, with or without a colon.
fn heading(line: &str) -> Option<(&str, usize)> {
    let line = line.trim();
    let rest = line.trim_start_matches('#');
    let (title, level) = match line.len() - rest.len() {
        0 => {
            let line = line.strip_suffix(':').unwrap_or(line);
            (line.strip_prefix("**")?.strip_suffix("**")?, BOLD)
        }
        // `#123` is an issue number, and `#!/bin/sh` begins a script.
        level @ 1..BOLD if rest.starts_with(char::is_whitespace) => (rest, level),
        _ => return None,
    };
    let title = title.trim().trim_end_matches(':').trim_matches('*').trim_end_matches(':').trim();
    (!title.is_empty()).then_some((title, level))
}
