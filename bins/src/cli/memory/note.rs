//! `longhaul memory save`: stores a note.

use std::io::Read;

use anyhow::{Context, Result, bail};
use longhaul_core::one_line;
use longhaul_core::text::cut_middle;
use longhaul_memory::{RESPONSE_CHARS, TITLE_CHARS};
use longhaul_runtime::Sanitizer;
use longhaul_runtime::memory::is_excluded;
use longhaul_store::{NewNote, RecordId, What};
use serde_json::json;

use super::open_memory::Memory;
use crate::cli::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
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

pub(crate) fn run(memory: &Memory<'_>, args: Args) -> Result<Exit> {
    let mut text = args.text.join(" ");
    if text == "-" {
        text.clear();
        std::io::stdin().lock().read_to_string(&mut text).context("cannot read standard input as text")?;
    }
    let new = NewText { text: &text, title: args.title.as_deref(), project: args.project.as_deref() };
    let id = save(memory, &new)?;
    if args.json {
        out::json(&json!({ "id": id.to_string() }))?;
    } else {
        out::line(&id.to_string())?;
    }
    Ok(Exit::Success)
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
