//! `longhaul reopen`: which lost sessions are offered and chosen. Opening them is in `reopen/opening.rs`.

mod listing;
mod opening;
mod since;

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Context, Result, bail};
use longhaul_core::{Env, Millis, SessionId, counted};
use longhaul_inject::printable;
use longhaul_reopen::{Refusal, Resume, SessionPlace, Wanted, chosen, refusal};
use longhaul_runtime::{Home, Shell, reopen};
use longhaul_store::Store;

use super::ask::confirm;
use super::{Exit, out, sessions};

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
    let since = args.since.as_deref().map(|text| since::parse(text, env.now)).transpose()?;
    // If there is no database yet, this command does not create one.
    let Some(store) = home.existing_store()? else { return nothing(args) };
    let mut candidates = candidates(env, &store, &args.sessions, since)?;
    if candidates.is_empty() {
        return nothing(args);
    }
    let is_only_listed = args.dry_run || (args.json && !args.yes && !args.dismiss);
    if args.json && is_only_listed {
        out::json(&listing::json(&candidates, &[]))?;
        return Ok(Exit::Success);
    }
    if !args.json {
        listing::print(&candidates, env.now)?;
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
    let (config, _) = longhaul_runtime::config(env)?;
    let results = opening::open(env, &store, &config.reopen, &candidates, args.json)?;
    if args.json {
        out::json(&listing::json(&candidates, &results))?;
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
        Some(since) => Wanted::Since(since),
        None if ids.is_empty() => Wanted::LastServer,
        None => Wanted::Sessions(&ids),
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
        None => longhaul_reopen::resume(program, place),
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
    let numbers: Vec<usize> = numbers
        .map(|number| {
            let is_listed = |number: &usize| {
                number.checked_sub(1).and_then(|at| candidates.get(at)).is_some_and(|candidate| candidate.is_chosen)
            };
            let listed = number.parse().ok().filter(is_listed);
            listed.with_context(|| format!("{:?} is not a number of the list: nothing was opened", printable(number)))
        })
        .collect::<Result<_>>()?;
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
        out::json(&listing::json(candidates, &[]))?;
    }
    out::message(&format!("Removed {} from the list.", counted(chosen.len(), "session")));
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use longhaul_reopen::SessionPlace;

    use super::{Candidate, choose};

    #[test]
    fn only_numbers_that_were_listed_are_taken() {
        let candidate = |session: &str, is_chosen: bool| Candidate {
            place: SessionPlace::new(session, "claude", 0),
            refusal: None,
            command: Vec::new(),
            variables: Vec::new(),
            is_chosen,
        };
        let mut candidates = [candidate("a", false), candidate("b", true), candidate("c", true)];
        for wrong in ["1", "0", "4", "x", "2 1"] {
            assert!(choose(&mut candidates, wrong).is_err(), "{wrong}");
            assert_eq!(candidates.each_ref().map(|one| one.is_chosen), [false, true, true], "{wrong}");
        }
        choose(&mut candidates, "3").unwrap();
        assert_eq!(candidates.each_ref().map(|one| one.is_chosen), [false, false, true]);
    }
}
