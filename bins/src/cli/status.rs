//! `longhaul status`: lists the running sessions and their states.

use std::collections::BTreeMap;

use longhaul_core::{Env, SessionId, Status};
use longhaul_cost::Prices;
use longhaul_inject::printable;
use longhaul_runtime::{Home, SessionRecord, Tracker, agent_json};
use longhaul_tracker::{Agent, Options, age, attention};
use longhaul_usage_reader::{SessionCosts, sum_json};
use longhaul_view::SessionNumbers;
use serde_json::Value;

use super::{Exit, monitor, out, paint, session_numbers};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
    /// With --json, add what each session has cost so far; this reads its whole transcript
    #[arg(long, requires = "json")]
    cost: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
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
    let numbers = session_numbers::assign(&home, agents.iter().map(|agent| agent.session.as_str()), env.now);
    if args.json {
        let prices = Prices::new(&longhaul_runtime::config(env)?.0.cost.prices);
        let mut costs = SessionCosts::default();
        let mut json = |agent: &Agent| {
            let mut row = agent_json(agent, used.get(&agent.session).copied(), &bridges, now);
            row["number"] = numbers.of(&agent.session).into();
            if args.cost {
                let record = SessionId::new(&agent.session).and_then(|session| SessionRecord::load(&home, &session));
                let transcript = record.and_then(|record| record.transcript);
                row["cost"] = transcript.map_or(Value::Null, |path| sum_json(&costs.of(&path, &prices)));
            }
            row
        };
        let rows: Vec<_> = agents.iter().map(&mut json).collect();
        out::json(&rows)?;
    } else if agents.is_empty() {
        out::message("No sessions. A session appears when Claude Code starts with the plugin.");
    } else {
        for line in table(&agents, &numbers, &used, &options, now) {
            out::line(&line)?;
        }
    }
    Ok(Exit::Success)
}

/// Returns where a session runs: its tmux target, or its pane.
pub(crate) fn place(agent: &Agent) -> String {
    let pane = agent.pane.as_ref().map(|pane| pane.id.clone());
    agent.target.clone().or(pane).unwrap_or_else(|| "-".to_owned())
}

/// Returns the sessions as a table.
fn table(
    agents: &[Agent],
    numbers: &SessionNumbers,
    used: &BTreeMap<String, f64>,
    options: &Options,
    now: u64,
) -> Vec<String> {
    let header = ["#", "STATE", "AGE", "CONTEXT", "PROJECT", "BRANCH", "PANE", "LAST"].map(str::to_owned);
    let number = |agent: &Agent| numbers.of(&agent.session).map_or_else(|| "-".to_owned(), |number| number.to_string());
    let rows = agents.iter().map(|agent| row(agent, number(agent), used.get(&agent.session), options, now));
    let rows: Vec<[String; 8]> = std::iter::once(header).chain(rows).collect();
    paint::columns(&rows, &[0, 2, 3])
}

fn row(agent: &Agent, number: String, used: Option<&f64>, options: &Options, now: u64) -> [String; 8] {
    let seconds = now.saturating_sub(agent.updated_at);
    let age = if seconds < 60 { format!("{seconds}s") } else { age(seconds) };
    let state = format!("{} {}", options.icon(agent.status), agent.status);
    let reason = agent.waits_for().filter(|_| agent.status == Status::Blocked);
    let last = reason.or(agent.prompt_summary.as_deref()).unwrap_or_default().to_owned();
    let notes: String = agent.notes().map(|note| format!(" ({note})")).collect();
    let project = format!("{}{notes}", agent.project);
    let branch = agent.branch.clone().unwrap_or_else(|| "-".to_owned());
    let context = used.map_or_else(|| "-".to_owned(), |used| format!("{used:.0} %"));
    [number, state, age, context, project, branch, place(agent), last].map(|text| printable(&text))
}
