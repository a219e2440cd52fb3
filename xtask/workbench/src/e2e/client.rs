//! The real client: its version, and how it is found, or installed with npm; the same for other agents. The arguments of a
//! session are in `world.rs`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::run;
use xtask::workspace::Workspace;

/// The version that the scenarios are written for.
pub(crate) const VERSION: &str = "2.1.325";

/// Its package in the npm registry.
const PACKAGE: &str = "@anthropic-ai/claude-code";

/// Timeouts for npm: to reach its registry, and to install from it.
const REACH: Duration = Duration::from_secs(10);
const INSTALL: Duration = Duration::from_secs(180);

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
        install(&prefix, &[&format!("{PACKAGE}@{version}")]).context("there is no client: name one in CLAUDE_BIN")?;
    }
    client.canonicalize().with_context(|| format!("npm left no {}", client.display()))
}

/// Installs packages of npm's registry below `prefix`.
pub(crate) fn install(prefix: &Path, packages: &[&str]) -> Result<()> {
    ensure!(run::find("npm").is_some(), "{} cannot be installed without npm", packages[0]);
    let mut view = run::program("npm");
    view.args(["view", packages[0], "version", "--fetch-retries", "0"]);
    run::within(&mut view, REACH).context("npm does not reach its registry")?;
    let mut install = run::program("npm");
    install.args(["install", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix"]).arg(prefix).args(packages);
    run::within(&mut install, INSTALL).with_context(|| format!("cannot install {}", packages[0]))
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

/// Returns what is held while an agent's program is looked for and installed: another scenario may be about to install it.
pub(crate) fn installing() -> MutexGuard<'static, ()> {
    static INSTALLING: Mutex<()> = Mutex::new(());
    INSTALLING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A version of Node.js for a program that needs a newer one than the installed one.
const NODE: &str = "node@22";

pub(crate) struct AgentProgram {
    pub(crate) name: &'static str,
    /// Its package in the npm registry.
    package: &'static str,
    /// The version that the scenarios are written for.
    version: &'static str,
    /// The oldest major version of Node.js that runs it; 0 for an executable of its own.
    node: u32,
    /// The script or the executable, below `node_modules`.
    script: &'static str,
    /// The arguments of a session in which dialogs ask for permission.
    pub(crate) arguments: &'static [&'static str],
    /// A text on the screen while it waits for a prompt.
    pub(crate) ready: &'static str,
    /// The files that it needs below the home directory, as JSON, with `URL` for the address of the model. The first one is
    /// the one that an installation changes.
    pub(crate) files: fn(&str) -> Vec<(&'static str, Value)>,
    pub(crate) variables: fn(&str) -> Vec<(&'static str, String)>,
    /// The file that `longhaul install --agent` changes or creates, below the home directory.
    pub(crate) config: &'static str,
    /// The command that compacts the conversation, what the model is then asked, and a text on the screen when it is done;
    /// `None` where nothing is given back then.
    pub(crate) compact: Option<[&'static str; 3]>,
    /// The command that ends it.
    pub(crate) quit: Quit,
}

/// How a session is ended.
pub(crate) enum Quit {
    Command(&'static str),
    Key(&'static str),
}

pub(crate) const GEMINI: AgentProgram = AgentProgram {
    name: "gemini",
    package: "@google/gemini-cli",
    version: "0.61.0",
    node: 20,
    script: "@google/gemini-cli/bundle/gemini.js",
    arguments: &[],
    ready: "Type your message",
    files: |_| {
        let auth = json!({ "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } });
        let settings = json!({ "security": auth, "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
            "privacy": { "usageStatisticsEnabled": false } });
        vec![(".gemini/settings.json", settings)]
    },
    variables: |url| vec![("GOOGLE_GEMINI_BASE_URL", url.to_owned()), ("GEMINI_API_KEY", "dummy".to_owned())],
    config: ".gemini/settings.json",
    compact: None,
    quit: Quit::Command("/quit"),
};

pub(crate) const QWEN: AgentProgram = AgentProgram {
    name: "qwen",
    package: "@qwen-code/qwen-code",
    version: "0.24.4",
    node: 22,
    script: "@qwen-code/qwen-code/cli-entry.js",
    arguments: &["--approval-mode", "default"],
    ready: "Type your message",
    files: |_| {
        let settings = json!({ "$version": 4, "security": { "auth": { "selectedType": "openai" } },
            "general": { "enableAutoUpdate": false }, "privacy": { "usageStatisticsEnabled": false } });
        vec![(".qwen/settings.json", settings)]
    },
    variables: |url| {
        vec![
            ("OPENAI_BASE_URL", format!("{url}/v1")),
            ("OPENAI_API_KEY", "dummy".to_owned()),
            ("OPENAI_MODEL", "qwen3-coder".to_owned()),
        ]
    },
    config: ".qwen/settings.json",
    compact: Some(["/compress", "produce the <state_snapshot> XML", "history compressed"]),
    quit: Quit::Command("/quit"),
};

pub(crate) const OPENCODE: AgentProgram = AgentProgram {
    name: "opencode",
    package: "opencode-ai",
    version: "1.18.33",
    node: 0,
    script: ".bin/opencode",
    arguments: &[],
    ready: "ctrl+p commands",
    files: |url| {
        let model = json!({ "name": "Scripted", "limit": { "context": 200_000, "output": 8192 } });
        let provider = json!({ "npm": "@ai-sdk/openai-compatible", "name": "Scripted",
            "options": { "baseURL": format!("{url}/v1"), "apiKey": "dummy" }, "models": { "scripted": model } });
        let config = json!({ "autoupdate": false, "share": "disabled", "model": "fake/scripted",
            "small_model": "fake/scripted", "permission": { "edit": "ask", "bash": "allow" }, "provider": { "fake": provider } });
        vec![(".config/opencode/opencode.json", config)]
    },
    variables: |_| {
        let switches = ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH"];
        switches.map(|switch| (switch, "1".to_owned())).to_vec()
    },
    config: ".config/opencode/plugin/longhaul.js",
    compact: Some(["/compact", "Create a new anchored summary", "A SUMMARY"]),
    quit: Quit::Key("C-c"),
};

impl AgentProgram {
    /// Returns the argv that starts it. If it is not below `folder`, npm installs it there.
    pub(crate) fn find(&self, folder: &Path) -> Result<Vec<String>> {
        let prefix = folder.join(self.name);
        let script = prefix.join("node_modules").join(self.script);
        let _installing = installing();
        if self.installed(&prefix).as_deref() != Some(self.version) || !script.exists() {
            let package = format!("{}@{}", self.package, self.version);
            let is_node_old = major(Path::new("node")) < self.node;
            install(&prefix, &[&[package.as_str()][..], if is_node_old { &[NODE] } else { &[] }].concat())?;
        }
        ensure!(script.exists(), "npm left no {}", script.display());
        let script = script.display().to_string();
        if self.node == 0 {
            return Ok(vec![script]);
        }
        let own = prefix.join("node_modules/.bin/node");
        let node = if own.exists() { own } else { PathBuf::from("node") };
        ensure!(major(&node) >= self.node, "{} needs Node.js {} or newer", self.package, self.node);
        Ok(vec![node.display().to_string(), script])
    }

    fn installed(&self, prefix: &Path) -> Option<String> {
        let text = std::fs::read(prefix.join("node_modules").join(self.package).join("package.json")).ok()?;
        Some(serde_json::from_slice::<Value>(&text).ok()?["version"].as_str()?.to_owned())
    }
}

/// Returns the major version of Node.js; 0 if it cannot be run.
fn major(node: &Path) -> u32 {
    let version = run::output(run::program(node).arg("--version")).unwrap_or_default();
    version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok()).unwrap_or_default()
}
