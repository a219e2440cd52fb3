//! The real client: its version, and how it is found, or installed with npm. The arguments of a session are in
//! `world.rs`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use xtask::run;
use xtask::workspace::Workspace;

/// The version that the scenarios are written for.
pub(crate) const VERSION: &str = "2.1.325";

/// Its package in the npm registry.
const PACKAGE: &str = "@anthropic-ai/claude-code";

/// Timeouts for npm: to reach its registry, and to install from it.
const REACH: Duration = Duration::from_secs(10);
const INSTALL: Duration = Duration::from_secs(120);

/// Returns the newest version of the client that npm has.
pub(crate) fn newest() -> Result<String> {
    let mut view = run::program("npm");
    view.args(["view", PACKAGE, "version", "--fetch-retries", "0", "--fetch-timeout", "10000"]);
    let version = run::output(&mut view).context("npm does not reach its registry")?.trim().to_owned();
    ensure!(version.starts_with(|c: char| c.is_ascii_digit()), "npm names no version of {PACKAGE}: {version:?}");
    Ok(version)
}

/// Returns the executable of a version of the client, installed below the target folder; for [`VERSION`], the one that
/// `CLAUDE_BIN` names instead.
pub(crate) fn find(workspace: &Workspace, version: &str) -> Result<PathBuf> {
    if let Some(named) = run::var("CLAUDE_BIN").filter(|_| version == VERSION) {
        let named = PathBuf::from(named);
        return named.canonicalize().with_context(|| format!("CLAUDE_BIN: there is no {}", named.display()));
    }
    let prefix = workspace.target.join(if version == VERSION { "e2e/client" } else { "e2e/newest-client" });
    let client = prefix.join("node_modules/.bin/claude");
    let installed = run::output(run::program(&client).arg("--version"));
    if !installed.is_ok_and(|installed| installed.split_whitespace().next() == Some(version)) {
        install(&prefix, version)?;
    }
    client.canonicalize().with_context(|| format!("npm left no {}", client.display()))
}

fn install(prefix: &Path, version: &str) -> Result<()> {
    ensure!(run::find("npm").is_some(), "there is no client: name one in CLAUDE_BIN, or install npm");
    let package = format!("{PACKAGE}@{version}");
    let mut view = run::program("npm");
    view.args(["view", &package, "version", "--fetch-retries", "0"]);
    run::within(&mut view, REACH)
        .context("there is no client: name one in CLAUDE_BIN, or let npm reach its registry")?;
    let mut install = run::program("npm");
    install.args(["install", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix"]).arg(prefix).arg(&package);
    run::within(&mut install, INSTALL)
}

/// Returns the argv that starts `client`. For root, it mounts an empty folder over the account's home first.
///
/// A program that takes its home from the system and not from `HOME`, such as ssh, then finds nothing there. Not done
/// if the client or the bundle is below that home.
pub(crate) fn started_as(client: &Path, bundle: &Path) -> Vec<String> {
    const HIDE: &str = "mount -t tmpfs -o size=1m tmpfs \"$0\" || exit 97; exec \"$@\"";
    let plain = vec![client.display().to_string()];
    let root_home = Path::new("/root");
    let below = [client, bundle].iter().any(|path| path.starts_with(root_home));
    let is_root = run::output(run::program("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let hide = ["unshare", "-m", "--propagation", "private", "sh", "-c"];
    let works = || run::output(run::program(hide[0]).args(&hide[1..]).args([HIDE, "/root", "true"])).is_ok();
    if !is_root || below || !works() {
        return plain;
    }
    hide.into_iter().chain([HIDE, "/root"]).map(str::to_owned).chain(plain).collect()
}
