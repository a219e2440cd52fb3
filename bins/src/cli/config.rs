//! `longhaul config`: shows, checks and changes the configuration.

mod edit;
mod show;
mod trust;

use std::path::{Path, PathBuf};

use anyhow::Context;
use longhaul_core::config::{Trust, Verdict};
use longhaul_core::{Config, Env};
use longhaul_runtime::project_file::{PROJECT_FILE, ProjectFile};

use super::{Exit, out};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Print the configuration that applies in this folder, and where each value comes from
    Show(show::Args),
    /// Set one value in the configuration file, such as `bookmarks.thresholds.min_tool_calls 20`; everything else in it stays
    Set(edit::SetArgs),
    /// Remove one value from the configuration file, so that its default is in force
    Unset(edit::UnsetArgs),
    /// Print the path of the configuration file, whether or not it exists
    Path,
    /// Print the JSON Schema of the configuration file
    Schema,
    /// Check the configuration file and that of the project in this folder; exit 1 if a value cannot be used
    Check,
    /// Trust the .claude/longhaul.json of a project until its content changes
    Trust(trust::Args),
    /// Stop trusting the .claude/longhaul.json of a project
    Untrust(trust::UntrustArgs),
}

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Show(args) => show::run(env, &args),
        Command::Set(args) => edit::set(env, &args),
        Command::Unset(args) => edit::unset(env, &args),
        Command::Path => {
            out::line(&config_path(env)?.display().to_string())?;
            Ok(Exit::Success)
        }
        Command::Schema => {
            out::json(&Config::json_schema())?;
            Ok(Exit::Success)
        }
        Command::Check => check(env),
        Command::Trust(args) => trust::run(env, &args),
        Command::Untrust(args) => trust::withdraw(env, &args),
    }
}

fn config_path(env: &Env) -> anyhow::Result<&Path> {
    env.config_path.as_deref().context("no configuration: set LONGHAUL_CONFIG, LONGHAUL_HOME or HOME")
}

/// Returns the folder of the project: the one that is named, that of the surrounding session, or the current folder.
fn project_folder(env: &Env, named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let current = || std::env::current_dir().context("the current folder does not exist any more: run this in another");
    match named.or(env.project_dir.as_deref()) {
        Some(folder) if folder.is_absolute() => Ok(folder.to_owned()),
        Some(folder) => Ok(current()?.join(folder)),
        None => current(),
    }
}

fn check(env: &Env) -> anyhow::Result<Exit> {
    let path = config_path(env)?;
    let text = longhaul_runtime::config_text(env)?;
    let (own, warnings) = text.map_or_else(Default::default, |text| Config::from_json(&text));
    for warning in &warnings {
        out::line(&longhaul_inject::printable(&warning.to_string()))?;
    }
    let mut problems = warnings.len();
    out::message(&format!("{}: {}", path.display(), verdict(problems, path.exists())));
    if let Some(file) = ProjectFile::read(&project_folder(env, None)?) {
        // This checks the values. Whether the file is trusted is shown by `config show`.
        let reading = own.with_project(&file.text, Trust::Trusted);
        let whole = reading.problem.map(|problem| format!("{PROJECT_FILE} {problem}"));
        let single = reading.values.iter().filter_map(|value| match &value.verdict {
            Verdict::Refused(why) => Some(format!("{PROJECT_FILE}: {}: {why}", value.key)),
            Verdict::InForce | Verdict::NeedsTrust(_) => None,
        });
        let found: Vec<String> = whole.into_iter().chain(single).collect();
        for problem in &found {
            out::text(problem)?;
        }
        out::message(&format!("{}: {}", file.folder.join(PROJECT_FILE).display(), verdict(found.len(), true)));
        problems += found.len();
    }
    Ok(if problems == 0 { Exit::Success } else { Exit::Problem })
}

fn verdict(problems: usize, exists: bool) -> String {
    match (problems, exists) {
        (0, true) => "no problems".to_owned(),
        (0, false) => "does not exist, every default is in force".to_owned(),
        (1, _) => "1 problem".to_owned(),
        (problems, _) => format!("{problems} problems"),
    }
}
