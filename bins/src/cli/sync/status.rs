//! `longhaul sync status`: the circle, the last exchange, and what waits to be sent.

use longhaul_core::{Env, Millis, counted};
use longhaul_runtime::Home;
use longhaul_runtime::sync::{self, ExchangeState};
use longhaul_store::{Store, SyncCounts, SyncSelf};
use serde_json::json;

use super::super::{Exit, out, paint};
use super::circle;
use super::hosts::ago;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let (store, own) = circle(env)?;
    let home = Home::of(env)?;
    let state = ExchangeState::read(&home);
    let counts = store.sync_counts()?;
    let exit = if state.error.is_some() { Exit::Problem } else { Exit::Success };
    if args.json {
        print_json(&own, &state, counts)?;
        return Ok(exit);
    }
    let (config, _) = longhaul_runtime::config(env)?;
    // A command may ask for a password: the status does not run it.
    let engine = if config.sync.url_command.0.is_empty() {
        sync::engine_address(&home, &config)?
            .map_or_else(|| "-".to_owned(), |address| sync::shown_address(&address.text))
    } else {
        "printed by sync.url_command".to_owned()
    };
    for line in lines(&store, &own, &state, counts, &engine, longhaul_runtime::now(env))? {
        out::line(&paint::harmless(&line))?;
    }
    if !config.sync.enabled {
        out::line("Automatic: off, by sync.enabled")?;
    }
    Ok(exit)
}

fn lines(
    store: &Store,
    own: &SyncSelf,
    state: &ExchangeState,
    counts: SyncCounts,
    engine: &str,
    now: Millis,
) -> anyhow::Result<Vec<String>> {
    let when = |at: Option<u64>| at.map_or_else(|| "never".to_owned(), |at| ago(Millis(at), now));
    let mut lines = vec![
        format!("This machine:   @{} ({})", own.name, own.host),
        format!("Engine:         {engine}"),
        format!("Last exchange:  {}, {} sent, {} fetched", when(state.succeeded_at), state.sent, state.fetched),
    ];
    if let Some(error) = &state.error {
        let times = counted(state.failures as usize, "time");
        lines.push(format!("Last error:     {} ({times} in a row): {error}", when(state.at)));
        let wait = state.not_before.saturating_sub(now.0).div_ceil(60_000);
        lines.push(format!("Next attempt:   in {wait} min, or now with `longhaul sync now`"));
    }
    if let Some(incomplete) = &state.incomplete {
        lines.push(format!("Not fetched:    {incomplete}"));
    }
    if let Some(remark) = &state.remark {
        lines.push(format!("Remark:         {remark}"));
    }
    let shared = store.sync_projects()?.iter().filter(|project| project.is_shared).count();
    let others = store.sync_hosts()?.iter().filter(|host| !host.is_own).count();
    lines.push(format!("Shared:         {}, with {}", counted(shared, "project"), counted(others, "other machine")));
    lines.push(format!("To send:        {} records in the log", counts.unsent));
    let open = [
        (counts.waiting, "of projects that are not shared here (`longhaul sync projects`)"),
        (counts.newer, "of a newer version: update longhaul"),
        (counts.damaged, "that cannot be read: damaged, or changed by somebody without the key"),
        (counts.to_erase, "to erase in the engine"),
    ];
    lines.extend(
        open.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("Records:        {number} {what}")),
    );
    Ok(lines)
}

fn print_json(own: &SyncSelf, state: &ExchangeState, counts: SyncCounts) -> anyhow::Result<()> {
    out::json(&json!({
        "circle": own.circle.to_string(),
        "host": own.host.to_string(),
        "name": own.name,
        "exchange": state,
        "unsent": counts.unsent,
        "waiting": counts.waiting,
        "newer": counts.newer,
        "damaged": counts.damaged,
        "to_erase": counts.to_erase,
    }))
}
