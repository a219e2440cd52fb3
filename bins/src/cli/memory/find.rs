//! What somebody looks for, and in which project.

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use longhaul_core::clock::Date;
use longhaul_memory::Kind;
pub(crate) use longhaul_runtime::memory::Wanted;
use longhaul_store::{Hit, Order, Store, What};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::place::{Memory, Whose};

/// Finds it, in the projects that are meant.
pub(crate) fn search(memory: &Memory<'_>, store: &Store, whose: &Whose, wanted: &Wanted) -> Result<Vec<Hit>> {
    wanted.check()?;
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

/// A type of records.
#[derive(Debug, Clone, Copy, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Type {
    Prompts,
    Observations,
    Summaries,
}

impl From<Type> for What {
    fn from(named: Type) -> Self {
        match named {
            Type::Prompts => Self::Prompt,
            Type::Observations => Self::Observation,
            Type::Summaries => Self::Summary,
        }
    }
}

/// What comes first.
#[derive(Debug, Clone, Copy, Default, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ordering {
    #[default]
    Relevance,
    Newest,
    Oldest,
}

impl From<Ordering> for Order {
    fn from(named: Ordering) -> Self {
        match named {
            Ordering::Relevance => Self::Relevance,
            Ordering::Newest => Self::Newest,
            Ordering::Oldest => Self::Oldest,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use longhaul_store::{Order, What};

    use super::{Ordering, Type};

    /// The command line, MCP and the worker's API say the same.
    #[test]
    fn types_and_orders_have_the_names_of_the_store() {
        let name = |named: Option<clap::builder::PossibleValue>| named.unwrap().get_name().to_owned();
        for named in Type::value_variants() {
            assert_eq!(What::from_name(&name(named.to_possible_value())), Some((*named).into()));
        }
        for named in Ordering::value_variants() {
            assert_eq!(Order::from_name(&name(named.to_possible_value())), Some((*named).into()));
        }
        let counts = (Type::value_variants().len(), Ordering::value_variants().len());
        assert_eq!(counts, (What::ALL.len(), Order::ALL.len()));
    }
}
