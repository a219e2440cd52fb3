//! What an installation changes. Pure: from what was found to what is to be done.

use std::path::Path;

use crate::bundle::Bundle;
use crate::current_state::{Found, Link, TmuxServer};
use crate::manifest::{Manifest, Way};
use crate::step::{Edit, Step};
use crate::{Error, ID, MARKETPLACE, PLUGIN, PROGRAM, Result, keybindings, settings, tmux_conf};

/// What the user wants beyond the plugin itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wishes {
    /// How the client is told.
    pub way: Way,
    /// The counts in tmux.
    pub tmux: bool,
    /// Our status line.
    pub status_line: bool,
    /// The chord that submits what is typed.
    pub keybinding: bool,
}

/// What is to be done, and what there is to say about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// In this order.
    pub steps: Vec<Step>,
    /// For the person who asked.
    pub notes: Vec<String>,
}

/// Returns whether the line for tmux can be offered: there is a tmux, and no file sets it up yet.
pub fn may_offer_tmux(found: &Found) -> bool {
    found.has_tmux && !found.tmux_confs.iter().any(|(_, text)| tmux_conf::is_set_up(text))
}

/// Returns whether the status line can be offered: there is none of ours yet.
pub fn may_offer_status_line(found: &Found) -> bool {
    matches!(settings::with_status_line(found.settings.as_deref(), PROGRAM), Ok(Some(_)))
}

/// Plans an installation of `bundle`, which comes from `bundle.folder`, at the time `now`.
pub fn plan(found: &Found, bundle: &Bundle, wishes: Wishes, now: u64) -> Result<Plan> {
    let mut plan = Plan::default();
    let places = &found.places;
    let before = found.manifest.as_ref();
    if !found.versions.contains(&bundle.id) {
        plan.steps.push(Step::Copy { bundle: bundle.clone(), to: places.version(&bundle.id) });
    }
    let manifest = record(found, bundle, wishes, now);
    let is_new = before.is_none_or(|before| before.id != bundle.id);
    if before.is_none_or(|before| Manifest { installed_at: before.installed_at, ..manifest.clone() } != *before) {
        plan.steps.push(Step::Record(places.manifest(), manifest.clone()));
    }
    let is_on_path = link(found, bundle, &mut plan);
    if is_new && found.worker_runs {
        plan.steps.push(Step::StopWorker);
    }
    // Before the client changes the same file, so that what is kept of it is what was there.
    if wishes.status_line && is_on_path {
        edit(&mut plan, &places.settings, found.settings.as_deref(), Edit::AddStatusLine(PROGRAM))?;
    }
    if wishes.tmux && is_on_path && may_offer_tmux(found) {
        let there = found.tmux_confs.first();
        let path = there.map_or(&places.tmux_confs[0], |(path, _)| path);
        edit(&mut plan, path, there.map(|(_, text)| text.as_str()), Edit::AddTmuxLine)?;
    }
    // A line of ours is kept up to date without a question.
    for (path, text) in found.tmux_confs.iter().filter(|(_, text)| is_on_path && tmux_conf::is_outdated(text)) {
        edit(&mut plan, path, Some(text), Edit::AddTmuxLine)?;
    }
    match wishes.way {
        Way::Plugin => as_plugin(found, bundle, &mut plan)?,
        Way::Hooks => as_hooks(found, bundle, &mut plan)?,
    }
    if wishes.keybinding {
        bind_chords(found, &mut plan);
    }
    let wants_server = found.tmux_server == TmuxServer::Plain && wishes.tmux;
    if is_on_path && (wants_server || (found.tmux_server == TmuxServer::SetUp && is_new)) {
        plan.steps.push(Step::SetUpTmux);
    }
    if is_on_path && !found.has_link_on_path {
        plan.notes.push("~/.local/bin is not on your PATH: add it, so that a shell finds `longhaul`.".to_owned());
    }
    old_versions(found, &manifest, &mut plan);
    if let Some(schema) = found.schema.filter(|schema| *schema > longhaul_store::SCHEMA) {
        plan.notes.push(format!(
            "What is remembered was written by a newer version (schema {schema}, this one knows {}). It is left as it \
             is, and not used until you install the newer version again.",
            longhaul_store::SCHEMA
        ));
    }
    Ok(plan)
}

/// Returns what is noted of the installation; what was before the first one is kept from there.
fn record(found: &Found, bundle: &Bundle, wishes: Wishes, now: u64) -> Manifest {
    let before = found.manifest.as_ref();
    let is_own = bundle.folder.starts_with(&found.places.lib);
    let source = if is_own { before.and_then(|before| before.source.clone()) } else { Some(bundle.folder.clone()) };
    let replaced =
        before.map(|before| if before.id == bundle.id { before.previous.clone() } else { Some(before.id.clone()) });
    Manifest {
        version: bundle.version.clone(),
        id: bundle.id.clone(),
        previous: replaced.flatten(),
        source,
        installed_at: now,
        way: wishes.way,
        no_keybinding: !wishes.keybinding,
        added_chords: added_chords(found, wishes),
        settings_before: match before {
            Some(before) => before.settings_before.clone(),
            None => found.settings.as_deref().map(settings::names),
        },
        made_dirs: before.map_or_else(|| found.missing_dirs.clone(), |before| before.made_dirs.clone()),
    }
}

/// Returns the chords that this installation and earlier ones have added to keybindings.json.
///
/// `None` where an earlier version has recorded nothing and nothing is added: the chords in the file may be from it.
fn added_chords(found: &Found, wishes: Wishes) -> Option<Vec<String>> {
    let text = found.keybindings.as_ref().ok().filter(|_| wishes.keybinding);
    let missing = text.and_then(|text| keybindings::missing_chords(text.as_deref()).ok()).unwrap_or_default();
    let recorded = match &found.manifest {
        Some(manifest) => manifest.added_chords.clone(),
        None => Some(Vec::new()),
    };
    if recorded.is_none() && missing.is_empty() {
        return None;
    }
    let mut chords = recorded.unwrap_or_default();
    for (chord, _) in missing {
        if !chords.contains(&chord) {
            chords.push(chord);
        }
    }
    Some(chords)
}

/// Binds the chord that submits what is typed. A file that cannot be changed is left alone: Enter does as well, with care.
fn bind_chords(found: &Found, plan: &mut Plan) {
    let path = &found.places.keybindings;
    let edited = match &found.keybindings {
        Ok(text) => Edit::AddChords.apply(text.as_deref()).map_err(|refusal| refusal.to_string()),
        Err(trouble) => Err(trouble.clone()),
    };
    match edited {
        Ok(Some(_)) => plan.steps.push(Step::Edit(path.clone(), Edit::AddChords)),
        Ok(None) => {}
        Err(why) => plan.notes.push(format!(
            "{} {why}. It is left alone: what is typed into a session is submitted by Enter, and not while subagents run.",
            path.display()
        )),
    }
}

/// Puts `longhaul` on the path; returns whether it is there afterwards.
fn link(found: &Found, bundle: &Bundle, plan: &mut Plan) -> bool {
    let (link, to) = (found.places.link.clone(), found.places.bin(&bundle.id).join(PLUGIN));
    match &found.link {
        Link::Ours(now) if *now == to => true,
        Link::Ours(_) | Link::Missing => {
            plan.steps.push(Step::Link { link, to });
            true
        }
        Link::Foreign => {
            plan.notes.push(format!(
                "{} is somebody else's and is left alone, and so are tmux and the status line, which need it. The \
                 command line is {}.",
                link.display(),
                to.display()
            ));
            false
        }
    }
}

/// The client reads a marketplace that is a folder in place: sessions that run go on with the version they began with.
fn as_plugin(found: &Found, bundle: &Bundle, plan: &mut Plan) -> Result<()> {
    edit(plan, &found.places.settings, found.settings.as_deref(), Edit::RemoveHooks)?;
    if found.client.is_none() {
        let command = found.places.bin(&bundle.id).join(PLUGIN);
        let command = if found.link == Link::Foreign { command.display().to_string() } else { PROGRAM.to_owned() };
        plan.notes.push(format!("{}, one command is left: {command} install", no_client(found)));
        return Ok(());
    }
    let ours = || found.plugins.iter().filter(|plugin| plugin.is_ours());
    for plugin in ours().filter(|plugin| plugin.id != ID) {
        // The whole does what one job alone did, and the two would answer every event twice.
        plan.steps.push(Step::uninstall(plugin));
    }
    let folder = found.places.version(&bundle.id);
    let known = found.marketplace.as_ref().and_then(|marketplace| marketplace.path.as_deref());
    if known != Some(folder.as_path()) {
        plan.steps.push(Step::client(["plugin", "marketplace", "add", &folder.to_string_lossy()]));
    }
    match ours().find(|plugin| plugin.id == ID) {
        None => plan.steps.push(Step::client(["plugin", "install", ID])),
        Some(plugin) => {
            if plugin.version != bundle.version {
                plan.steps.push(Step::client(["plugin", "update", ID]));
            }
            if !plugin.enabled {
                plan.notes.push(format!("{ID} is switched off, and stays so: `claude plugin enable {ID}`"));
            }
        }
    }
    Ok(())
}

/// Says why the client was not asked, up to what is left to do.
pub(crate) fn no_client(found: &Found) -> String {
    match &found.client_trouble {
        Some(trouble) => format!("Claude Code does not answer as it should ({trouble}). Once it does"),
        None => "Claude Code is not on the PATH. Once it is".to_owned(),
    }
}

fn as_hooks(found: &Found, bundle: &Bundle, plan: &mut Plan) -> Result<()> {
    // First the plugin, so that nothing ever answers twice.
    unregister(found, plan);
    let bin = found.places.bin(&bundle.id);
    edit(plan, &found.places.settings, found.settings.as_deref(), Edit::AddHooks(bin))?;
    plan.notes.push("Hooks alone bring no slash commands, skills or MCP server; the plugin does.".to_owned());
    Ok(())
}

/// Takes every plugin of ours, and the marketplace, from the client.
pub(crate) fn unregister(found: &Found, plan: &mut Plan) {
    for plugin in found.plugins.iter().filter(|plugin| plugin.is_ours()) {
        plan.steps.push(Step::uninstall(plugin));
    }
    if found.marketplace.is_some() {
        plan.steps.push(Step::client(["plugin", "marketplace", "remove", MARKETPLACE]));
    }
}

/// Plans a change, where it changes anything; one that would be refused is an error before anything is done.
pub(crate) fn edit(plan: &mut Plan, path: &Path, text: Option<&str>, edit: Edit) -> Result<()> {
    let refused = |refusal| Error::Refused { path: path.to_owned(), refusal };
    if edit.apply(text).map_err(refused)?.is_some() {
        plan.steps.push(Step::Edit(path.to_owned(), edit));
    }
    Ok(())
}

/// The version before stays, for sessions that run; those before it go when no session runs.
fn old_versions(found: &Found, manifest: &Manifest, plan: &mut Plan) {
    let is_needed = |id: &String| *id == manifest.id || Some(id) == manifest.previous.as_ref();
    let old: Vec<&String> = found.versions.iter().filter(|id| !is_needed(id)).collect();
    if found.running_clients > 0 {
        if !old.is_empty() || manifest.previous.is_some() {
            plan.notes
                .push("Sessions that run go on with the version they began with; restart them to change.".to_owned());
        }
        return;
    }
    plan.steps.extend(old.into_iter().map(|id| Step::Remove(found.places.version(id))));
    plan.steps.extend(found.orphans.iter().cloned().map(Step::Remove));
}
