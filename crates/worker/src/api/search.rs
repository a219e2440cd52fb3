//! Searches records, and lists what happened around one.

use std::collections::HashMap;

use axum::extract::{Request, State};
use longhaul_core::one_line;
use longhaul_memory::Query;
use longhaul_runtime::memory::{BadFilter, Wanted, marked_hits, meaning};
use longhaul_store::{Content, Hit, Order, Record};
use serde_json::Value;

use super::named_project;
use crate::ids;
use crate::params::Params;
use crate::response::{Answer, Problem, json};
use crate::routes::Shared;

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
    let id = ids::parse(params.needed("id")?)?;
    let side = |name: &str| Ok::<_, Problem>(usize::try_from(params.number(name, 0..=100, 3)?).unwrap_or_default());
    let (before, after) = (side("before")?, side("after")?);
    let hits = worker.database.ask(move |store| Ok(store.timeline(id, before, after, &[])?)).await?;
    if hits.is_empty() {
        return Err(ids::unknown(id));
    }
    Ok(json(&hits.iter().map(Hit::to_json).collect::<Vec<Value>>()))
}

fn order(params: &Params) -> Result<Order, Problem> {
    let Some(name) = params.text("order") else { return Ok(Order::default()) };
    let known = || format!("use {}", Order::ALL.map(Order::as_str).join(", "));
    Order::from_name(name).ok_or_else(|| Problem::unreadable(format!("order is {name:?}"), known()))
}
