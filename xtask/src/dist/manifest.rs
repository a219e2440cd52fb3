//! plugin.json, marketplace.json and the README of a bundle.

use anyhow::Result;
use longhaul_core::catalog::{Job, MARKETPLACE};
use serde_json::{Value, json};

use super::bundle::Bundle;
use crate::codegen::{hook_table, pretty};
use crate::workspace::{PACKAGE, Workspace};

const AUTHOR: &str = "The Longhaul contributors";

/// Returns `.claude-plugin/plugin.json`.
pub(crate) fn plugin(bundle: Bundle, workspace: &Workspace) -> Result<String> {
    pretty(&json!({
        "name": bundle.name(),
        "version": workspace.version,
        "description": bundle.about(),
        "author": { "name": AUTHOR },
        "license": "MIT",
        "keywords": ["rewind", "bookmarks", "long sessions", "tmux"],
    }))
}

/// Returns `.codex-plugin/plugin.json`: the same plugin for Codex, with hooks of its own.
pub(crate) fn codex_plugin(workspace: &Workspace) -> Result<String> {
    pretty(&json!({
        "name": PACKAGE,
        "version": workspace.version,
        "description": "Shows Codex sessions beside Claude Code's in tmux, and remembers what they did",
        "author": { "name": AUTHOR },
        "license": "MIT",
        "hooks": "./hooks/codex.json",
        // The other skills are about features that Codex does not have.
        "skills": "./skills/memory/",
    }))
}

/// Returns `.claude-plugin/marketplace.json`.
pub(crate) fn marketplace(bundles: &[Bundle], workspace: &Workspace) -> Result<String> {
    let plugins: Vec<Value> = bundles
        .iter()
        .map(|bundle| {
            let name = bundle.name();
            json!({
                "source": format!("./{name}"),
                "name": name,
                "version": workspace.version,
                "description": bundle.about(),
                "author": { "name": AUTHOR },
            })
        })
        .collect();
    pretty(&json!({
        "name": MARKETPLACE,
        "owner": { "name": AUTHOR },
        "metadata": { "description": "Longhaul, whole or one job at a time", "version": workspace.version },
        "plugins": plugins,
    }))
}

/// Returns the README of a bundle with one job.
pub(crate) fn readme(job: Job) -> String {
    let (name, about) = (Bundle::Only(job).name(), job.about());
    let table = hook_table(Some(job));
    format!(
        "# {name}\n\n\
         {about}.\n\n\
         This is one job of {PACKAGE}, with only the hooks, executables, commands and skills that it needs. Install \
         either this or {PACKAGE}, not both: with both, every event would be handled twice.\n\n\
         ```\n\
         claude plugin marketplace add FOLDER\n\
         claude plugin install {name}@{MARKETPLACE}\n\
         ```\n\n\
         FOLDER is the folder that contains this bundle's folder.\n\n\
         {table}\n\
         Settings are read from `config.json` in the data folder. `bin/longhaul config path` prints its path; \
         `config.schema.json` describes all settings. Licence: MIT.\n"
    )
}

/// Returns `.claude-plugin/marketplace.json` with every bundle.
pub(crate) fn marketplace_of_all(workspace: &Workspace) -> Result<String> {
    marketplace(&Bundle::all(), workspace)
}
