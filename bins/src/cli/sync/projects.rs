//! `longhaul sync share`, `unshare` and `projects`: which projects are exchanged.

use anyhow::{Context, bail};
use longhaul_core::{Env, Millis};
use longhaul_runtime::handoff::Project;
use longhaul_runtime::memory::folder_of;
use longhaul_runtime::sync::{ProjectOrigin, project_origin};
use longhaul_runtime::{Home, config, now};
use longhaul_store::SyncProject;
use longhaul_sync::{ProjectId, normalised_url};
use serde_json::json;

use super::super::{Exit, out, paint};
use super::circle;

#[derive(clap::Args)]
pub(crate) struct ShareArgs {
    /// Also share what was recorded before now
    #[arg(long)]
    past: bool,
    /// A name for the project, the same on every machine; required if the project has no git remote
    #[arg(long)]
    name: Option<String>,
}

#[derive(clap::Args)]
pub(crate) struct ListArgs {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn share(env: &Env, args: &ShareArgs) -> anyhow::Result<Exit> {
    let (store, _) = circle(env)?;
    let dir = std::env::current_dir().context("cannot find the current folder")?;
    let project = Project::of(env, Some(&dir));
    let (config, _) = config(env)?;
    if longhaul_runtime::memory::is_excluded(&config.memory, env, project.path.as_ref()) {
        bail!("{} is excluded from the memory by memory.exclude: there is nothing to share", project.name);
    }
    let origin = match &args.name {
        Some(name) => ProjectOrigin::Name(name.clone()),
        None => project_origin(env, &Home::of(env)?, &dir).context(
            "cannot recognise this project on other machines: give it a name with --name NAME, the same on each of them",
        )?,
    };
    let (id, name) = match &origin {
        ProjectOrigin::Remote { url, root_commit } => (ProjectId::of_remote(url, root_commit), project.name.clone()),
        ProjectOrigin::Name(name) if name.trim().is_empty() => bail!("the name is empty"),
        ProjectOrigin::Name(name) => (ProjectId::of_name(name), name.trim().to_owned()),
    };
    let since = if args.past { Millis(0) } else { now(env) };
    store.share_project(id, &project.key, &name, since)?;
    // A folder can claim any address, so the user is shown it, without a user name or a password.
    let claimed = match &origin {
        ProjectOrigin::Remote { url, .. } => format!(" as {}", normalised_url(url)),
        ProjectOrigin::Name(_) => String::new(),
    };
    let from =
        if args.past { "everything that was recorded" } else { "what is recorded from now on; --past adds the rest" };
    out::line(&paint::harmless(&format!("{name} is shared{claimed}: {from}.")))?;
    Ok(Exit::Success)
}

pub(crate) fn unshare(env: &Env) -> anyhow::Result<Exit> {
    let (store, _) = circle(env)?;
    let dir = std::env::current_dir().context("cannot find the current folder")?;
    let project = Project::of(env, Some(&dir));
    if !store.unshare_project(&project.key)? {
        bail!("{} is not shared", project.name);
    }
    out::line(&paint::harmless(&format!(
        "{} is not shared any more. The other machines keep what was sent; what was not sent yet stays here.",
        project.name
    )))?;
    Ok(Exit::Success)
}

pub(crate) fn list(env: &Env, args: &ListArgs) -> anyhow::Result<Exit> {
    let (store, _) = circle(env)?;
    let projects = store.sync_projects()?;
    if args.json {
        let entry = |project: &SyncProject| {
            json!({
                "name": project.name,
                "shared": project.is_shared,
                "folder": project.project_key.as_deref().map(folder_of),
                "since": project.since.0,
                "waiting": project.waiting,
            })
        };
        out::json(&projects.iter().map(entry).collect::<Vec<_>>())?;
    } else if projects.is_empty() {
        out::message("No project is shared. Run `longhaul sync share` in one.");
    } else {
        let header = ["PROJECT", "SHARED HERE", "WAITING", "FOLDER"].map(str::to_owned);
        let row = |project: &SyncProject| {
            let shared = if project.is_shared { "yes" } else { "no" };
            let waiting = if project.waiting == 0 { String::new() } else { project.waiting.to_string() };
            let folder = project.project_key.as_deref().map_or_else(|| "-".to_owned(), folder_of);
            [paint::harmless(&project.name), shared.to_owned(), waiting, paint::harmless(&folder)]
        };
        let rows: Vec<[String; 4]> = std::iter::once(header).chain(projects.iter().map(row)).collect();
        for line in paint::columns(&rows, &[2]) {
            out::line(&line)?;
        }
    }
    Ok(Exit::Success)
}
