//! Plans an uninstallation: everything that an installation may have done, whether or not the manifest records it.

use crate::current_state::{CurrentState, Link, TmuxServer};
use crate::install::{InstallPlan, edit, no_client, unregister};
use crate::step::{Edit, InstallStep, WhenEmpty};
use crate::{ID, MARKETPLACE, Result, tmux};

/// What happens to the user's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// It stays.
    Keep,
    /// It is deleted.
    Purge,
}

/// Members of settings.json that Claude Code adds for plugins, and leaves behind.
const PLUGIN_SETTINGS: [&str; 2] = ["enabledPlugins", "extraKnownMarketplaces"];

/// Plans an uninstallation.
pub fn plan(state: &CurrentState, data: Data) -> Result<InstallPlan> {
    let mut plan = InstallPlan::default();
    if state.tmux_server == TmuxServer::SetUp {
        plan.steps.push(InstallStep::TearDownTmux);
    }
    if state.worker_runs {
        plan.steps.push(InstallStep::StopWorker);
    }
    unregister(state, &mut plan);
    if state.client.is_none() && state.leftovers.contains(&state.paths.cache()) {
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
        edit(&mut plan, &state.paths.config, text.as_deref(), Edit::RemoveNotifications)?;
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
    edit(plan, path, text, Edit::RemoveHooks)?;
    edit(plan, path, text, Edit::RemoveStatusLine)?;
    if let Some(manifest) = &state.manifest {
        let (before, when_empty) = match &manifest.settings_before {
            Some(names) => (names.clone(), WhenEmpty::Keep),
            None => (Vec::new(), WhenEmpty::Remove),
        };
        let added = PLUGIN_SETTINGS.iter().map(|name| (*name).to_owned()).filter(|name| !before.contains(name));
        plan.steps.push(InstallStep::Edit(path.clone(), Edit::RemoveEmpty(added.collect(), when_empty)));
    }
    Ok(())
}

/// Plans to take the chords out of keybindings.json.
fn restore_keybindings(state: &CurrentState, plan: &mut InstallPlan) -> Result<()> {
    let path = &state.paths.keybindings;
    match &state.keybindings {
        Ok(text) => {
            let added = state.manifest.as_ref().map(|manifest| manifest.added_chords.clone());
            let remove = Edit::RemoveChords { before: state.keybindings_before.clone(), added };
            edit(plan, path, text.as_deref(), remove)?;
        }
        Err(why) => plan.notes.push(format!("{} {why}: it was not changed.", path.display())),
    }
    Ok(())
}

/// Plans to take the line out of every tmux.conf.
fn restore_tmux_confs(state: &CurrentState, plan: &mut InstallPlan) -> Result<()> {
    for (path, text) in &state.tmux_confs {
        edit(plan, path, Some(text), Edit::RemoveTmuxLine)?;
        if tmux::is_set_up(text) && tmux::without_line(text).is_none() {
            plan.notes.push(format!("{} has a line of your own that runs longhaul: remove it.", path.display()));
        }
    }
    Ok(())
}

/// Plans to remove the installed files, the folders that were created for them, and the data if that is wanted.
fn remove_files(state: &CurrentState, data: Data, plan: &mut InstallPlan) {
    let paths = &state.paths;
    plan.steps.extend(state.leftovers.iter().cloned().map(InstallStep::Remove));
    if matches!(state.link, Link::Ours(_)) {
        plan.steps.push(InstallStep::Remove(paths.link.clone()));
    }
    match (&state.data, data) {
        (Some(contents), Data::Purge) => {
            plan.steps.extend(contents.iter().cloned().map(InstallStep::Remove));
            plan.steps.push(InstallStep::RemoveIfEmpty(paths.data.dir().to_owned()));
        }
        (Some(_), Data::Keep) => {
            plan.notes.push(format!("Your data stays in {}; --purge deletes it.", paths.data.dir().display()));
        }
        (None, _) => {}
    }
    if state.has_lib {
        plan.steps.push(InstallStep::Remove(paths.lib.clone()));
    }
    let made = state.manifest.iter().flat_map(|manifest| manifest.made_dirs.iter().rev());
    plan.steps.extend(made.cloned().map(InstallStep::RemoveIfEmpty));
}
