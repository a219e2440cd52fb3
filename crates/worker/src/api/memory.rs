//! Searches and answers from the memory, lists what happened around a record, and forgets records.

use std::collections::HashMap;

use longhaul_core::one_line;
use longhaul_memory::Query;
use longhaul_runtime::memory::{
    self, ANSWER_TOKENS, ANSWER_TOKENS_RANGE, BadFilter, Recall, Wanted, answer_json, marked_hits, meaning,
};
use longhaul_store::{Content, Hit, Only, Order, Record, What};
use serde::Deserialize;
use serde_json::{Value, json};

use super::named_project;
use crate::routes::{ApiRequest, Problem};
use crate::shapes::{self, Params};
use crate::stream::event;

/// The maximum length of an outcome, in characters.
const OUTCOME_CHARS: usize = 200;

pub(crate) fn search(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let ApiRequest { worker, store, params, .. } = request;
    let wanted = wanted(params)?;
    check(&wanted)?;
    let (env, config) = worker.now()?;
    let key = project_key(request, &wanted)?;
    let hits = meaning::search(&env, &worker.home, &config, store, &wanted, key.as_deref())?;
    let records = store.passages(&hits.iter().map(|hit| hit.record).collect::<Vec<_>>())?;
    let mut outcomes: HashMap<_, _> = records.iter().map(|record| (record.record, outcome(record))).collect();
    let mut found = marked_hits(&wanted.query, &hits);
    for (value, hit) in found.iter_mut().zip(&hits) {
        value["outcome"] = outcomes.remove(&hit.record).flatten().into();
    }
    Ok(json!(found))
}

/// Returns the key of the project that a request or its query names.
fn project_key(request: &ApiRequest<'_>, wanted: &Wanted) -> Result<Option<String>, Problem> {
    let name = request.params.text("project").or(wanted.query.project.as_deref());
    Ok(name.map(|name| named_project(request.store, name)).transpose()?.map(|project| project.key))
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
fn check(wanted: &Wanted) -> Result<(), Problem> {
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

pub(crate) fn timeline(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let id = shapes::parse(request.params.needed("id")?, What::Observation)?;
    let side =
        |name: &str| Ok::<_, Problem>(usize::try_from(request.params.number(name, 0..=100, 3)?).unwrap_or_default());
    let hits = request.store.timeline(id, side("before")?, side("after")?, &[])?;
    if hits.is_empty() {
        return Err(shapes::unknown(id));
    }
    Ok(hits.iter().map(Hit::to_json).collect())
}

fn order(params: &Params) -> Result<Order, Problem> {
    let Some(name) = params.text("order") else { return Ok(Order::default()) };
    let known = || format!("use {}", Order::ALL.map(Order::as_str).join(", "));
    Order::from_name(name).ok_or_else(|| Problem::unreadable(format!("order is {name:?}"), known()))
}

pub(crate) fn recall(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let ApiRequest { worker, store, params, .. } = request;
    let query = memory::question(params.needed("q")?)
        .map_err(|_| Problem::unreadable("q has no words to search for", "ask in a sentence"))?;
    let wanted = Wanted { query, since: params.day("since")?, before: params.day("before")?, ..Wanted::default() };
    check(&wanted)?;
    let range = *ANSWER_TOKENS_RANGE.start() as i64..=*ANSWER_TOKENS_RANGE.end() as i64;
    let tokens = params.number("tokens", range, ANSWER_TOKENS as i64)?;
    let tokens = usize::try_from(tokens).unwrap_or(ANSWER_TOKENS);
    let (env, config) = worker.now()?;
    let key = project_key(request, &wanted)?;
    let recall = Recall::new(wanted, key.as_deref(), tokens);
    Ok(json!(answer_json(&meaning::recall(&env, &worker.home, &config, store, &recall)?)))
}

/// How many are shown at once.
const LIMIT: usize = 50;

/// How many at most.
const MOST: usize = 200;

pub(crate) fn list(request: &ApiRequest<'_>, what: What) -> Result<Value, Problem> {
    let ApiRequest { store, params, .. } = request;
    let (limit, kinds) = (params.limit(MOST, LIMIT)?, params.kinds()?);
    let before = params.number("before", 1..=i64::MAX, i64::MAX)?;
    let project = request.project()?;
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
}

#[derive(Deserialize)]
struct Batch {
    ids: Vec<Value>,
}

pub(crate) fn batch(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let wanted: Batch = request.body()?;
    if wanted.ids.len() > MOST {
        let error = format!("{} ids are too many", wanted.ids.len());
        return Err(Problem::unreadable(error, format!("request at most {MOST} at a time")));
    }
    let ids = wanted.ids.iter().map(|id| match id {
        Value::String(name) => shapes::parse(name, What::Observation),
        other => shapes::parse(&other.to_string(), What::Observation),
    });
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    Ok(request.store.whole_entries(&ids)?.iter().map(shapes::whole).collect())
}

pub(crate) fn forget(request: &ApiRequest<'_>, what: What) -> Result<Value, Problem> {
    let record = shapes::parse(request.id, what)?;
    if record.what != what || !request.store.forget(record)? {
        return Err(shapes::unknown(record));
    }
    let gone = json!({ "forgotten": record.to_string() });
    request.worker.hub.send(&event("forgotten", None, &gone));
    Ok(gone)
}
