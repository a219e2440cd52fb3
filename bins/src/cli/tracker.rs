//! The commands about running sessions: `longhaul status` lists them with their states, `next` and `goto` bring one to the
//! screen, and `send` types a prompt into one (waiting and typing: `runtime/src/typing/send_prompt.rs`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use longhaul_core::config::OneLineText;
use longhaul_core::{Env, SessionId, Status};
use longhaul_cost::{Prices, sum_json};
use longhaul_inject::printable;
use longhaul_runtime::cost::SessionCosts;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Home, PromptOutcome, SessionRecord, Tracker, agent_json, send_prompt};
use longhaul_tracker::{Agent, Options, attention};
use serde_json::Value;

use super::sessions::{self, Target, find_target};
use super::{monitor, out, paint, tmux};

#[derive(clap::Args)]
pub(crate) struct StatusArgs {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
    /// With --json, add what each session has cost so far; this reads its whole transcript
    #[arg(long, requires = "json")]
    cost: bool,
}

pub(crate) fn status(env: &Env, args: &StatusArgs) -> anyhow::Result<()> {
    let home = Home::of(env)?;
    // If there is no database yet, this command does not create one.
    let (mut agents, bridges, options) = if home.database().exists() {
        let mut tracker = Tracker::open(env, &home)?;
        // The list is useful even if it cannot be corrected, as on a full disk.
        if let Err(error) = tracker.tidy() {
            out::message(&format!("Some states may be old: {}", error.chain()));
        }
        (tracker.agents()?, tracker.bridges()?, tracker.options())
    } else {
        (Vec::new(), Vec::new(), Options::default())
    };
    let used = if agents.is_empty() { BTreeMap::new() } else { monitor::percentages(env, &home)? };
    agents.sort_by_cached_key(attention);
    let now = env.now.0 / 1000;
    let numbers = sessions::assign_numbers(&home, agents.iter().map(|agent| agent.session.as_str()), env.now);
    let (config, _) = if args.cost { longhaul_runtime::config(env)? } else { Default::default() };
    let prices = Prices::new(&config.models.prices);
    let costs = RefCell::new(SessionCosts::default());
    let json = |agent: &Agent| {
        let mut row = agent_json(agent, used.get(&agent.session).copied(), &bridges, now);
        row["number"] = numbers.of(&agent.session).into();
        if args.cost {
            let record = SessionId::new(&agent.session).and_then(|session| SessionRecord::load(&home, &session));
            let transcript = record.and_then(|record| record.transcript);
            let cost = |path: PathBuf| sum_json(&costs.borrow_mut().of(&path, &prices));
            row["cost"] = transcript.map_or(Value::Null, cost);
        }
        row
    };
    let none = "No sessions. A session appears when Claude Code starts with the plugin.";
    out::list(args.json, &agents, json, none, || {
        let header = ["#", "STATE", "AGE", "CONTEXT", "PROJECT", "BRANCH", "PANE", "LAST"];
        let row = |agent| row(agent, numbers.of(&agent.session), used.get(&agent.session), &options, now);
        paint::table(header, agents.iter().map(row), &[0, 2, 3])
    })
}

/// Returns where a session runs: its tmux target, or its pane.
pub(crate) fn place(agent: &Agent) -> String {
    let pane = agent.pane.as_ref().map(|pane| pane.id.clone());
    agent.target.clone().or(pane).unwrap_or_else(|| "-".to_owned())
}

fn row(agent: &Agent, number: Option<u32>, used: Option<&f64>, options: &Options, now: u64) -> [String; 8] {
    let number = number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let age = paint::age(now.saturating_sub(agent.updated_at));
    let state = format!("{} {}", options.icon(agent.status), agent.status);
    let reason = agent.waits_for().filter(|_| agent.status == Status::Blocked);
    let last = reason.or(agent.prompt_summary.as_deref()).unwrap_or_default().to_owned();
    let notes: String = agent.notes().map(|note| format!(" ({note})")).collect();
    let project = format!("{}{notes}", agent.project);
    let branch = agent.branch.clone().unwrap_or_else(|| "-".to_owned());
    let context = used.map_or_else(|| "-".to_owned(), |used| format!("{used:.0} %"));
    [number, state, age, context, project, branch, place(agent), last].map(|text| printable(&text))
}

#[derive(clap::Args)]
pub(crate) struct NextArgs {
    /// The tmux client that switches to the pane; by default the one in which the command runs
    #[arg(long)]
    client: Option<String>,
}

pub(crate) fn next(env: &Env, args: &NextArgs) -> anyhow::Result<()> {
    let home = Home::of(env)?;
    let mut tracker = Tracker::open(env, &home)?;
    tracker.tidy()?;
    // A session that is visible on a screen has been seen, so it is skipped: the user has just pressed a key.
    tracker.clear_seen(0)?;
    let server = Server::of(env);
    let panes = server.as_ref().map_or(Ok(Vec::new()), |server| server.panes())?;
    let socket = server.as_ref().map(|server| server.socket.as_str());
    let is_gone = |agent: &Agent| {
        let here = agent.pane.as_ref().filter(|pane| Some(pane.socket.as_str()) == socket);
        here.is_some_and(|pane| !panes.iter().any(|live| live.pane == *pane))
    };
    let mut agents = tracker.agents()?;
    agents.retain(|agent| waits(agent) && !is_gone(agent));
    // Blocked sessions come first: they lose time. Completed ones only wait to be seen.
    agents.sort_by_cached_key(attention);
    if agents.is_empty() {
        return say(env, args, "No session waits for you.");
    }
    let is_here = |agent: &&Agent| agent.pane.as_ref().is_some_and(|pane| Some(pane.socket.as_str()) == socket);
    match (agents.iter().find(is_here).and_then(|agent| agent.pane.as_ref()), &server) {
        (Some(pane), Some(server)) => tmux::go(server, &tracker, pane, args.client.as_deref()),
        (_, _) => out::line(&printable(&describe(&agents[0]))),
    }
}

fn waits(agent: &Agent) -> bool {
    match agent.status {
        Status::Blocked | Status::Completed => agent.is_counted(),
        Status::Working | Status::Idle => false,
    }
}

/// Returns where the session is, for a user who has to go there by hand.
fn describe(agent: &Agent) -> String {
    let cwd = agent.cwd.as_deref().unwrap_or(&agent.project);
    let reason = agent.waits_for().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let pane = agent.pane.as_ref().map(|pane| format!(", pane {} of tmux -S {}", place(agent), pane.socket));
    format!("{}{reason}: {cwd}{}", agent.status, pane.unwrap_or_default())
}

/// Shows a message. If tmux runs this command for a key, the output is not visible, so the message is shown in tmux.
fn say(env: &Env, args: &NextArgs, text: &str) -> anyhow::Result<()> {
    match (Server::of(env), &args.client) {
        (Some(server), Some(client)) => server.message(text, Some(client))?,
        _ => out::message(text),
    }
    Ok(())
}

#[derive(clap::Args)]
pub(crate) struct GotoArgs {
    /// The number of the session in `longhaul status`, its id, or the beginning of its id
    session: String,
    /// The tmux client that switches to the pane; by default the one that was used last
    #[arg(long)]
    client: Option<String>,
}

pub(crate) fn goto(env: &Env, args: &GotoArgs) -> anyhow::Result<()> {
    let home = Home::of(env)?;
    let tracker = Tracker::open(env, &home)?;
    let agent = find_target(&home, &args.session)?.agent;
    let pane = agent.pane.with_context(|| format!("the session {} does not run in tmux", agent.session))?;
    let server = Server::at(&pane.socket);
    let is_here = Server::of(env).is_some_and(|here| here.socket == server.socket);
    let client = match &args.client {
        Some(client) => Some(client.clone()),
        // Inside the server, tmux knows which client has run this command.
        None if is_here => None,
        None => {
            let newest = server.clients()?.into_iter().next().map(|client| client.name);
            Some(newest.with_context(|| {
                format!("no client is attached to that tmux server: run `tmux -S {} attach`", pane.socket)
            })?)
        }
    };
    tmux::go(&server, &tracker, &pane, client.as_deref())
}

#[derive(clap::Args)]
pub(crate) struct SendArgs {
    /// The number of the session in `longhaul status`, its id, or the beginning of its id
    session: String,
    /// The prompt
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Give up if the prompt could not be typed within SECONDS, because a turn runs or somebody types; default: the setting inject.patience_seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    wait: Option<u64>,
}

pub(crate) fn send(env: &Env, args: &SendArgs) -> anyhow::Result<()> {
    let home = Home::of(env)?;
    let target = find_target(&home, &args.session)?;
    let (config, _) = longhaul_runtime::config(env)?;
    let patience = args.wait.map_or_else(|| config.inject.patience(), Duration::from_secs);
    let waits = |why: &str| out::message(&format!("Waiting up to {} s: {why}", patience.as_secs()));
    out::message(&send_to(env, &home, &target, &args.text.join(" "), patience, &waits)?);
    Ok(())
}

/// Sends a prompt to a session that was found, and returns what has happened.
pub(crate) fn send_to(
    env: &Env,
    home: &Home,
    target: &Target,
    text: &str,
    patience: Duration,
    waits: &dyn Fn(&str),
) -> anyhow::Result<String> {
    let project = &target.agent.project;
    let spaced: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let text = OneLineText::new(&spaced).context(
        "a prompt must not be empty, contain control characters, or start with /, !, #, @ or ?: type that in the session itself",
    )?;
    match send_prompt(env, home, &target.record, text.as_str(), patience, waits)? {
        PromptOutcome::Received => Ok(format!("{project} has received the prompt.")),
        PromptOutcome::NotSent(why) => bail!("nothing was sent to {project}: {why}"),
        PromptOutcome::NotConfirmed => {
            bail!("the prompt was typed into {project}, but Claude Code has not confirmed it: go there")
        }
    }
}
