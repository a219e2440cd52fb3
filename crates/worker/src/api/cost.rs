//! What the sessions cost, as an estimate.

use std::collections::HashMap;

use axum::extract::{Request, State};
use longhaul_core::clock::date_of;
use longhaul_core::{Config, Env, Millis};
use longhaul_cost::{By, Filter, PRICES_DATE, Prices, Report, Row, Sum};
use longhaul_runtime::local_days;
use longhaul_usage_reader::{sum_json, transcript_folders, usage_files};
use serde_json::{Value, json};

use super::health::first_day;
use super::wanted_project;
use crate::database::{blocking, lock};
use crate::params::Params;
use crate::response::{Answer, Problem, json};
use crate::routes::Shared;
use crate::worker::Worker;

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
    let prices = Prices::new(&config.cost.prices);
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
