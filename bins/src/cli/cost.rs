//! `longhaul cost`: what the sessions cost, as an estimate.

mod since;
mod table;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use longhaul_core::{Env, Millis};
use longhaul_cost::{By, Filter, PRICES_DATE, Prices, Report, Row};
use longhaul_runtime::local_days;
use longhaul_usage_reader::{AllUsage, sum_json, transcript_folders, usage_files};
use serde_json::{Value, json};

use super::{Exit, out};

/// The maximum number of files that are named in messages.
const MAX_NAMED: usize = 5;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What the sums are grouped by
    #[arg(long, value_enum, default_value = "day")]
    by: Group,
    /// Only requests since then: a day as YYYY-MM-DD, today, yesterday, 7d (the last seven days), 2w, or 12h
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// A folder with transcripts, instead of those of Claude Code and Codex
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// What the sums are grouped by.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Group {
    /// The day in local time
    Day,
    /// The project
    Project,
    /// The model
    Model,
    /// The session
    Session,
}

impl Group {
    fn by(self) -> By {
        match self {
            Self::Day => By::Day,
            Self::Project => By::Project,
            Self::Model => By::Model,
            Self::Session => By::Session,
        }
    }
}

pub(crate) fn run(env: &Env, args: &Args) -> Result<Exit> {
    let since = args.since.as_deref().map(|text| since::parse(text, env.now)).transpose()?;
    let (config, _) = longhaul_runtime::config(env)?;
    let usage = read(env, args, since)?;
    let filter = Filter { since, project: None };
    let report = usage.ledger.report(args.by.by(), &Prices::new(&config.cost.prices), &filter, local_days());
    for (path, error) in usage.failed.iter().take(MAX_NAMED) {
        out::message(&format!("longhaul: cannot read {}: {error}", path.display()));
    }
    let left_out = usage.skipped_lines() + usage.ledger.left_out();
    if left_out > 0 {
        out::message(&format!("longhaul: {left_out} lines are too long or too many, and were not counted"));
    }
    if args.json {
        out::json(&to_json(args, since, &report))?;
    } else if report.rows.is_empty() {
        out::message(match since {
            Some(_) => "No requests were found in the transcripts of that time.",
            None => {
                "No requests were found: there are no transcripts of Claude Code or Codex yet. --from DIR names another folder."
            }
        });
    } else {
        for line in table::lines(args.by.by(), &report) {
            out::line(&line)?;
        }
    }
    Ok(if usage.failed.is_empty() { Exit::Success } else { Exit::Problem })
}

/// Reads the transcripts that may contain requests since then.
fn read(env: &Env, args: &Args, since: Option<Millis>) -> Result<AllUsage> {
    let folders = args.from.clone().map_or_else(|| transcript_folders(env), |folder| vec![folder]);
    let Some(folder) = folders.first() else { bail!("no home directory: set HOME, or name a folder with --from DIR") };
    // Without a first session there is no folder yet. One that the user names must exist.
    if args.from.is_some() && !folder.is_dir() {
        bail!("there is no folder {}: name the one with the transcripts", folder.display());
    }
    let mut files = usage_files(&folders);
    // A file that was not changed since then contains no newer request.
    files.retain(|file| since.is_none_or(|since| file.modified >= since));
    Ok(AllUsage::read(&files))
}

fn to_json(args: &Args, since: Option<Millis>, report: &Report) -> Value {
    let name = args.by.to_possible_value().map(|value| value.get_name().to_owned());
    let row = |row: &Row| {
        let mut json = json!({ "key": row.key, "project": row.project, "models": row.models, "last_ms": row.last.0 });
        if let (Value::Object(row), Value::Object(sum)) = (&mut json, sum_json(&row.sum)) {
            row.extend(sum);
        }
        json
    };
    json!({
        "is_estimate": true,
        "prices_date": PRICES_DATE,
        "by": name,
        "since_ms": since.map(|since| since.0),
        "rows": report.rows.iter().map(row).collect::<Vec<_>>(),
        "total": sum_json(&report.total),
        "unknown_models": report.unknown_models,
    })
}
