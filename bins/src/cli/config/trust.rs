//! `longhaul config trust` and `untrust`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use longhaul_core::Env;
use longhaul_core::config::{Trust, Verdict};
use longhaul_runtime::Home;
use longhaul_runtime::project_file::{PROJECT_FILE, ProjectFile, TrustedNow, distrust, trusted_projects};
use serde_json::json;

use super::{Exit, out, project_folder};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder of the project; by default the current one
    #[arg(conflicts_with = "list")]
    folder: Option<PathBuf>,
    /// List the trusted projects
    #[arg(long)]
    list: bool,
    /// With --list, print a JSON array
    #[arg(long, requires = "list")]
    json: bool,
}

#[derive(clap::Args)]
pub(crate) struct UntrustArgs {
    /// The folder of the project; by default the current one
    folder: Option<PathBuf>,
}

/// The maximum number of characters of a value that are shown.
const MAX_VALUE: usize = 60;

pub(super) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let home = Home::of(env)?;
    if args.list {
        return list(&home, args.json);
    }
    let folder = project_folder(env, args.folder.as_deref())?;
    let file = ProjectFile::read(&folder)
        .with_context(|| format!("there is no file {PROJECT_FILE} in {}: nothing to trust", folder.display()))?;
    if file.folder.to_str().is_none() {
        bail!("the name of {} is not UTF-8: rename the folder to trust it", folder.display());
    }
    let (own, _) = longhaul_runtime::config(env)?;
    let reading = own.with_project(&file.text, Trust::Trusted);
    if let Some(problem) = &reading.problem {
        bail!("{} {problem}: nothing in it can be trusted", file.folder.join(PROJECT_FILE).display());
    }
    file.trust(&home, env.now.0)?;
    for value in &reading.values {
        let shown = value.shown(MAX_VALUE);
        out::text(&match &value.verdict {
            Verdict::InForce => format!("{} = {shown}", value.key),
            Verdict::NeedsTrust(why) | Verdict::Refused(why) => format!("{} = {shown} is refused: {why}", value.key),
        })?;
    }
    out::message(&format!("Trusted in {} until the file changes.", file.folder.display()));
    Ok(Exit::Success)
}

pub(super) fn withdraw(env: &Env, args: &UntrustArgs) -> anyhow::Result<Exit> {
    let folder = project_folder(env, args.folder.as_deref())?;
    if !distrust(&Home::of(env)?, &folder)? {
        out::message(&format!("{} was not trusted: `longhaul config trust --list` shows what is", folder.display()));
        return Ok(Exit::Problem);
    }
    out::message(&format!("No longer trusted in {}.", folder.display()));
    Ok(Exit::Success)
}

fn list(home: &Home, as_json: bool) -> anyhow::Result<Exit> {
    let state = |now: TrustedNow| match now {
        TrustedNow::Unchanged => "trusted",
        TrustedNow::Changed => "changed",
        TrustedNow::Gone => "gone",
    };
    let trusted = trusted_projects(home);
    if as_json {
        let rows = trusted.iter().map(|(folder, at, now)| json!({ "folder": folder, "at": at, "state": state(*now) }));
        out::json(&rows.collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    for (folder, _, now) in &trusted {
        out::text(&format!("{:<8} {}", state(*now), folder.display()))?;
    }
    if trusted.is_empty() {
        out::message("No project is trusted.");
    }
    Ok(Exit::Success)
}
