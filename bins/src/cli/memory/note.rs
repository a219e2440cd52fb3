//! `longhaul memory save`.

use std::io::Read;

use anyhow::{Context, Result, bail};
use longhaul_core::cut_text::cut_middle;
use longhaul_core::one_line;
use longhaul_memory::{RESPONSE_CHARS, TITLE_CHARS};
use longhaul_runtime::Sanitizer;
use longhaul_runtime::memory::is_excluded;
use longhaul_store::{NewNote, RecordId, What};
use serde_json::json;

use super::place::Memory;
use crate::cli::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to remember; `-` reads it from standard input
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// It in one line, instead of its first
    #[arg(long)]
    title: Option<String>,
    /// The project of this name, or in this folder, instead of the one here
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// A text that is to be remembered, as it came.
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

/// Remembers a text, without what is private or secret in it.
pub(crate) fn save(memory: &Memory<'_>, new: &NewText<'_>) -> Result<RecordId> {
    memory.must_be_on()?;
    memory.must_be_public()?;
    let sanitizer = Sanitizer::new(&memory.config);
    let text = sanitizer.clean(new.text);
    let text = text.trim();
    if text.is_empty() {
        bail!("there is nothing to save: what is private is left out, and nothing else is there");
    }
    let title = new.title.map(|title| sanitizer.clean(title)).filter(|title| !title.trim().is_empty());
    let title = title_of(title.as_deref().unwrap_or(text));
    let here = memory.here();
    if new.project.is_none() && is_excluded(&memory.config.memory, memory.env, here.path.as_ref()) {
        bail!("{} is not to be remembered: memory.exclude in the config says so", here.path);
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
