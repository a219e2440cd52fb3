//! `longhaul reopen`: which lost sessions are offered and chosen. Opening them is in `reopen/opening.rs`. `longhaul resume`
//! continues one session in this terminal.

mod opening;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use jiff::civil;
use jiff::tz::TimeZone;
use longhaul_core::{Env, Millis, SessionId, counted, short_session};
use longhaul_inject::{TerminalCommand, printable, shell_single_quote};
use longhaul_runtime::handoff::Project;
use longhaul_runtime::{Home, Shell, reopen, run_program_in_terminal};
use longhaul_store::{Session, Store};
use longhaul_tracker::reopen::{LostSessions, Refusal, Resume, SessionPlace, Window, chosen, refusal};
use serde_json::{Value, json};

use self::opening::OpenResult;
use super::out::{self, confirm};
use super::{Exit, handoff, paint, sessions};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Only the sessions whose ids begin with one of these; by default all sessions of the last tmux server
    #[arg(value_name = "SESSION", conflicts_with = "since")]
    sessions: Vec<String>,
    /// All lost sessions that were active since WHEN (90m, 12h or 3d ago, or a date: 2026-01-31), on any tmux server; default: those of the last tmux server
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Print what would be opened without opening it
    #[arg(long, conflicts_with_all = ["yes", "dismiss"])]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Remove the sessions from the list instead of opening them; their conversations are kept
    #[arg(long)]
    dismiss: bool,
    /// Print a JSON array and open nothing; with --yes, open the sessions, too
    #[arg(long)]
    json: bool,
}

/// A session that can be reopened, or the reason why not.
struct Candidate {
    place: SessionPlace,
    refusal: Option<Refusal>,
    /// The command that resumes it; empty if there is none.
    command: Vec<String>,
    variables: Vec<String>,
    is_chosen: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> Result<Exit> {
    let home = Home::of(env)?;
    let since = args.since.as_deref().map(|text| parse(text, env.now)).transpose()?;
    // If there is no database yet, this command does not create one.
    let Some(store) = home.existing_store()? else { return nothing(args) };
    let mut candidates = candidates(env, &store, &args.sessions, since)?;
    if candidates.is_empty() {
        return nothing(args);
    }
    let is_only_listed = args.dry_run || (args.json && !args.yes && !args.dismiss);
    if args.json && is_only_listed {
        out::json(&json(&candidates, &[]))?;
        return Ok(Exit::Success);
    }
    if !args.json {
        print(&candidates, env.now)?;
    }
    if is_only_listed {
        opening::print_plan(&candidates)?;
        return Ok(Exit::Success);
    }
    if args.dismiss {
        return dismiss(&store, &candidates, args);
    }
    if !args.yes {
        pick(&mut candidates)?;
    }
    let Some(_lock) = reopen::lock(&home)? else {
        bail!("another `longhaul reopen` is running: wait until it is done");
    };
    let results = opening::open(env, &store, &candidates, args.json)?;
    if args.json {
        out::json(&json(&candidates, &results))?;
    }
    let refused = candidates.iter().any(|candidate| candidate.is_chosen && candidate.refusal.is_some());
    let is_complete = !refused && results.iter().all(|(_, result)| result.is_open());
    Ok(if is_complete { Exit::Success } else { Exit::Problem })
}

/// Does what the command without arguments does, and waits until its messages were read.
pub(crate) fn ask_and_wait(env: &Env) -> Result<()> {
    let done = run(env, &Args::default());
    out::message("Press Enter to return to the list.");
    io::stdin().lock().read_line(&mut String::new())?;
    done.map(drop)
}

fn nothing(args: &Args) -> Result<Exit> {
    if args.json {
        out::json(&[(); 0])?;
    }
    out::message("Nothing to reopen: every recorded session has ended, or still runs.");
    Ok(Exit::Success)
}

/// Returns the sessions that were lost, the newest first.
fn candidates(env: &Env, store: &Store, sessions: &[String], since: Option<Millis>) -> Result<Vec<Candidate>> {
    let mut lost = reopen::lost_sessions(env, store)?;
    let ids = sessions.iter().map(|prefix| {
        let found = sessions::only_one(prefix, lost.iter().collect(), |place| &place.session);
        found.map(|place| place.session.clone()).context("only a session that was lost can be reopened")
    });
    let ids: Vec<String> = ids.collect::<Result<_>>()?;
    let wanted = match since {
        Some(since) => LostSessions::Since(since),
        None if ids.is_empty() => LostSessions::LastServer,
        None => LostSessions::Sessions(&ids),
    };
    let wanted: Vec<String> = chosen(&lost, wanted).into_iter().map(|place| place.session.clone()).collect();
    let shell = Shell::read();
    lost.iter_mut().try_for_each(|place| reopen::add_last_model(place, store))?;
    let candidate = |place: SessionPlace| {
        let facts = reopen::facts(&place, &shell);
        let refusal = refusal(&place, &facts);
        let resume = resume(facts.program.as_deref().unwrap_or(&place.client), &place);
        let is_chosen = wanted.contains(&place.session);
        Candidate { place, refusal, command: resume.argv, variables: resume.variables, is_chosen }
    };
    Ok(lost.into_iter().map(candidate).collect())
}

/// Returns the command that resumes a session: for an agent with a table, the one in the table.
pub(crate) fn resume(program: &str, place: &SessionPlace) -> Resume {
    let other = SessionId::new(&place.session).and_then(|id| longhaul_agents::resume_command(&id));
    match other {
        Some(words) => {
            let argv = [program.to_owned()].into_iter().chain(words.into_iter().skip(1)).collect();
            Resume { argv, variables: Vec::new() }
        }
        None => longhaul_tracker::reopen::resume(program, place),
    }
}

/// Asks which of the chosen sessions to open.
fn pick(candidates: &mut [Candidate]) -> Result<()> {
    let can_open = |candidate: &Candidate| candidate.is_chosen && candidate.refusal.is_none();
    let count = candidates.iter().filter(|candidate| can_open(candidate)).count();
    if count == 0 {
        bail!("none of the chosen sessions can be reopened");
    }
    if !io::stdin().is_terminal() {
        bail!("cannot ask for confirmation without a terminal: add --yes");
    }
    let mut error = io::stderr().lock();
    write!(error, "Reopen {}? [y = all, n = none, or numbers such as 1 3] ", counted(count, "session"))?;
    error.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        "" | "n" | "no" => bail!("cancelled: nothing was opened"),
        numbers => choose(candidates, numbers),
    }
}

/// Chooses the sessions with the given numbers, which must be in the list that was printed.
fn choose(candidates: &mut [Candidate], numbers: &str) -> Result<()> {
    let numbers = numbers.split([' ', ',']).filter(|number| !number.is_empty());
    let is_listed = |number: &usize| candidates.iter().zip(1..).any(|(listed, at)| listed.is_chosen && at == *number);
    let parse = |number: &str| {
        let listed = number.parse().ok().filter(is_listed);
        listed.with_context(|| format!("{:?} is not a number of the list: nothing was opened", printable(number)))
    };
    let numbers: Vec<usize> = numbers.map(parse).collect::<Result<_>>()?;
    for (candidate, number) in candidates.iter_mut().zip(1..) {
        candidate.is_chosen = numbers.contains(&number);
    }
    Ok(())
}

fn dismiss(store: &Store, candidates: &[Candidate], args: &Args) -> Result<Exit> {
    let chosen: Vec<&Candidate> = candidates.iter().filter(|candidate| candidate.is_chosen).collect();
    confirm(&format!("Remove {} from this list?", counted(chosen.len(), "session")), args.yes)?;
    for candidate in &chosen {
        store.remove_place(&candidate.place.session)?;
    }
    if args.json {
        out::json(&json(candidates, &[]))?;
    }
    out::message(&format!("Removed {} from the list.", counted(chosen.len(), "session")));
    Ok(Exit::Success)
}

/// Prints the chosen sessions as a table, and then what cannot be reopened, and how many more there are.
fn print(candidates: &[Candidate], now: Millis) -> Result<()> {
    let numbered = candidates.iter().zip(1..).filter(|(candidate, _)| candidate.is_chosen);
    let rows: Vec<[String; 8]> = numbered.map(|(candidate, number)| row(candidate, number, now)).collect();
    if !rows.is_empty() {
        let header = ["", "SESSION", "AGE", "STATE", "WINDOW", "PROJECT", "BRANCH", "LAST"];
        out::lines(&paint::table(header, rows, &[0, 2]))?;
    }
    for candidate in candidates.iter().filter(|candidate| candidate.is_chosen) {
        if let Some(refusal) = &candidate.refusal {
            let session = short_session(&candidate.place.session);
            out::text(&format!("{session} cannot be reopened: {refusal}{}", advice(candidate, refusal)))?;
        }
    }
    match candidates.iter().filter(|candidate| !candidate.is_chosen).count() {
        0 => {}
        others => out::message(&format!("{others} more: `longhaul reopen --since 30d` lists all of them.")),
    }
    Ok(())
}

/// Returns the command by which a person can open a session that did not run in tmux.
fn advice(candidate: &Candidate, refusal: &Refusal) -> String {
    match (refusal, &candidate.place.folder) {
        (Refusal::NoTmux, Some(folder)) => {
            format!("; open it with: cd {} && {}", shell_single_quote(folder), candidate.command.join(" "))
        }
        _ => String::new(),
    }
}

fn row(candidate: &Candidate, number: usize, now: Millis) -> [String; 8] {
    let place = &candidate.place;
    let age = paint::age(now.0.saturating_sub(place.seen_ms) / 1000);
    let state = place.status.map_or("-", |status| status.as_str()).to_owned();
    let branch = place.branch.clone().unwrap_or_else(|| "-".to_owned());
    let last = place.prompt_summary.clone().unwrap_or_default();
    let session = short_session(&place.session).to_owned();
    [number.to_string(), session, age, state, window(place), place.project.clone(), branch, last]
        .map(|text| printable(&text))
}

/// Returns the window of a session, as tmux names it.
fn window(place: &SessionPlace) -> String {
    let name = |window: &Window| format!("{}:{} {}", window.session, window.index, window.name);
    place.window.as_ref().map_or_else(|| "-".to_owned(), name)
}

/// Returns the sessions as JSON, with what has become of those in `results`.
fn json(candidates: &[Candidate], results: &[(String, OpenResult)]) -> Vec<Value> {
    candidates.iter().map(|candidate| to_json(candidate, results)).collect()
}

fn to_json(candidate: &Candidate, results: &[(String, OpenResult)]) -> Value {
    let place = &candidate.place;
    let result = results.iter().find(|(session, _)| *session == place.session).map(|(_, result)| result);
    let mut object = json!({
        "session": place.session,
        "client": place.client,
        "project": place.project,
        "branch": place.branch,
        "folder": place.folder,
        "last_prompt": place.prompt_summary,
        "status": place.status.map(|status| status.as_str()),
        "seen_ms": place.seen_ms,
        "tmux_socket": place.server.as_ref().map(|server| &server.socket),
        "tmux_session": place.window.as_ref().map(|window| &window.session),
        "window_index": place.window.as_ref().map(|window| window.index),
        "window_name": place.window.as_ref().map(|window| &window.name),
        "permission_mode": place.permission_mode,
        "model": place.model,
        "chosen": candidate.is_chosen,
        "refused": candidate.refusal.as_ref().map(ToString::to_string),
        "command": candidate.command,
    });
    if let Some(result) = result {
        object["result"] = json!(result.to_string());
        object["opened"] = json!(result.is_open());
    }
    object
}

/// Parses `90m`, `12h`, `3d`, or a day such as `2026-01-31`.
fn parse(text: &str, now: Millis) -> Result<Millis> {
    let unusable = || format!("{text:?} is not a time: write it as 90m, 12h, 3d or 2026-01-31");
    if let Ok(day) = text.parse::<civil::Date>() {
        let start = day.to_zoned(TimeZone::system()).with_context(unusable)?;
        return Ok(Millis(start.timestamp().as_millisecond().unsigned_abs()));
    }
    let units = [('m', 60_000), ('h', 3_600_000), ('d', 86_400_000)];
    let span =
        units.iter().find_map(|(unit, ms)| Some(text.strip_suffix(*unit)?.parse::<u64>().ok()?.saturating_mul(*ms)));
    Ok(Millis(now.0.saturating_sub(span.with_context(unusable)?)))
}

#[derive(clap::Args)]
pub(crate) struct ResumeArgs {
    /// The session whose id begins with ID, instead of the newest of this project
    #[arg(value_name = "ID")]
    session: Option<String>,
    /// Print the command without running it
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn continue_here(env: &Env, args: &ResumeArgs) -> anyhow::Result<Exit> {
    let Some(store) = Home::of(env)?.existing_store()? else { bail!("nothing is recorded yet") };
    let here = std::env::current_dir().ok();
    let session = handoff::find(&store, &Project::of(env, here.as_deref()), args.session.as_deref())?;
    let place = place_of(&store, &session)?;
    let facts = reopen::facts(&place, &Shell::read());
    match refusal(&place, &facts) {
        // It is continued in this terminal, wherever it ran before.
        None | Some(Refusal::NoTmux) => {}
        Some(refusal) => bail!("session {} cannot be resumed: {refusal}", session.session),
    }
    let program = facts.program.with_context(|| format!("there is no {} on the PATH", place.client))?;
    let resume = resume(&program, &place);
    let folder = place.folder.as_deref().unwrap_or("/");
    if args.dry_run {
        let words: Vec<String> = resume.argv.iter().map(|word| shell_single_quote(word)).collect();
        out::text(&printable(&format!("cd {} && {}", shell_single_quote(folder), words.join(" "))))?;
        return Ok(Exit::Success);
    }
    if reopen::is_running(&place) {
        bail!("session {} is open already: `longhaul goto {}` shows its window", session.session, session.session);
    }
    std::env::set_current_dir(folder).with_context(|| format!("cannot enter {folder}"))?;
    let words = std::iter::once("env".to_owned()).chain(resume.variables).chain(resume.argv);
    let is_done = run_program_in_terminal(&TerminalCommand { argv: words.collect(), stdin: None })?;
    Ok(if is_done { Exit::Success } else { Exit::Problem })
}

/// Returns where a session ran: as its hooks recorded it, or else by its project.
fn place_of(store: &Store, session: &Session) -> anyhow::Result<SessionPlace> {
    let recorded = store.session_places()?.into_iter().find(|place| place.session == session.session);
    let mut place = recorded.unwrap_or_else(|| {
        let client = SessionId::new(&session.session).map_or("claude", |id| id.client());
        let mut place = SessionPlace::new(&session.session, client, session.created_at.0);
        let folder = Path::new(&session.project_path);
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        place.folder = real.to_str().map(str::to_owned);
        place
    });
    // After a rewind, Codex writes another transcript than at the start.
    place.transcript = session.transcript.clone().or(place.transcript);
    reopen::add_last_model(&mut place, store)?;
    Ok(place)
}

#[cfg(test)]
mod tests;
