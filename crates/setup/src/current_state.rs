//! What is there now, read once, for the plans.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use longhaul_core::Env;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Shell, bounded_read, running_clients, shared_file, worker};

use crate::client::{self, Marketplace, Plugin};
use crate::manifest::Manifest;
use crate::paths::Places;
use crate::{ID, PLUGIN, Result};

/// What stands where `longhaul` is to be on the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Nothing.
    Missing,
    /// A link into our own folder, or one that leads nowhere any more.
    Ours(PathBuf),
    /// Something of somebody else's.
    Foreign,
}

/// The tmux server that this runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TmuxServer {
    /// It runs in none, or in one that does not answer.
    None,
    /// One that knows nothing of us.
    Plain,
    /// One that shows our counts.
    SetUp,
}

/// What is there now.
#[derive(Debug, Clone)]
pub struct Found {
    /// Where everything goes.
    pub places: Places,
    /// What was noted at the last installation.
    pub manifest: Option<Manifest>,
    /// The client, where there is one.
    pub client: Option<PathBuf>,
    /// Why the client is counted as missing, though there is one.
    pub client_trouble: Option<String>,
    /// Its plugins, ours and others'.
    pub plugins: Vec<Plugin>,
    /// Our marketplace, as the client knows it.
    pub marketplace: Option<Marketplace>,
    /// `longhaul` on the path.
    pub link: Link,
    /// The text of settings.json, where there is one.
    pub settings: Option<String>,
    /// The text of keybindings.json, where there is one; `Err` says why it cannot be changed.
    pub keybindings: std::result::Result<Option<String>, String>,
    /// What keybindings.json was before us, where there was one.
    pub keybindings_before: Option<String>,
    /// The tmux.conf files that are there, with their texts.
    pub tmux_confs: Vec<(PathBuf, String)>,
    /// Whether there is a tmux at all.
    pub has_tmux: bool,
    /// The server that this runs in.
    pub tmux_server: TmuxServer,
    /// The versions in our own folder.
    pub versions: Vec<String>,
    /// How many clients run: they may use any of the versions.
    pub running_clients: usize,
    /// Whether the worker runs.
    pub worker_runs: bool,
    /// Copies that the client has made of us and does not use any more.
    pub orphans: Vec<PathBuf>,
    /// The folders above our places that are not there, outermost first.
    pub missing_dirs: Vec<PathBuf>,
    /// What installations have left in places of others: copies in the client's folder, and of files before a change.
    pub leftovers: Vec<PathBuf>,
    /// Whether our own folder is there.
    pub has_lib: bool,
    /// Whether a shell finds what is linked.
    pub has_link_on_path: bool,
    /// What is remembered, as files; `None` where there is nothing.
    pub data: Option<Vec<PathBuf>>,
    /// The schema of the database, where there is one that can be read.
    pub schema: Option<u32>,
}

impl Found {
    /// Looks.
    pub fn look(env: &Env, shell: &Shell) -> Result<Self> {
        let places = Places::of(env, shell)?;
        let asked = shell.client().map(|client| {
            let told = client::plugins(&client).and_then(|plugins| Ok((plugins, client::marketplace(&client)?)));
            told.map(|(plugins, marketplace)| (client, plugins, marketplace))
        });
        let (client, plugins, marketplace, client_trouble) = match asked {
            Some(Ok((client, plugins, marketplace))) => (Some(client), plugins, marketplace, None),
            Some(Err(error)) => (None, Vec::new(), None, Some(error.to_string())),
            None => (None, Vec::new(), None, None),
        };
        // Only looked at: what is not UTF-8 is not changed.
        let text = |path: &PathBuf| {
            let bytes = bounded_read::bytes(path, bounded_read::LARGE).ok()?;
            Some((path.clone(), String::from_utf8_lossy(&bytes).into_owned()))
        };
        let tmux_confs = places.tmux_confs.iter().filter_map(text).collect();
        Ok(Self {
            manifest: Manifest::load(&places.manifest()),
            plugins,
            marketplace,
            client,
            client_trouble,
            link: link(&places),
            settings: shared_file::read(&places.settings)?,
            keybindings: keybindings(&places.keybindings),
            keybindings_before: shared_file::read(&backup_of(&places.keybindings)).ok().flatten(),
            tmux_confs,
            has_tmux: !shell.find("tmux").is_empty(),
            tmux_server: tmux_server(env),
            versions: names(&places.versions()),
            running_clients: running_clients(env).len(),
            worker_runs: worker::running(&places.data).is_some(),
            orphans: orphans(&places.cache()),
            missing_dirs: missing_dirs(&places),
            leftovers: leftovers(&places),
            has_lib: places.lib.exists(),
            has_link_on_path: has_link_on_path(&places, shell),
            data: places.data.dir().exists().then(|| places.data.contents()),
            schema: longhaul_store::schema_of(&places.data.database()),
            places,
        })
    }
}

fn link(places: &Places) -> Link {
    match (fs::read_link(&places.link), places.link.symlink_metadata()) {
        (Ok(target), _) if target.starts_with(&places.lib) || !places.link.exists() => Link::Ours(target),
        (Err(_), Err(_)) => Link::Missing,
        (Ok(_) | Err(_), _) => Link::Foreign,
    }
}

fn tmux_server(env: &Env) -> TmuxServer {
    match Server::of(env).map(|server| server.setup_state()) {
        Some(Ok(state)) if state.command.is_empty() => TmuxServer::Plain,
        Some(Ok(_)) => TmuxServer::SetUp,
        Some(Err(_)) | None => TmuxServer::None,
    }
}

/// Returns the names in a folder, sorted; hidden ones are half-made.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// Returns the client's copies of the whole plugin that it has marked as orphaned.
fn orphans(cache: &Path) -> Vec<PathBuf> {
    let copies = cache.join(PLUGIN);
    let versions = names(&copies).into_iter().map(|version| copies.join(version));
    versions.filter(|copy| copy.join(".orphaned_at").exists()).collect()
}

/// Reads a file that is left alone where it cannot be changed: everything works without it.
fn keybindings(path: &Path) -> std::result::Result<Option<String>, String> {
    if path.symlink_metadata().is_ok() && !path.exists() {
        return Err("is a link that leads nowhere".to_owned());
    }
    if path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o200 == 0) {
        return Err("is read-only".to_owned());
    }
    shared_file::read(path).map_err(|error| error.chain())
}

/// Returns the copy of a file from before, which lies beside what a link leads to.
fn backup_of(path: &Path) -> PathBuf {
    shared_file::backup_of(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
}

fn missing_dirs(places: &Places) -> Vec<PathBuf> {
    let above = |path: &Path| path.ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>();
    let mut dirs =
        [above(&places.lib), above(&places.link), above(places.data.dir()), above(&places.keybindings)].concat();
    dirs.retain(|dir| dir.starts_with(&places.home) && !dir.exists());
    dirs.sort();
    dirs.dedup();
    dirs
}

fn leftovers(places: &Places) -> Vec<PathBuf> {
    let changed = places.tmux_confs.iter().chain([&places.settings, &places.keybindings]);
    let data = places.client_dir.join("plugins/data").join(ID.replace('@', "-"));
    let all = changed.map(|path| backup_of(path)).chain([places.cache(), data]).chain(server_logs(places));
    all.filter(|path| path.exists()).collect()
}

fn has_link_on_path(places: &Places, shell: &Shell) -> bool {
    let dir = places.link.parent();
    shell.path.iter().flat_map(std::env::split_paths).any(|on_path| Some(on_path.as_path()) == dir)
}

/// Returns what the client has logged of our MCP server, in a folder for each project.
fn server_logs(places: &Places) -> Vec<PathBuf> {
    let caches = [".cache", "Library/Caches"].map(|cache| places.home.join(cache).join("claude-cli-nodejs"));
    let projects = caches.iter().flat_map(|cache| names(cache).into_iter().map(|name| cache.join(name)));
    projects.map(|project| project.join(format!("mcp-logs-plugin-{PLUGIN}-{PLUGIN}"))).collect()
}
