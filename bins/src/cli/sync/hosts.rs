//! `longhaul sync hosts`: lists the members of the circle, and whose clock is wrong.

use longhaul_core::{Env, Millis};
use longhaul_store::SyncHost;
use longhaul_tracker::age;
use serde_json::{Value, json};

use super::super::{Exit, out, paint};
use super::circle;

/// From this difference on, a clock is named.
const CLOCK_MS: u64 = 60_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let (store, own) = circle(env)?;
    let hosts = store.sync_hosts()?;
    let now = longhaul_runtime::now(env);
    if args.json {
        out::json(&hosts.iter().map(|host| to_json(host, host.host == own.host)).collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    let header = ["NAME", "LAST SEEN", "RECORDS", "CLOCK", "ID"].map(str::to_owned);
    let rows = hosts.iter().map(|host| row(host, host.host == own.host, now));
    for line in paint::columns(&std::iter::once(header).chain(rows).collect::<Vec<_>>(), &[2]) {
        out::line(&line)?;
    }
    Ok(Exit::Success)
}

fn row(host: &SyncHost, is_this: bool, now: Millis) -> [String; 5] {
    let name = if host.name.is_empty() { "?" } else { &host.name };
    let own = match (is_this, host.is_own) {
        (true, _) => " (this machine)",
        (false, true) => " (this machine, before it got a new id)",
        (false, false) => "",
    };
    [
        paint::harmless(&format!("@{name}{own}")),
        host.seen_at.map_or_else(|| "-".to_owned(), |seen| ago(seen, now)),
        host.head.to_string(),
        clock(host.clock_ahead),
        host.host.to_string(),
    ]
}

/// Returns how long ago a time is.
pub(super) fn ago(at: Millis, now: Millis) -> String {
    match age(now.0.saturating_sub(at.0) / 1000) {
        text if text.is_empty() => "now".to_owned(),
        text => format!("{text} ago"),
    }
}

/// Returns how far a clock is off; empty if it is right.
fn clock(ahead: i64) -> String {
    let off = ahead.unsigned_abs();
    match ahead {
        _ if off < CLOCK_MS => String::new(),
        1.. => format!("{} min ahead", off / 60_000),
        _ => format!("{} min behind", off / 60_000),
    }
}

fn to_json(host: &SyncHost, is_this: bool) -> Value {
    json!({
        "id": host.host.to_string(),
        "name": host.name,
        "this": is_this,
        "records": host.head,
        "seen_at": host.seen_at.map(|seen| seen.0),
        "clock_ahead_ms": host.clock_ahead,
    })
}
