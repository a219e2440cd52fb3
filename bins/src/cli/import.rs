//! `longhaul import` imports the data of other programs, `longhaul memory import` past sessions from their transcripts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use longhaul_core::Env;
use longhaul_import::other_programs::{Mode, Move, Origin, Report, Step};
use longhaul_import::transcripts::{Imported, Outcome, Source, import, sources};
use longhaul_runtime::memory::upkeep::merge_index;
use longhaul_runtime::{ErrorLog, Home};
use serde_json::{Value, json};

use super::Exit;
use super::memory::open_memory::Memory;
use super::memory::upkeep::{bytes, compute_vectors};
use super::out::{self, Bar};

/// After how many items a line shows the progress, if there is no terminal.
const EVERY: usize = 10_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only from this program: tav, tmux-claude-agent-tracker, throughline or claude-mem; with =FOLDER, from that folder
    #[arg(long, value_name = "NAME[=FOLDER]")]
    from: Vec<String>,
    /// Print what would be imported without importing it
    #[arg(long)]
    dry_run: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> Result<Exit> {
    let folders = folders(env, &args.from)?;
    let (config, warnings) = longhaul_runtime::config(env)?;
    for warning in &warnings {
        out::message(&format!("longhaul: {warning}"));
    }
    let home = Home::of(env)?;
    let mode = if args.dry_run { Mode::DryRun } else { Mode::Move };
    let mover = Move { env, home: &home, config: &config, mode };
    let mut reports = Vec::new();
    for (origin, place) in folders {
        let mut progress: Option<Progress> = None;
        let mut show = |step: Step| match step {
            Step::Begins(origin, all) => {
                let template = format!("{} {{bar:30}} {{pos}}/{{len}} {{eta}} left", origin.as_str());
                let bar = Bar::new(&template, all as u64, args.json);
                progress = Some(Progress { bar, done: 0, all, every: (EVERY, "") });
            }
            Step::Done(more) => {
                progress.iter_mut().for_each(|progress| progress.advance(more as u64, more));
            }
            Step::Ends => progress.take().iter().for_each(|progress| progress.bar.end()),
        };
        reports.push(mover.from(origin, place, &mut show)?);
    }
    if args.json {
        out::json(&reports.iter().map(to_json).collect::<Vec<Value>>())?;
    } else if reports.is_empty() {
        let names: Vec<&str> = Origin::ALL.iter().map(|origin| origin.as_str()).collect();
        out::line(&format!("Nothing to import: none of {} was found.", names.join(", ")))?;
    } else {
        for report in &reports {
            out::text(&summary(report, mode))?;
        }
    }
    Ok(if reports.iter().any(|report| report.failed.is_some()) { Exit::Problem } else { Exit::Success })
}

/// Returns the folders to import from: those that were given, or else those that exist.
fn folders(env: &Env, asked: &[String]) -> Result<Vec<(Origin, PathBuf)>> {
    let mut folders = Vec::new();
    if asked.is_empty() {
        let usual = Origin::ALL.into_iter().filter_map(|origin| Some((origin, origin.usual_place(env)?)));
        return Ok(usual.filter(|(origin, place)| origin.is_found(env, place)).collect());
    }
    for asked in asked {
        let (name, folder) = match asked.split_once('=') {
            Some((name, folder)) => (name, Some(PathBuf::from(folder))),
            None => (asked.as_str(), None),
        };
        let Some(origin) = Origin::from_name(name) else {
            let names: Vec<&str> = Origin::ALL.iter().map(|origin| origin.as_str()).collect();
            bail!("unknown program {name:?}: use one of {}", names.join(", "));
        };
        let Some(place) = folder.or_else(|| origin.usual_place(env)) else {
            bail!("no home directory: set HOME, or name a folder with --from {name}=FOLDER");
        };
        if !origin.is_found(env, &place) {
            bail!("the files of {name} are not in {}: name their folder with --from {name}=FOLDER", place.display());
        }
        folders.push((origin, place));
    }
    Ok(folders)
}

fn summary(report: &Report, mode: Mode) -> String {
    let mut lines = vec![format!("{} ({})", report.origin.as_str(), report.place.display())];
    let verb = match mode {
        Mode::Move => "imported",
        Mode::DryRun => "would be imported",
    };
    let brought = report.brought.iter().filter(|(_, count)| *count > 0);
    let brought: Vec<String> = brought.map(|(what, count)| format!("{count} {what}")).collect();
    match (brought.as_slice(), &report.failed) {
        (_, Some(why)) => lines.push(format!("  failed: {why}")),
        ([], None) if report.settings.is_empty() => lines.push("  nothing new".to_owned()),
        ([], None) => {}
        (brought, None) => lines.push(format!("  {verb}: {}", brought.join(", "))),
    }
    lines.extend(report.settings.iter().map(|(key, value)| format!("  {verb}: {key} = {value}")));
    lines.extend(report.left.iter().map(|(what, count, why)| format!("  skipped: {count} {what}: {why}")));
    lines.extend(report.advice.iter().map(|line| format!("  {line}")));
    lines.join("\n")
}

fn to_json(report: &Report) -> Value {
    let imported: serde_json::Map<String, Value> =
        report.brought.iter().map(|(what, count)| ((*what).to_owned(), json!(count))).collect();
    let skipped = report.left.iter().map(|(what, count, why)| json!({ "what": what, "count": count, "why": why }));
    let settings: serde_json::Map<String, Value> =
        report.settings.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    json!({
        "from": report.origin.as_str(),
        "folder": report.place,
        "imported": imported,
        "settings": settings,
        "skipped": skipped.collect::<Vec<_>>(),
        "advice": report.advice,
        "failed": report.failed,
    })
}

/// Shows the progress: a bar on a terminal, or else a line now and then.
struct Progress {
    bar: Bar,
    done: usize,
    all: usize,
    /// After how many items a line is printed, and what they are.
    every: (usize, &'static str),
}

impl Progress {
    /// Advances the bar by its own unit, and the lines by items.
    fn advance(&mut self, by: u64, items: usize) {
        let (every, what) = self.every;
        let before = self.done / every;
        self.done += items;
        self.bar.advance(by);
        if self.done / every > before {
            self.bar.line(&format!("{} of {}{what}", self.done, self.all));
        }
    }
}

/// After how many transcripts a line shows the progress, if there is no terminal.
const TRANSCRIPTS_EVERY: usize = 100;

#[derive(clap::Args)]
pub(crate) struct TranscriptArgs {
    /// A folder with transcripts, instead of the folders of Claude Code and Codex
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print only errors
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn import_transcripts(memory: &Memory<'_>, args: &TranscriptArgs) -> Result<Exit> {
    memory.must_be_on()?;
    let sources = find_transcripts(memory, args.from.as_deref())?;
    let mut store = memory.store()?;
    let total = sources.iter().map(|source| source.bytes).sum();
    let template = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
    let bar = Bar::new(template, total, args.quiet || args.json);
    let mut progress = Progress { bar, done: 0, all: sources.len(), every: (TRANSCRIPTS_EVERY, " transcripts") };
    let imported = import(&mut store, &memory.home, memory.env, &memory.config, &sources, |source, outcome| {
        progress.advance(source.bytes, usize::from(outcome != Outcome::Unchanged));
    });
    progress.bar.end();
    let imported = imported?;
    for (path, error) in &imported.failed {
        out::message(&format!("longhaul: {}: {error}", path.display()));
    }
    drop(store);
    // There may be very many new records: a search would not have enough time to compute their vectors, and would read every
    // segment of the index.
    if let Err(error) = merge_index(&memory.home).and_then(|()| compute_vectors(memory).map(drop)) {
        ErrorLog::new(memory.env, "import").write(&error.chain());
    }
    if args.json {
        out::json(&transcripts_json(&imported))?;
    } else if !args.quiet {
        out::message(&transcripts_summary(&imported));
    }
    Ok(if imported.failed.is_empty() { Exit::Success } else { Exit::Problem })
}

/// Returns the transcripts in `from`, or in the folders of Claude Code and Codex.
fn find_transcripts(memory: &Memory<'_>, from: Option<&Path>) -> Result<Vec<Source>> {
    let missing = "no past sessions were found: name their folder with --from DIR";
    if let Some(dir) = from {
        return sources(dir).context(missing);
    }
    let client = memory.env.client_dir.as_ref().map(|dir| dir.join("projects"));
    let client = client.context("no home directory: set HOME, or name a folder with --from DIR")?;
    let codex = memory.env.codex_dir.iter().flat_map(|dir| [dir.join("sessions"), dir.join("archived_sessions")]);
    let codex: Vec<PathBuf> = codex.filter(|dir| dir.is_dir()).collect();
    let mut found = match sources(&client) {
        // A user of Codex only has no folder of Claude Code.
        Err(_) if !codex.is_empty() => Vec::new(),
        found => found.context(missing)?,
    };
    for dir in codex {
        found.extend(sources(&dir)?);
    }
    Ok(found)
}

fn transcripts_summary(imported: &Imported) -> String {
    format!(
        "Read {} transcripts, {}, of {} new sessions: {} prompts, {} observations, {} summaries. {} were read before.",
        imported.files,
        bytes(imported.bytes),
        imported.sessions,
        imported.prompts,
        imported.observations,
        imported.summaries,
        imported.unchanged
    )
}

fn transcripts_json(imported: &Imported) -> serde_json::Value {
    let failed = imported.failed.iter().map(|(path, error)| json!({ "path": path, "error": error }));
    json!({
        "files": imported.files,
        "unchanged": imported.unchanged,
        "excluded": imported.excluded,
        "bytes": imported.bytes,
        "sessions": imported.sessions,
        "prompts": imported.prompts,
        "observations": imported.observations,
        "summaries": imported.summaries,
        "failed": failed.collect::<Vec<_>>(),
    })
}
