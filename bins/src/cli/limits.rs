//! `longhaul limit`: what is set, what is spent, and what would stop next; `longhaul limit raise` lets a session go on.

use anyhow::{Context, bail};
use longhaul_core::config::{Limits, Loops, SpendLimit};
use longhaul_core::{Config, Env, SessionId, counted, short_session};
use longhaul_cost::limits::{Measure, Scope};
use longhaul_inject::printable;
use longhaul_runtime::limits::{self, Account, InForce};
use longhaul_runtime::{Home, leave_session};
use longhaul_tracker::Agent;
use serde_json::{Value, json};

use super::sessions::only_one;
use super::{out, paint};

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Raise the limits of one session, until it ends
    Raise {
        /// Dollars such as 5, or tokens such as 20M; added to the limit, or to what is spent if that is more
        #[arg(value_name = "AMOUNT", value_parser = amount)]
        amount: SpendLimit,
        /// The session whose id begins with ID, instead of the one that runs this command, or that a limit has stopped last
        #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        session: Option<String>,
    },
    /// Count what all sessions have spent today; hooks start it in the background
    #[command(hide = true)]
    Count,
}

fn amount(text: &str) -> Result<SpendLimit, String> {
    let amount = SpendLimit::of_text(text).filter(|amount| !amount.is_off());
    amount.ok_or_else(|| "write dollars such as 5, or tokens such as 20M".to_owned())
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<()> {
    let home = Home::of(env)?;
    match &args.command {
        None => show(env, &home, args.json),
        Some(Command::Raise { amount, session }) => raise(env, &home, *amount, session.as_deref()),
        Some(Command::Count) => {
            leave_session();
            let (config, _) = longhaul_runtime::config(env)?;
            Ok(limits::count_day(env, &home, &config)?)
        }
    }
}

/// A running session with the limits in force for it.
struct Limited {
    agent: Agent,
    measures: Vec<Measure>,
    is_stopped: bool,
}

fn limited(env: &Env, home: &Home, agents: &[Agent]) -> Vec<Limited> {
    let limited = agents.iter().filter_map(|agent| {
        let session = SessionId::new(&agent.session)?;
        let is_stopped = Account::load(home, &session)?.is_stopped;
        Some(Limited { measures: limits::measures_of(home, &session, env.now), agent: agent.clone(), is_stopped })
    });
    limited.collect()
}

/// Returns the sessions that no limit stops, because their agent cannot be stopped.
fn unlimited(agents: &[Agent]) -> Vec<&Agent> {
    agents.iter().filter(|agent| SessionId::new(&agent.session).is_some_and(|id| id.client() != "claude")).collect()
}

fn show(env: &Env, home: &Home, as_json: bool) -> anyhow::Result<()> {
    let (config, _) = longhaul_runtime::config(env)?;
    let limits = &config.limits;
    let is_day = !limits.day.is_off() || !limits.project_day.is_off();
    if is_day {
        // What sessions without a limit have spent counts, too.
        limits::count_day(env, home, &config)?;
    }
    let agents = home.existing_store()?.map_or_else(|| Ok(Vec::new()), |store| store.agents())?;
    let (sessions, unlimited) = (limited(env, home, &agents), unlimited(&agents));
    let day =
        is_day.then(|| Measure { scope: Scope::Day, limit: limits.day, spent: limits::spent_today(home, env.now) });
    if as_json {
        return out::json(&to_json(&config, &sessions, &unlimited, day.as_ref()));
    }
    let mut parts = vec![settings(limits)];
    parts.extend(day.map(|day| vec![format!("All sessions have spent {day} today.")]));
    if !sessions.is_empty() {
        parts.push(table(&sessions));
    }
    if InForce::of(limits).is_any() && !unlimited.is_empty() {
        let name = |agent: &&Agent| format!("{} in {}", short_session(&agent.session), printable(&agent.project));
        let names = unlimited.iter().map(name).collect::<Vec<_>>().join(", ");
        parts.push(vec![format!("Not stopped, because limits stop only Claude Code: {names}.")]);
    }
    parts.extend(next(&sessions).map(|next| vec![next]));
    out::lines(&parts.join(&String::new()))
}

/// Returns the limits that are set, in words.
fn settings(limits: &Limits) -> Vec<String> {
    let mut lines: Vec<String> = Scope::ALL
        .into_iter()
        .map(|scope| (scope.key(), scope.limit(limits)))
        .filter(|(_, limit)| !limit.is_off())
        .map(|(key, limit)| format!("{key}: {limit}"))
        .collect();
    let subagents = [("at_once", limits.subagents.at_once.0), ("in_turn", limits.subagents.in_turn.0)];
    let set = subagents.into_iter().filter(|(_, most)| *most > 0);
    lines.extend(set.map(|(name, most)| format!("limits.subagents.{name}: {most}")));
    if lines.is_empty() {
        lines.push(
            "No limit is set. `longhaul config set limits.session 5` sets one of $5 for each session.".to_owned(),
        );
    }
    lines.push(match limits.loops {
        Loops::Off => "Repeated calls are not noticed (limits.loops).".to_owned(),
        Loops::Notify => "Repeated calls are noticed, and stop nothing (limits.loops).".to_owned(),
        Loops::Stop => "Repeated calls stop a turn (limits.loops).".to_owned(),
    });
    lines
}

fn table(sessions: &[Limited]) -> Vec<String> {
    let mut rows = Vec::new();
    for Limited { agent, measures, is_stopped } in sessions {
        for measure in measures {
            let state = if *is_stopped && measure.is_reached() { ", stopped" } else { "" };
            rows.push([
                short_session(&agent.session).to_owned(),
                printable(&agent.project),
                measure.scope.key().to_owned(),
                measure.to_string(),
                format!("{:.0} %{state}", (measure.share() * 100.0).floor()),
            ]);
        }
    }
    paint::table(["SESSION", "PROJECT", "LIMIT", "SPENT", "SHARE"], rows, &[])
}

/// Returns what would stop next.
fn next(sessions: &[Limited]) -> Option<String> {
    let all = sessions.iter().flat_map(|limited| limited.measures.iter().map(move |measure| (limited, measure)));
    let open = all.filter(|(_, measure)| !measure.is_reached());
    let (session, measure) = open.max_by(|(_, a), (_, b)| a.share().total_cmp(&b.share()))?;
    let name = short_session(&session.agent.session);
    Some(format!("Next: {} stops {name} in {}.", measure.scope.key(), printable(&session.agent.project)))
}

fn to_json(config: &Config, sessions: &[Limited], unlimited: &[&Agent], day: Option<&Measure>) -> Value {
    let measure = |measure: &Measure| {
        json!({
            "limit": measure.scope.key(),
            "of": measure.limit.to_string(),
            "share": measure.share(),
            "cost_usd": measure.spent.cost.dollars(),
            "tokens": measure.spent.tokens,
            "unpriced_tokens": measure.spent.unpriced_tokens,
        })
    };
    let session = |limited: &Limited| {
        json!({
            "session": limited.agent.session,
            "project": limited.agent.project,
            "stopped": limited.is_stopped,
            "limits": limited.measures.iter().map(measure).collect::<Vec<_>>(),
        })
    };
    let set = longhaul_core::config::Setting::to_json(&config.limits);
    json!({
        "set": set,
        "today": day.map(measure),
        "sessions": sessions.iter().map(session).collect::<Vec<_>>(),
        "not_stopped": unlimited.iter().map(|agent| &agent.session).collect::<Vec<_>>(),
    })
}

fn raise(env: &Env, home: &Home, amount: SpendLimit, id: Option<&str>) -> anyhow::Result<()> {
    // A command that the session itself runs, such as `!longhaul limit raise 5` in its input.
    let own = env.client_session.as_deref().and_then(SessionId::new).filter(|own| Account::load(home, own).is_some());
    let session = match id {
        Some(id) => {
            let store = home.existing_store()?.context("no session runs")?;
            let agents = store.agents()?;
            let agent = only_one(id, agents.iter().collect(), |agent| &agent.session)?;
            SessionId::new(&agent.session)
        }
        None => own.or_else(|| limits::stopped_last(home)),
    };
    let session =
        session.context("no limit has stopped a session: name one with --session ID (`longhaul status` lists them)")?;
    let raised = limits::raise(home, &session, amount, env.now)?;
    let name = short_session(session.as_str());
    if raised.is_empty() {
        let unit = if matches!(amount, SpendLimit::Tokens(_)) { "tokens" } else { "dollars" };
        bail!("session {name} has no limit in {unit}: `longhaul limit` shows its limits");
    }
    for measure in &raised {
        let (key, limit) = (measure.scope.key(), measure.limit);
        out::message(&format!("Session {name}: {key} is {limit} until it ends; spent: {measure}."));
    }
    out::message(&format!("Its next prompt goes on ({} raised).", counted(raised.len(), "limit")));
    Ok(())
}
