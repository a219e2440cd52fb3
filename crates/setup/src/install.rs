//! Plans an installation: which steps lead there from the current state.

use std::path::{Path, PathBuf};

use longhaul_core::config::NotifyWay;
use longhaul_runtime::waiting_times;
use longhaul_store::{SCHEMA, Schema, schema_of};

use crate::bundle::Bundle;
use crate::current_state::{CurrentState, InstallMode, InstallPaths, Link, Manifest, TmuxServer, names};
use crate::settings::{self, NotifyChoice};
use crate::step::{Edit, InstallStep};
use crate::{Error, ID, MARKETPLACE, PLUGIN, PROGRAM, Result, keybindings, tmux};

#[derive(Debug, Clone, Copy)]
pub struct Choices {
    pub mode: InstallMode,
    pub tmux: bool,
    /// Whether Claude Code shows Longhaul's status line.
    pub status_line: bool,
    /// Whether the chord that submits typed text is bound.
    pub keybinding: bool,
    pub notify: NotifyChoice,
}

/// The steps of an installation or uninstallation, in their order, with messages for the user.
#[derive(Default)]
pub struct InstallPlan {
    pub steps: Vec<InstallStep>,
    pub notes: Vec<String>,
}

impl InstallPlan {
    /// Plans a change of a file, if it changes anything. A change that would be refused is an error now, before any step is
    /// done.
    pub(crate) fn edit(&mut self, path: &Path, text: Option<&str>, edit: Edit) -> Result<()> {
        let refused = |refusal| Error::Refused { path: path.to_owned(), refusal };
        if edit.apply(text).map_err(refused)?.is_some() {
            self.steps.push(InstallStep::Edit(path.to_owned(), edit));
        }
        Ok(())
    }
}

/// Returns whether the line in tmux.conf can be offered: tmux is installed, and no file sets it up yet.
pub fn may_offer_tmux(state: &CurrentState) -> bool {
    state.has_tmux && !state.tmux_confs.iter().any(|(_, text)| tmux::is_set_up(text))
}

/// Returns the tmux.conf that the line is added to, with its text; a new one if there is none.
pub fn tmux_conf_for_line(state: &CurrentState) -> (&Path, Option<&str>) {
    let existing = state.tmux_confs.first().map(|(path, text)| (path.as_path(), Some(text.as_str())));
    existing.unwrap_or((&state.paths.tmux_confs[0], None))
}

/// Returns whether the status line can be offered: it is not in the settings yet.
pub fn may_offer_status_line(state: &CurrentState) -> bool {
    matches!(settings::with_status_line(state.settings.as_deref(), PROGRAM), Ok(Some(_)))
}

/// Returns whether notifications can be offered: the user was not asked yet, and the configuration has no section for them.
pub fn may_offer_notifications(state: &CurrentState) -> bool {
    let was_asked = state.manifest.as_ref().is_some_and(|manifest| manifest.asked_notify);
    let is_missing = |text: &Option<String>| {
        matches!(settings::with_notifications(text.as_deref(), NotifyWay::Terminal), Ok(Some(_)))
    };
    !was_asked && state.config.as_ref().is_ok_and(is_missing)
}

/// Plans an installation of `bundle`, which comes from `bundle.folder`, at the time `now`.
pub fn plan(state: &CurrentState, bundle: &Bundle, choices: Choices, now: u64) -> Result<InstallPlan> {
    let mut plan = InstallPlan::default();
    let before = state.manifest.as_ref();
    if !state.versions.contains(&bundle.id) {
        plan.steps.push(InstallStep::Copy { bundle: bundle.clone(), to: state.paths.version(&bundle.id) });
    }
    let manifest = record(state, bundle, choices, now);
    let is_new = before.is_none_or(|before| before.id != bundle.id);
    if before.is_none_or(|before| Manifest { installed_at: before.installed_at, ..manifest.clone() } != *before) {
        plan.steps.push(InstallStep::Record(state.paths.manifest(), manifest.clone()));
    }
    let is_on_path = link(state, bundle, &mut plan);
    if is_new && state.worker_runs {
        plan.steps.push(InstallStep::StopWorker);
    }
    if is_on_path {
        // Before Claude Code changes settings.json, so that the backup is the user's own file.
        edit_users_files(state, choices, &mut plan)?;
    }
    match choices.mode {
        InstallMode::Plugin => as_plugin(state, bundle, &mut plan)?,
        InstallMode::Hooks => as_hooks(state, bundle, &mut plan)?,
    }
    if choices.keybinding {
        bind_chords(state, &mut plan);
    }
    if let (NotifyChoice::By(way), Ok(text)) = (choices.notify, &state.config) {
        let add = Edit::new("enable notifications in", move |text| settings::with_notifications(text, way));
        plan.edit(&state.paths.config, text.as_deref(), add)?;
    }
    let wants_server = state.tmux_server == TmuxServer::Plain && choices.tmux;
    if is_on_path && (wants_server || (state.tmux_server == TmuxServer::SetUp && is_new)) {
        plan.steps.push(InstallStep::SetUpTmux);
    }
    if is_on_path && !state.has_link_on_path {
        plan.notes.push("~/.local/bin is not on your PATH: add it, so that a shell finds `longhaul`.".to_owned());
    }
    old_versions(state, &manifest, &mut plan);
    plan.notes.extend(newer_schema(state));
    Ok(plan)
}

/// Adds what needs `longhaul` on the path: the status line, and the line in tmux.conf.
fn edit_users_files(state: &CurrentState, choices: Choices, plan: &mut InstallPlan) -> Result<()> {
    let paths = &state.paths;
    if choices.status_line {
        let add = Edit::new("add the status line to", |text| settings::with_status_line(text, PROGRAM));
        plan.edit(&paths.settings, state.settings.as_deref(), add.with_backup())?;
    }
    if choices.tmux && may_offer_tmux(state) {
        let (path, text) = tmux_conf_for_line(state);
        plan.edit(path, text, Edit::new("add the line to", |text| Ok(tmux::with_line(text))).with_backup())?;
    }
    Ok(())
}

fn newer_schema(state: &CurrentState) -> Option<String> {
    let found = schema_of(&state.paths.data.database(), waiting_times::DATABASE_FOR_DOCTOR);
    let Some(Schema::Newer(schema)) = found else { return None };
    Some(format!(
        "The database was written by a newer version (schema {schema}; this version knows {SCHEMA}). It is not changed, and \
         not used until you install the newer version again."
    ))
}

/// Returns the manifest of the installation. What was there before the first installation is kept from its manifest.
fn record(state: &CurrentState, bundle: &Bundle, choices: Choices, now: u64) -> Manifest {
    let before = state.manifest.as_ref();
    let is_own = bundle.folder.starts_with(&state.paths.lib);
    let source = if is_own { before.and_then(|before| before.source.clone()) } else { Some(bundle.folder.clone()) };
    let replaced =
        before.map(|before| if before.id == bundle.id { before.previous.clone() } else { Some(before.id.clone()) });
    Manifest {
        version: bundle.version.clone(),
        id: bundle.id.clone(),
        previous: replaced.flatten(),
        source,
        installed_at: now,
        mode: choices.mode,
        no_keybinding: !choices.keybinding,
        asked_notify: choices.notify != NotifyChoice::NotAsked || before.is_some_and(|before| before.asked_notify),
        added_chords: added_chords(state, choices),
        settings_before: match before {
            Some(before) => before.settings_before.clone(),
            None => state.settings.as_deref().map(settings::names),
        },
        made_dirs: before.map_or_else(|| missing_dirs(&state.paths), |before| before.made_dirs.clone()),
    }
}

/// Returns the parent folders of the installation that do not exist yet, outermost first.
fn missing_dirs(paths: &InstallPaths) -> Vec<PathBuf> {
    let above = |path: &Path| path.ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>();
    let mut dirs = [above(&paths.lib), above(&paths.link), above(paths.data.dir()), above(&paths.keybindings)].concat();
    dirs.retain(|dir| dir.starts_with(&paths.home) && !dir.exists());
    dirs.sort();
    dirs.dedup();
    dirs
}

/// Returns the chords that this installation and earlier ones have added to keybindings.json.
fn added_chords(state: &CurrentState, choices: Choices) -> Vec<String> {
    let text = state.keybindings.as_ref().ok().filter(|_| choices.keybinding);
    let missing = text.and_then(|text| keybindings::missing_chords(text.as_deref()).ok()).unwrap_or_default();
    let mut chords = state.manifest.as_ref().map(|manifest| manifest.added_chords.clone()).unwrap_or_default();
    for (chord, _) in missing {
        if !chords.contains(&chord) {
            chords.push(chord);
        }
    }
    chords
}

/// Binds the chord that submits typed text. A file that cannot be changed is left alone: without the chord, Enter is used.
fn bind_chords(state: &CurrentState, plan: &mut InstallPlan) {
    let path = &state.paths.keybindings;
    let edit = Edit::new("bind the keys that submit and stash in", keybindings::with_chords).with_backup();
    let edited = match &state.keybindings {
        Ok(text) => edit.apply(text.as_deref()).map_err(|refusal| refusal.to_string()),
        Err(trouble) => Err(trouble.clone()),
    };
    match edited {
        Ok(Some(_)) => plan.steps.push(InstallStep::Edit(path.clone(), edit)),
        Ok(None) => {}
        Err(why) => plan.notes.push(format!(
            "{} {why}. It was not changed: text that Longhaul types is submitted with Enter, and not while subagents run.",
            path.display()
        )),
    }
}

/// Plans the link that puts `longhaul` on the path; returns whether it is there afterwards.
fn link(state: &CurrentState, bundle: &Bundle, plan: &mut InstallPlan) -> bool {
    let (link, to) = (state.paths.link.clone(), state.paths.bin(&bundle.id).join(PLUGIN));
    match &state.link {
        Link::Ours(now) if *now == to => true,
        Link::Ours(_) | Link::Missing => {
            plan.steps.push(InstallStep::Link { link, to });
            true
        }
        Link::Foreign => {
            plan.notes.push(format!(
                "{} exists and was not installed by Longhaul. It was not changed, and neither were tmux and the status \
                 line, which need it. The command line is {}.",
                link.display(),
                to.display()
            ));
            false
        }
    }
}

/// Plans to register the bundle as a plugin.
///
/// Claude Code reads a marketplace that is a folder in place, so that running sessions continue with their version.
fn as_plugin(state: &CurrentState, bundle: &Bundle, plan: &mut InstallPlan) -> Result<()> {
    plan.edit(&state.paths.settings, state.settings.as_deref(), settings::removal_of_hooks())?;
    if state.client.is_none() {
        let command = state.paths.bin(&bundle.id).join(PLUGIN);
        let command = if state.link == Link::Foreign { command.display().to_string() } else { PROGRAM.to_owned() };
        plan.notes.push(format!("{}, run {command} install again.", no_client(state)));
        return Ok(());
    }
    let ours = || state.plugins.iter().filter(|plugin| plugin.is_ours());
    for plugin in ours().filter(|plugin| plugin.id != ID) {
        // The plugin with all jobs includes this job. Both together would handle every event twice.
        plan.steps.push(InstallStep::uninstall(plugin));
    }
    let is_from_repository = state.marketplace.as_ref().is_some_and(|marketplace| marketplace.path.is_none());
    let is_copy = bundle.folder.starts_with(state.paths.cache());
    if is_from_repository && is_copy && ours().any(|plugin| plugin.id == ID) {
        // Its marketplace must stay registered, or `claude plugin update` would not find newer versions any more.
        plan.notes.push(format!(
            "Claude Code runs the plugin from its marketplace. After `claude plugin update {ID}`, run `longhaul install` \
             of the new version in the same way."
        ));
        return Ok(());
    }
    let folder = state.paths.version(&bundle.id);
    let known = state.marketplace.as_ref().and_then(|marketplace| marketplace.path.as_deref());
    if known != Some(folder.as_path()) {
        plan.steps.push(InstallStep::client(["plugin", "marketplace", "add", &folder.to_string_lossy()]));
    }
    match ours().find(|plugin| plugin.id == ID) {
        None => {
            plan.steps.push(InstallStep::client(["plugin", "install", ID]));
            plan.steps.push(share(state, bundle));
        }
        Some(plugin) => {
            if plugin.version != bundle.version {
                plan.steps.push(InstallStep::client(["plugin", "update", ID]));
                plan.steps.push(share(state, bundle));
            }
            if !plugin.enabled {
                plan.notes
                    .push(format!("{ID} is disabled and stays disabled: `claude plugin enable {ID}` enables it."));
            }
        }
    }
    Ok(())
}

/// Returns the step after which the copy that Claude Code makes of the plugin takes no space.
fn share(state: &CurrentState, bundle: &Bundle) -> InstallStep {
    let copy = state.paths.cache().join(PLUGIN).join(&bundle.version);
    InstallStep::Share { folder: state.paths.version(&bundle.id).join(PLUGIN), copy }
}

/// Returns the beginning of a message: why Claude Code's plugins were not changed.
pub(crate) fn no_client(state: &CurrentState) -> String {
    match &state.client_trouble {
        Some(trouble) => format!("Claude Code cannot be used ({trouble}). When it works"),
        None => "Claude Code is not on the PATH. When it is installed".to_owned(),
    }
}

fn as_hooks(state: &CurrentState, bundle: &Bundle, plan: &mut InstallPlan) -> Result<()> {
    // The plugin is removed first, so that no event is handled twice.
    unregister(state, plan);
    let bin = state.paths.bin(&bundle.id);
    let add = Edit::new("add the hooks to", move |text| settings::with_hooks(text, &bin)).with_backup();
    plan.edit(&state.paths.settings, state.settings.as_deref(), add)?;
    plan.notes.push(
        "Slash commands, skills and the MCP server are not available with hooks only; the plugin has them.".to_owned(),
    );
    Ok(())
}

/// Plans to remove Longhaul's plugins and marketplace from Claude Code.
pub(crate) fn unregister(state: &CurrentState, plan: &mut InstallPlan) {
    for plugin in state.plugins.iter().filter(|plugin| plugin.is_ours()) {
        plan.steps.push(InstallStep::uninstall(plugin));
    }
    if state.marketplace.is_some() {
        plan.steps.push(InstallStep::client(["plugin", "marketplace", "remove", MARKETPLACE]));
    }
}

/// Plans to remove old versions. The previous one stays for running sessions, and nothing is removed while a session runs.
fn old_versions(state: &CurrentState, manifest: &Manifest, plan: &mut InstallPlan) {
    let is_needed = |id: &String| *id == manifest.id || Some(id) == manifest.previous.as_ref();
    let old: Vec<&String> = state.versions.iter().filter(|id| !is_needed(id)).collect();
    if state.running_clients > 0 {
        if !old.is_empty() || manifest.previous.is_some() {
            plan.notes
                .push("Running sessions continue with their version; restart them to use the new one.".to_owned());
        }
        return;
    }
    plan.steps.extend(old.into_iter().map(|id| InstallStep::Remove(state.paths.version(id))));
    // Copies of the plugin that Claude Code has made and marked as unused.
    let copies = state.paths.cache().join(PLUGIN);
    let copies = names(&copies).into_iter().map(|version| copies.join(version));
    plan.steps.extend(copies.filter(|copy| copy.join(".orphaned_at").exists()).map(InstallStep::Remove));
}
