//! `longhaul doctor`: prints the findings of `longhaul_setup::doctor`.

use anyhow::{Context, bail};
use longhaul_core::{Env, counted};
use longhaul_runtime::{Home, Shell};
use longhaul_setup::doctor::{Finding, Level, SessionFacts, about, examine};

use super::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Check only the sessions whose ids begin with ID
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let found = match &args.session {
        Some(prefix) => sessions(env, prefix)?,
        None => everything(env)?,
    };
    if args.json {
        out::json(&found)?;
    } else {
        show(&found)?;
    }
    let is_broken = found.iter().any(|finding| finding.level == Level::Broken);
    Ok(if is_broken { Exit::Problem } else { Exit::Success })
}

fn everything(env: &Env) -> anyhow::Result<Vec<Finding>> {
    let exe = std::env::current_exe().context("cannot find the path of this executable")?;
    let folder = std::env::current_dir().context("the current folder does not exist any more: run this in another")?;
    Ok(examine(env, &Shell::read(), &exe, &folder)?)
}

fn sessions(env: &Env, prefix: &str) -> anyhow::Result<Vec<Finding>> {
    let facts = SessionFacts::collect(&Home::of(env)?, prefix);
    if facts.is_empty() {
        bail!("no session has an id that begins with {prefix:?}");
    }
    Ok(facts.iter().flat_map(|facts| about(facts, env.now.0)).collect())
}

fn show(found: &[Finding]) -> anyhow::Result<()> {
    for finding in found {
        out::text(&format!("{:<8} {:<12} {}", finding.level.as_str(), finding.check, finding.what))?;
        if let Some(fix) = &finding.fix {
            out::text(&format!("{:<8} {:<12} -> {fix}", "", ""))?;
        }
    }
    let count = |level| found.iter().filter(|finding| finding.level == level).count();
    out::message(&match (count(Level::Broken), count(Level::Warning)) {
        (0, 0) => "No problems found.".to_owned(),
        (broken, warnings) => format!("{broken} broken, {}.", counted(warnings, "warning")),
    });
    Ok(())
}
