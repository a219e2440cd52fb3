//! The list of sessions that were lost.

use anyhow::Result;
use longhaul_core::{Millis, short_session};
use longhaul_inject::{printable, shell_single_quote};
use longhaul_reopen::{Refusal, SessionPlace};
use longhaul_tracker::age;
use serde_json::{Value, json};

use super::Candidate;
use super::opening::OpenResult;
use crate::cli::{out, paint};

/// Prints the chosen sessions as a table, and then what cannot be reopened, and how many more there are.
pub(super) fn print(candidates: &[Candidate], now: Millis) -> Result<()> {
    let header = ["", "SESSION", "AGE", "STATE", "WINDOW", "PROJECT", "BRANCH", "LAST"].map(str::to_owned);
    let numbered = candidates.iter().zip(1..).filter(|(candidate, _)| candidate.is_chosen);
    let rows = numbered.map(|(candidate, number)| row(candidate, number, now));
    let rows: Vec<[String; 8]> = std::iter::once(header).chain(rows).collect();
    if rows.len() > 1 {
        for line in paint::columns(&rows, &[0, 2]) {
            out::line(&line)?;
        }
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
    let seconds = now.0.saturating_sub(place.seen_ms) / 1000;
    let age = if seconds < 60 { format!("{seconds}s") } else { age(seconds) };
    let state = place.status.map_or("-", |status| status.as_str()).to_owned();
    let branch = place.branch.clone().unwrap_or_else(|| "-".to_owned());
    let last = place.prompt_summary.clone().unwrap_or_default();
    let session = short_session(&place.session).to_owned();
    [number.to_string(), session, age, state, window(place), place.project.clone(), branch, last]
        .map(|text| printable(&text))
}

/// Returns the window of a session, as tmux names it.
pub(super) fn window(place: &SessionPlace) -> String {
    let name = |window: &longhaul_reopen::Window| format!("{}:{} {}", window.session, window.index, window.name);
    place.window.as_ref().map_or_else(|| "-".to_owned(), name)
}

/// Returns the sessions as JSON, with what has become of those in `results`.
pub(super) fn json(candidates: &[Candidate], results: &[(String, OpenResult)]) -> Vec<Value> {
    candidates.iter().map(|candidate| object(candidate, results)).collect()
}

fn object(candidate: &Candidate, results: &[(String, OpenResult)]) -> Value {
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
