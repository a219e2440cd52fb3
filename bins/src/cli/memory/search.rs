//! Searches the memory by words, by a question (`recall`) or by likeness (`similar`), and parses the arguments of a search.

use std::ffi::OsString;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use longhaul_core::clock::Date;
use longhaul_memory::{Answer, AnswerLine, Kind, LinePart, Query, WordMarker, WordMatch};
use longhaul_runtime::memory::meaning::{self, Effort, Meaning};
use longhaul_runtime::memory::{ANSWER_TOKENS, ANSWER_TOKENS_RANGE, Recall, answer_json, question};
use longhaul_store::{Content, Hit, Order, Record, RecordId, Store, What};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use super::open_memory::{Memory, ProjectFilter};
use super::render::{Screen, Shown, explained, marked_lines, snippet};
use crate::cli::paint::{self, Span, Tone};
use crate::cli::{Exit, out};
pub(crate) use longhaul_runtime::memory::Wanted;

#[derive(clap::Args)]
pub(crate) struct SearchArgs {
    /// Words to find, +required, "a phrase", -excluded, prefix*, file:PART, kind:KIND, from:HOST, since:DATE, before:DATE; without a query, the newest records
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    #[command(flatten)]
    projects: ProjectFilter,
    /// Only observations of this kind; can be given more than once
    #[arg(long, value_name = "KIND", value_parser = kinds(), ignore_case = true)]
    kind: Vec<Kind>,
    /// Only observations about a file whose path contains PART
    #[arg(long, value_name = "PART")]
    file: Option<String>,
    /// Only records since this day, as YYYY-MM-DD
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only records before this day
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    /// Only records of this type; can be given more than once
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<Type>,
    /// The order of the results
    #[arg(long, value_enum, default_value_t)]
    order: Ordering,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = super::at_least_one())]
    limit: usize,
    /// Number of results to skip
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    /// Below each result, print how its score is computed, and which words of the query it contains
    #[arg(long)]
    explain: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(super) fn search(memory: &Memory<'_>, args: SearchArgs) -> Result<Exit> {
    let wanted = Wanted {
        query: Query::parse(&typed(&args.query)),
        kinds: args.kind,
        file: args.file,
        since: args.since.as_deref().map(day).transpose()?,
        before: args.before.as_deref().map(day).transpose()?,
        what: args.types.into_iter().map(What::from).collect(),
        order: args.order.into(),
        limit: args.limit,
        offset: args.offset,
        session: None,
        without_session: None,
        from_host: None,
    };
    let store = open(memory)?;
    let hits = match &store {
        Some(store) => find(memory, store, &args.projects, &wanted)?,
        None => Vec::new(),
    };
    if args.json {
        out::json(&longhaul_runtime::memory::marked_hits(&wanted.query, &hits))?;
    } else {
        let mut marker = longhaul_runtime::memory::marker(&wanted.query, &hits);
        let (shown, screen) = (Shown::of(args.projects.all), Screen::of(memory.env));
        let titles = marked_lines(&hits, shown, screen, &mut |text| marker.marks(text));
        let mut lines = Vec::new();
        for (hit, title) in hits.iter().zip(titles) {
            lines.push(title);
            lines.extend(snippet(hit, screen, &mut |text| marker.marks(text)));
            if let (true, Some(store)) = (args.explain, &store) {
                let words = words_of(store, hit.record, &wanted.query)?;
                lines.extend(explained(hit, &words));
            }
        }
        out::recorded_lines(memory.env, &lines)?;
    }
    if hits.is_empty() {
        let message = store.as_ref().map(|store| nothing_found(store, &wanted));
        out::message(message.as_deref().unwrap_or(EMPTY));
        return Ok(Exit::Problem);
    }
    if !args.json && hits[0].is_weak {
        out::message("Only weak matches: no record has most of these words.");
    }
    Ok(Exit::Success)
}

/// Returns the parser of `--kind`, which lists the kinds in the help and in its error.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    let parse = |name: String| kind(&name).map_err(|error| error.to_string());
    PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)).try_map(parse)
}

pub(crate) fn find(memory: &Memory<'_>, store: &Store, projects: &ProjectFilter, wanted: &Wanted) -> Result<Vec<Hit>> {
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

pub(crate) fn day(text: &str) -> Result<Date> {
    Date::parse(text).with_context(|| format!("{text:?} is not a day: write it as 2026-01-31"))
}

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

/// The message if there is no memory yet.
pub(crate) const EMPTY: &str = "the memory is empty: run `longhaul memory import` to read past sessions";

/// Returns a message that says what was searched for, and whether filters or an incomplete index may be the reason.
pub(crate) fn nothing_found(store: &Store, wanted: &Wanted) -> String {
    let index = store.index_progress().ok().filter(|index| !index.is_complete());
    if let Some(index) = index {
        return format!(
            "nothing found, but the search index is not complete: it is built to {} %, and `longhaul memory upkeep` \
             completes it",
            index.percent()
        );
    }
    if wanted.offset > 0 {
        return format!("nothing found: there are at most {} results", wanted.offset);
    }
    let passing = if is_narrowed(wanted) { "that passes the filters " } else { "" };
    let query = &wanted.query;
    let any: Vec<String> =
        query.wanted_terms().into_iter().take(12).map(|mut term| term.forms.swap_remove(0)).collect();
    let all: Vec<&str> = query.required().map(|term| term.text.as_str()).collect();
    let tried = match (any.as_slice(), all.as_slice()) {
        ([], []) if is_narrowed(wanted) => return "nothing found: no record passes the filters".to_owned(),
        ([], []) => return "nothing found".to_owned(),
        // Of a question, one word is not enough.
        (any, []) if any.len() > 2 => format!("enough of {}, or of words spelled like them", any.join(", ")),
        (any, []) => format!("any of {}, or a word spelled like them", any.join(", ")),
        ([], all) => format!("all of {}", all.join(", ")),
        (any, all) => format!("all of {}, or any of {}", all.join(", "), any.join(", ")),
    };
    format!("nothing found: no record {passing}has {tried}")
}

/// Returns whether the query or the arguments have filters.
fn is_narrowed(wanted: &Wanted) -> bool {
    let Query { excluded, file, kind, from, since, before, .. } = &wanted.query;
    let by_day = since.is_some() || before.is_some();
    let by_query = !excluded.is_empty() || file.is_some() || kind.is_some() || from.is_some() || by_day;
    let Wanted { kinds, file, since, before, session, from_host, what, .. } = wanted;
    let by_lists = !kinds.is_empty() || !what.is_empty() || from_host.is_some();
    by_query || by_lists || file.is_some() || since.is_some() || before.is_some() || session.is_some()
}

#[derive(clap::Args)]
pub(crate) struct RecallArgs {
    /// The question, as a sentence; +required, "a phrase", -excluded and filters work as in a search
    #[arg(required = true, value_name = "QUESTION")]
    question: Vec<String>,
    #[command(flatten)]
    projects: ProjectFilter,
    /// Maximum length of the answer, in tokens of about four characters
    #[arg(long, value_name = "N", default_value_t = ANSWER_TOKENS, value_parser = tokens)]
    tokens: usize,
    /// Only records since this day, as YYYY-MM-DD
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only records before this day
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

fn tokens(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number")).and_then(within)
}

/// Refuses a number of tokens that is too small for an answer, or that would fill the context of a model.
pub(crate) fn within(tokens: usize) -> Result<usize, String> {
    let (least, most) = (ANSWER_TOKENS_RANGE.start(), ANSWER_TOKENS_RANGE.end());
    if ANSWER_TOKENS_RANGE.contains(&tokens) {
        return Ok(tokens);
    }
    Err(format!("{tokens} is out of range: use {least} to {most} tokens"))
}

pub(crate) fn recall(memory: &Memory<'_>, args: &RecallArgs) -> Result<Exit> {
    let wanted = Wanted {
        query: question(&typed(&args.question))?,
        since: args.since.as_deref().map(day).transpose()?,
        before: args.before.as_deref().map(day).transpose()?,
        ..Wanted::default()
    };
    let Some(store) = open(memory)? else { bail!(EMPTY) };
    // The frame also counts.
    let is_framed = !args.json && out::is_for_model(memory.env);
    let tokens = if is_framed { args.tokens.saturating_sub(out::FRAME_TOKENS) } else { args.tokens };
    let answer = answer(memory, &store, &args.projects, wanted.clone(), tokens)?;
    if args.json {
        out::json(&answer_json(&answer))?;
    } else {
        let screen = Screen::of(memory.env);
        let lines: Vec<String> = answer.lines().into_iter().map(|line| painted(line, screen)).collect();
        out::recorded_lines(memory.env, &lines)?;
    }
    if answer.is_empty() {
        out::message(&nothing_found(&store, &wanted));
        return Ok(Exit::Problem);
    }
    Ok(Exit::Success)
}

/// Answers a question of the session in which this process runs.
pub(crate) fn answer(
    memory: &Memory<'_>,
    store: &Store,
    projects: &ProjectFilter,
    wanted: Wanted,
    tokens: usize,
) -> Result<Answer> {
    wanted.check()?;
    let key = project_key(memory, store, projects, &wanted)?;
    let asking_session = memory.env.client_session.as_deref();
    let recall = Recall { asking_session, ..Recall::new(wanted, key.as_deref(), tokens) };
    Ok(meaning::recall(memory.env, &memory.home, &memory.config, store, &recall)?)
}

fn painted(line: AnswerLine, screen: Screen) -> String {
    let tone = |part: LinePart| match part {
        LinePart::Text => Tone::Plain,
        LinePart::Word => Tone::Found,
        LinePart::Id => Tone::Bold,
        LinePart::Label => Tone::Dim,
    };
    let spans: Vec<Span> = line.into_iter().map(|(text, part)| Span::new(text, tone(part))).collect();
    paint::render(&spans, screen.colours)
}

#[derive(clap::Args)]
pub(crate) struct SimilarArgs {
    /// The text, in your own words
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    #[command(flatten)]
    projects: ProjectFilter,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = super::at_least_one())]
    limit: usize,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn similar(memory: &Memory<'_>, args: &SimilarArgs) -> Result<Exit> {
    let Some(meaning) = Meaning::open(memory.env, &memory.home, &memory.config)? else {
        bail!(
            "there is no model to compare meanings with: run `longhaul install` again (every bundle has a model), or \
             set memory.embeddings to a file or an endpoint"
        )
    };
    let Some(store) = memory.existing()? else {
        out::message(EMPTY);
        return Ok(Exit::Problem);
    };
    let project = memory.key(&store, &args.projects)?;
    meaning.catch_up(&store, memory.env.now, Effort::Search)?;
    let near = meaning.nearest(&store, project.as_deref(), &args.text.join(" "), args.limit)?;
    let ids: Vec<RecordId> = near.iter().map(|(record, _)| *record).collect();
    let records = store.records(&ids)?;
    let similarity = |record: &Record| near.iter().find(|(id, _)| *id == record.record).map_or(0.0, |(_, near)| *near);
    if args.json {
        let with_similarity = |record: &Record| {
            let mut json = record.to_json();
            json["similarity"] = json!(similarity(record));
            json
        };
        out::json(&records.iter().map(with_similarity).collect::<Vec<Value>>())?;
    } else {
        let line =
            |record: &Record| format!("{:>6}  {:.2}  {}", record.record.to_string(), similarity(record), title(record));
        out::recorded_text(memory.env, &records.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    }
    if records.is_empty() {
        out::message("nothing found");
        return Ok(Exit::Problem);
    }
    Ok(Exit::Success)
}

/// Returns the first line of a record.
fn title(record: &Record) -> &str {
    let text = match &record.content {
        Content::Prompt { prompt, .. } => prompt,
        Content::Observation { observation, .. } => &observation.title,
        Content::Summary { summary, .. } => &summary.request,
    };
    text.trim_start().lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
