//! `longhaul config`.

use anyhow::Context;
use longhaul_core::config::Setting;
use longhaul_core::{Config, Env};

use super::{Exit, out};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Print the configuration in force, defaults included
    Show,
    /// Print where the configuration file is, or would be
    Path,
    /// Print the JSON Schema of the configuration file
    Schema,
    /// Check the configuration file; exit 1 if anything in it cannot be used
    Check,
}

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Show => {
            let (config, warnings) = longhaul_runtime::config(env)?;
            for warning in warnings {
                out::message(&format!("longhaul: {warning}"));
            }
            out::json(&config.to_json())?;
            Ok(Exit::Success)
        }
        Command::Path => {
            let path =
                env.config_path.as_ref().context("no configuration: set LONGHAUL_CONFIG, LONGHAUL_HOME or HOME")?;
            out::line(&path.display().to_string())?;
            Ok(Exit::Success)
        }
        Command::Schema => {
            out::json(&Config::json_schema())?;
            Ok(Exit::Success)
        }
        Command::Check => check(env),
    }
}

fn check(env: &Env) -> anyhow::Result<Exit> {
    let path = env.config_path.as_ref().context("no configuration: set LONGHAUL_CONFIG, LONGHAUL_HOME or HOME")?;
    let (_, warnings) = longhaul_runtime::config(env)?;
    for warning in &warnings {
        out::line(&longhaul_inject::printable(&warning.to_string()))?;
    }
    let exists = path.exists();
    let found = match (warnings.len(), exists) {
        (0, true) => format!("{}: all good", path.display()),
        (0, false) => format!("{}: not there, every default is in force", path.display()),
        (1, _) => format!("{}: 1 problem", path.display()),
        (problems, _) => format!("{}: {problems} problems", path.display()),
    };
    out::message(&found);
    Ok(if warnings.is_empty() { Exit::Success } else { Exit::Problem })
}
