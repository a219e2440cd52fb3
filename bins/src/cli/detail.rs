//! `longhaul detail`: shows the messages and tool calls of a time or a turn.

use anyhow::{Context, bail};
use longhaul_core::{Env, Millis, short_session};
use longhaul_handoff::{Date, TimeQuery, TimeQueryError, date_of, parse_time_query, time_of};
use longhaul_runtime::handoff::Project;
use longhaul_runtime::{Home, midnight, utc_offset_seconds};
use longhaul_store::{Detail, Store, Turn, Within};
use serde_json::json;

use super::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A time (14:03, 14:03:20) or a range (14:00-14:30), with or without a date before it, or the number or id of a turn
    #[arg(required = true, value_name = "TIME | RANGE | TURN")]
    moment: Vec<String>,
    /// Only the session whose id begins with ID, in any project
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Sessions of all projects, instead of this project
    #[arg(long, conflicts_with = "session")]
    all_projects: bool,
    /// The day, as YYYY-MM-DD; by default today
    #[arg(long, value_name = "DATE")]
    date: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let asked = args.moment.join(" ");
    let today = date_of(env.now, utc_offset_seconds(env.now));
    let moment = parse_time_query(&asked, today).map_err(|error| anyhow::anyhow!("{}", complaint(&asked, error)))?;
    let day = match &args.date {
        Some(text) => {
            Some(Date::parse(text).with_context(|| format!("{text:?} is not a date: write it as 2026-01-31"))?)
        }
        None => None,
    };
    let Some(store) = Home::of(env)?.existing_store()? else { bail!("nothing is recorded yet") };
    let here = std::env::current_dir().ok();
    let project = Project::of(env, here.as_deref());
    let within = match &args.session {
        Some(prefix) => Within::Session(prefix),
        None if args.all_projects => Within::Everything,
        None => Within::Project(&project.key),
    };
    let turns = find(&store, within, &moment, day, today)?;
    if turns.is_empty() {
        let elsewhere =
            matches!(within, Within::Project(_)) && !find(&store, Within::Everything, &moment, day, today)?.is_empty();
        let hint = if elsewhere {
            " in this project, but there is something in another: add --all-projects, or --session ID"
        } else {
            ""
        };
        out::message(&format!("Nothing is recorded for {asked}{hint}."));
        return Ok(Exit::Problem);
    }
    let mut all = Vec::new();
    for turn in turns {
        let details = store.details(&turn)?;
        all.push((turn, details));
    }
    if args.json {
        let turns: Vec<_> = all.iter().map(|(turn, details)| to_json(turn, details)).collect();
        out::json(&turns)?;
    } else {
        let text: String = all.iter().map(|(turn, details)| to_text(turn, details)).collect();
        out::recorded_text(env, &text)?;
    }
    Ok(Exit::Success)
}

fn complaint(asked: &str, error: TimeQueryError) -> String {
    let what = match error {
        TimeQueryError::Empty => "the time is missing".to_owned(),
        TimeQueryError::BadTime => format!("{asked:?} is not a time"),
        TimeQueryError::Unknown => format!("{asked:?} is not a time, a range or a turn"),
    };
    format!("{what}: try 14:03, 14:00-14:30, 2026-01-31 14:03 or the number of a turn")
}

fn find(
    store: &Store,
    within: Within<'_>,
    moment: &TimeQuery,
    day: Option<Date>,
    today: Date,
) -> anyhow::Result<Vec<Turn>> {
    match moment {
        TimeQuery::Time { date, span } => {
            let (from, to) = span.after(midnight(date.or(day).unwrap_or(today)));
            let began = store.turns_between(within, from, Millis(to.0.saturating_sub(1)))?;
            if !began.is_empty() {
                return Ok(began);
            }
            // No turn began then, so the turn that was running is meant.
            Ok(store.turn_at(within, to)?.into_iter().collect())
        }
        TimeQuery::TurnNumber(number) => Ok(store.turns_named(within, &number.to_string())?),
        TimeQuery::TurnId(id) => Ok(store.turns_named(within, id)?),
    }
}

fn to_json(turn: &Turn, details: &[Detail]) -> serde_json::Value {
    let details: Vec<_> = details
        .iter()
        .map(|detail| {
            json!({ "kind": detail.kind, "name": detail.name, "text": detail.text, "is_error": detail.is_error, "at_ms": detail.at.0 })
        })
        .collect();
    json!({
        "session": turn.origin,
        "turn": turn.number,
        "role": turn.role,
        "at_ms": turn.at.0,
        "asked": turn.asked,
        "replied": turn.replied,
        "summary": turn.skeleton,
        "details": details,
    })
}

fn to_text(turn: &Turn, details: &[Detail]) -> String {
    let session = short_session(&turn.origin);
    let mut text =
        format!("# turn {} of session {session}, {}\n[{}] {}\n", turn.number, when(turn.at), turn.role, turn.asked);
    for detail in details {
        let failed = if detail.is_error { " (failed)" } else { "" };
        // Thoughts and images have no name.
        let name = Some(detail.name.as_str()).filter(|name| !name.is_empty() && *name != detail.kind);
        let title = name.map_or_else(|| detail.kind.clone(), |name| format!("{} {name}", detail.kind));
        text.push_str(&format!("\n## {title}{failed}, {}\n{}\n", when(detail.at), detail.text));
    }
    if !turn.replied.is_empty() {
        text.push_str(&format!("\n[assistant] {}\n", turn.replied));
    }
    text.push('\n');
    text
}

fn when(at: Millis) -> String {
    time_of(at, utc_offset_seconds(at))
}
