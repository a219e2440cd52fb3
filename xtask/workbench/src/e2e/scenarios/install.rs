//! The universal bundle, installed from a marketplace as users do it, and the setup of a new user.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use longhaul_core::catalog;
use serde_json::{Value, json};
use xtask::dist::bundle::{self, TargetExecutables};
use xtask::release::{self, Author};
use xtask::run;
use xtask::workspace::Workspace;

use super::super::world::{Cast, World};

/// The address of the repository. git replaces it by a folder: nothing leaves the machine.
const ADDRESS: &str = "https://longhaul.invalid/longhaul.git";
const BRANCH: &str = "marketplace";
const ID: &str = "longhaul@longhaul";

/// A target that is never this machine's.
const FOREIGN: &str = if cfg!(target_os = "macos") { "x86_64-unknown-linux-musl" } else { "aarch64-apple-darwin" };

/// A marketplace as a release makes it: a folder, and a branch of a repository.
struct Release {
    folder: PathBuf,
    repository: PathBuf,
}

impl Release {
    /// Makes the folder, with the executables of these targets.
    fn new(home: &Path, built: &[TargetExecutables]) -> Result<Self> {
        let (folder, repository) = (home.join("universal"), home.join("longhaul.git"));
        bundle::lay_out(&Workspace::load()?, built, &folder)?;
        run::output(run::program("git").args(["init", "--quiet", "--bare"]).arg(&repository))?;
        let instead = format!("[url \"file://{}\"]\n\tinsteadOf = {ADDRESS}\n", repository.display());
        fs::write(home.join(".gitconfig"), instead)?;
        Ok(Self { folder, repository })
    }

    /// Commits the folder as `version` to the branch.
    fn publish(&self, version: &str) -> Result<()> {
        let set = |path: PathBuf, change: &dyn Fn(&mut Value)| -> Result<()> {
            let mut json: Value = serde_json::from_slice(&fs::read(&path)?)?;
            change(&mut json);
            Ok(fs::write(path, json.to_string())?)
        };
        let plugin = self.folder.join("longhaul/.claude-plugin/plugin.json");
        set(plugin, &|json| json["version"] = json!(version))?;
        set(self.folder.join(".claude-plugin/marketplace.json"), &|json| {
            json["plugins"][0]["version"] = json!(version);
        })?;
        let [name, email, time] = ["Longhaul", "longhaul@longhaul.invalid", "2026-01-01T00:00:00Z"].map(str::to_owned);
        let author = Author { name, email, time };
        release::commit(&self.repository, &self.folder, BRANCH, version, &author)?;
        Ok(())
    }
}

/// Returns the executables that `cargo xtask dist` has built, without debug information if they can be stripped.
fn native(cast: &Cast, home: &Path) -> Result<TargetExecutables> {
    let folder = home.join("native");
    fs::create_dir_all(&folder)?;
    for name in catalog::executables(None) {
        let to = folder.join(name);
        fs::copy(cast.bundle().join("bin").join(name), &to).with_context(|| format!("cannot copy {name}"))?;
        if run::find("strip").is_some() {
            run::output(run::program("strip").arg(&to))?;
        }
    }
    Ok(TargetExecutables { target: Workspace::host_triple()?, folder })
}

/// Returns files in place of the executables of another machine.
fn foreign(home: &Path) -> Result<TargetExecutables> {
    let folder = home.join("foreign");
    fs::create_dir_all(&folder)?;
    for name in catalog::executables(None) {
        fs::write(folder.join(name), "an executable of another machine\n")?;
    }
    Ok(TargetExecutables { target: FOREIGN.to_owned(), folder })
}

/// Returns the folder from which Claude Code runs the plugin.
fn plugin_folder(world: &World) -> Result<PathBuf> {
    let list: Value = serde_json::from_str(&world.client(&["plugin", "list", "--json"])?)?;
    let plugin = list.as_array().into_iter().flatten().find(|plugin| plugin["id"] == ID);
    let plugin = plugin.with_context(|| format!("{ID} is not installed: {list}"))?;
    ensure!(plugin["enabled"] == true, "{ID} is not enabled: {plugin}");
    let folder = plugin["readFromFolder"].as_str().or(plugin["installPath"].as_str());
    folder.map(PathBuf::from).with_context(|| format!("{ID} has no folder: {plugin}"))
}

/// Returns how many of the plugin's executables are links to those of this machine.
fn links(plugin: &Path) -> usize {
    let bin = plugin.join("bin");
    let is_link = |name: &&str| fs::read_link(bin.join(name)).is_ok_and(|to| bin.join(to).is_file());
    catalog::executables(None).filter(is_link).count()
}

/// Runs a session with one tool call, which the hooks must record; returns when the session has ended.
fn session(world: &World) -> Result<()> {
    let session = world.open_bare(&["--permission-mode", "manual"])?;
    let id = session.id()?;
    session.say("RUN:echo from-a-marketplace")?;
    world.wait_for_state(&id, "completed")?;
    ensure!(world.log(&id, 'T').len() == 1, "the tool call is not in the activity log");
    session.exit()
}

/// Runs the first session of a plugin folder, which replaces the launchers, and another one, which finds them replaced.
///
/// Executables of the dev profile are large, and their checksums take long: on a busy machine, the first session leaves
/// some launchers to the next.
fn first_and_second_session(world: &World, plugin: &Path) -> Result<()> {
    const MOST: usize = 4;
    let all = catalog::executables(None).count();
    ensure!(links(plugin) == 0, "{} has links before its first session", plugin.display());
    for _ in 0..MOST {
        session(world)?;
        if links(plugin) == all {
            break;
        }
    }
    ensure!(links(plugin) == all, "{} of {all} launchers were replaced in {MOST} sessions", links(plugin));
    session(world)?;
    ensure!(links(plugin) == all, "links are gone after the next session");
    Ok(())
}

/// Installs from a branch, updates, uninstalls, and installs from a folder. Each copy of the plugin starts with launchers.
pub(crate) fn marketplace(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let release = Release::new(home, &[native(cast, home)?, foreign(home)?])?;
    release.publish("1.0.0")?;
    world.client(&["plugin", "marketplace", "add", &format!("{ADDRESS}#{BRANCH}")])?;
    world.client(&["plugin", "install", ID])?;
    let first = plugin_folder(&world)?;
    ensure!(first.starts_with(home.join(".claude/plugins/cache")), "not in the cache: {}", first.display());
    world.client(&["plugin", "validate", "--strict", &first.display().to_string()])?;
    first_and_second_session(&world, &first)?;

    release.publish("1.1.0")?;
    world.client(&["plugin", "marketplace", "update", "longhaul"])?;
    world.client(&["plugin", "update", ID])?;
    let second = plugin_folder(&world)?;
    ensure!(second != first, "the update did not change the folder {}", first.display());
    first_and_second_session(&world, &second)?;

    world.client(&["plugin", "uninstall", ID])?;
    world.client(&["plugin", "marketplace", "remove", "longhaul"])?;
    ensure!(plugin_folder(&world).is_err(), "the plugin is still installed");
    let without = world.open_bare(&["--permission-mode", "manual"])?;
    without.say("RUN:echo without-hooks")?;
    ensure!(world.log(&without.id()?, 'T').is_empty(), "a hook has run after the plugin was uninstalled");
    without.exit()?;

    world.client(&["plugin", "marketplace", "add", &release.folder.display().to_string()])?;
    world.client(&["plugin", "install", ID])?;
    first_and_second_session(&world, &plugin_folder(&world)?)?;
    world.check_errors()
}

/// A bundle without executables for this machine: one message in the first session, and the sessions work.
pub(crate) fn unsupported(cast: &Cast, home: &Path) -> Result<()> {
    const MESSAGE: &str = "the plugin has no executables for this machine";
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let release = Release::new(home, &[foreign(home)?])?;
    world.client(&["plugin", "marketplace", "add", &release.folder.display().to_string()])?;
    world.client(&["plugin", "install", ID])?;
    let first = world.open_bare(&["--permission-mode", "manual"])?;
    first.wait_for(MESSAGE)?;
    first.say("RUN:echo harmless")?;
    ensure!(!first.shows("hook error")?, "a hook has failed");
    first.exit()?;
    let second = world.open_bare(&["--permission-mode", "manual"])?;
    second.say("RUN:echo harmless-again")?;
    ensure!(!second.shows(MESSAGE)? && !second.shows("hook error")?, "it was reported again");
    second.exit()
}

/// `longhaul install`; the client lists the plugin as enabled, finds no problems, and runs its hooks.
pub(crate) fn install(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    world.longhaul(&["install", "--yes"])?;
    let list = world.client(&["plugin", "list"])?;
    ensure!(list.contains("longhaul@") && list.contains("enabled"), "the plugin is not enabled:\n{list}");
    let bundle = cast.bundle().display().to_string();
    world.client(&["plugin", "validate", "--strict", &bundle])?;
    let session = world.open_bare(&["--permission-mode", "manual"])?;
    session.say("RUN:echo installed")?;
    world.wait_for_state(&session.id()?, "completed")?;
    ensure!(world.log(&session.id()?, 'T').len() == 1, "the tool call is not in the activity log");
    world.check_errors()
}
