//! `longhaul config show`: the configuration in force, and where each value comes from.

use longhaul_core::Env;
use longhaul_core::config::{Explained, Explanation, Origin, Setting, Verdict, explain};
use longhaul_runtime::Home;
use longhaul_runtime::project_file::{Consent, PROJECT_FILE, ProjectFile};
use serde_json::{Value, json};

use super::{Exit, config_path, out, project_folder};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let home = Home::of(env)?;
    let own = longhaul_runtime::config_text(env)?;
    let file = ProjectFile::read(&project_folder(env, None)?);
    let consent = file.as_ref().map_or(Consent::None, |file| file.consent(&home));
    let explanation = explain(own.as_deref(), file.as_ref().map(|file| (file.text.as_str(), consent.trust())));
    for warning in &explanation.warnings {
        out::message(&format!("longhaul: {warning}"));
    }
    if args.json {
        out::json(&as_json(env, &explanation, file.as_ref(), consent))?;
    } else {
        show(env, &explanation)?;
        out::message(&format!("user: {}", config_path(env)?.display()));
        if let Some(file) = &file {
            let path = file.folder.join(PROJECT_FILE);
            out::message(&format!("project: {}: {}", path.display(), about(&explanation, consent)));
        }
    }
    Ok(Exit::Success)
}

fn show(env: &Env, explanation: &Explanation) -> anyhow::Result<()> {
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

fn as_json(env: &Env, explanation: &Explanation, file: Option<&ProjectFile>, consent: Consent) -> Value {
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
