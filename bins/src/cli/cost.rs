//! `longhaul cost`: what the sessions cost, as an estimate.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use longhaul_core::clock::Date;
use longhaul_core::{Env, Millis, short_session};
use longhaul_cost::{By, Filter, PRICES_DATE, Prices, Report, Row, Sum, sum_json};
use longhaul_inject::printable;
use longhaul_runtime::cost::{AllUsage, transcript_folders, usage_files};
use longhaul_runtime::{local_days, midnight};
use serde_json::{Value, json};

use super::paint::{self, fit, tokens};
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

impl From<Group> for By {
    fn from(group: Group) -> Self {
        match group {
            Group::Day => Self::Day,
            Group::Project => Self::Project,
            Group::Model => Self::Model,
            Group::Session => Self::Session,
        }
    }
}

pub(crate) fn run(env: &Env, args: &Args) -> Result<Exit> {
    let since = args.since.as_deref().map(|text| parse(text, env.now)).transpose()?;
    let (config, _) = longhaul_runtime::config(env)?;
    let usage = read(env, args, since)?;
    let filter = Filter { since, project: None };
    let report = usage.ledger.report(args.by.into(), &Prices::new(&config.models.prices), &filter, local_days());
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
        out::lines(&lines(args.by.into(), &report))?;
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

const HOUR_MS: u64 = 3_600_000;

/// The maximum of a number of hours, days or weeks.
const MAX: u64 = 100_000;

/// Parses a day, `today`, `yesterday`, or a number of hours (`12h`), days (`7d`) or weeks (`2w`) until now.
///
/// Days are whole days in local time, today included: `1d` is today.
pub(crate) fn parse(text: &str, now: Millis) -> Result<Millis> {
    let today = local_days()(now);
    let parsed = match text {
        "today" => Some(midnight(today)),
        "yesterday" => Some(midnight(today.yesterday())),
        _ => Date::parse(text).map(midnight).or_else(|| ago(text, now, today)),
    };
    parsed.with_context(|| format!("{text:?} is not a time: write 2026-01-31, today, yesterday, 12h, 7d or 2w"))
}

fn ago(text: &str, now: Millis, today: Date) -> Option<Millis> {
    let unit = text.chars().last().filter(char::is_ascii_alphabetic)?;
    let count: u64 = text[..text.len() - 1].parse().ok().filter(|count| (1..=MAX).contains(count))?;
    let days = match unit {
        'h' => return Some(Millis(now.0.saturating_sub(count * HOUR_MS))),
        'd' => count,
        'w' => count * 7,
        _ => return None,
    };
    let first = (1..days).fold(today, |date, _| date.yesterday());
    Some(midnight(first))
}

/// The maximum width of the name of a group.
const MAX_NAME: usize = 40;

/// Returns the lines of the table, with a heading that marks the numbers as an estimate.
pub(crate) fn lines(by: By, report: &Report) -> Vec<String> {
    let heading = match by {
        By::Day => "DAY",
        By::Project => "PROJECT",
        By::Model => "MODEL",
        By::Session => "SESSION",
    };
    let header = [heading, "REQUESTS", "INPUT", "OUTPUT", "CACHE WRITE", "CACHE READ", "TOKENS", "COST"];
    let rows = report.rows.iter().map(|row| cells(&name(by, row), &row.sum));
    let mut lines = vec![
        format!("Estimate by the prices of the Claude API of {PRICES_DATE}; a subscription is not paid by tokens."),
        String::new(),
    ];
    lines.extend(paint::table(header, rows.chain([cells("total", &report.total)]), &[1, 2, 3, 4, 5, 6, 7]));
    if !report.unknown_models.is_empty() {
        let models: Vec<String> = report.unknown_models.iter().map(|model| shown(model)).collect();
        lines.push(String::new());
        lines.push(format!(
            "The price of {} is not known: set it in the configuration, under models.",
            models.join(", ")
        ));
    }
    lines
}

fn name(by: By, row: &Row) -> String {
    let project = shown(row.project.as_deref().unwrap_or_default());
    match by {
        By::Day | By::Model => shown(&row.key),
        By::Project => project,
        By::Session => format!("{} {project}", shown(short_session(&row.key))),
    }
}

/// Returns text from a transcript, for a terminal.
fn shown(text: &str) -> String {
    fit(&printable(text), MAX_NAME)
}

fn cells(name: &str, sum: &Sum) -> [String; 8] {
    let counts = [sum.tokens.input, sum.tokens.output, sum.tokens.cache_write(), sum.tokens.cache_read];
    let [input, output, cache_write, cache_read] = counts.map(tokens);
    let requests = sum.requests.to_string();
    [name.to_owned(), requests, input, output, cache_write, cache_read, tokens(sum.tokens.total()), cost(sum)]
}

/// Returns the cost, such as `$1.20`; `$1.20 + ?` if the price of some of the tokens is not known.
fn cost(sum: &Sum) -> String {
    match sum.known_cost() {
        None => "unknown".to_owned(),
        Some(cost) if sum.unpriced_tokens > 0 => format!("${:.2} + ?", cost.dollars()),
        Some(cost) => format!("${:.2}", cost.dollars()),
    }
}

#[cfg(test)]
mod tests;
