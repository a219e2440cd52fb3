//! Searches and answers from the memory, lists what happened around a record, and forgets records.

use std::collections::HashMap;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use longhaul_core::one_line;
use longhaul_memory::Query;
use longhaul_runtime::memory::{
    self, ANSWER_TOKENS, ANSWER_TOKENS_RANGE, BadFilter, Recall, Wanted, answer_json, marked_hits, meaning,
};
use longhaul_store::{Content, Hit, Only, Order, Record, What};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{body, named_project, wanted_project};
use crate::routes::{Answer, Problem, Shared, json};
use crate::shapes::{self, Params};
use crate::stream::event;

/// The maximum length of an outcome, in characters.
const OUTCOME_CHARS: usize = 200;

/// Finds records.
pub(crate) async fn search(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let wanted = wanted(&params)?;
    check(&wanted)?;
    let query = wanted.query.clone();
    let ((env, config), home) = (worker.now()?, worker.home.clone());
    let hits = worker.database.ask(move |store| {
        let project = params.text("project").or(wanted.query.project.as_deref());
        let project = project.map(|name| named_project(store, name)).transpose()?;
        let key = project.as_ref().map(|project| project.key.as_str());
        let hits = meaning::search(&env, &home, &config, store, &wanted, key)?;
        let records = store.passages(&hits.iter().map(|hit| hit.record).collect::<Vec<_>>())?;
        let outcomes: HashMap<_, _> = records.iter().map(|record| (record.record, outcome(record))).collect();
        Ok((hits, outcomes))
    });
    let (hits, mut outcomes) = hits.await?;
    let mut found = marked_hits(&query, &hits);
    for (value, hit) in found.iter_mut().zip(&hits) {
        value["outcome"] = outcomes.remove(&hit.record).flatten().into();
    }
    Ok(json(&found))
}

/// Returns what came of a record, in one line; `None` if its title says all that is known.
fn outcome(record: &Record) -> Option<String> {
    let text = match &record.content {
        Content::Prompt { .. } => return None,
        Content::Observation { observation, .. } => observation.facts.join("; "),
        Content::Summary { summary, .. } if summary.completed.is_empty() => summary.learned.clone(),
        Content::Summary { summary, .. } => summary.completed.clone(),
    };
    Some(one_line(&text, OUTCOME_CHARS)).filter(|text| !text.is_empty())
}

/// Returns an error for a filter in the query that cannot be parsed.
pub(super) fn check(wanted: &Wanted) -> Result<(), Problem> {
    let refused =
        |bad: BadFilter| Problem::unreadable(format!("{} is {:?}", bad.name, bad.value), "write a day as 2026-01-31");
    wanted.check().map_err(refused)
}

fn wanted(params: &Params) -> Result<Wanted, Problem> {
    let text = |name: &str| params.text(name).map(str::to_owned);
    Ok(Wanted {
        query: Query::parse(params.text("q").unwrap_or_default()),
        kinds: params.kinds()?,
        file: text("file"),
        since: params.day("since")?,
        before: params.day("before")?,
        session: text("session"),
        without_session: None,
        from_host: None,
        what: params.types()?,
        order: order(params)?,
        limit: params.limit(200, 20)?,
        offset: usize::try_from(params.number("offset", 0..=2_000, 0)?).unwrap_or_default(),
    })
}

/// Lists what happened around a record.
pub(crate) async fn timeline(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let id = shapes::parse(params.needed("id")?)?;
    let side = |name: &str| Ok::<_, Problem>(usize::try_from(params.number(name, 0..=100, 3)?).unwrap_or_default());
    let (before, after) = (side("before")?, side("after")?);
    let hits = worker.database.ask(move |store| Ok(store.timeline(id, before, after, &[])?)).await?;
    if hits.is_empty() {
        return Err(shapes::unknown(id));
    }
    Ok(json(&hits.iter().map(Hit::to_json).collect::<Vec<Value>>()))
}

fn order(params: &Params) -> Result<Order, Problem> {
    let Some(name) = params.text("order") else { return Ok(Order::default()) };
    let known = || format!("use {}", Order::ALL.map(Order::as_str).join(", "));
    Order::from_name(name).ok_or_else(|| Problem::unreadable(format!("order is {name:?}"), known()))
}

/// Answers a question with the best passages.
pub(crate) async fn recall(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let query = memory::question(params.needed("q")?)
        .map_err(|_| Problem::unreadable("q has no words to search for", "ask in a sentence"))?;
    let wanted = Wanted { query, since: params.day("since")?, before: params.day("before")?, ..Wanted::default() };
    check(&wanted)?;
    let range = *ANSWER_TOKENS_RANGE.start() as i64..=*ANSWER_TOKENS_RANGE.end() as i64;
    let tokens = params.number("tokens", range, ANSWER_TOKENS as i64)?;
    let tokens = usize::try_from(tokens).unwrap_or(ANSWER_TOKENS);
    let ((env, config), home) = (worker.now()?, worker.home.clone());
    let answer = worker.database.ask(move |store| {
        let project = params.text("project").or(wanted.query.project.as_deref());
        let project = project.map(|name| named_project(store, name)).transpose()?;
        let key = project.as_ref().map(|project| project.key.as_str());
        Ok(meaning::recall(&env, &home, &config, store, &Recall::new(wanted, key, tokens))?)
    });
    Ok(json(&answer_json(&answer.await?)))
}

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
        Value::String(name) => shapes::parse(name),
        other => shapes::parse(&other.to_string()),
    });
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let found = worker.database.ask(move |store| Ok(store.whole_entries(&ids)?)).await?;
    Ok(json(&found.iter().map(shapes::whole).collect::<Vec<Value>>()))
}

/// Deletes an observation.
pub(crate) async fn observation(State(worker): State<Shared>, Path(id): Path<String>) -> Answer {
    forget(worker, What::Observation, &id).await
}

/// Deletes a prompt.
pub(crate) async fn prompt(State(worker): State<Shared>, Path(id): Path<String>) -> Answer {
    forget(worker, What::Prompt, &id).await
}

/// Deletes a summary.
pub(crate) async fn summary(State(worker): State<Shared>, Path(id): Path<String>) -> Answer {
    forget(worker, What::Summary, &id).await
}

async fn forget(worker: Shared, what: What, id: &str) -> Result<Response, Problem> {
    let record = shapes::parse_as(id, what)?;
    if record.what != what {
        return Err(shapes::unknown(record));
    }
    let there_was = worker.database.change(move |store| Ok(store.forget(record)?)).await?;
    if !there_was {
        return Err(shapes::unknown(record));
    }
    let gone = json!({ "forgotten": record.to_string() });
    worker.hub.send(&event("forgotten", None, &gone));
    Ok(json(&gone))
}
