//! What an uninstallation changes: all that an installation ever did, whether or not it was noted.

use crate::current_state::{Found, Link, TmuxServer};
use crate::install::{Plan, edit, no_client, unregister};
use crate::step::{Edit, Step, WhenEmpty};
use crate::{ID, MARKETPLACE, Result, tmux_conf};

/// What becomes of what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// It stays.
    Keep,
    /// It goes too.
    Purge,
}

/// Members of settings.json that the client makes for plugins, and leaves behind.
const CLIENTS: [&str; 2] = ["enabledPlugins", "extraKnownMarketplaces"];

/// Plans an uninstallation.
pub fn plan(found: &Found, data: Data) -> Result<Plan> {
    let mut plan = Plan::default();
    let places = &found.places;
    if found.tmux_server == TmuxServer::SetUp {
        plan.steps.push(Step::TearDownTmux);
    }
    if found.worker_runs {
        plan.steps.push(Step::StopWorker);
    }
    unregister(found, &mut plan);
    if found.client.is_none() && found.leftovers.contains(&places.cache()) {
        plan.notes.push(format!(
            "{}, two commands are left: `claude plugin uninstall {ID}` and `claude plugin marketplace remove {MARKETPLACE}`.",
            no_client(found)
        ));
    }
    let settings = found.settings.as_deref();
    edit(&mut plan, &places.settings, settings, Edit::RemoveHooks)?;
    edit(&mut plan, &places.settings, settings, Edit::RemoveStatusLine)?;
    match &found.keybindings {
        Ok(text) => {
            let added = found.manifest.as_ref().and_then(|manifest| manifest.added_chords.clone());
            let remove = Edit::RemoveChords { before: found.keybindings_before.clone(), added };
            edit(&mut plan, &places.keybindings, text.as_deref(), remove)?;
        }
        Err(why) => plan.notes.push(format!("{} {why}, and is left alone.", places.keybindings.display())),
    }
    if let Some(manifest) = &found.manifest {
        let (before, when_empty) = match &manifest.settings_before {
            Some(names) => (names.clone(), WhenEmpty::Keep),
            None => (Vec::new(), WhenEmpty::Remove),
        };
        let ours = CLIENTS.iter().map(|name| (*name).to_owned()).filter(|name| !before.contains(name)).collect();
        plan.steps.push(Step::Edit(places.settings.clone(), Edit::RemoveEmpty(ours, when_empty)));
    }
    for (path, text) in &found.tmux_confs {
        edit(&mut plan, path, Some(text), Edit::RemoveTmuxLine)?;
        if tmux_conf::is_set_up(text) && tmux_conf::without_line(text).is_none() {
            plan.notes.push(format!("{} calls us by a line that is yours: remove it.", path.display()));
        }
    }
    plan.steps.extend(found.leftovers.iter().cloned().map(Step::Remove));
    if matches!(found.link, Link::Ours(_)) {
        plan.steps.push(Step::Remove(places.link.clone()));
    }
    match (&found.data, data) {
        (Some(contents), Data::Purge) => {
            plan.steps.extend(contents.iter().cloned().map(Step::Remove));
            plan.steps.push(Step::RemoveIfEmpty(places.data.dir().to_owned()));
        }
        (Some(_), Data::Keep) => {
            plan.notes
                .push(format!("What is remembered stays in {}; --purge deletes it.", places.data.dir().display()));
        }
        (None, _) => {}
    }
    if found.has_lib {
        plan.steps.push(Step::Remove(places.lib.clone()));
    }
    let made = found.manifest.iter().flat_map(|manifest| manifest.made_dirs.iter().rev());
    plan.steps.extend(made.cloned().map(Step::RemoveIfEmpty));
    if found.running_clients > 0 {
        plan.notes.push("Sessions that run still call the hooks, which are gone: restart them.".to_owned());
    }
    Ok(plan)
}
