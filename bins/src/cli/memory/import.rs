//! `longhaul memory import`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use longhaul_runtime::ErrorLog;
use longhaul_runtime::memory::import::{Imported, Outcome, Source, import, sources};
use longhaul_runtime::memory::upkeep::merge_index;
use serde_json::json;

use super::place::Memory;
use super::upkeep::{bytes, compute_vectors};
use crate::cli::progress::Bar;
use crate::cli::{Exit, out};

/// How often a line tells how far it has come, where there is no terminal.
const EVERY: usize = 100;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder of transcripts, instead of Claude Code's and Codex's own
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn run(memory: &Memory<'_>, args: &Args) -> Result<Exit> {
    memory.must_be_on()?;
    let sources = find(memory, args.from.as_deref())?;
    let mut store = memory.store()?;
    let mut progress = Progress::new(&sources, args.quiet || args.json);
    let imported = import(&mut store, &memory.home, memory.env, &memory.config, &sources, |source, outcome| {
        progress.tell(source, outcome);
    });
    progress.end();
    let imported = imported?;
    for (path, error) in &imported.failed {
        out::message(&format!("longhaul: {}: {error}", path.display()));
    }
    drop(store);
    // Sessions of years may have come: a search would not compute their vectors in time, and would look in every segment.
    if let Err(error) = merge_index(&memory.home).and_then(|()| compute_vectors(memory).map(drop)) {
        ErrorLog::new(memory.env, "import").write(&error.chain());
    }
    if args.json {
        out::json(&to_json(&imported))?;
    } else if !args.quiet {
        out::message(&told(&imported));
    }
    Ok(if imported.failed.is_empty() { Exit::Success } else { Exit::Problem })
}

/// Returns the transcripts in a folder, or in those that Claude Code and Codex keep.
fn find(memory: &Memory<'_>, from: Option<&Path>) -> Result<Vec<Source>> {
    let missing = "no past sessions are there: name their folder with --from DIR";
    if let Some(dir) = from {
        return sources(dir).context(missing);
    }
    let client = memory.env.client_dir.as_ref().map(|dir| dir.join("projects"));
    let client = client.context("no home directory: set HOME, or name a folder with --from DIR")?;
    let codex = memory.env.codex_dir.iter().flat_map(|dir| [dir.join("sessions"), dir.join("archived_sessions")]);
    let codex: Vec<PathBuf> = codex.filter(|dir| dir.is_dir()).collect();
    let mut found = match sources(&client) {
        // Who has only Codex has no folder of the other's.
        Err(_) if !codex.is_empty() => Vec::new(),
        found => found.context(missing)?,
    };
    for dir in codex {
        found.extend(sources(&dir)?);
    }
    Ok(found)
}

fn told(imported: &Imported) -> String {
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

/// Tells how far it has come: a bar on a terminal, else a line now and then.
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

    fn tell(&mut self, source: &Source, outcome: Outcome) {
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
