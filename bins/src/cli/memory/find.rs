//! What somebody looks for, and in which project.

use anyhow::{Context, Result, anyhow};
use longhaul_core::clock::Date;
use longhaul_memory::Kind;
pub(crate) use longhaul_runtime::memory::Wanted;
use longhaul_store::{Hit, Store};

use super::place::{Memory, Whose};

/// Finds it, in the projects that are meant.
pub(crate) fn search(memory: &Memory<'_>, store: &Store, whose: &Whose, wanted: &Wanted) -> Result<Vec<Hit>> {
    let whose = match &wanted.query.project {
        Some(name) if whose.project.is_none() => Whose { project: Some(name.clone()), all: false },
        _ => whose.clone(),
    };
    let project_key = memory.key(store, &whose)?;
    Ok(longhaul_runtime::memory::find(store, wanted, project_key.as_deref())?)
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
