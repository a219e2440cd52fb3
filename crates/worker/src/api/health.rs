//! The state of the worker, and statistics.

use axum::extract::{Request, State};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use longhaul_core::Millis;
use longhaul_core::clock::date_of;
use longhaul_core::text::{CONTEXT_CHARS, tokens_of_chars};
use longhaul_runtime::memory::{Reader, render_page};
use longhaul_runtime::sync::{self, ExchangeState};
use longhaul_runtime::{model_status, utc_offset_seconds};
use longhaul_store::KnownProject;
use serde_json::{Map, Value, json};

use super::{named_project, wanted_project};
use crate::params::Params;
use crate::response::{Answer, Problem, json};
use crate::routes::Shared;
use crate::shapes;

/// The smallest page that is worth rendering.
const SMALLEST_PAGE: i64 = 600;

/// Returns the state of the worker. The request checks have recorded a request to keep it.
pub(crate) async fn health(State(worker): State<Shared>) -> Answer {
    let now = longhaul_runtime::env().now;
    Ok(json(&json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "pid": worker.file.pid,
        "port": worker.file.port,
        "started": worker.file.started,
        "uptime_ms": now.since(Millis(worker.file.started)),
        "clients": worker.hub.clients(),
        "started_by": if worker.is_kept() { "user" } else { "hook" },
    })))
}

/// Returns statistics.
pub(crate) async fn stats(State(worker): State<Shared>, request: Request) -> Answer {
    let wants_sizes = Params::of(request.uri()).number("sizes", 0..=1, 0)? == 1;
    let (env, config) = worker.now()?;
    let home = worker.home.clone();
    let stats = worker.database.ask(move |store| {
        let (stats, projects) = (store.stats()?, store.projects()?);
        let sizes = if wants_sizes { store.sizes()? } else { Vec::new() };
        Ok(json!({
            "sessions": stats.sessions,
            "projects": projects.iter().map(shapes::project).collect::<Vec<Value>>(),
            "rows": {
                "user_prompts": stats.prompts,
                "observations": stats.observations,
                "session_summaries": stats.summaries,
                "details": stats.details,
            },
            "table_bytes": sizes.into_iter().map(|(table, size)| (table, json!(size))).collect::<Map<_, _>>(),
            "oldest": stats.oldest.map(|at| at.0),
            "newest": stats.newest.map(|at| at.0),
            "bytes": stats.bytes,
            "free_bytes": stats.free_bytes,
            "model": model_status(store, &home, &config, env.now)?.to_json(),
            "sync": sync::is_on(&home).then(|| ExchangeState::read(&home)),
        }))
    });
    Ok(json(&stats.await?))
}

/// Lists the projects.
pub(crate) async fn projects(State(worker): State<Shared>) -> Answer {
    let projects = worker.database.ask(|store| Ok(store.projects()?)).await?;
    Ok(json(&projects.iter().map(shapes::project).collect::<Vec<Value>>()))
}

/// Returns the number of new records per day.
pub(crate) async fn plots(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let days = params.number("days", 1..=366, 30)?;
    let now = longhaul_runtime::env().now;
    let (first, offset) = first_day(now, days).ok_or_else(|| Problem::internal("the clock is out of range"))?;
    let counted = worker.database.ask(move |store| {
        let project = wanted_project(store, &params)?;
        let key = project.as_ref().map(|project| project.key.as_str());
        Ok(store.days(key, first, usize::try_from(days).unwrap_or_default())?)
    });
    let day = |(number, day): (u64, longhaul_store::Day)| {
        // Noon, so that a change to or from summer time does not change the day.
        let noon = Millis(first.0 + number * 86_400_000 + 43_200_000);
        json!({
            "date": date_of(noon, offset).to_string(),
            "tokens": tokens_of_chars(day.turn_bytes),
            "sessions": day.sessions,
            "prompts": day.prompts,
            "observations": day.observations,
            "bytes": day.record_bytes,
        })
    };
    let days: Vec<Value> = (0..).zip(counted.await?).map(day).collect();
    Ok(json(&json!({ "days": days })))
}

/// Returns when the first of the last `days` days began, and the offset from UTC then.
pub(super) fn first_day(now: Millis, days: i64) -> Option<(Millis, i32)> {
    let now = Timestamp::from_millisecond(i64::try_from(now.0).ok()?).ok()?;
    let today: Zoned = now.to_zoned(TimeZone::system()).start_of_day().ok()?;
    let first = today.checked_sub(Span::new().days(days - 1)).ok()?;
    Some((Millis(u64::try_from(first.timestamp().as_millisecond()).ok()?), first.offset().seconds()))
}

/// Renders what a new session of a project would be shown.
pub(crate) async fn context(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let name = params.needed("project")?.to_owned();
    let chars = params.number("chars", SMALLEST_PAGE..=CONTEXT_CHARS as i64, CONTEXT_CHARS as i64)?;
    let now = longhaul_runtime::env().now;
    let page = worker.database.ask(move |store| {
        let KnownProject { key, name, .. } = named_project(store, &name)?;
        let offset_seconds = utc_offset_seconds(now);
        let reader = Reader { project_key: &key, project: &name, session: None, has_seen: None, now, offset_seconds };
        let page = render_page(store, reader, usize::try_from(chars).unwrap_or(CONTEXT_CHARS))?;
        Ok(json!({
            "project": name,
            "project_key": key,
            "text": page.text,
            "shown": page.sessions + page.records,
            "omitted": page.omitted,
            "tokens": page.tokens,
        }))
    });
    Ok(json(&page.await?))
}
