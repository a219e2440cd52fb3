//! Tasks of no other job: configuration warnings, a word in the first session, and removing old files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs2::FileExt;
use longhaul_core::Millis;
use longhaul_core::catalog::{COMMAND_LINE, Job, MARKETPLACE};
use longhaul_core::event::{SessionStart, StartSource};
use longhaul_inject::shell_single_quote;

use crate::clock_and_env::patient;
use crate::memory::salvage;
use crate::tmux::{COMMAND, PATIENCE_IN_HOOK, Server, words};
use crate::{Error, Flow, Hook, bounded_read, client_records, files, home, process};

/// Session files that were not changed for this long are removed.
const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The same for the files of handoffs, which are only for people; the database keeps the handoffs.
const KEEP_HANDOFFS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How many files are looked at for past transcripts.
const MANY_FILES: usize = 10_000;

/// Shows the user the problems of the configuration file.
pub fn show_config_warnings(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if !hook.config_warnings.is_empty() && hook.event.source != StartSource::Compact {
        let list = hook.config_warnings.join("; ");
        hook.log.write(&list);
        hook.notify(&format!("longhaul: {list}"));
    }
    Ok(Flow::Next)
}

/// Tells the user once what came of the salvage of a damaged database; goes on with one that was interrupted.
pub fn tell_salvaged(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    // Nobody reads it there.
    if !hook.env.client_pid.is_some_and(|pid| client_records::is_headless(&hook.env, pid)) {
        for report in salvage::news(&hook.home)? {
            hook.notify(&format!("longhaul: {report}"));
        }
    }
    Ok(Flow::Next)
}

/// Tells the user once, in the first session after the installation, what to try. Hooks alone are installed if `longhaul
/// install` has recorded it: they do not run as a plugin.
pub fn welcome(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let is_headless = || hook.env.client_pid.is_some_and(|pid| client_records::is_headless(&hook.env, pid));
    let is_recorded = || hook.env.home_dir.as_deref().is_some_and(|dir| home::install_record(dir).is_file());
    let file = hook.home.welcomed();
    if file.exists() || !(hook.env.in_plugin || is_recorded()) || is_headless() {
        return Ok(Flow::Next);
    }
    // Of two sessions that start at the same time, one creates the file.
    files::create_dir(hook.home.dir())?;
    if !files::create_new(&file)? {
        return Ok(Flow::Next);
    }
    let mut commands = vec!["`longhaul` shows all sessions"];
    if hook.config.memory.enabled && hook.serves(Job::Memory) {
        if hook.has_past_transcripts() {
            commands.insert(0, "`longhaul memory import` takes past sessions into the memory");
        }
        commands.push("`longhaul worker open` shows the memory in a browser");
    }
    hook.notify(&format!("longhaul is installed. To try in a shell: {}", commands.join(", ")));
    Ok(Flow::Next)
}

/// Tells the user once that the database of a version before the first release was renamed. It comes last, because an earlier job
/// may have been the first to open it.
pub fn tell_of_replaced_database(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let file = hook.home.replaced_database();
    // Of two sessions that start at the same time, one removes the file.
    if let Ok(aside) = bounded_read::text(&file, bounded_read::SMALL)
        && fs::remove_file(&file).is_ok()
    {
        hook.notify(&format!(
            "longhaul: the database was written by a version before the first release; it was renamed to {aside}, and a new one is \
             begun. `longhaul memory import` fills it from the transcripts of past sessions"
        ));
    }
    Ok(Flow::Next)
}

impl Hook<SessionStart> {
    /// Returns whether Claude Code has transcripts of other sessions.
    fn has_past_transcripts(&self) -> bool {
        let Some(projects) = self.env.client_dir.as_ref().map(|dir| dir.join("projects")) else { return false };
        let own = self.event.common.transcript.as_deref();
        let entries = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_past = |path: &Path| path.extension().is_some_and(|end| end == "jsonl") && Some(path) != own;
        entries(&projects).flat_map(|project| entries(&project)).take(MANY_FILES).any(|path| is_past(&path))
    }
}

/// Removes the files of sessions that have been over for a week, and the files of old handoffs.
pub fn remove_old_files(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let home = &hook.home;
    let week = [home.sessions(), home.locks(), home.clients(), home.limits()].map(|dir| (dir, KEEP));
    let dirs = week.into_iter().chain([(home.handoffs(), KEEP_HANDOFFS)]);
    for (dir, keep) in dirs {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if is_old(&entry.path(), keep, hook.env.now) && !is_locked(&entry.path()) {
                // The start of another session may be removing it at the same time.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
    Ok(Flow::Next)
}

/// Removes the installed versions that an update has replaced, and the copies of the plugin that Claude Code has marked as
/// unused, if no other session runs that may have begun with one of them.
pub fn remove_old_versions(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let env = &hook.env;
    let (Some(user_home), Ok(exe)) = (env.home_dir.as_deref(), std::env::current_exe()) else { return Ok(Flow::Next) };
    let copies = env.client_dir.iter().flat_map(|dir| folders(&dir.join("plugins/cache").join(MARKETPLACE)));
    let mut old: Vec<PathBuf> =
        copies.flat_map(|plugin| folders(&plugin)).filter(|copy| copy.join(".orphaned_at").exists()).collect();
    let current = home::installed_id(user_home);
    let versions = home::install_record(user_home).with_file_name("versions");
    if let Some(current) = current.as_deref() {
        old.extend(folders(&versions).into_iter().filter(|version| !version.ends_with(current)));
    }
    old.retain(|folder| folder.canonicalize().is_ok_and(|folder| !exe.starts_with(folder)));
    // Where Claude Code writes no records, it is not known who runs.
    let is_alone = || matches!(client_records::records(env).as_slice(), [own] if env.client_pid == Some(own.pid));
    if old.is_empty() || !is_alone() {
        return Ok(Flow::Next);
    }
    // A session with another configuration folder has its record there.
    let runs = |pid: Option<u32>| pid.is_some_and(|pid| env.client_pid != Some(pid) && process::is_alive(pid));
    let agents = hook.store()?.agents()?;
    if agents.iter().any(|agent| runs(agent.pid)) {
        return Ok(Flow::Next);
    }
    // A running `longhaul install` holds this lock: it records its version after it has copied it.
    let Ok(lock) = bounded_read::open_dir(user_home) else { return Ok(Flow::Next) };
    if lock.try_lock_exclusive().is_err() || home::installed_id(user_home) != current {
        return Ok(Flow::Next);
    }
    let own = Server::of(env).map(|server| server.socket);
    let sockets = agents.into_iter().filter_map(|agent| agent.pane).map(|pane| pane.socket).chain(own);
    replace_in_tmux(&sockets.collect(), &old, &exe);
    for folder in old {
        // Hidden first: what is left of it when this process is killed must not look like a version.
        let hidden =
            folder.with_file_name(format!(".{}.tmp", folder.file_name().unwrap_or_default().to_string_lossy()));
        let _ = fs::remove_dir_all(&hidden);
        // The start of another session may be removing it at the same time.
        let _ = fs::rename(&folder, &hidden).and_then(|()| fs::remove_dir_all(&hidden));
    }
    Ok(Flow::Next)
}

/// Gives the tmux servers that call Longhaul in a version that is about to be removed the current one instead.
fn replace_in_tmux(sockets: &BTreeSet<String>, old: &[PathBuf], exe: &Path) {
    let in_hook = |socket: &String| Server::at(socket).within(patient(PATIENCE_IN_HOOK));
    for server in sockets.iter().map(in_hook).filter(Server::answers) {
        let Some(command) = server.globals(&[COMMAND]).ok().and_then(|mut values| values.pop()) else { continue };
        for (folder, current) in old.iter().filter_map(|folder| Some((folder, beside(folder, exe)?))) {
            // The quoted path of an executable begins as that of its folder does, whatever the path contains.
            let quoted = shell_single_quote(&format!("{}/", folder.display()));
            if let Some(begins) = command.rfind(quoted.strip_suffix('\'').unwrap_or(&quoted)) {
                let exe = shell_single_quote(&current.join("bin").join(COMMAND_LINE).to_string_lossy());
                // A server that does not take it goes on until `longhaul tmux setup` runs again.
                let _ = server.run(&[words(["set-option", "-g", COMMAND, &format!("{}{exe}", &command[..begins])])]);
            }
        }
    }
}

/// Returns the version beside `old` that contains `exe`.
fn beside(old: &Path, exe: &Path) -> Option<PathBuf> {
    let versions = old.parent()?;
    let within = exe.strip_prefix(versions.canonicalize().ok()?).ok()?;
    Some(versions.join(within.components().next()?))
}

/// Returns the folders in a folder. Hidden ones are left out: a copy is hidden until it is complete.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let visible = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    visible.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

/// Returns whether a file is locked. The age of a lock file does not change while it is held.
fn is_locked(path: &Path) -> bool {
    bounded_read::open(path).is_ok_and(|file| file.try_lock_exclusive().is_err())
}

fn is_old(path: &Path, keep: Duration, now: Millis) -> bool {
    files::modified(path).is_some_and(|at| Duration::from_millis(now.since(at)) > keep)
}
