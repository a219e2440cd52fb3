//! `longhaul memory`: searches, adds to and deletes from the memory.

mod export;
pub(crate) mod find;
mod forget;
pub(crate) mod ids;
mod import;
mod note;
pub(crate) mod nothing_found;
pub(crate) mod open_memory;
mod purge;
pub(crate) mod recall;
pub(crate) mod render;
mod salvage;
mod similar;
mod stats;
mod upkeep;
mod vector_upkeep;

use anyhow::Context;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use longhaul_core::Env;
use longhaul_memory::{Kind, Query};
use longhaul_runtime::{ErrorLog, search_process};
use longhaul_store::{Hit, Record, RecordId, What};
use serde_json::Value;

use self::find::{Ordering, Type, Wanted};
use self::open_memory::{Memory, ProjectFilter};
use self::render::Shown;
use super::{Exit, out};

pub(crate) use self::note::{NewText, save};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Answer a question with the best passages of past sessions; exit 1 if nothing is found
    Recall(recall::Args),
    /// List matching prompts, observations (what a tool call did, or a note) and summaries; exit 1 if nothing is found
    Search(Search),
    /// List records with a similar meaning, even if they use other words; exit 1 if nothing is found
    Similar(similar::Args),
    /// Show what happened around a record
    Timeline(Timeline),
    /// Print whole records, with raw tool input and output
    Get(Get),
    /// Save a text as a note
    Save(note::Args),
    /// Delete records, a session or a project from the memory; this cannot be undone
    Forget(forget::Args),
    /// Show the number of records and the size of the database
    Stats {
        /// List the largest tables of the database
        #[arg(long)]
        tables: bool,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print every record of this project, or of all projects, as a line of JSON
    Export(export::Args),
    /// Import every past session of Claude Code and Codex
    Import(import::Args),
    /// Take what can be read of a damaged database into the memory; done in the background when one is found
    Salvage(salvage::Args),
    /// Delete old raw tool input and output, or everything, and shrink the database
    Purge(purge::Args),
    /// Delete old raw tool input and output, complete the search index and compute missing vectors; the first session of a day starts it
    #[command(hide = true)]
    Upkeep,
    /// Search for the prompts of all sessions until there was none for half an hour; the hooks of a large memory start it
    #[command(hide = true)]
    SearchProcess,
}

#[derive(clap::Args)]
pub(crate) struct Search {
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
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one())]
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

#[derive(clap::Args)]
pub(crate) struct Timeline {
    /// A record: P12 (prompt), O345 or 345 (observation), S6 (summary)
    id: String,
    /// Number of records before it
    #[arg(long, value_name = "N", default_value_t = 3)]
    before: usize,
    /// Number of records after it
    #[arg(long, value_name = "N", default_value_t = 3)]
    after: usize,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(crate) struct Get {
    /// Records: P12 (prompt), O345 or 345 (observation), S6 (summary)
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Returns the parser of `--kind`, which lists the kinds in the help and in its error.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    let kind = |name: String| find::kind(&name).map_err(|error| error.to_string());
    PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)).try_map(kind)
}

/// Returns the parser of `--limit`. With 0, every search would report that nothing was found.
fn at_least_one() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::new().range(1..)
}

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<Exit> {
    let memory = Memory::of(env)?;
    match command {
        Command::Recall(args) => recall::run(&memory, &args),
        Command::Search(args) => search(&memory, args),
        Command::Similar(args) => similar::run(&memory, &args),
        Command::Timeline(args) => timeline(&memory, &args),
        Command::Get(args) => get(&memory, &args),
        Command::Save(args) => note::run(&memory, args),
        Command::Forget(args) => forget::run(&memory, &args),
        Command::Stats { tables, json } => stats::run(&memory, tables, json),
        Command::Export(args) => export::run(&memory, &args),
        Command::Import(args) => import::run(&memory, &args),
        Command::Salvage(args) => salvage::run(&memory, &args),
        Command::Purge(args) => purge::run(&memory, &args),
        Command::Upkeep => upkeep::run(&memory),
        Command::SearchProcess => {
            // It runs in the background, so an error is written to the error log, too.
            search_process::serve(env, &memory.home)
                .inspect_err(|error| ErrorLog::new(env, "search-process").write(&error.chain()))?;
            Ok(Exit::Success)
        }
    }
}

fn search(memory: &Memory<'_>, args: Search) -> anyhow::Result<Exit> {
    let wanted = Wanted {
        query: Query::parse(&find::typed(&args.query)),
        kinds: args.kind,
        file: args.file,
        since: args.since.as_deref().map(find::day).transpose()?,
        before: args.before.as_deref().map(find::day).transpose()?,
        what: args.types.into_iter().map(What::from).collect(),
        order: args.order.into(),
        limit: args.limit,
        offset: args.offset,
        session: None,
        without_session: None,
        from_host: None,
    };
    let store = find::open(memory)?;
    let hits = match &store {
        Some(store) => find::search(memory, store, &args.projects, &wanted)?,
        None => Vec::new(),
    };
    if args.json {
        out::json(&longhaul_runtime::memory::marked_hits(&wanted.query, &hits))?;
    } else {
        let mut marker = longhaul_runtime::memory::marker(&wanted.query, &hits);
        let (shown, screen) = (Shown::of(args.projects.all), render::Screen::of(memory.env));
        let titles = render::marked_lines(&hits, shown, screen, &mut |text| marker.marks(text));
        let mut lines = Vec::new();
        for (hit, title) in hits.iter().zip(titles) {
            lines.push(title);
            lines.extend(render::snippet(hit, screen, &mut |text| marker.marks(text)));
            if let (true, Some(store)) = (args.explain, &store) {
                let words = find::words_of(store, hit.record, &wanted.query)?;
                lines.extend(render::explained(hit, &words));
            }
        }
        out::recorded_lines(memory.env, &lines)?;
    }
    if hits.is_empty() {
        let message = store.as_ref().map(|store| nothing_found::message(store, &wanted));
        out::message(message.as_deref().unwrap_or(nothing_found::EMPTY));
        return Ok(Exit::Problem);
    }
    if !args.json && hits[0].is_weak {
        out::message("Only weak matches: no record has most of these words.");
    }
    Ok(Exit::Success)
}

fn timeline(memory: &Memory<'_>, args: &Timeline) -> anyhow::Result<Exit> {
    let id = ids::parse(&args.id)?;
    let store = memory.existing()?.with_context(|| ids::unknown(id))?;
    let hits = store.timeline(id, args.before, args.after, &[])?;
    if hits.is_empty() {
        anyhow::bail!(ids::unknown(id));
    }
    if args.json {
        out::json(&hits.iter().map(Hit::to_json).collect::<Vec<Value>>())?;
    } else {
        let lines = render::lines(&hits, Shown::Around(id), render::Screen::of(memory.env));
        out::recorded_lines(memory.env, &lines)?;
    }
    Ok(Exit::Success)
}

fn get(memory: &Memory<'_>, args: &Get) -> anyhow::Result<Exit> {
    let asked: Vec<_> = args.ids.iter().map(|id| ids::parse(id)).collect();
    let wanted: Vec<RecordId> = ids::distinct(asked.iter().flatten().copied());
    let records = match memory.existing()? {
        Some(store) => store.records(&wanted)?,
        None => Vec::new(),
    };
    if args.json {
        out::json(&records.iter().map(Record::to_json).collect::<Vec<Value>>())?;
    } else {
        let texts: Vec<String> = records.iter().map(render::record).collect();
        out::recorded_text(memory.env, &texts.join("\n"))?;
    }
    let mut exit = Exit::Success;
    for id in asked {
        let problem = match id {
            Ok(id) if records.iter().any(|record| record.record == id) => continue,
            Ok(id) => ids::unknown(id),
            Err(error) => error.to_string(),
        };
        out::message(&format!("longhaul: {problem}"));
        exit = Exit::Problem;
    }
    Ok(exit)
}
