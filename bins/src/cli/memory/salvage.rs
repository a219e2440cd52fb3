//! `longhaul memory salvage`: takes what can be read of a damaged database into the memory.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use longhaul_runtime::memory::salvage::{Outcome, describe, salvage};
use longhaul_runtime::memory::upkeep::merge_index;
use longhaul_runtime::{Error, ErrorLog};
use longhaul_store::{Salvaged, StoreError};
use serde_json::{Value, json};

use super::open_memory::Memory;
use super::vector_upkeep::compute_vectors;
use crate::cli::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The damaged database, such as longhaul.db.damaged-1
    file: PathBuf,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(memory: &Memory<'_>, args: &Args) -> Result<Exit> {
    let file = args.file.as_path();
    // As after an import, there may be very many new records.
    let finish = || {
        if let Err(error) = merge_index(&memory.home).and_then(|()| compute_vectors(memory).map(drop)) {
            ErrorLog::new(memory.env, "salvage").write(&error.chain());
        }
    };
    let salvaged = match salvage(memory.env, &memory.home, &memory.config, file, finish) {
        Ok(Outcome::Done(salvaged)) => Some(salvaged),
        Ok(Outcome::DoneBefore) => None,
        Ok(Outcome::Busy) => bail!("another process salvages a damaged database now: run this again when it has ended"),
        // What it says is recorded already, if the file was renamed.
        Err(error @ Error::Store(StoreError::Foreign { .. })) => return Err(error.into()),
        Err(error) => {
            // It may run in the background.
            ErrorLog::new(memory.env, "salvage").write(&error.chain());
            return Err(error.into());
        }
    };
    if args.json {
        out::json(&to_json(file, salvaged.as_ref()))?;
    } else {
        out::message(&match &salvaged {
            Some(salvaged) => describe(file, salvaged),
            None => format!("{} was salvaged before: nothing has changed", file.display()),
        });
    }
    Ok(Exit::Success)
}

fn to_json(file: &Path, salvaged: Option<&Salvaged>) -> Value {
    let was_salvaged_before = salvaged.is_none();
    let salvaged = salvaged.copied().unwrap_or_default();
    json!({
        "file": file,
        "was_salvaged_before": was_salvaged_before,
        "prompts": salvaged.prompts,
        "observations": salvaged.observations,
        "summaries": salvaged.summaries,
        "bookmarks": salvaged.bookmarks,
        "snapshots": salvaged.snapshots,
        "known": salvaged.known,
        "of_other_machines": salvaged.others,
        "damaged_rows": salvaged.damaged_rows,
        "damaged_pages": salvaged.damaged_pages,
        "missing_tables": salvaged.missing_tables,
    })
}
