//! `longhaul memory`: searches, adds to and deletes from the memory. What is short is here, the rest in `memory/`.

mod forget;
pub(crate) mod open_memory;
pub(crate) mod render;
pub(crate) mod search;
pub(crate) mod upkeep;

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::builder::{RangedU64ValueParser, TypedValueParser};
use longhaul_core::text::cut_middle;
use longhaul_core::{Env, one_line};
use longhaul_memory::{RESPONSE_CHARS, TITLE_CHARS};
use longhaul_runtime::memory::is_excluded;
use longhaul_runtime::{ErrorLog, Sanitizer, search_process};
use longhaul_store::{Hit, NewNote, Record, RecordId, Store, What};
use serde_json::{Value, json};

use self::open_memory::{Memory, ProjectFilter};
use self::render::Shown;
use super::{Exit, import, out};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Answer a question with the best passages of past sessions; exit 1 if nothing is found
    Recall(search::RecallArgs),
    /// List matching prompts, observations (what a tool call did, or a note) and summaries; exit 1 if nothing is found
    Search(search::SearchArgs),
    /// List records with a similar meaning, even if they use other words; exit 1 if nothing is found
    Similar(search::SimilarArgs),
    /// Show what happened around a record
    Timeline(Timeline),
    /// Print whole records, with raw tool input and output
    Get(Get),
    /// Save a text as a note
    Save(NoteArgs),
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
    Export(ExportArgs),
    /// Import every past session of Claude Code and Codex
    Import(import::TranscriptArgs),
    /// Take what can be read of a damaged database into the memory; done in the background when one is found
    Salvage(upkeep::SalvageArgs),
    /// Delete old raw tool input and output, or everything, and shrink the database
    Purge(forget::PurgeArgs),
    /// Delete old raw tool input and output, complete the search index and compute missing vectors; the first session of a day starts it
    #[command(hide = true)]
    Upkeep,
    /// Search for the prompts of all sessions until there was none for half an hour; the hooks of a large memory start it
    #[command(hide = true)]
    SearchProcess,
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

/// Returns the parser of `--limit`. With 0, every search would report that nothing was found.
fn at_least_one() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::new().range(1..)
}

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<Exit> {
    let memory = Memory::of(env)?;
    match command {
        Command::Recall(args) => return search::recall(&memory, &args),
        Command::Search(args) => return search::search(&memory, args),
        Command::Similar(args) => return search::similar(&memory, &args),
        Command::Timeline(args) => timeline(&memory, &args)?,
        Command::Get(args) => return get(&memory, &args),
        Command::Save(args) => note(&memory, &args)?,
        Command::Forget(args) => return forget::run(&memory, &args),
        Command::Stats { tables, json } => upkeep::stats(&memory, tables, json)?,
        Command::Export(args) => export(&memory, &args)?,
        Command::Import(args) => return import::import_transcripts(&memory, &args),
        Command::Salvage(args) => upkeep::salvage_files(&memory, &args)?,
        Command::Purge(args) => forget::purge(&memory, &args)?,
        Command::Upkeep => return upkeep::run(&memory),
        // It runs in the background, so an error is written to the error log, too.
        Command::SearchProcess => search_process::serve(env, &memory.home)
            .inspect_err(|error| ErrorLog::new(env, "search-process").write(&error.chain()))?,
    }
    Ok(Exit::Success)
}

fn timeline(memory: &Memory<'_>, args: &Timeline) -> Result<()> {
    let id = open_memory::parse_id(&args.id)?;
    let store = memory.existing()?.with_context(|| open_memory::unknown_record(id))?;
    let hits = store.timeline(id, args.before, args.after, &[])?;
    if hits.is_empty() {
        anyhow::bail!(open_memory::unknown_record(id));
    }
    if args.json {
        return out::json(&hits.iter().map(Hit::to_json).collect::<Vec<Value>>());
    }
    let lines = render::lines(&hits, Shown::Around(id), render::Screen::of(memory.env));
    out::recorded_lines(memory.env, &lines)
}

fn get(memory: &Memory<'_>, args: &Get) -> anyhow::Result<Exit> {
    let asked: Vec<_> = args.ids.iter().map(|id| open_memory::parse_id(id)).collect();
    let wanted: Vec<RecordId> = open_memory::distinct(asked.iter().flatten().copied());
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
            Ok(id) => open_memory::unknown_record(id),
            Err(error) => error.to_string(),
        };
        out::message(&format!("longhaul: {problem}"));
        exit = Exit::Problem;
    }
    Ok(exit)
}

#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    projects: ProjectFilter,
    /// Write to FILE instead of standard output; only you can read the file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON, one line for each record; this is the only format
    #[arg(long)]
    json: bool,
}

fn export(memory: &Memory<'_>, args: &ExportArgs) -> Result<()> {
    let store = memory.existing()?;
    let Some(path) = &args.output else {
        return write_records(memory, store.as_ref(), &args.projects, io::stdout().lock()).map(drop);
    };
    let failed = || format!("cannot write {}", path.display());
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let file = file.with_context(failed)?;
    // Otherwise an existing file would keep its permissions.
    fs::set_permissions(path, Permissions::from_mode(0o600)).with_context(failed)?;
    let count = write_records(memory, store.as_ref(), &args.projects, file).with_context(failed)?;
    out::message(&format!("Wrote {count} records to {}.", path.display()));
    Ok(())
}

fn write_records(
    memory: &Memory<'_>,
    store: Option<&Store>,
    projects: &ProjectFilter,
    to: impl Write,
) -> Result<usize> {
    let Some(store) = store else { return Ok(0) };
    let key = memory.key(store, projects)?;
    let (mut to, mut count, mut written) = (BufWriter::new(to), 0, Ok(()));
    store.export(key.as_deref(), |record| {
        written = writeln!(to, "{}", out::escaped_json(&record.to_json().to_string()));
        count += usize::from(written.is_ok());
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    written.and_then(|()| to.flush())?;
    Ok(count)
}

#[derive(clap::Args)]
pub(crate) struct NoteArgs {
    /// The text; `-` reads it from standard input
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// The title; by default the first line of the text
    #[arg(long)]
    title: Option<String>,
    /// Another project, by its name or a folder in it; by default the current one
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// A text that should be saved, before private parts are removed.
pub(crate) struct NewText<'a> {
    pub(crate) text: &'a str,
    pub(crate) title: Option<&'a str>,
    pub(crate) project: Option<&'a str>,
}

fn note(memory: &Memory<'_>, args: &NoteArgs) -> Result<()> {
    let mut text = args.text.join(" ");
    if text == "-" {
        text.clear();
        io::stdin().lock().read_to_string(&mut text).context("cannot read standard input as text")?;
    }
    let new = NewText { text: &text, title: args.title.as_deref(), project: args.project.as_deref() };
    let id = save(memory, &new)?;
    if args.json { out::json(&json!({ "id": id.to_string() })) } else { out::line(&id.to_string()) }
}

/// Saves a text without its private parts and secrets.
pub(crate) fn save(memory: &Memory<'_>, new: &NewText<'_>) -> Result<RecordId> {
    memory.must_be_on()?;
    memory.must_be_public()?;
    let sanitizer = Sanitizer::new(&memory.config);
    let text = sanitizer.clean(new.text);
    let text = text.trim();
    if text.is_empty() {
        bail!("nothing to save: the text is empty without its private parts");
    }
    let title = new.title.map(|title| sanitizer.clean(title)).filter(|title| !title.trim().is_empty());
    let title = title_of(title.as_deref().unwrap_or(text));
    let here = memory.here();
    if new.project.is_none() && is_excluded(&memory.config.memory, memory.env, here.path.as_ref()) {
        bail!("{} is excluded by memory.exclude in the configuration", here.path);
    }
    let store = memory.store()?;
    let named = new.project.map(|name| memory.named(&store, name)).transpose()?;
    let (project_key, project) = match &named {
        Some(project) => (&project.key, &project.name),
        None => (&here.key, &here.name),
    };
    let session = memory.env.client_session.as_deref().filter(|_| named.is_none());
    let id = store.save_note(&NewNote {
        session,
        project_key,
        project,
        title: &title,
        text: &cut_middle(text, RESPONSE_CHARS),
        at: memory.env.now,
    })?;
    Ok(RecordId { what: What::Observation, id })
}

/// Returns the first line of a text, cut to the length of a title.
fn title_of(text: &str) -> String {
    one_line(text.trim_start().lines().next().unwrap_or_default(), TITLE_CHARS)
}
