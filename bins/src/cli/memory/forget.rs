//! `longhaul memory forget`: deletes records, or everything of a session or project.

use anyhow::Result;
use longhaul_runtime::memory::folder_of;
use longhaul_store::{RecordId, Store};
use serde_json::json;

use super::ids;
use super::open_memory::Memory;
use super::upkeep::forget_files;
use crate::cli::ask::confirm;
use crate::cli::sessions::only_one;
use crate::cli::{Exit, out};

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Args {
    /// Records: P12 (prompt), O345 or 345 (observation), S6 (summary)
    #[arg(value_name = "ID", group = "what")]
    ids: Vec<String>,
    /// Delete everything of the session whose id begins with ID
    #[arg(long, value_name = "ID", group = "what")]
    session: Option<String>,
    /// Delete everything of one project; NAME is its name, or the path of a folder in it; what contains a slash (./shop) is a path
    #[arg(long, value_name = "NAME", group = "what")]
    project: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(memory: &Memory<'_>, args: &Args) -> Result<Exit> {
    let store = memory.to_delete_from()?;
    if let Some(prefix) = &args.session {
        let id = only_one(prefix, store.session_ids_like(prefix)?, String::as_str)?;
        confirm(&format!("Delete everything of session {id}?"), args.yes)?;
        store.forget_session(&id, memory.env.now)?;
        memory.remove_handoffs(|session| session == id);
        forget_files(memory)?;
        return report(args, &format!("Deleted session {id}."), &json!({ "session": id }));
    }
    if let Some(name) = &args.project {
        let project = memory.named(&store, name)?;
        let folder = folder_of(&project.key);
        confirm(&format!("Delete everything of {folder}, {} sessions?", project.sessions), args.yes)?;
        let known: Vec<String> = store.session_ids(&project.key)?;
        let sessions = store.forget_project(&project.key, memory.env.now)?;
        memory.remove_handoffs(|session| known.iter().any(|id| id == session));
        forget_files(memory)?;
        let what = json!({ "project": project.key, "sessions": sessions });
        return report(args, &format!("Deleted {folder}: {sessions} sessions."), &what);
    }
    records(&store, args)
}

fn records(store: &Store, args: &Args) -> Result<Exit> {
    let wanted = args.ids.iter().map(|id| ids::parse(id)).collect::<Result<Vec<RecordId>>>()?;
    let there: Vec<RecordId> = store.records(&wanted)?.iter().map(|record| record.record).collect();
    let names = |ids: &[RecordId]| ids.iter().map(RecordId::to_string).collect::<Vec<_>>();
    let missing: Vec<RecordId> = wanted.iter().copied().filter(|id| !there.contains(id)).collect();
    if !there.is_empty() {
        let asked = there.len();
        let lines = store.records(&there)?;
        for record in lines.iter().filter(|_| !args.yes) {
            out::message(super::render::record(record).lines().next().unwrap_or_default());
        }
        confirm(
            &format!(
                "Delete {}?",
                if asked == 1 { "this record".to_owned() } else { format!("these {asked} records") }
            ),
            args.yes,
        )?;
    }
    let mut gone = Vec::new();
    for id in there {
        if store.forget(id)? {
            gone.push(id);
        }
    }
    if !gone.is_empty() || args.json {
        report(args, &format!("Deleted {}.", names(&gone).join(", ")), &json!({ "records": names(&gone) }))?;
    }
    for id in &missing {
        out::message(&format!("longhaul: {}", ids::unknown(*id)));
    }
    Ok(if missing.is_empty() { Exit::Success } else { Exit::Problem })
}

fn report(args: &Args, message: &str, what: &serde_json::Value) -> Result<Exit> {
    if args.json {
        out::json(&json!({ "forgot": what }))?;
    } else {
        out::message(message);
    }
    Ok(Exit::Success)
}
