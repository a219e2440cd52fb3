//! Searches the memory, and parses the arguments of a search.

use std::ffi::OsString;

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use longhaul_core::clock::Date;
use longhaul_memory::{Kind, Query, WordMarker, WordMatch};
pub(crate) use longhaul_runtime::memory::Wanted;
use longhaul_runtime::memory::meaning;
use longhaul_store::{Hit, Order, Record, RecordId, Store, What};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::open_memory::{Memory, ProjectFilter};

/// Searches the selected projects.
pub(crate) fn search(
    memory: &Memory<'_>,
    store: &Store,
    projects: &ProjectFilter,
    wanted: &Wanted,
) -> Result<Vec<Hit>> {
    wanted.check()?;
    let project_key = project_key(memory, store, projects, wanted)?;
    Ok(meaning::search(memory.env, &memory.home, &memory.config, store, wanted, project_key.as_deref())?)
}

/// Opens the database after computing the newest vectors; `None` if there is nothing yet.
pub(crate) fn open(memory: &Memory<'_>) -> Result<Option<Store>> {
    let mut found = memory.existing()?;
    if let Some(store) = &mut found {
        meaning::catch_up(memory.env, &memory.home, &memory.config, store);
    }
    Ok(found)
}

/// Returns the key of the selected project, which the query may name as well; `None` for all projects.
pub(crate) fn project_key(
    memory: &Memory<'_>,
    store: &Store,
    projects: &ProjectFilter,
    wanted: &Wanted,
) -> Result<Option<String>> {
    match &wanted.query.project {
        Some(name) if projects.project.is_none() => {
            memory.key(store, &ProjectFilter { project: Some(name.clone()), all: false })
        }
        Some(_) | None => memory.key(store, projects),
    }
}

/// Returns the words of a query as they were typed, and for each whether the record has it.
pub(crate) fn words_of(store: &Store, record: RecordId, query: &Query) -> Result<Vec<(String, bool)>> {
    let records = store.passages(&[record])?;
    let texts: Vec<&str> = records.iter().flat_map(Record::texts).collect();
    let mut marker = WordMarker::new(query, texts.iter().copied());
    let found: Vec<WordMatch> = texts.iter().flat_map(|text| marker.matches(text)).collect();
    let typed = marker.typed().enumerate();
    Ok(typed.map(|(term, word)| (word.to_owned(), found.iter().any(|found| found.term == term))).collect())
}

/// Replaces the minus of an excluded word, which clap would take for an option.
const EXCLUDED: char = '\u{e02d}';

/// Returns the command line with excluded words marked, so that clap does not take them for options: `longhaul memory
/// search importer -parser`.
///
/// A single letter after the minus is an option, such as `-h`.
pub(crate) fn with_excluded_words(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_search =
        arguments.get(1..3).is_some_and(|words| words[0] == "memory" && (words[1] == "search" || words[1] == "recall"));
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    for argument in arguments.iter_mut().take(end).skip(3).filter(|_| is_search) {
        let word = argument.to_str().and_then(|text| text.strip_prefix('-')).filter(|word| !word.starts_with('-'));
        if let Some(word) = word.filter(|word| word.chars().count() > 1) {
            *argument = format!("{EXCLUDED}{word}").into();
        }
    }
    arguments
}

/// Joins the arguments of a search to one query.
///
/// A single argument is the whole query. Among several, one with spaces was quoted in the shell: it is a phrase.
pub(crate) fn typed(arguments: &[String]) -> String {
    let arguments: Vec<String> = arguments.iter().map(|argument| argument.replacen(EXCLUDED, "-", 1)).collect();
    let [first, second, ..] = arguments.as_slice() else { return arguments.concat() };
    let quoted = |argument: &String| {
        if !argument.trim().contains(char::is_whitespace) || argument.contains('"') {
            return argument.clone();
        }
        let filter = ["file:", "kind:", "project:", "from:", "since:", "before:", "-", "+"];
        let sign = filter.into_iter().find(|sign| argument.starts_with(sign)).unwrap_or_default();
        format!("{sign}\"{}\"", &argument[sign.len()..])
    };
    let rest = arguments[2..].iter().map(quoted);
    [quoted(first), quoted(second)].into_iter().chain(rest).collect::<Vec<_>>().join(" ")
}

/// Parses a day.
pub(crate) fn day(text: &str) -> Result<Date> {
    Date::parse(text).with_context(|| format!("{text:?} is not a day: write it as 2026-01-31"))
}

/// Parses a kind.
pub(crate) fn kind(name: &str) -> Result<Kind> {
    let known = || Kind::ALL.map(Kind::as_str).join(", ");
    Kind::from_name(&name.to_lowercase()).ok_or_else(|| anyhow!("{name:?} is not a kind: use one of {}", known()))
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

/// The order of results.
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

    use super::{Ordering, Type, typed, with_excluded_words};

    #[test]
    fn a_word_after_a_minus_is_excluded_and_options_stay() {
        let typed_line = |line: &str| {
            let line = with_excluded_words(line.split(' ').map(Into::into).collect());
            let line: Vec<String> = line.into_iter().map(|word| word.into_string().unwrap()).collect();
            line.join(" ").replace(super::EXCLUDED, "NOT ")
        };
        assert_eq!(
            typed_line("longhaul memory search a -parser --json -h"),
            "longhaul memory search a NOT parser --json -h"
        );
        assert_eq!(typed_line("longhaul memory search -- -parser"), "longhaul memory search -- -parser");
        assert_eq!(typed_line("longhaul memory recall why -parser"), "longhaul memory recall why NOT parser");
        assert_eq!(typed_line("longhaul memory get -parser"), "longhaul memory get -parser");
    }

    #[test]
    fn arguments_do_what_they_look_like() {
        let join = |arguments: &[&str]| typed(&arguments.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        assert_eq!(join(&["why did the importer stall"]), "why did the importer stall");
        assert_eq!(join(&["why", "did", "it", "-parser"]), "why did it -parser");
        assert_eq!(join(&["importer", "two words"]), "importer \"two words\"");
        assert_eq!(join(&["importer", "-two words", "file:my app"]), "importer -\"two words\" file:\"my app\"");
        assert_eq!(join(&[]), "");
    }

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
