//! `longhaul config`: shows, checks and changes the configuration.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use longhaul_core::config::{
    Explained, Explanation, Origin, Setting, Trust, Verdict, explain, with_setting, without_setting,
};
use longhaul_core::{Config, Env};
use longhaul_inject::printable;
use longhaul_runtime::Home;
use longhaul_runtime::project_file::{
    Consent, GOES_ON, PROJECT_FILE, ProjectFile, TrustedNow, distrust, switches_on, trusted_projects,
};
use longhaul_runtime::shared_file::{self, Backup, NewFile};
use serde_json::{Value, json};

use super::{Exit, out};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Print the configuration that applies in this folder, and where each value comes from
    Show {
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Set one value in the configuration file, such as `bookmarks.thresholds.min_tool_calls 20`; everything else in it stays
    Set {
        /// The key, as `longhaul config show` lists it
        key: String,
        /// The value: a number, true, false, a text, or JSON
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
    /// Remove one value from the configuration file, so that its default is in force
    Unset {
        /// The key, as `longhaul config show` lists it
        key: String,
    },
    /// Print the path of the configuration file, whether or not it exists
    Path,
    /// Print the JSON Schema of the configuration file
    Schema,
    /// Check the configuration file and that of the project in this folder; exit 1 if a value cannot be used
    Check,
    /// Trust the .claude/longhaul.json of a project until its content changes
    Trust(TrustArgs),
    /// Stop trusting the .claude/longhaul.json of a project
    Untrust {
        /// The folder of the project; by default the current one
        folder: Option<PathBuf>,
    },
}

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Show { json } => show(env, json)?,
        Command::Set { key, value } => set(env, &key, &value)?,
        Command::Unset { key } => return unset(env, &key),
        Command::Path => out::line(&config_path(env)?.display().to_string())?,
        Command::Schema => out::json(&Config::json_schema())?,
        Command::Check => return check(env),
        Command::Trust(args) => trust(env, &args)?,
        Command::Untrust { folder } => return withdraw(env, folder.as_deref()),
    }
    Ok(Exit::Success)
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
        out::line(&printable(&warning.to_string()))?;
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

fn show(env: &Env, as_json: bool) -> anyhow::Result<()> {
    let home = Home::of(env)?;
    let own = longhaul_runtime::config_text(env)?;
    let file = ProjectFile::read(&project_folder(env, None)?);
    let consent = file.as_ref().map_or(Consent::None, |file| file.consent(&home));
    let explanation = explain(own.as_deref(), file.as_ref().map(|file| (file.text.as_str(), consent.trust())));
    for warning in &explanation.warnings {
        out::message(&format!("longhaul: {warning}"));
    }
    if as_json {
        return out::json(&to_json(env, &explanation, file.as_ref(), consent));
    }
    print_settings(env, &explanation)?;
    out::message(&format!("user: {}", config_path(env)?.display()));
    if let Some(file) = &file {
        let path = file.folder.join(PROJECT_FILE);
        out::message(&format!("project: {}: {}", path.display(), about(&explanation, consent)));
    }
    Ok(())
}

fn print_settings(env: &Env, explanation: &Explanation) -> anyhow::Result<()> {
    let width = explanation.values.iter().map(|value| value.key.len()).max().unwrap_or_default();
    out::text(&format!("{:<width$}  {:<11}  VALUE", "KEY", "FROM"))?;
    for value in &explanation.values {
        out::text(&format!("{:<width$}  {:<11}  {}", value.key, value.origin.as_str(), value.value))?;
        for (from, note) in notes(value) {
            out::text(&format!("{:<width$}  {from:<11}  {note}", ""))?;
        }
    }
    // Keys of the project's file that do not exist have no row above.
    for (key, asked, why) in unknown_keys(explanation) {
        out::text(&format!("{key:<width$}  {:<11}  {asked} is refused: {why}", Origin::Project.as_str()))?;
    }
    for (name, effect) in environment(env) {
        out::text(&format!("{name:<width$}  {:<11}  1: {effect}", "environment"))?;
    }
    Ok(())
}

/// Returns the values that have no effect, each with the file that sets it.
fn notes(value: &Explained) -> Vec<(&'static str, String)> {
    let own = value.problem.iter().map(|problem| (Origin::User.as_str(), problem.clone()));
    let refused = value
        .refused
        .iter()
        .map(|(asked, why)| (Origin::Project.as_str(), format!("{} is refused: {why}", short(asked))));
    own.chain(refused).collect()
}

/// Returns the values in the project's file whose keys do not exist.
fn unknown_keys(explanation: &Explanation) -> impl Iterator<Item = (&str, String, &str)> {
    let values = explanation.project.iter().flat_map(|project| &project.values);
    values.filter_map(|value| match &value.verdict {
        Verdict::Refused(why) if explanation.values.iter().all(|known| known.key != value.key) => {
            Some((value.key.as_str(), value.shown(MAX_VALUE), why.as_str()))
        }
        Verdict::Refused(_) | Verdict::InForce | Verdict::NeedsTrust(_) => None,
    })
}

/// The maximum number of characters of a project's value that are shown.
const MAX_VALUE: usize = 60;

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the environment variables that are set and change the behaviour, each with its effect.
fn environment(env: &Env) -> Vec<(&'static str, &'static str)> {
    let all = [
        (env.disabled, "LONGHAUL_DISABLE", "the hooks do nothing"),
        (env.no_auto_handoff, "LONGHAUL_DISABLE_AUTO_HANDOFF", "only a baton that you wrote is passed on"),
        (env.no_reap, "LONGHAUL_NO_REAP", "sessions that seem to be dead stay in the list"),
    ];
    all.into_iter().filter(|(is_set, ..)| *is_set).map(|(_, name, effect)| (name, effect)).collect()
}

/// Returns whether a project's file is trusted, or why it cannot be used.
fn about(explanation: &Explanation, consent: Consent) -> String {
    let project = explanation.project.as_ref();
    if let Some(problem) = project.and_then(|project| project.problem.as_ref()) {
        return problem.clone();
    }
    let waits = project.is_some_and(|project| project.waiting().next().is_some());
    match consent {
        Consent::Given => "trusted".to_owned(),
        Consent::Outdated if waits => {
            "changed since you trusted it: `longhaul config trust` trusts it again".to_owned()
        }
        Consent::None if waits => "not trusted: `longhaul config trust` allows its values".to_owned(),
        Consent::Outdated | Consent::None => "not trusted, but nothing in it needs trust".to_owned(),
    }
}

fn to_json(env: &Env, explanation: &Explanation, file: Option<&ProjectFile>, consent: Consent) -> Value {
    let values = explanation.values.iter().map(|value| {
        json!({
            "key": value.key,
            "value": value.value,
            "from": value.origin.as_str(),
            "problem": value.problem,
            "refused": value.refused.as_ref().map(|(asked, why)| json!({ "value": asked, "why": why })),
        })
    });
    let unknown = unknown_keys(explanation).map(|(key, asked, why)| json!({ "key": key, "value": asked, "why": why }));
    let project = file.map(|file| {
        json!({
            "file": file.folder.join(PROJECT_FILE),
            "sha256": file.hash,
            "trusted": consent == Consent::Given,
            "changed_since_trusted": consent == Consent::Outdated,
            "problem": explanation.project.as_ref().and_then(|project| project.problem.clone()),
            "unknown": unknown.collect::<Vec<_>>(),
        })
    });
    json!({
        "config": explanation.config.to_json(),
        "values": values.collect::<Vec<_>>(),
        "user_file": env.config_path,
        "project": project,
        "environment": environment(env).into_iter().map(|(name, effect)| json!({ "name": name, "effect": effect })).collect::<Vec<_>>(),
    })
}

fn set(env: &Env, key: &str, value: &str) -> anyhow::Result<()> {
    let path = config_path(env)?;
    let in_force = RefCell::new(Value::Null);
    change(path, |text| {
        let (new, value) = with_setting(text, key, value)?;
        in_force.replace(value);
        Ok((text != Some(&new)).then_some(new))
    })?;
    out::text(&format!("{key} = {}", in_force.into_inner()))
}

fn unset(env: &Env, key: &str) -> anyhow::Result<Exit> {
    let path = config_path(env)?;
    if !change(path, |text| without_setting(text, key))? {
        out::message(&format!("{key} is not set in {}: its default is in force", path.display()));
        return Ok(Exit::Problem);
    }
    out::message(&format!("{key} has its default again."));
    Ok(Exit::Success)
}

/// Changes the file, or says why it was not changed.
fn change(path: &Path, edit: impl Fn(Option<&str>) -> Result<Option<String>, String>) -> anyhow::Result<bool> {
    shared_file::change(path, (Backup::None, NewFile::Private), |text| {
        edit(text).map_err(|why| anyhow::anyhow!("{} was not changed: {why}", path.display()))
    })
}

#[derive(clap::Args)]
pub(crate) struct TrustArgs {
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

fn trust(env: &Env, args: &TrustArgs) -> anyhow::Result<()> {
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
            Verdict::InForce if switches_on(&own, value) => format!("{} = {shown} {GOES_ON}", value.key),
            Verdict::InForce => format!("{} = {shown}", value.key),
            Verdict::NeedsTrust(why) | Verdict::Refused(why) => format!("{} = {shown} is refused: {why}", value.key),
        })?;
    }
    out::message(&format!("Trusted in {} until the file changes.", file.folder.display()));
    Ok(())
}

fn withdraw(env: &Env, folder: Option<&Path>) -> anyhow::Result<Exit> {
    let folder = project_folder(env, folder)?;
    if !distrust(&Home::of(env)?, &folder)? {
        out::message(&format!("{} was not trusted: `longhaul config trust --list` shows what is", folder.display()));
        return Ok(Exit::Problem);
    }
    out::message(&format!("No longer trusted in {}.", folder.display()));
    Ok(Exit::Success)
}

fn list(home: &Home, as_json: bool) -> anyhow::Result<()> {
    let state = |now: TrustedNow| match now {
        TrustedNow::Unchanged => "trusted",
        TrustedNow::Changed => "changed",
        TrustedNow::Gone => "gone",
    };
    let trusted = trusted_projects(home);
    let json =
        |(folder, at, now): &(PathBuf, u64, TrustedNow)| json!({ "folder": folder, "at": at, "state": state(*now) });
    out::list(as_json, &trusted, json, "No project is trusted.", || {
        let line = |(folder, _, now): &(PathBuf, u64, TrustedNow)| {
            printable(&format!("{:<8} {}", state(*now), folder.display()))
        };
        trusted.iter().map(line).collect()
    })
}
