//! The handlers of the paths under `/api`: here health, embedding and cost, the others in `api/`.

pub(crate) mod memory;
pub(crate) mod sessions;
pub(crate) mod snapshots;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use longhaul_core::Millis;
use longhaul_core::clock::date_of;
use longhaul_core::text::{CONTEXT_CHARS, tokens_of_chars};
use longhaul_cost::{By, Filter, PRICES_DATE, Prices, Row, Sum, sum_json};
use longhaul_memory::embedding::Vector;
use longhaul_runtime::cost::{transcript_folders, usage_files};
use longhaul_runtime::memory::{NamedError, Reader, render_page};
use longhaul_runtime::sync::{self, ExchangeState};
use longhaul_runtime::waiting_times::ENDPOINT_ANSWER_FOR_SEARCH;
use longhaul_runtime::{ErrorLog, local_days, model_status, utc_offset_seconds};
use longhaul_store::{KnownProject, Store};
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, oneshot};

use crate::database::lock;
use crate::embeddings::Endpoint;
use crate::routes::{Answer, ApiRequest, Problem, Shared, json};
use crate::shapes::{self, Params};

impl ApiRequest<'_> {
    /// Returns the project that a request names; `None` for all projects.
    fn project(&self) -> Result<Option<KnownProject>, Problem> {
        self.params.text("project").map(|name| named_project(self.store, name)).transpose()
    }
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

pub(crate) fn stats(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let ApiRequest { worker, store, params, .. } = request;
    let wants_sizes = params.number("sizes", 0..=1, 0)? == 1;
    let (env, config) = worker.now()?;
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
        "model": model_status(store, &worker.home, &config, env.now)?.to_json(),
        "sync": sync::is_on(&worker.home).then(|| ExchangeState::read(&worker.home)),
    }))
}

pub(crate) fn projects(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    Ok(request.store.projects()?.iter().map(shapes::project).collect())
}

pub(crate) fn plots(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let days = LastDays::of(request.params, longhaul_runtime::env().now)?;
    let project = request.project()?;
    let key = project.as_ref().map(|project| project.key.as_str());
    let counted = request.store.days(key, days.first, usize::try_from(days.number).unwrap_or_default())?;
    let day = |(date, day): (String, longhaul_store::Day)| {
        json!({
            "date": date,
            "tokens": tokens_of_chars(day.turn_bytes),
            "sessions": day.sessions,
            "prompts": day.prompts,
            "observations": day.observations,
            "bytes": day.record_bytes,
        })
    };
    Ok(json!({ "days": days.dates().zip(counted).map(day).collect::<Vec<Value>>() }))
}

/// The last days of the user's time zone, up to today.
struct LastDays {
    number: u64,
    first: Millis,
    /// The offset from UTC on the first day.
    offset: i32,
}

impl LastDays {
    fn of(params: &Params, now: Millis) -> Result<Self, Problem> {
        let number = params.number("days", 1..=366, 30)?;
        let first = first_day(now, number).ok_or_else(|| Problem::internal("the clock is out of range"))?;
        Ok(Self { number: number.unsigned_abs(), first: first.0, offset: first.1 })
    }

    fn dates(&self) -> impl Iterator<Item = String> {
        // Noon, so that a change to or from summer time does not change the day.
        let noon = |day: u64| Millis(self.first.0 + day * 86_400_000 + 43_200_000);
        (0..self.number).map(move |day| date_of(noon(day), self.offset).to_string())
    }
}

/// Returns when the first of the last `days` days began, and the offset from UTC then.
fn first_day(now: Millis, days: i64) -> Option<(Millis, i32)> {
    let now = Timestamp::from_millisecond(i64::try_from(now.0).ok()?).ok()?;
    let today: Zoned = now.to_zoned(TimeZone::system()).start_of_day().ok()?;
    let first = today.checked_sub(Span::new().days(days - 1)).ok()?;
    Some((Millis(u64::try_from(first.timestamp().as_millisecond()).ok()?), first.offset().seconds()))
}

pub(crate) fn context(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let name = request.params.needed("project")?;
    let chars = request.params.number("chars", SMALLEST_PAGE..=CONTEXT_CHARS as i64, CONTEXT_CHARS as i64)?;
    let now = longhaul_runtime::env().now;
    let KnownProject { key, name, .. } = named_project(request.store, name)?;
    let offset_seconds = utc_offset_seconds(now);
    let reader = Reader { project_key: &key, project: &name, session: None, has_seen: None, now, offset_seconds };
    let page = render_page(request.store, reader, usize::try_from(chars).unwrap_or(CONTEXT_CHARS))?;
    Ok(json!({
        "project": name,
        "project_key": key,
        "text": page.text,
        "shown": page.sessions + page.records,
        "omitted": page.omitted,
        "tokens": page.tokens,
    }))
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

/// Returns the tokens and the cost of the last days, after reading what is new in the transcripts.
pub(crate) fn cost(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let (env, config) = request.worker.now()?;
    let last = LastDays::of(request.params, env.now)?;
    let project = request.project()?.map(|project| project.key);
    let filter = Filter { since: Some(last.first), project: project.as_deref() };
    let mut usage = lock(&request.worker.usage);
    usage.update(&usage_files(&transcript_folders(&env)));
    let prices = Prices::new(&config.models.prices);
    let report = |by: By| usage.ledger.report(by, &prices, &filter, local_days());
    let (days, models, projects) = (report(By::Day), report(By::Model), report(By::Project));
    // Every day, also those without a request.
    let known: HashMap<&str, &Sum> = days.rows.iter().map(|row| (row.key.as_str(), &row.sum)).collect();
    let none = Sum::default();
    let day = |date: String| with(known.get(date.as_str()).copied().unwrap_or(&none), &[("date", date.as_str())]);
    Ok(json!({
        "is_estimate": true,
        "prices_date": PRICES_DATE,
        "total": sum_json(&days.total),
        "days": last.dates().map(day).collect::<Vec<_>>(),
        "models": models.rows.iter().map(|row| with(&row.sum, &[("model", row.key.as_str())])).collect::<Vec<_>>(),
        "projects": projects.rows.iter().map(project_json).collect::<Vec<_>>(),
        "unknown_models": days.unknown_models,
    }))
}

fn project_json(row: &Row) -> Value {
    let name = row.project.as_deref().unwrap_or(&row.key);
    with(&row.sum, &[("project", name), ("project_key", row.key.as_str())])
}

fn with(sum: &Sum, fields: &[(&str, &str)]) -> Value {
    let mut json = sum_json(sum);
    for (name, value) in fields {
        json[*name] = (*value).into();
    }
    json
}
