//! `longhaul memory similar`: finds records by meaning only.

use anyhow::{Result, bail};
use longhaul_runtime::memory::meaning::{Effort, Meaning};
use longhaul_store::{Content, Record, RecordId};
use serde_json::{Value, json};

use super::open_memory::{Memory, ProjectFilter};
use crate::cli::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The text, in your own words
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    #[command(flatten)]
    projects: ProjectFilter,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = super::at_least_one())]
    limit: usize,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(memory: &Memory<'_>, args: &Args) -> Result<Exit> {
    let Some(meaning) = Meaning::open(memory.env, &memory.home, &memory.config)? else {
        bail!(
            "there is no model to compare meanings with: install a bundle with a model (`cargo xtask model` makes it), or \
             set memory.embeddings.endpoint; memory.embeddings.enabled must be true"
        )
    };
    let Some(store) = memory.existing()? else {
        out::message(super::nothing_found::EMPTY);
        return Ok(Exit::Problem);
    };
    let project = memory.key(&store, &args.projects)?;
    meaning.catch_up(&store, memory.env.now, Effort::Search)?;
    let near = meaning.nearest(&store, project.as_deref(), &args.text.join(" "), args.limit)?;
    let ids: Vec<RecordId> = near.iter().map(|(record, _)| *record).collect();
    let records = store.records(&ids)?;
    let similarity = |record: &Record| near.iter().find(|(id, _)| *id == record.record).map_or(0.0, |(_, near)| *near);
    if args.json {
        let with_similarity = |record: &Record| {
            let mut json = record.to_json();
            json["similarity"] = json!(similarity(record));
            json
        };
        out::json(&records.iter().map(with_similarity).collect::<Vec<Value>>())?;
    } else {
        let line =
            |record: &Record| format!("{:>6}  {:.2}  {}", record.record.to_string(), similarity(record), title(record));
        out::recorded_text(memory.env, &records.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    }
    if records.is_empty() {
        out::message("nothing found");
        return Ok(Exit::Problem);
    }
    Ok(Exit::Success)
}

/// Returns the first line of a record.
fn title(record: &Record) -> &str {
    let text = match &record.content {
        Content::Prompt { prompt, .. } => prompt,
        Content::Observation { observation, .. } => &observation.title,
        Content::Summary { summary, .. } => &summary.request,
    };
    text.trim_start().lines().next().unwrap_or_default()
}
