//! The handlers of the paths under `/api`: here health, embedding and cost, the others in `api/`.

pub(crate) mod memory;
pub(crate) mod sessions;
pub(crate) mod snapshots;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use longhaul_core::clock::date_of;
use longhaul_core::text::{CONTEXT_CHARS, tokens_of_chars};
use longhaul_core::{Config, Env, Millis};
use longhaul_cost::{By, Filter, PRICES_DATE, Prices, Report, Row, Sum, sum_json};
use longhaul_memory::embedding::Vector;
use longhaul_runtime::cost::{transcript_folders, usage_files};
use longhaul_runtime::memory::{NamedError, Reader, render_page};
use longhaul_runtime::sync::{self, ExchangeState};
use longhaul_runtime::waiting_times::{self, ENDPOINT_ANSWER_FOR_SEARCH};
use longhaul_runtime::{ErrorLog, local_days, model_status, utc_offset_seconds};
use longhaul_store::{KnownProject, Store};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, oneshot};

use crate::database::{blocking, lock};
use crate::embeddings::Endpoint;
use crate::request_checks::{BODY, too_large};
use crate::routes::{Answer, Problem, Shared, json};
use crate::serve::Worker;
use crate::shapes::{self, Params};

/// Reads the body of a request.
async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    let read = tokio::time::timeout(waiting_times::REQUEST_BODY, to_bytes(request.into_body(), BODY)).await;
    let late =
        |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "the request body did not arrive in time", "send it at once");
    // A body that ends too early means that the client has gone.
    let bytes = read.map_err(late)?.map_err(|_| too_large())?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Problem::unreadable(format!("the body cannot be read: {error}"), "see openapi.yaml"))
}

/// Returns the project that a request names; `None` for all projects.
fn wanted_project(store: &Store, params: &Params) -> Result<Option<KnownProject>, Problem> {
    params.text("project").map(|name| named_project(store, name)).transpose()
}

/// Finds a project by its key, by its name, or by a folder in it.
fn named_project(store: &Store, name: &str) -> Result<KnownProject, Problem> {
    let folder = name.starts_with('/').then(|| Path::new(name));
    longhaul_runtime::memory::named_project(store, name, folder).map_err(|error| match error {
        NamedError::Unknown(_) => Problem::missing(error.to_string(), "/api/projects lists the known projects"),
        NamedError::Several { .. } => Problem::unreadable(error.to_string(), "use the project_key from /api/projects"),
        NamedError::Store(error) => error.into(),
    })
}

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
fn first_day(now: Millis, days: i64) -> Option<(Millis, i32)> {
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

// The vector of a question, computed by the endpoint. Only the worker connects to the endpoint.
//
// An endpoint that is slow or gone must not delay anything else. It is called on separate threads, not on those that read
// the database, and after a failure it is not called for a while.

/// How long the endpoint is not called after a failure.
const PAUSE: Duration = Duration::from_secs(10);

/// How many questions may wait for the endpoint. Any others are answered without it.
static ASKED: Semaphore = Semaphore::const_new(4);

/// Until when the endpoint is not called.
static PAUSED: Mutex<Option<Instant>> = Mutex::new(None);

/// Returns the vector of a text.
pub(crate) async fn embedding(State(worker): State<Shared>, request: Request) -> Answer {
    let text = Params::of(request.uri()).needed("text")?.to_owned();
    let (env, config) = worker.now()?;
    let found = match Endpoint::of(&config) {
        Some(endpoint) if !is_paused() => {
            ask(endpoint.within(ENDPOINT_ANSWER_FOR_SEARCH), text, ErrorLog::new(&env, "worker")).await
        }
        Some(_) | None => None,
    };
    let (name, vector) = found.unzip();
    let values: Option<Vec<i8>> = vector.map(|vector| vector.to_bytes().into_iter().map(|byte| byte as i8).collect());
    Ok(json(&json!({ "model": name, "vector": values })))
}

/// Calls the endpoint; `None` if it does not answer or too many questions wait for it.
async fn ask(endpoint: Endpoint, text: String, log: ErrorLog) -> Option<(String, Vector)> {
    let permit = ASKED.try_acquire().ok()?;
    let (answer, answered) = oneshot::channel();
    let work = move || {
        let asked = endpoint.embed(&[text]);
        if let Err(error) = &asked {
            *PAUSED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + PAUSE);
            log.write(&format!("embeddings: {error}"));
        }
        drop(permit);
        let vector = asked.ok().and_then(|vectors| vectors.into_iter().next().flatten());
        // The client may have disconnected.
        let _ = answer.send(vector.map(|vector| (endpoint.name().to_owned(), vector)));
    };
    thread::Builder::new().name("question".to_owned()).spawn(work).ok()?;
    answered.await.ok().flatten()
}

fn is_paused() -> bool {
    PAUSED.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|until| Instant::now() < until)
}

/// Returns the tokens and the cost of the last days.
pub(crate) async fn cost(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let days = params.number("days", 1..=366, 30)?;
    let project = worker.database.ask(move |store| wanted_project(store, &params)).await?.map(|project| project.key);
    let (env, config) = worker.now()?;
    let (first, offset) = first_day(env.now, days).ok_or_else(|| Problem::internal("the clock is out of range"))?;
    let dates = (0..days.unsigned_abs()).map(move |day| {
        // Noon, so that a change to or from summer time does not change the day.
        date_of(Millis(first.0 + day * 86_400_000 + 43_200_000), offset).to_string()
    });
    let sums = blocking(move || {
        let filter = Filter { since: Some(first), project: project.as_deref() };
        Ok(sums(&worker, &env, &config, &filter, dates))
    });
    Ok(json(&sums.await?))
}

/// Reads what is new in the transcripts, and sums it.
fn sums(
    worker: &Worker,
    env: &Env,
    config: &Config,
    filter: &Filter<'_>,
    dates: impl Iterator<Item = String>,
) -> Value {
    let mut usage = lock(&worker.usage);
    usage.update(&usage_files(&transcript_folders(env)));
    let prices = Prices::new(&config.models.prices);
    let report = |by: By| usage.ledger.report(by, &prices, filter, local_days());
    let (days, models, projects) = (report(By::Day), report(By::Model), report(By::Project));
    json!({
        "is_estimate": true,
        "prices_date": PRICES_DATE,
        "total": sum_json(&days.total),
        "days": dense(&days, dates),
        "models": models.rows.iter().map(|row| with(&row.sum, &[("model", row.key.as_str())])).collect::<Vec<_>>(),
        "projects": projects.rows.iter().map(project_json).collect::<Vec<_>>(),
        "unknown_models": days.unknown_models,
    })
}

/// Returns every day, also those without a request.
fn dense(report: &Report, dates: impl Iterator<Item = String>) -> Vec<Value> {
    let known: HashMap<&str, &Sum> = report.rows.iter().map(|row| (row.key.as_str(), &row.sum)).collect();
    let none = Sum::default();
    dates.map(|date| with(known.get(date.as_str()).copied().unwrap_or(&none), &[("date", date.as_str())])).collect()
}

fn project_json(row: &Row) -> Value {
    let name = row.project.as_deref().unwrap_or(&row.key);
    with(&row.sum, &[("project", name), ("project_key", row.key.as_str())])
}

/// Returns a sum with further fields.
fn with(sum: &Sum, fields: &[(&str, &str)]) -> Value {
    let mut json = sum_json(sum);
    for (name, value) in fields {
        json[*name] = (*value).into();
    }
    json
}
