//! `longhaul memory export`. The fields of an exported record are in `Record::to_json` (`store/src/memory/records.rs`).

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use anyhow::{Context, Result};
use longhaul_store::{Record, Store};

use super::open_memory::{Memory, ProjectFilter};
use crate::cli::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    projects: ProjectFilter,
    /// Write to FILE instead of standard output; only you can read the file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON, one line for each record; this is the only format
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(memory: &Memory<'_>, args: &Args) -> Result<Exit> {
    let store = memory.existing()?;
    match &args.output {
        Some(path) => {
            let failed = || format!("cannot write {}", path.display());
            let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
            let file = file.with_context(failed)?;
            // Otherwise an existing file would keep its permissions.
            fs::set_permissions(path, Permissions::from_mode(0o600)).with_context(failed)?;
            let count = write(memory, store.as_ref(), &args.projects, BufWriter::new(file)).with_context(failed)?;
            out::message(&format!("Wrote {count} records to {}.", path.display()));
        }
        None => {
            write(memory, store.as_ref(), &args.projects, BufWriter::new(io::stdout().lock()))?;
        }
    }
    Ok(Exit::Success)
}

fn write(memory: &Memory<'_>, store: Option<&Store>, projects: &ProjectFilter, mut to: impl Write) -> Result<usize> {
    let Some(store) = store else { return Ok(0) };
    let key = memory.key(store, projects)?;
    let mut count = 0;
    let mut failed = None;
    let line = |record: &Record| out::escaped_json(&record.to_json().to_string());
    store.export(key.as_deref(), |record| match writeln!(to, "{}", line(&record)) {
        Ok(()) => {
            count += 1;
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(to.flush().map(|()| count)?),
    }
}
