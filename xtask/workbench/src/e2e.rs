//! `cargo xtask e2e`: runs the scenarios on the real client, with a scripted model, without network beyond loopback.

mod client;
mod scenarios;
mod world;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use xtask::arguments::E2eArgs;
use xtask::workspace::{Profile, Workspace};
use xtask::{dist, run, test};

use self::scenarios::{ALL, ALONE, LONG, Scenario, TYPING};
use self::world::Cast;
use crate::stage::{check_interrupts, until, watch_interrupts};

/// The maximum number of scenarios at once for two processors. They mostly wait, but with more, clients start so slowly that
/// other waits end.
const AT_ONCE: usize = 3;

/// The result of one scenario.
struct Outcome {
    scenario: &'static Scenario,
    took: Duration,
    result: Result<()>,
}

/// Prints each scenario's name and what it shows.
fn list() -> Result<()> {
    for scenario in ALL {
        writeln!(io::stdout(), "{:<16} {}", scenario.name, scenario.about)?;
    }
    for scenario in LONG {
        writeln!(io::stdout(), "{:<16} {} (only by name)", scenario.name, scenario.about)?;
    }
    Ok(())
}

/// Runs the named scenarios, or all; fails if one of them fails.
pub(crate) fn run(workspace: &Workspace, args: &E2eArgs) -> Result<()> {
    if args.list {
        return list();
    }
    let chosen = choose(&[args.names.as_slice(), &args.agents].concat(), args.newest)?;
    let version = if args.newest { client::newest() } else { Ok(client::VERSION.to_owned()) };
    if args.newest && version.as_ref().is_ok_and(|version| version == client::VERSION) {
        writeln!(io::stdout(), "{} is the newest version: its scenarios need not run twice", client::VERSION)?;
        return Ok(());
    }
    let client = match version.and_then(|version| client::find(workspace, &version)) {
        Err(error) if args.if_possible => {
            writeln!(io::stdout(), "skipped: the scenarios on the real client ({error:#})")?;
            return Ok(());
        }
        found => found?,
    };
    test::ensure(&["tmux"])?;
    let version = run::output(run::program(&client).arg("--version"))?;
    dist::run(workspace, Profile::Dev, None, dist::Packing::Nothing)?;
    watch_interrupts()?;
    writeln!(io::stdout(), "\n{} scenarios on {}", chosen.len(), version.trim())?;
    let cast = Cast { client, marketplace: workspace.target.join("dist"), programs: workspace.target.join("e2e") };
    report(&play_all(&chosen, &cast, args.keep)?)
}

/// Runs scenarios, each in a home and a tmux server of its own: most of the time, they wait. Those that judge how long something
/// takes come first, one by one.
fn play_all(chosen: &[&'static Scenario], cast: &Cast, keep: bool) -> Result<Vec<Outcome>> {
    let (alone, others): (Vec<_>, Vec<_>) = chosen.iter().partition(|scenario| ALONE.contains(&scenario.name));
    let mut outcomes = play_at_once(1, &alone, cast, keep)?;
    let parties = (thread::available_parallelism().map_or(1, usize::from) * AT_ONCE / 2).clamp(1, AT_ONCE);
    outcomes.extend(play_at_once(parties, &others, cast, keep)?);
    outcomes.sort_by_key(|outcome| chosen.iter().position(|scenario| scenario.name == outcome.scenario.name));
    Ok(outcomes)
}

fn play_at_once(parties: usize, chosen: &[&'static Scenario], cast: &Cast, keep: bool) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let party = || {
        let mut outcomes = Vec::new();
        while let Some(scenario) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            check_interrupts()?;
            outcomes.push(play(scenario, cast, keep)?);
        }
        check_interrupts().map(|()| outcomes)
    };
    let outcomes: Result<Vec<Vec<Outcome>>> = thread::scope(|scope| {
        let parties: Vec<_> = (0..parties).map(|_| scope.spawn(party)).collect();
        parties.into_iter().map(|party| party.join().map_err(|_| anyhow!("a scenario panicked"))?).collect()
    });
    Ok(outcomes?.into_iter().flatten().collect())
}

fn choose(names: &[String], only_typing: bool) -> Result<Vec<&'static Scenario>> {
    if names.is_empty() {
        return Ok(ALL.iter().filter(|scenario| !only_typing || TYPING.contains(&scenario.name)).collect());
    }
    let find = |name: &String| {
        let found = ALL.iter().chain(LONG).find(|scenario| scenario.name == name);
        found.with_context(|| format!("there is no scenario {name:?}: see cargo xtask e2e --list"))
    };
    names.iter().map(find).collect()
}

/// Runs one in a home of its own, and prints its result at once.
fn play(scenario: &'static Scenario, cast: &Cast, keep: bool) -> Result<Outcome> {
    let mut home = tempfile::Builder::new().prefix("lh-e2e-").tempdir().context("cannot create a temporary home")?;
    home.disable_cleanup(keep);
    let start = Instant::now();
    let result = (scenario.play)(cast, home.path());
    let took = start.elapsed();
    match &result {
        Ok(()) => writeln!(io::stdout(), "  ok      {:<16} {:>5.1} s", scenario.name, took.as_secs_f64())?,
        Err(error) => {
            writeln!(io::stdout(), "  FAILED  {:<16} {:>5.1} s\n{error:#}", scenario.name, took.as_secs_f64())?;
            writeln!(io::stdout(), "the hooks' error log says: {}", world::errors(home.path()).trim())?;
        }
    }
    if keep {
        writeln!(io::stdout(), "  kept: {}", home.path().display())?;
    } else {
        remove(home.path())?;
    }
    Ok(Outcome { scenario, took, result })
}

/// Removes a home; repeats it while a process that is about to end still writes there.
fn remove(home: &Path) -> Result<()> {
    let gone = until("the temporary home to be removed", Duration::from_secs(10), || {
        let _ = fs::remove_dir_all(home);
        Ok((!home.exists()).then_some(()))
    });
    gone.with_context(|| format!("something still writes to {}", home.display()))
}

fn report(outcomes: &[Outcome]) -> Result<()> {
    let mut out = io::stdout();
    writeln!(out, "\n{:<16} {:>7}  {:<6}  SHOWS", "SCENARIO", "SECONDS", "")?;
    for Outcome { scenario, took, result } in outcomes {
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        writeln!(out, "{:<16} {:>7.1}  {verdict:<6}  {}", scenario.name, took.as_secs_f64(), scenario.about)?;
    }
    let took: Duration = outcomes.iter().map(|outcome| outcome.took).sum();
    writeln!(out, "{:<16} {:>7.1}", "together", took.as_secs_f64())?;
    let failed: Vec<_> = outcomes.iter().filter(|outcome| outcome.result.is_err()).collect();
    if !failed.is_empty() {
        let names: Vec<_> = failed.iter().map(|outcome| outcome.scenario.name).collect();
        bail!("failed: {}", names.join(", "));
    }
    ensure!(!outcomes.is_empty(), "no scenario was run");
    Ok(())
}
