//! Pages of records, with their default and largest size, and whole records.

use axum::extract::{Request, State};
use axum::response::Response;
use longhaul_store::{Only, What};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{body, wanted_project};
use crate::params::Params;
use crate::response::{Answer, Problem, json};
use crate::routes::Shared;
use crate::{ids, shapes};

/// How many are shown at once.
const LIMIT: usize = 50;

/// How many at most.
const MOST: usize = 200;

/// Lists observations.
pub(crate) async fn observations(State(worker): State<Shared>, request: Request) -> Answer {
    list(worker, What::Observation, Params::of(request.uri())).await
}

/// Lists prompts.
pub(crate) async fn prompts(State(worker): State<Shared>, request: Request) -> Answer {
    list(worker, What::Prompt, Params::of(request.uri())).await
}

/// Lists summaries.
pub(crate) async fn summaries(State(worker): State<Shared>, request: Request) -> Answer {
    list(worker, What::Summary, Params::of(request.uri())).await
}

async fn list(worker: Shared, what: What, params: Params) -> Result<Response, Problem> {
    let (limit, kinds) = (params.limit(MOST, LIMIT)?, params.kinds()?);
    let before = params.number("before", 1..=i64::MAX, i64::MAX)?;
    let page = worker.database.ask(move |store| {
        let project = wanted_project(store, &params)?;
        let only = Only {
            project_key: project.as_ref().map(|project| project.key.as_str()),
            session: params.text("session"),
            kinds: &kinds,
            before: Some(before),
            limit: limit + 1,
        };
        let mut entries = store.entries(what, &only)?;
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| more).map(|entry| entry.record.record.id);
        Ok(json!({ "items": entries.iter().map(shapes::entry).collect::<Vec<Value>>(), "next": next }))
    });
    Ok(json(&page.await?))
}

#[derive(Deserialize)]
struct Batch {
    ids: Vec<Value>,
}

/// Returns whole records.
pub(crate) async fn batch(State(worker): State<Shared>, request: Request) -> Answer {
    let wanted: Batch = body(request).await?;
    if wanted.ids.len() > MOST {
        let error = format!("{} ids are too many", wanted.ids.len());
        return Err(Problem::unreadable(error, format!("request at most {MOST} at a time")));
    }
    let ids = wanted.ids.iter().map(|id| match id {
        Value::String(name) => ids::parse(name),
        other => ids::parse(&other.to_string()),
    });
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let found = worker.database.ask(move |store| Ok(store.whole_entries(&ids)?)).await?;
    Ok(json(&found.iter().map(shapes::whole).collect::<Vec<Value>>()))
}
