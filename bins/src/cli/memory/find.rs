//! What somebody looks for, as the store is asked for it.

use anyhow::{Context, Result, anyhow};
use jiff::civil;
use jiff::tz::TimeZone;
use longhaul_core::Millis;
use longhaul_core::clock::Date;
use longhaul_memory::{Kind, Query, Term};
use longhaul_store::{Hit, Order, SearchQuery, Store, What};

use super::place::{Memory, Whose};

/// What somebody looks for, in words and in filters of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// As it was typed.
    pub(crate) text: String,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) file: Option<String>,
    pub(crate) since: Option<Date>,
    pub(crate) before: Option<Date>,
    pub(crate) what: Vec<What>,
    pub(crate) order: Order,
    pub(crate) limit: usize,
    pub(crate) offset: usize,
}

/// Finds it, in the projects that are meant.
pub(crate) fn search(memory: &Memory<'_>, store: &Store, whose: &Whose, wanted: &Wanted) -> Result<Vec<Hit>> {
    let query = Query::parse(&wanted.text);
    let whose = match &query.project {
        Some(name) if whose.project.is_none() => Whose { project: Some(name.clone()), all: false },
        _ => whose.clone(),
    };
    let project_key = memory.key(store, &whose)?;
    let words = Query { excluded: Vec::new(), ..query.clone() }.fts();
    // A word that no index knows, such as an emoji, is nowhere; a star is everything.
    if words.is_none() && query.terms.iter().any(|term| term.text != "*") {
        return Ok(Vec::new());
    }
    let without = any_of(&query.excluded);
    let parts: Vec<&str> = query.terms.iter().map(|term| term.text.as_str()).collect();
    let kinds: Vec<Kind> = wanted.kinds.iter().copied().chain(query.kind.filter(|_| wanted.kinds.is_empty())).collect();
    let hits = store.search(&SearchQuery {
        words: words.as_deref(),
        parts: &parts,
        without: without.as_deref(),
        project_key: project_key.as_deref(),
        session: None,
        kinds: &kinds,
        file: wanted.file.as_deref().or(query.file.as_deref()),
        from: wanted.since.or(query.since).map(midnight).transpose()?,
        to: wanted.before.or(query.before).map(midnight).transpose()?.map(|at| Millis(at.0.saturating_sub(1))),
        what: &wanted.what,
        order: wanted.order,
        limit: wanted.limit,
        offset: wanted.offset,
    })?;
    Ok(hits)
}

/// Writes terms of which none may occur.
fn any_of(terms: &[Term]) -> Option<String> {
    let words = terms.iter().filter(|term| term.text.chars().any(char::is_alphanumeric));
    let quoted: Vec<String> = words.map(|term| format!("\"{}\"", term.text.replace('"', "\"\""))).collect();
    Some(quoted.join(" OR ")).filter(|any| !any.is_empty())
}

/// Reads a day.
pub(crate) fn day(text: &str) -> Result<Date> {
    Date::parse(text).with_context(|| format!("{text:?} is no day: write it as 2026-01-31"))
}

/// Reads a kind.
pub(crate) fn kind(name: &str) -> Result<Kind> {
    let known = || Kind::ALL.map(Kind::as_str).join(", ");
    Kind::from_name(&name.to_lowercase()).ok_or_else(|| anyhow!("{name:?} is no kind: use one of {}", known()))
}

/// Returns when a day begins on this machine's clock.
fn midnight(date: Date) -> Result<Millis> {
    let day = civil::Date::new(date.year.try_into()?, date.month.try_into()?, date.day.try_into()?)?;
    let at = day.to_zoned(TimeZone::system())?.timestamp().as_millisecond();
    Ok(Millis(u64::try_from(at).unwrap_or_default()))
}
