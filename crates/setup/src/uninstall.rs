//! Plans an uninstallation: everything that an installation may have done, whether or not the manifest records it.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_runtime::shared_file;

use crate::current_state::{CurrentState, InstallPaths, Link, TmuxServer, names};
use crate::install::{InstallPlan, no_client, unregister};
use crate::step::{Edit, InstallStep};
use crate::{ID, MARKETPLACE, PLUGIN, Result, keybindings, settings, tmux};

/// What happens to the user's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    Keep,
    Purge,
}

/// Members of settings.json that Claude Code adds for plugins, and leaves behind.
const PLUGIN_SETTINGS: [&str; 2] = ["enabledPlugins", "extraKnownMarketplaces"];

pub fn plan(state: &CurrentState, data: Data) -> Result<InstallPlan> {
    let mut plan = InstallPlan::default();
    if state.tmux_server == TmuxServer::SetUp {
        plan.steps.push(InstallStep::TearDownTmux);
    }
    if state.worker_runs {
        plan.steps.push(InstallStep::StopWorker);
    }
    unregister(state, &mut plan);
    if state.client.is_none() && state.paths.cache().exists() {
        plan.notes.push(format!(
            "{}, run `claude plugin uninstall {ID}` and `claude plugin marketplace remove {MARKETPLACE}`.",
            no_client(state)
        ));
    }
    restore_settings(state, &mut plan)?;
    restore_keybindings(state, &mut plan)?;
    restore_tmux_confs(state, &mut plan)?;
    if let Ok(text) = &state.config {
        // Before the data is deleted, of which the configuration is usually a part.
        let remove = Edit::removal("disable notifications in", settings::without_notifications);
        plan.edit(&state.paths.config, text.as_deref(), remove)?;
    }
    remove_files(state, data, &mut plan);
    if state.running_clients > 0 {
        plan.notes.push("Running sessions still call the hooks, which are removed: restart them.".to_owned());
    }
    Ok(plan)
}

/// Plans to take the hooks and the status line out of settings.json, and what Claude Code has added for the plugin.
fn restore_settings(state: &CurrentState, plan: &mut InstallPlan) -> Result<()> {
    let (path, text) = (&state.paths.settings, state.settings.as_deref());
    plan.edit(path, text, settings::removal_of_hooks())?;
    plan.edit(path, text, Edit::removal("restore the status line in", settings::without_status_line))?;
    if let Some(manifest) = &state.manifest {
        let before = manifest.settings_before.clone();
        let is_added = |name: &&str| before.iter().flatten().all(|known| known != name);
        let added: Vec<String> = PLUGIN_SETTINGS.into_iter().filter(is_added).map(str::to_owned).collect();
        let remove = Edit::removal("remove empty plugin settings from", move |old| {
            let left = settings::without_empty(old, &added)?;
            if before.is_some() && left.as_deref() == Some("") {
                // The file existed before, without any settings.
                return Ok((!settings::names(old).is_empty()).then(|| "{}\n".to_owned()));
            }
            Ok(left)
        });
        plan.steps.push(InstallStep::Edit(path.clone(), remove));
    }
    Ok(())
}

/// Plans to take the chords out of keybindings.json.
fn restore_keybindings(state: &CurrentState, plan: &mut InstallPlan) -> Result<()> {
    let path = &state.paths.keybindings;
    match &state.keybindings {
        Ok(text) => {
            let added = state.manifest.as_ref().map(|manifest| manifest.added_chords.clone());
            let before = shared_file::read(&backup_of(path)).ok().flatten();
            let remove = Edit::removal("remove the key bindings from", move |text| {
                keybindings::without_chords(text, before.as_deref(), added.as_deref())
            });
            plan.edit(path, text.as_deref(), remove)?;
        }
        Err(why) => plan.notes.push(format!("{} {why}: it was not changed.", path.display())),
    }
    Ok(())
}

/// Plans to take the line out of every tmux.conf.
fn restore_tmux_confs(state: &CurrentState, plan: &mut InstallPlan) -> Result<()> {
    for (path, text) in &state.tmux_confs {
        plan.edit(path, Some(text), Edit::removal("remove the line from", |text| Ok(tmux::without_line(text))))?;
        if tmux::is_set_up(text) && tmux::without_line(text).is_none() {
            plan.notes.push(format!("{} has a line of your own that runs longhaul: remove it.", path.display()));
        }
    }
    Ok(())
}

/// Plans to remove the installed files, the folders that were created for them, and the data if that is wanted.
fn remove_files(state: &CurrentState, data: Data, plan: &mut InstallPlan) {
    let paths = &state.paths;
    plan.steps.extend(leftovers(paths).map(InstallStep::Remove));
    if matches!(state.link, Link::Ours(_)) {
        plan.steps.push(InstallStep::Remove(paths.link.clone()));
    }
    let folder = paths.data.dir();
    match data {
        _ if !folder.exists() => {}
        Data::Purge => {
            plan.steps.extend(paths.data.contents().into_iter().map(InstallStep::Remove));
            plan.steps.push(InstallStep::RemoveIfEmpty(folder.to_owned()));
        }
        Data::Keep => plan.notes.push(format!("Your data stays in {}; --purge deletes it.", folder.display())),
    }
    if paths.lib.exists() {
        plan.steps.push(InstallStep::Remove(paths.lib.clone()));
    }
    let made = state.manifest.iter().flat_map(|manifest| manifest.made_dirs.iter().rev());
    plan.steps.extend(made.cloned().map(InstallStep::RemoveIfEmpty));
}

/// Returns the files of installations outside their own folder: copies in Claude Code's folder, its logs of Longhaul's MCP
/// server (a folder for each project), and backups of changed files.
fn leftovers(paths: &InstallPaths) -> impl Iterator<Item = PathBuf> {
    let changed = paths.tmux_confs.iter().chain([&paths.settings, &paths.keybindings]).map(|path| backup_of(path));
    let data = paths.client_dir.join("plugins/data").join(ID.replace('@', "-"));
    let caches = [".cache", "Library/Caches"].map(|cache| paths.home.join(cache).join("claude-cli-nodejs"));
    let log = format!("mcp-logs-plugin-{PLUGIN}-{PLUGIN}");
    let projects = caches.iter().flat_map(|cache| names(cache).into_iter().map(|name| cache.join(name)));
    let logs: Vec<PathBuf> = projects.map(|project| project.join(&log)).collect();
    changed.chain([paths.cache(), data]).chain(logs).filter(|path| path.exists())
}

/// Returns the path of the backup of a file. If the file is a link, the backup is beside its target.
fn backup_of(path: &Path) -> PathBuf {
    shared_file::backup_of(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
}
