//! `longhaul memory import`: imports past sessions from their transcripts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use longhaul_import::transcripts::{Imported, Outcome, Source, import, sources};
use longhaul_runtime::ErrorLog;
use longhaul_runtime::memory::upkeep::merge_index;
use serde_json::json;

use super::open_memory::Memory;
use super::stats::bytes;
use super::vector_upkeep::compute_vectors;
use crate::cli::progress::Bar;
use crate::cli::{Exit, out};

/// After how many transcripts a line shows the progress, if there is no terminal.
const EVERY: usize = 100;

#[derive(clap::Args)]
pub(crate) struct Args {
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

pub(crate) fn run(memory: &Memory<'_>, args: &Args) -> Result<Exit> {
    memory.must_be_on()?;
    let sources = find(memory, args.from.as_deref())?;
    let mut store = memory.store()?;
    let mut progress = Progress::new(&sources, args.quiet || args.json);
    let imported = import(&mut store, &memory.home, memory.env, &memory.config, &sources, |source, outcome| {
        progress.show(source, outcome);
    });
    progress.end();
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
        out::json(&to_json(&imported))?;
    } else if !args.quiet {
        out::message(&summary(&imported));
    }
    Ok(if imported.failed.is_empty() { Exit::Success } else { Exit::Problem })
}

/// Returns the transcripts in `from`, or in the folders of Claude Code and Codex.
fn find(memory: &Memory<'_>, from: Option<&Path>) -> Result<Vec<Source>> {
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

fn summary(imported: &Imported) -> String {
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

fn to_json(imported: &Imported) -> serde_json::Value {
    let failed: Vec<_> = imported.failed.iter().map(|(path, error)| json!({ "path": path, "error": error })).collect();
    json!({
        "files": imported.files,
        "unchanged": imported.unchanged,
        "excluded": imported.excluded,
        "bytes": imported.bytes,
        "sessions": imported.sessions,
        "prompts": imported.prompts,
        "observations": imported.observations,
        "summaries": imported.summaries,
        "failed": failed,
    })
}

/// Shows the progress: a bar on a terminal, or else a line now and then.
struct Progress {
    bar: Bar,
    done: usize,
    all: usize,
}

impl Progress {
    fn new(sources: &[Source], is_quiet: bool) -> Self {
        let total = sources.iter().map(|source| source.bytes).sum();
        let bar = Bar::new("{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left", total, is_quiet);
        Self { bar, done: 0, all: sources.len() }
    }

    fn show(&mut self, source: &Source, outcome: Outcome) {
        self.bar.advance(source.bytes);
        self.done += usize::from(outcome != Outcome::Unchanged);
        if self.done > 0 && self.done.is_multiple_of(EVERY) && outcome != Outcome::Unchanged {
            self.bar.line(&format!("{} of {} transcripts", self.done, self.all));
        }
    }

    fn end(&self) {
        self.bar.end();
    }
}
