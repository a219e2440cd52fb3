//! `longhaul continuation`: shows, resumes and cancels chains. `longhaul bridge` is called by the module inside Claude Code,
//! which reports an event and does what the answer says.

use anyhow::{Context, bail};
use longhaul_core::{Env, short_session};
use longhaul_handoff::continuation::State;
use longhaul_inject::printable;
use longhaul_runtime::bridge::{BridgeEvent, handle};
use longhaul_runtime::continuation::decide_by_hand;
use longhaul_runtime::{Home, read_stdin, waiting_times};
use longhaul_store::{Chain, ChainStep, Store};
use serde_json::{Value, json};

use super::paint::local_time;
use super::{Exit, out, paint};

/// How many chains and how many steps are shown.
const CHAINS: usize = 20;
const STEPS: usize = 100;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Show the state of every chain; exit 1 if the newest chain has failed
    Status {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Resume a chain that failed or was paused
    Resume(Which),
    /// Cancel a running chain
    Cancel(Which),
    /// Show every step of every chain, with the reason for the step
    Log {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
pub(crate) struct Which {
    /// The chain of the session whose id begins with ID, instead of the newest chain
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    session: Option<String>,
}

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<Exit> {
    let store = Home::of(env)?.existing_store()?;
    match command {
        Command::Status { json } => {
            let chains = store.map_or_else(|| Ok(Vec::new()), |store| store.chains(CHAINS))?;
            out::list(json, &chains, chain_json, NONE, || table(&chains))?;
            // Only the newest chain counts: older failures are history.
            let failed = chains.first().is_some_and(|chain| chain.plan.state == State::Failed);
            return Ok(if failed { Exit::Problem } else { Exit::Success });
        }
        Command::Log { json } => {
            let steps = store.map_or_else(|| Ok(Vec::new()), |store| store.steps(STEPS))?;
            out::list(json, &steps, step_json, NONE, || steps.iter().map(step_line).collect())?;
        }
        Command::Resume(which) => {
            let fit = |chain: &Chain| chain.plan.is_stuck() || chain.plan.waits_for_typing();
            let before = find(store, which.session.as_deref(), fit, "can be resumed")?;
            let chain = decide_by_hand(env, true, before.id)?.context("the chain does not exist any more")?;
            let by_hand = if chain.terminal_lock.is_none() {
                "; its terminal is unknown: type /clear in that session"
            } else {
                ""
            };
            out::message(&format!(
                "Session {}: {} again{by_hand}.",
                short_session(&chain.plan.session),
                chain.plan.state
            ));
        }
        Command::Cancel(which) => {
            let chain = find(store, which.session.as_deref(), |chain| chain.plan.state.is_open(), "is running")?;
            let chain = decide_by_hand(env, false, chain.id)?.context("the chain does not exist any more")?;
            out::message(&format!("Session {}: {}.", short_session(&chain.plan.session), chain.plan.state));
        }
    }
    Ok(Exit::Success)
}

/// Finds the newest chain that matches `prefix` and is `fit`.
fn find(store: Option<Store>, prefix: Option<&str>, fit: impl Fn(&Chain) -> bool, what: &str) -> anyhow::Result<Chain> {
    let chains = store.map_or_else(|| Ok(Vec::new()), |store| store.chains(CHAINS))?;
    let meant = |chain: &&Chain| prefix.is_none_or(|prefix| chain.plan.session.starts_with(prefix));
    let mut chains = chains.iter().filter(meant);
    match (chains.clone().find(|chain| fit(chain)), chains.next(), prefix) {
        (Some(chain), ..) => Ok(chain.clone()),
        (None, Some(chain), _) => {
            let reason = if chain.plan.reason.is_empty() { String::new() } else { format!(" ({})", chain.plan.reason) };
            bail!("no continuation {what}: the newest is {}{reason}", chain.plan.state)
        }
        (None, None, Some(prefix)) => bail!("no continuation was found for a session whose id begins with {prefix:?}"),
        (None, None, None) => bail!("no session has been continued yet"),
    }
}

/// The message if there is nothing to list.
const NONE: &str = "No session has been continued yet.";

fn table(chains: &[Chain]) -> Vec<String> {
    let rows = chains.iter().map(|chain| {
        let plan = &chain.plan;
        let state = if plan.paused { format!("{} (paused)", plan.state) } else { plan.state.to_string() };
        let tries = if plan.attempt > 1 { format!(", attempt {}", plan.attempt) } else { String::new() };
        let round = format!("{}{tries}", plan.round);
        let project = printable(&chain.project_path);
        let session = short_session(&plan.session).to_owned();
        [local_time(plan.since), session, state, round, project, printable(&plan.reason)]
    });
    paint::table(["SINCE", "SESSION", "STATE", "ROUND", "PROJECT", "REASON"], rows, &[])
}

fn chain_json(chain: &Chain) -> Value {
    let plan = &chain.plan;
    json!({
        "session": plan.session,
        "project": chain.project_path,
        "state": plan.state.as_str(),
        "held_up": plan.paused,
        "round": plan.round,
        "attempt": plan.attempt,
        "since_ms": plan.since.0,
        "deadline_ms": plan.deadline.0,
        "reason": plan.reason,
        "can_resume": plan.is_stuck(),
    })
}

fn step_json(step: &ChainStep) -> Value {
    json!({
        "at_ms": step.at.0,
        "chain": step.chain.0,
        "session": step.session,
        "round": step.round,
        "state": step.state,
        "attempt": step.attempt,
        "deadline_ms": step.deadline.0,
        "reason": step.reason,
    })
}

fn step_line(step: &ChainStep) -> String {
    let ChainStep { at, chain, session, round, state, reason, .. } = step;
    let state = State::from_name(state).map_or_else(|| state.clone(), |state| state.to_string());
    let (at, session, reason) = (local_time(*at), short_session(session), printable(reason));
    format!("{at}  chain {chain}  round {round}  {session}  {state:9}  {reason}")
}

#[derive(clap::Args)]
pub(crate) struct BridgeArgs {
    /// The event, with its payload on standard input: start, turn, cleared, end, failed, overtaken or trouble
    event: String,
}

/// Prints what the module should do, as one line of JSON.
pub(crate) fn answer_bridge(env: &Env, args: &BridgeArgs) -> anyhow::Result<()> {
    let Some(event) = BridgeEvent::from_name(&args.event) else {
        let known: Vec<&str> = BridgeEvent::ALL.map(BridgeEvent::as_str).to_vec();
        bail!("no such event: {:?}; use one of {}", args.event, known.join(", "));
    };
    let input = read_stdin(waiting_times::COMMAND_INPUT).unwrap_or_default();
    out::line(&handle(env, event, &input).to_string())
}
