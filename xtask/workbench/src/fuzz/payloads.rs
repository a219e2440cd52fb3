//! Damaged payloads for every executable, each of which must exit with 0 and print one JSON object.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use anyhow::{Context, Result, bail};
use longhaul_core::catalog::{self, HOOK_EXECUTABLE, REGISTRATIONS};
use longhaul_core::event::EventName;
use serde_json::Value;
use xtask::run;
use xtask::workspace::{PACKAGE, Profile, Workspace};

use crate::dice::Dice;
use crate::mutant::mutant;
use crate::stage::{check_interrupts, watch_interrupts};

/// Payloads per home: enough that sessions see each other's data, few enough to limit the disk use.
const PER_HOME: usize = 1000;

/// A hook, with the arguments that it is started with.
struct Target {
    executable: &'static str,
    arguments: Vec<&'static str>,
    /// The folder of the agent's recorded payloads; empty for Claude Code.
    folder: &'static str,
    /// The event, with which the names of those files begin.
    event: &'static str,
}

struct Recorded {
    folder: &'static str,
    event: String,
    text: String,
}

/// Returns the hooks of Claude Code and of the other agents.
fn targets() -> Vec<Target> {
    let own = REGISTRATIONS.iter().map(|hook| Target {
        executable: hook.executable,
        arguments: hook.arguments.to_vec(),
        folder: "",
        event: hook.event.as_str(),
    });
    let agents = longhaul_agents::ALL.into_iter().flat_map(|agent| {
        agent.events.iter().map(move |rule| Target {
            executable: HOOK_EXECUTABLE,
            arguments: vec![agent.name, rule.argument],
            folder: agent.name,
            event: rule.theirs,
        })
    });
    own.chain(agents).collect()
}

/// Returns the recorded payloads of Claude Code and of all other agents.
fn recorded(root: &Path) -> Result<Vec<Recorded>> {
    let agents = longhaul_agents::ALL.into_iter().map(|agent| agent.name);
    let mut all = Vec::new();
    for folder in ["", "foreign"].into_iter().chain(agents) {
        for (name, text) in super::recordings(&root.join("tests/payloads").join(folder), "json")? {
            let event = name.split('-').next().unwrap_or_default().to_owned();
            all.push(Recorded { folder, event, text: String::from_utf8_lossy(&text).into_owned() });
        }
    }
    Ok(all)
}

/// Sends `count` payloads, derived from the recorded ones with `seed`.
pub(crate) fn run(workspace: &Workspace, count: usize, seed: u64) -> Result<()> {
    let bin = workspace.build(PACKAGE, &workspace.bins(), Profile::Dev, None)?;
    let recorded = recorded(&workspace.root)?;
    let failures = workspace.target.join("fuzz-payloads");
    watch_interrupts()?;
    let next = AtomicUsize::new(0);
    let batches = count.div_ceil(PER_HOME);
    let threads = thread::available_parallelism().map_or(2, usize::from) * 2;
    thread::scope(|scope| -> Result<()> {
        let work = || -> Result<()> {
            loop {
                let batch = next.fetch_add(1, Ordering::Relaxed);
                if batch >= batches {
                    return Ok(());
                }
                let size = PER_HOME.min(count - batch * PER_HOME);
                let done = one_home(&bin, &recorded, &failures, seed.wrapping_add(batch as u64), size);
                done.inspect_err(|_| next.store(batches, Ordering::Relaxed))?;
                writeln!(
                    io::stderr(),
                    "{} of {batches} homes started",
                    (batch + 1).max(next.load(Ordering::Relaxed)).min(batches)
                )?;
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    writeln!(io::stdout(), "{count} payloads over {} hooks: exit 0 and one JSON object each", targets().len())?;
    Ok(())
}

fn one_home(bin: &Path, recorded: &[Recorded], failures: &Path, seed: u64, count: usize) -> Result<()> {
    let home = tempfile::Builder::new().prefix("longhaul-fuzz-").tempdir()?;
    let data = home.path().join("data");
    fs::create_dir_all(&data)?;
    fs::write(
        data.join("config.json"),
        r#"{"continuation":{"at":"on"},"guard":{"compact_percent":0.76,"deny_percent":0.85}}"#,
    )?;
    let mut dice = Dice(seed);
    let targets = targets();
    for number in 0..count {
        check_interrupts()?;
        let target = &targets[dice.index(targets.len())];
        let payload = mutant(base(target, recorded, &mut dice), &mut dice);
        let output = answer(bin, target, home.path(), &payload)?;
        let is_object = serde_json::from_slice::<Value>(&output.stdout).is_ok_and(|answer| answer.is_object());
        let is_silent = target.folder.is_empty() && !catalog::answers(EventName::from_wire(target.event));
        let is_right = if is_silent { output.stdout.is_empty() } else { is_object };
        if !output.status.success() || !is_right {
            let name = [&[target.executable], target.arguments.as_slice()].concat().join("-");
            let path = keep(failures, &format!("{name}-{seed}-{number}"), &payload)?;
            bail!(
                "{name} ended with {} and answered {:?}; the payload is in {}",
                output.status,
                String::from_utf8_lossy(&output.stdout),
                path.display()
            );
        }
    }
    let log = fs::read_to_string(data.join("longhaul.log")).unwrap_or_default();
    if let Some(line) = log.lines().find(|line| line.contains("panicked")) {
        bail!("seed {seed}: {line}");
    }
    Ok(())
}

/// Returns a recorded payload to damage: usually one of the hook's own event, which is processed furthest.
fn base<'a>(target: &Target, recorded: &'a [Recorded], dice: &mut Dice) -> &'a str {
    let is_own = |payload: &&Recorded| payload.folder == target.folder && payload.event == target.event;
    let own: Vec<&str> = recorded.iter().filter(is_own).map(|payload| payload.text.as_str()).collect();
    if own.is_empty() || dice.roll(8) == 0 { &recorded[dice.index(recorded.len())].text } else { dice.pick(&own) }
}

fn answer(bin: &Path, target: &Target, home: &Path, payload: &[u8]) -> Result<Output> {
    let mut command = run::program(bin.join(target.executable));
    command.args(&target.arguments);
    command.env_clear().env("HOME", home).env("LONGHAUL_HOME", home.join("data")).env("TMPDIR", home).current_dir(home);
    command.env("PATH", run::var("PATH").unwrap_or_default());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", target.executable))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook may stop reading early.
        let _ = stdin.write_all(payload);
    }
    child.wait_with_output().with_context(|| format!("cannot wait for {}", target.executable))
}

fn keep(folder: &Path, name: &str, payload: &[u8]) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join(name);
    fs::write(&path, payload).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests;
