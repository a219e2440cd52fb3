//! A long session.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::super::world::{Cast, World};
use super::handover;

const TURNS: usize = 40;
const CALLS: usize = 300;

/// The turn whose context is full; the following ones run in a fresh session.
const FULL: usize = 25;

/// A compressed long session with all jobs enabled: forty turns, three hundred tool calls, one continuation, nothing
/// lost.
pub(crate) fn long(cast: &Cast, home: &Path) -> Result<()> {
    let config = json!({
        "bookmarks": { "thresholds": { "cooldown_seconds": 2 } },
        "continuation": { "enabled": true },
        "guard": { "enabled": true, "compact_percent": 0.95, "deny_percent": 0.97 },
    });
    let world = World::new(cast, home, &config, handover::rules())?;
    let session = world.open(&[])?;
    let (start, old) = (Instant::now(), session.id()?);
    for turn in 1..=TURNS {
        let calls = CALLS * turn / TURNS - CALLS * (turn - 1) / TURNS;
        let order = if turn == FULL { "USAGE:900000 " } else { "" };
        let prompt = format!("{order}TOOLS:{calls} SAY:turn {turn} of {TURNS}");
        if turn == FULL {
            session.submit(&prompt)?;
            session.wait_for("I go on with the other half.")?;
            world.wait("an empty input", || session.awaits_prompt())?;
        } else {
            session.say(&prompt).with_context(|| format!("turn {turn}"))?;
        }
    }
    ensure!(start.elapsed() < Duration::from_secs(240), "it took {} s", start.elapsed().as_secs());
    let new = session.id()?;
    ensure!(new != old, "the full context was not cleared");
    let count = |letter| world.log(&old, letter).len() + world.log(&new, letter).len();
    ensure!(count('T') == CALLS, "the activity logs have {} tool calls", count('T'));
    ensure!(count('B') >= 5, "there are only {} bookmarks", count('B'));
    world.wait_for_state(&new, "completed")?;
    let stats = world.longhaul_json(&["memory", "stats"])?;
    ensure!(stats["rows"]["observations"] == CALLS, "the memory says {stats}");
    ensure!(world.errors().is_empty(), "the hooks wrote errors");
    Ok(())
}
