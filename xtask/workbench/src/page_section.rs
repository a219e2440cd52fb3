//! Sections of docs/benchmarks.md that separate tasks write. Marks around each allow a task to replace its own section and
//! to keep the others.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// What a mark begins and ends with.
const MARK: (&str, &str) = ("<!-- ", " -->");

/// Writes a section into a page: replaces the old one, or adds it. New sections are in the order of their names.
pub(crate) fn write(page: &Path, name: &str, text: &str) -> Result<()> {
    let before = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    fs::write(page, with_section(&before, name, text)).with_context(|| format!("cannot write {}", page.display()))
}

/// Returns every section of a page, with its marks.
pub(crate) fn all(page: &str) -> impl Iterator<Item = &str> {
    named(page).into_iter().map(|(_, section)| section)
}

fn named(page: &str) -> Vec<(&str, &str)> {
    let (opens, closes) = MARK;
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(from) = rest.find(opens) {
        rest = &rest[from..];
        let section = rest[opens.len()..].split_once(closes).and_then(|(name, _)| {
            let end = format!("{opens}/{name}{closes}");
            Some((name, &rest[..rest.find(&end)? + end.len()]))
        });
        let read = section.map_or(opens.len(), |(_, text)| text.len());
        found.extend(section);
        rest = &rest[read..];
    }
    found
}

fn with_section(page: &str, name: &str, text: &str) -> String {
    let (opens, closes) = MARK;
    let new = format!("{opens}{name}{closes}\n{text}{opens}/{name}{closes}");
    let sections = named(page);
    if let Some((_, old)) = sections.iter().find(|(known, _)| *known == name) {
        return page.replace(old, &new);
    }
    match sections.iter().find(|(known, _)| *known > name) {
        Some((_, next)) => page.replace(next, &format!("{new}\n\n{next}")),
        None => format!("{}\n\n{new}\n", page.trim_end()),
    }
}

#[cfg(test)]
mod tests;
