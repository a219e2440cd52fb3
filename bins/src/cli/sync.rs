//! `longhaul sync`: its commands and their help. Those that need the engine are in `sync-engine/src/commands/`.

use anyhow::{Context, bail};
use longhaul_core::config::SyncAddress;
use longhaul_core::{Env, Millis, counted};
use longhaul_runtime::handoff::Project;
use longhaul_runtime::memory::folder_of;
use longhaul_runtime::sync::{self, ExchangeState, ProjectOrigin, project_origin};
use longhaul_runtime::{Home, config, now};
use longhaul_store::{Store, SyncCounts, SyncHost, SyncProject, SyncSelf};
use longhaul_sync::{ProjectId, normalised_url};
use longhaul_tracker::age;
use serde_json::{Value, json};

use super::{Exit, out, paint};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Create a circle (machines that share one memory) in a PostgreSQL database or a folder, and print the code with which another machine joins
    Init {
        /// `postgres://USER@HOST/DATABASE` or `folder:PATH`; `-` reads the address from standard input
        address: String,
    },
    /// Join the circle of another machine; first, the key and the address of the database or folder are checked
    Join {
        /// The code that `init` or `code` printed on another machine; `-` reads it from standard input, or asks for it in a terminal
        code: String,
        /// Use this address of the database or folder instead of the one in the code, for example with your own name as the user of the database; `-` reads it from standard input, after the code
        #[arg(long)]
        url: Option<String>,
    },
    /// Exchange records now
    Now,
    /// Show the last exchange, and how many records are still to be sent; exit 1 if the last exchange has failed
    Status {
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// List the machines of the circle, with their names and when they were last seen
    Hosts {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Share the project in this folder with the circle from now on
    Share(ShareArgs),
    /// Stop sharing the project in this folder; the other machines keep what was sent
    Unshare,
    /// List the projects that this machine shares, and those that only other machines share
    Projects {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Give the circle a new key, so that a person who has left cannot read new records
    Rotate,
    /// Leave the circle; this machine keeps what it has fetched
    Leave,
    /// Print the key of the circle as 24 words
    Key {
        /// Print it as a QR code instead
        #[arg(long)]
        qr: bool,
    },
    /// Print the code with which another machine joins the circle
    Code {
        /// Leave out the password of the database, for a team in which each member has a database user
        #[arg(long)]
        without_password: bool,
    },
}

pub(crate) fn run(env: &Env, command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Init { address } => return engine(env, &["init", address]),
        Command::Join { code, url: None } => return engine(env, &["join", code]),
        Command::Join { code, url: Some(url) } => return engine(env, &["join", code, "--url", url]),
        Command::Now => return engine(env, &["now"]),
        Command::Rotate => return engine(env, &["rotate"]),
        Command::Leave => return engine(env, &["leave"]),
        Command::Key { qr: false } => return engine(env, &["key"]),
        Command::Key { qr: true } => return engine(env, &["key", "--qr"]),
        Command::Code { without_password: false } => return engine(env, &["code"]),
        Command::Code { without_password: true } => return engine(env, &["code", "--without-password"]),
        Command::Status { json } => return status(env, *json),
        Command::Hosts { json } => hosts(env, *json)?,
        Command::Share(args) => share(env, args)?,
        Command::Unshare => unshare(env)?,
        Command::Projects { json } => list(env, *json)?,
    }
    Ok(Exit::Success)
}

/// Runs a command of the engines, unless Longhaul is switched off.
fn engine(env: &Env, arguments: &[&str]) -> anyhow::Result<Exit> {
    if env.disabled {
        return Ok(Exit::Success);
    }
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    Ok(Exit::Code(longhaul_sync_engine::run(env, &arguments)))
}

/// Returns the database and this machine as its circle knows it; an error without a circle.
fn circle(env: &Env) -> anyhow::Result<(Store, SyncSelf)> {
    let store = Home::of(env)?.existing_store()?;
    let own = store.as_ref().map(Store::sync_self).transpose()?.flatten();
    store.zip(own).ok_or_else(|| {
        anyhow::anyhow!(
            "this machine has no circle: `longhaul sync init` makes one, `longhaul sync join CODE` joins one"
        )
    })
}

/// From this difference on, a clock is named.
const CLOCK_MS: u64 = 60_000;

fn hosts(env: &Env, as_json: bool) -> anyhow::Result<()> {
    let (store, own) = circle(env)?;
    let hosts = store.sync_hosts()?;
    let now = now(env);
    // This machine is always one of them.
    out::list(
        as_json,
        &hosts,
        |host| host_json(host, host.host == own.host),
        "",
        || {
            let rows = hosts.iter().map(|host| row(host, host.host == own.host, now));
            paint::table(["NAME", "LAST SEEN", "RECORDS", "CLOCK", "ID"], rows, &[2])
        },
    )
}

fn row(host: &SyncHost, is_this: bool, now: Millis) -> [String; 5] {
    let name = if host.name.is_empty() { "?" } else { &host.name };
    let own = match (is_this, host.is_own) {
        (true, _) => " (this machine)",
        (false, true) => " (this machine, before it got a new id)",
        (false, false) => "",
    };
    [
        paint::harmless(&format!("@{name}{own}")),
        host.seen_at.map_or_else(|| "-".to_owned(), |seen| ago(seen, now)),
        host.head.to_string(),
        clock(host.clock_ahead),
        host.host.to_string(),
    ]
}

fn ago(at: Millis, now: Millis) -> String {
    match age(now.0.saturating_sub(at.0) / 1000) {
        text if text.is_empty() => "now".to_owned(),
        text => format!("{text} ago"),
    }
}

/// Returns how far a clock is off; empty if it is right.
fn clock(ahead: i64) -> String {
    let off = ahead.unsigned_abs();
    match ahead {
        _ if off < CLOCK_MS => String::new(),
        1.. => format!("{} min ahead", off / 60_000),
        _ => format!("{} min behind", off / 60_000),
    }
}

fn host_json(host: &SyncHost, is_this: bool) -> Value {
    json!({
        "id": host.host.to_string(),
        "name": host.name,
        "this": is_this,
        "records": host.head,
        "seen_at": host.seen_at.map(|seen| seen.0),
        "clock_ahead_ms": host.clock_ahead,
    })
}

#[derive(clap::Args)]
pub(crate) struct ShareArgs {
    /// Also share what was recorded before now
    #[arg(long)]
    past: bool,
    /// A name for the project, the same on every machine; required if the project has no git remote
    #[arg(long)]
    name: Option<String>,
}

fn share(env: &Env, args: &ShareArgs) -> anyhow::Result<()> {
    let (store, _) = circle(env)?;
    let dir = std::env::current_dir().context("cannot find the current folder")?;
    let project = Project::of(env, Some(&dir));
    let (config, _) = config(env)?;
    if longhaul_runtime::memory::is_excluded(&config.memory, env, project.path.as_ref()) {
        bail!("{} is excluded from the memory by memory.exclude: there is nothing to share", project.name);
    }
    let origin = match &args.name {
        Some(name) => ProjectOrigin::Name(name.clone()),
        None => project_origin(env, &Home::of(env)?, &dir).context(
            "cannot recognise this project on other machines: give it a name with --name NAME, the same on each of them",
        )?,
    };
    let (id, name) = match &origin {
        ProjectOrigin::Remote { url, root_commit } => (ProjectId::of_remote(url, root_commit), project.name.clone()),
        ProjectOrigin::Name(name) if name.trim().is_empty() => bail!("the name is empty"),
        ProjectOrigin::Name(name) => (ProjectId::of_name(name), name.trim().to_owned()),
    };
    let since = if args.past { Millis(0) } else { now(env) };
    store.share_project(id, &name, &project.key, &project.name, since)?;
    // A folder can claim any address, so the user is shown it, without a user name or a password.
    let claimed = match &origin {
        ProjectOrigin::Remote { url, .. } => format!(" as {}", normalised_url(url)),
        ProjectOrigin::Name(_) => String::new(),
    };
    let from =
        if args.past { "everything that was recorded" } else { "what is recorded from now on; --past adds the rest" };
    out::line(&paint::harmless(&format!("{name} is shared{claimed}: {from}.")))
}

fn unshare(env: &Env) -> anyhow::Result<()> {
    let (store, _) = circle(env)?;
    let dir = std::env::current_dir().context("cannot find the current folder")?;
    let project = Project::of(env, Some(&dir));
    if !store.unshare_project(&project.key)? {
        bail!("{} is not shared", project.name);
    }
    out::line(&paint::harmless(&format!(
        "{} is not shared any more. The other machines keep what was sent; what was not sent yet stays here.",
        project.name
    )))
}

fn list(env: &Env, as_json: bool) -> anyhow::Result<()> {
    let (store, _) = circle(env)?;
    let projects = store.sync_projects()?;
    let json = |project: &SyncProject| {
        json!({
            "name": project.name,
            "shared": project.is_shared,
            "folder": project.project_key.as_deref().map(folder_of),
            "since": project.since.0,
            "waiting": project.waiting,
        })
    };
    let row = |project: &SyncProject| {
        let shared = if project.is_shared { "yes" } else { "no" };
        let waiting = if project.waiting == 0 { String::new() } else { project.waiting.to_string() };
        let folder = project.project_key.as_deref().map_or_else(|| "-".to_owned(), folder_of);
        [paint::harmless(&project.name), shared.to_owned(), waiting, paint::harmless(&folder)]
    };
    let none = "No project is shared. Run `longhaul sync share` in one.";
    out::list(as_json, &projects, json, none, || {
        paint::table(["PROJECT", "SHARED HERE", "WAITING", "FOLDER"], projects.iter().map(row), &[2])
    })
}

fn status(env: &Env, as_json: bool) -> anyhow::Result<Exit> {
    let (store, own) = circle(env)?;
    let home = Home::of(env)?;
    let state = ExchangeState::read(&home);
    let counts = store.sync_counts()?;
    let exit = if state.error.is_some() { Exit::Problem } else { Exit::Success };
    if as_json {
        out::json(&json!({
            "circle": own.circle.to_string(),
            "host": own.host.to_string(),
            "name": own.name,
            "exchange": state,
            "unsent": counts.unsent,
            "waiting": counts.waiting,
            "newer": counts.newer,
            "damaged": counts.damaged,
            "to_erase": counts.to_erase,
        }))?;
        return Ok(exit);
    }
    let (config, _) = longhaul_runtime::config(env)?;
    // A command may ask for a password: the status does not run it.
    let engine = match config.sync.url {
        SyncAddress::Printed(_) => "printed by the command in sync.url".to_owned(),
        SyncAddress::Here(_) | SyncAddress::Given => sync::engine_address(&home, &config)?
            .map_or_else(|| "-".to_owned(), |address| sync::shown_address(&address.text)),
    };
    for line in lines(&store, &own, &state, counts, &engine, now(env))? {
        out::line(&paint::harmless(&line))?;
    }
    if !config.sync.enabled {
        out::line("Automatic: off, by sync.enabled")?;
    }
    Ok(exit)
}

fn lines(
    store: &Store,
    own: &SyncSelf,
    state: &ExchangeState,
    counts: SyncCounts,
    engine: &str,
    now: Millis,
) -> anyhow::Result<Vec<String>> {
    let when = |at: Option<u64>| at.map_or_else(|| "never".to_owned(), |at| ago(Millis(at), now));
    let mut lines = vec![
        format!("This machine:   @{} ({})", own.name, own.host),
        format!("Engine:         {engine}"),
        format!("Last exchange:  {}, {} sent, {} fetched", when(state.succeeded_at), state.sent, state.fetched),
    ];
    if let Some(error) = &state.error {
        let times = counted(state.failures as usize, "time");
        lines.push(format!("Last error:     {} ({times} in a row): {error}", when(state.at)));
        let wait = state.not_before.saturating_sub(now.0).div_ceil(60_000);
        lines.push(format!("Next attempt:   in {wait} min, or now with `longhaul sync now`"));
    }
    if let Some(incomplete) = &state.incomplete {
        lines.push(format!("Not fetched:    {incomplete}"));
    }
    if let Some(remark) = &state.remark {
        lines.push(format!("Remark:         {remark}"));
    }
    let shared = store.sync_projects()?.iter().filter(|project| project.is_shared).count();
    let others = store.sync_hosts()?.iter().filter(|host| !host.is_own).count();
    lines.push(format!("Shared:         {}, with {}", counted(shared, "project"), counted(others, "other machine")));
    lines.push(format!("To send:        {} records in the log", counts.unsent));
    let open = [
        (counts.waiting, "of projects that are not shared here (`longhaul sync projects`)"),
        (counts.newer, "of a newer version: update longhaul"),
        (counts.damaged, "that cannot be read: damaged, or changed by somebody without the key"),
        (counts.to_erase, "to erase in the engine"),
    ];
    lines.extend(
        open.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("Records:        {number} {what}")),
    );
    Ok(lines)
}
