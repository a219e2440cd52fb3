//! Lists sessions and running sessions, and what happened in one.

use axum::extract::{Path, Request, State};
use longhaul_core::SessionId;
use longhaul_store::{SessionOverview, Store};
use serde_json::{Value, json};

use super::wanted_project;
use crate::database::lock;
use crate::observed::Seen;
use crate::params::Params;
use crate::response::{Answer, Problem, json};
use crate::routes::Shared;
use crate::worker::Worker;
use crate::{observed, shapes};

/// Lists sessions.
pub(crate) async fn sessions(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let (limit, before) = (params.limit(200, 50)?, params.cursor("before")?);
    let own = worker.clone();
    let page = worker.database.ask(move |store| {
        let project = wanted_project(store, &params)?;
        let key = project.as_ref().map(|project| project.key.as_str());
        let mut rows = store.session_overviews(key, before, limit + 1)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|row| format!("{}-{}", row.created_at.0, row.id));
        Ok(json!({ "items": shown(&own, store, &rows)?, "next": next }))
    });
    Ok(json(&page.await?))
}

/// Returns everything about a session.
pub(crate) async fn timeline(State(worker): State<Shared>, Path(id): Path<String>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let (limit, before) = (params.limit(2_000, 500)?, params.cursor("before")?);
    let own = worker.clone();
    let found = worker.database.ask(move |store| {
        let session = SessionId::new(&id).map(|id| id.to_string()).unwrap_or_default();
        let unknown = || Problem::missing(format!("there is no session {id:?}"), "/api/sessions lists the sessions");
        let row = store.session_overview(&session)?.ok_or_else(unknown)?;
        let (moments, more) = store.moments(&session, before.map(|(at, _)| at), limit)?;
        let next = moments.first().filter(|_| more).map(|moment| moment.at.0.to_string());
        let items: Vec<Value> = moments.iter().map(shapes::moment).collect();
        let session = shown(&own, store, &[row])?.pop();
        Ok(json!({ "session": session, "items": items, "next": next }))
    });
    Ok(json(&found.await?))
}

/// Lists the running sessions.
pub(crate) async fn agents(State(worker): State<Shared>) -> Answer {
    let own = worker.clone();
    let agents = worker.database.ask(move |store| with_eyes(&own, |seen, worker| agents_of(worker, store, seen)));
    Ok(json(&agents.await?))
}

fn agents_of(worker: &Worker, store: &Store, seen: &Seen) -> Result<Vec<Value>, Problem> {
    let (env, config) = worker.now()?;
    Ok(observed::agents(store, seen, &config.context.windows, env.now)?)
}

/// Returns sessions with their states and context use.
fn shown(worker: &Worker, store: &Store, rows: &[SessionOverview]) -> Result<Vec<Value>, Problem> {
    with_eyes(worker, |seen, worker| {
        let agents = agents_of(worker, store, seen)?;
        let (_, config) = worker.now()?;
        let show = |row: &SessionOverview| {
            let state = agents.iter().find(|agent| agent["session"] == row.session.as_str());
            let observation = &seen.observation;
            let observed = observation.sessions.iter().find(|observed| observed.session == row.session);
            let context = observed::context(&row.session, observed, &observation.contexts, &config.context.windows);
            shapes::session(row, state.unwrap_or(&Value::Null), context)
        };
        Ok(rows.iter().map(show).collect())
    })
}

fn with_eyes<T>(worker: &Worker, look: impl FnOnce(&Seen, &Worker) -> Result<T, Problem>) -> Result<T, Problem> {
    let mut eyes = lock(&worker.eyes);
    let (_, config) = worker.now()?;
    let seen = eyes.look(&worker.home, &config)?;
    look(seen, worker)
}
