//! tav: its settings, and the bookmarks in its logs.

use std::fs;
use std::path::Path;

use longhaul_activity_log::LogLine;
use longhaul_core::{SessionId, json_text};
use longhaul_runtime::{Error, bounded_read};
use longhaul_store::{NewBookmark, Store};
use serde_json::{Value, json};

use super::{Mode, Move, Origin, Report, TheirSetting, Trouble, bring_settings, ours, theirs};

/// Maximum size of a log. A week of work is a few hundred kilobytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Keys of tav, and ours.
const KEYS: [(&str, &str); 7] = [
    ("bookmarks.enabled", "bookmarks.enabled"),
    ("bookmarks.marker", "bookmarks.marker"),
    ("bookmarks.thresholds.minTokens", "bookmarks.thresholds.min_tokens"),
    ("bookmarks.thresholds.minToolCalls", "bookmarks.thresholds.min_tool_calls"),
    ("bookmarks.thresholds.minSeconds", "bookmarks.thresholds.min_seconds"),
    ("bookmarks.thresholds.agentBurstThreshold", "bookmarks.thresholds.agent_burst_threshold"),
    ("bookmarks.thresholds.cooldownSeconds", "bookmarks.thresholds.cooldown_seconds"),
];

/// The key that switches its guard on.
const GUARD: &str = "contextGuard.enabled";

/// The shares of its guard: older keys with a number of tokens, the newer ones with a share, its default, and our keys.
const SHARES: [(&str, &str, f64, &str); 2] = [
    ("contextGuard.compactThreshold", "contextGuard.compactPercent", 0.76, "guard.compact_percent"),
    ("contextGuard.denyThreshold", "contextGuard.denyPercent", 0.85, "guard.deny_percent"),
];

/// Defaults for computing a share: the size of the window, and the part of it that tav counted.
const WINDOW: f64 = 200_000.0;
const RATIO: f64 = 0.25;

pub(super) fn run(mover: &Move<'_>, report: &mut Report) -> Result<(), Trouble> {
    settings(mover, report)?;
    let state = report.place.join("state");
    let entries = match fs::read_dir(&state) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(theirs(Error::Read { path: state, source })),
    };
    let mut logs: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    logs.retain(|path| path.extension().is_some_and(|end| end == "log"));
    logs.sort();
    let store = mover.store()?;
    for path in logs {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).and_then(SessionId::new);
        let Some(session) = stem else { continue };
        match times(&path) {
            Ok(times) => bookmarks(mover, report, store.as_ref(), &session, &times)?,
            Err(error) => report.leaves("logs", 1, &error.chain()),
        }
    }
    Ok(())
}

fn settings(mover: &Move<'_>, report: &mut Report) -> Result<(), Trouble> {
    let path = report.place.join("config.json");
    let text = match bounded_read::text(&path, bounded_read::LARGE) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(theirs(Error::Read { path, source })),
    };
    match json_text::from_file::<Value>(text.as_bytes()) {
        Ok(config) if config.is_object() => {
            let is_on = is_guarded(&config);
            let is_idle = |setting: &TheirSetting| !is_on && is_share(&setting.theirs);
            let (idle, wanted): (Vec<TheirSetting>, Vec<TheirSetting>) = wanted(&config).into_iter().partition(is_idle);
            for setting in idle {
                report.leaves("settings", 1, &format!("{} has no effect: tav's guard is off", setting.theirs));
            }
            bring_settings(mover, report, wanted).map(drop)
        }
        Ok(_) | Err(_) => {
            report.leaves("settings files", 1, "config.json is not a JSON object");
            Ok(())
        }
    }
}

fn is_guarded(config: &Value) -> bool {
    config.pointer("/contextGuard/enabled") == Some(&Value::Bool(true))
}

/// Returns whether a key of tav is a share of its guard.
fn is_share(key: &str) -> bool {
    SHARES.iter().any(|(old, new, ..)| key == *old || key == *new)
}

/// Returns all values that are set, each with our key for it.
fn wanted(config: &Value) -> Vec<TheirSetting> {
    let mut leaves = Vec::new();
    collect(config, String::new(), &mut leaves);
    let set = |key: &str| leaves.iter().find(|(known, _)| known == key).map(|(_, value)| value);
    let number = |key: &str| set(key).and_then(Value::as_f64);
    let whole = number("contextGuard.contextWindowTokens").unwrap_or(WINDOW)
        * number("contextGuard.responseRatio").unwrap_or(RATIO);
    // Ours has no switch: what is off has no share.
    let shares = SHARES.into_iter().filter(|_| is_guarded(config)).map(|(old, new, default, ours)| {
        let of_tokens = number(old).map(|tokens| (tokens / whole).min(1.0));
        let of_tokens = of_tokens.filter(|share| share.is_finite() && *share > 0.0);
        let (theirs, value) = match (set(new), of_tokens) {
            (Some(share), _) => (new, share.clone()),
            (None, Some(share)) => (old, json!(share)),
            (None, None) => (GUARD, json!(default)),
        };
        TheirSetting { theirs: theirs.to_owned(), ours: Some(ours.to_owned()), value }
    });
    let mut wanted: Vec<TheirSetting> = shares.collect();
    for (key, value) in leaves.iter().filter(|(key, _)| key != GUARD) {
        if !wanted.iter().any(|setting| setting.theirs == *key) {
            let ours = KEYS.iter().find(|(theirs, _)| theirs == key).map(|(_, ours)| (*ours).to_owned());
            wanted.push(TheirSetting { theirs: key.clone(), ours, value: value.clone() });
        }
    }
    wanted
}

/// Collects all values that are not objects, with their paths.
fn collect(value: &Value, path: String, leaves: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter().filter(|(key, _)| *key != "$schema") {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(member, path, leaves);
            }
        }
        leaf => leaves.push((path, leaf.clone())),
    }
}

fn times(log: &Path) -> Result<Vec<u64>, Error> {
    let failed = |source| Error::Read { path: log.to_owned(), source };
    let bytes = bounded_read::bytes(log, LONGEST).map_err(failed)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(LogLine::parse);
    Ok(lines.filter(|line| matches!(line, LogLine::Bookmark { .. })).map(|line| line.at().0).collect())
}

fn bookmarks(
    mover: &Move<'_>,
    report: &mut Report,
    store: Option<&Store>,
    session: &SessionId,
    times: &[u64],
) -> Result<(), Trouble> {
    let origin = Origin::Tav.as_str();
    let known = store.map_or(Ok(Vec::new()), |store| store.bookmarks(Some(session.as_str()))).map_err(ours)?;
    let is_known =
        |at: u64| known.iter().any(|bookmark| bookmark.session == session.as_str() && bookmark.created_at == at);
    let mut brought = 0;
    for at in times {
        let key = format!("tav-{session}-{at}");
        let has = store.map_or(Ok(false), |store| store.has_moved_in(origin, &key)).map_err(ours)?;
        if has || is_known(*at) {
            continue;
        }
        brought += 1;
        if let (Mode::Move, Some(store)) = (mover.mode, store) {
            let new = NewBookmark { session: session.as_str(), created_at: *at, ..NewBookmark::default() };
            let add = |store: &Store| {
                store.note_moved_in(origin, [key.as_str()])?;
                store.add_bookmark(&new)
            };
            store.transaction("import the bookmark", add).map_err(ours)?;
        }
    }
    report.brings("bookmarks", brought);
    report.leaves("bookmarks", times.len() - brought, "they were imported before");
    Ok(())
}
