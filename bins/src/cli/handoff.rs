//! `longhaul handoff`: shows what the next session of the project continues and is shown, and changes which one that
//! is. `longhaul detail` shows the messages and tool calls of a time or a turn.

use anyhow::{Context, bail};
use longhaul_core::text::CONTEXT_CHARS;
use longhaul_core::{Config, Env, Millis, SessionId, counted, short_session};
use longhaul_handoff::{BatonTrigger, Date, TimeQuery, TimeQueryError, date_of, parse_time_query, time_of};
use longhaul_inject::printable;
use longhaul_runtime::compaction::{CompactedTurn, compaction_facts, compaction_footer};
use longhaul_runtime::handoff::{Handover, Project, catch_up, render_session};
use longhaul_runtime::{Home, midnight, utc_offset_seconds};
use longhaul_store::{Detail, Injection, Session, Store, Turn, WRITTEN, Within};
use serde_json::json;

use super::paint::local_time;
use super::sessions::only_one;
use super::{Exit, out};

/// How many lines of the log are shown.
const LOG_LINES: usize = 50;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Print what the next session of this project would be shown
    Show {
        #[command(flatten)]
        which: Which,
        /// Print what the session itself would be given back after a compaction now, before its summary is known
        #[arg(long)]
        compaction: bool,
    },
    /// List what was passed on to new sessions, what was not, and why
    Log {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Write a baton, the note that makes the next session of this project continue the given session
    Write(Which),
    /// Remove all batons of this project
    Drop,
}

#[derive(clap::Args)]
pub(crate) struct Which {
    /// The session to continue: the one whose id begins with ID, instead of the newest session of this project
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<()> {
    let Some(store) = Home::of(env)?.existing_store()? else { bail!("nothing is recorded yet") };
    let (config, _) = longhaul_runtime::config(env)?;
    let here = std::env::current_dir().ok();
    let project = Project::of(env, here.as_deref());
    match command {
        Command::Show { which, compaction } => {
            let session = find(&store, &project, which.session.as_deref())?;
            if let Err(error) = catch_up(&store, &session, &config, env.now, u64::MAX, None) {
                out::message(&format!("longhaul: {}", error.chain()));
            }
            if compaction {
                return show_compaction(&store, &session, &config);
            }
            let id = SessionId::new(&session.session).context("the session has no id")?;
            let rendered = render_session(&store, env, &id, Handover::default(), utc_offset_seconds(env.now))?;
            out::text(&rendered.text)?;
            out::message(&format!(
                "{} characters, about {} tokens instead of {}; {} quoted, {} in one line each, {} left out",
                rendered.chars,
                rendered.tokens,
                rendered.tokens + rendered.tokens_saved,
                counted(rendered.quoted, "turn"),
                rendered.in_a_line,
                rendered.omitted
            ));
        }
        Command::Log { json } => {
            let lines = store.injections(LOG_LINES)?;
            let none = "No baton was written and nothing was passed on yet.";
            out::list(json, &lines, injection_json, none, || lines.iter().map(injection_line).collect())?;
        }
        Command::Write(which) => {
            let session = find(&store, &project, which.session.as_deref())?;
            // Process 0: any session of the project may take the baton.
            store.write_baton(&project.path, 0, &session.session, BatonTrigger::Tl.as_str(), env.now)?;
            out::message(&format!("The next session in {} continues session {}.", project.path, session.session));
        }
        Command::Drop => {
            let what = match store.drop_batons(&project.path)? {
                0 => "There is no baton".to_owned(),
                dropped => format!("Removed {}", counted(dropped, "baton")),
            };
            out::message(&format!("{what} in {}. A later /clear still passes its session on.", project.path));
        }
    }
    Ok(())
}

fn show_compaction(store: &Store, session: &Session, config: &Config) -> anyhow::Result<()> {
    let facts = compaction_facts(store, session, CompactedTurn::default())?;
    let given = facts.render(CONTEXT_CHARS, &compaction_footer(store, &session.session)?);
    if given.text.is_empty() {
        out::message("Nothing of this session is recorded that a compaction could lose.");
    } else {
        out::text(&given.text)?;
        out::message(&format!(
            "{} in {} characters; what the summary contains is left out of it",
            given.contents(),
            given.chars
        ));
    }
    if !config.handoff.enabled {
        out::message("It is not given back, because handoff.enabled is false.");
    }
    Ok(())
}

/// Finds the session that is named, or else the project's newest session with a turn.
pub(crate) fn find(store: &Store, project: &Project, prefix: Option<&str>) -> anyhow::Result<Session> {
    if let Some(prefix) = prefix {
        return only_one(prefix, store.sessions_like(prefix)?, |session| &session.session);
    }
    for session in store.sessions_of(&project.key)? {
        if session.prompts > 0 || store.has_turns(&session.session)? {
            return Ok(session);
        }
    }
    bail!("no session is recorded in {}: name one with --session ID", project.path)
}

fn injection_json(line: &Injection) -> serde_json::Value {
    json!({
        "at_ms": line.at.0,
        "session": line.session,
        "event": line.event,
        "predecessor": line.predecessor,
        "reason": line.reason,
        "turns": line.turns,
        "chars": line.chars,
        "tokens_saved": line.tokens_saved,
    })
}

fn injection_line(line: &Injection) -> String {
    let from = line.predecessor.as_deref().map_or("-", short_session);
    let turns = || counted(usize::try_from(line.turns).unwrap_or(usize::MAX), "turn");
    let saved = match line.tokens_saved {
        0 if line.chars > 0 => format!("  {} characters", line.chars),
        0 => String::new(),
        saved => format!("  {}, {} characters, {saved} tokens saved", turns(), line.chars),
    };
    let reason = line.reason.as_deref().unwrap_or_default();
    let session = if line.event == WRITTEN { &line.session } else { short_session(&line.session) };
    printable(&format!("{}  {:9}  {session} ← {from}  {reason}{saved}", local_time(line.at), line.event))
}

#[derive(clap::Args)]
pub(crate) struct DetailArgs {
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

pub(crate) fn detail(env: &Env, args: &DetailArgs) -> anyhow::Result<Exit> {
    let asked = args.moment.join(" ");
    let today = date_of(env.now, utc_offset_seconds(env.now));
    let moment = parse_time_query(&asked, today).map_err(|error| anyhow::anyhow!("{}", complaint(&asked, error)))?;
    let date =
        |text: &String| Date::parse(text).with_context(|| format!("{text:?} is not a date: write it as 2026-01-31"));
    let day = args.date.as_ref().map(date).transpose()?;
    let Some(store) = Home::of(env)?.existing_store()? else { bail!("nothing is recorded yet") };
    let here = std::env::current_dir().ok();
    let project = Project::of(env, here.as_deref());
    let within = match &args.session {
        Some(prefix) => Within::Session(prefix),
        None if args.all_projects => Within::Everything,
        None => Within::Project(&project.key),
    };
    let turns = find_turns(&store, within, &moment, day, today)?;
    if turns.is_empty() {
        let elsewhere = matches!(within, Within::Project(_))
            && !find_turns(&store, Within::Everything, &moment, day, today)?.is_empty();
        let hint = if elsewhere {
            " in this project, but there is something in another: add --all-projects, or --session ID"
        } else {
            ""
        };
        out::message(&format!("Nothing is recorded for {asked}{hint}."));
        return Ok(Exit::Problem);
    }
    let with_details = |turn: Turn| Ok((store.details(&turn)?, turn));
    let turns: Vec<(Vec<Detail>, Turn)> = turns.into_iter().map(with_details).collect::<anyhow::Result<_>>()?;
    if args.json {
        out::json(&turns.iter().map(|(details, turn)| turn_json(turn, details)).collect::<Vec<_>>())?;
    } else {
        let text: String = turns.iter().map(|(details, turn)| turn_text(turn, details)).collect();
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

fn find_turns(
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

fn turn_json(turn: &Turn, details: &[Detail]) -> serde_json::Value {
    let detail = |detail: &Detail| json!({ "kind": detail.kind, "name": detail.name, "text": detail.text, "is_error": detail.is_error, "at_ms": detail.at.0 });
    json!({
        "session": turn.origin,
        "turn": turn.number,
        "role": turn.role,
        "at_ms": turn.at.0,
        "asked": turn.asked,
        "replied": turn.replied,
        "summary": turn.skeleton,
        "details": details.iter().map(detail).collect::<Vec<_>>(),
    })
}

fn turn_text(turn: &Turn, details: &[Detail]) -> String {
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
