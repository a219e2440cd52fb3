//! `cargo xtask bench`: measures every hook and compares it with an empty program.

mod history;
mod large;
mod page;
mod past;
pub(crate) mod payload;
mod plot;
mod reference;
pub(crate) mod report;
mod rows;
mod snapshots;
mod subject;
mod sync;
mod worker;

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use xtask::tools;
use xtask::workspace::{PACKAGE, Profile, Workspace};

pub(crate) use self::large::run as run_large;
use self::report::Sample;
use self::rows::{ROWS, Row, SERIES};
pub(crate) use self::snapshots::run as run_snapshots;
use self::subject::{Scene, Subject};
pub(crate) use self::sync::run as run_sync;
pub(crate) use self::worker::run as run_worker;
use crate::stage::{self, Tmux, plugin_folder, watch_interrupts};

/// Runs before the measurement, which are not counted: they fill the caches.
const WARM_UP: usize = 10;

/// The form in which the figures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// A table on standard output.
    Table,
    /// JSON on standard output.
    Json,
    /// docs/benchmarks.md, with plots.
    Page,
}

/// Builds the executables as they are shipped, measures every row `runs` times and writes the result.
///
/// Rows and the empty program take turns, one run each, so that other load on the machine affects all of them alike.
pub(crate) fn run(workspace: &Workspace, runs: usize, output: Output) -> Result<()> {
    ensure!(runs > 0, "--runs must be at least 1");
    tools::ensure(&["tmux", "sqlite3", "node"])?;
    let bin = workspace.build_to_ship(Profile::Release, None)?;
    workspace.add_empty_program(&bin, Profile::Release)?;
    let standin = workspace.build(PACKAGE, &["--example", "standin"], Profile::Dev, None)?.join("examples/standin");
    watch_interrupts()?;

    let homes = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
    let plugin = plugin_folder(homes.path(), &bin)?;
    let tmux = Tmux::start("longhaul-bench", homes.path(), homes.path(), 120, 40)?;
    let scene = Scene { bin: &bin, tmux: &tmux, standin: &standin, plugin: &plugin, homes: homes.path() };
    let mut subjects = Vec::new();
    let series = SERIES.iter().flat_map(|series| series.points.iter().map(|(_, row)| row));
    let rows: Vec<&Row> = ROWS.iter().chain(series.filter(|_| output == Output::Page)).collect();
    for (number, row) in rows.iter().enumerate() {
        subjects.push(Subject::new(&scene, row, number).with_context(|| row.name)?);
    }
    subjects.insert(0, Subject::empty(bin.join("empty"), &subjects[0]));

    writeln!(io::stderr(), "measuring {} programs in turn, {runs} runs each", subjects.len())?;
    let times = measure(&mut subjects, runs)?;
    let names = std::iter::once("an empty Rust program").chain(rows.iter().map(|row| row.name));
    let mut samples: Vec<Sample> = names.zip(times).map(|(name, times)| Sample::new(name, times)).collect();
    let empty = samples.remove(0);
    match output {
        Output::Table => report::print_table(&empty, &samples),
        Output::Json => report::print_json(&empty, &samples),
        Output::Page => {
            page::write(&workspace.root.join("docs"), &empty, &samples)?;
            report::print_table(&empty, &samples[..ROWS.len()])
        }
    }
}

fn measure(subjects: &mut [Subject], runs: usize) -> Result<Vec<Vec<Duration>>> {
    let mut times = vec![Vec::with_capacity(runs); subjects.len()];
    for run in 0..WARM_UP + runs {
        stage::check_interrupts()?;
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            subject.prepare()?;
            let took = subject.measure()?;
            subject.settle()?;
            if run >= WARM_UP {
                times.push(took);
            }
        }
    }
    Ok(times)
}
