//! Finding records, and what happened around one.

use axum::extract::{Request, State};
use jiff::civil;
use jiff::tz::TimeZone;
use longhaul_core::Millis;
use longhaul_core::clock::Date;
use longhaul_memory::{Kind, Query, Term};
use longhaul_store::{Order, SearchQuery, What};
use serde_json::Value;

use super::named_project;
use crate::answer::{Answer, Problem, json};
use crate::params::Params;
use crate::routes::Shared;
use crate::{ids, shapes};

/// What somebody looks for.
struct Wanted {
    query: Query,
    kinds: Vec<Kind>,
    what: Vec<What>,
    order: Order,
    from: Option<Millis>,
    to: Option<Millis>,
    limit: usize,
    offset: usize,
}

impl Wanted {
    fn of(params: &Params) -> Result<Self, Problem> {
        let query = Query::parse(params.text("q").unwrap_or_default());
        let mut kinds = params.kinds()?;
        if kinds.is_empty() {
            kinds.extend(query.kind);
        }
        let since = params.day("since")?.or(query.since);
        let before = params.day("before")?.or(query.before);
        Ok(Self {
            kinds,
            what: params.types()?,
            order: order(params)?,
            from: since.and_then(midnight),
            to: before.and_then(midnight).map(|at| Millis(at.0.saturating_sub(1))),
            limit: params.limit(200, 20)?,
            offset: usize::try_from(params.number("offset", 0..=2_000, 0)?).unwrap_or_default(),
            query,
        })
    }

    /// A word that no index knows, such as an emoji, is nowhere; a star is everything.
    fn is_nowhere(&self, words: Option<&String>) -> bool {
        words.is_none() && self.query.terms.iter().any(|term| term.text != "*")
    }
}

/// Finds records.
pub(crate) async fn search(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let wanted = Wanted::of(&params)?;
    let hits = worker.database.ask(move |store| {
        let query = &wanted.query;
        let words = Query { excluded: Vec::new(), ..query.clone() }.fts();
        if wanted.is_nowhere(words.as_ref()) {
            return Ok(Vec::new());
        }
        let project = params.text("project").or(query.project.as_deref());
        let project = project.map(|name| named_project(store, name)).transpose()?;
        let without = any_of(&query.excluded);
        let parts: Vec<&str> = query.terms.iter().map(|term| term.text.as_str()).collect();
        Ok(store.search(&SearchQuery {
            words: words.as_deref(),
            parts: &parts,
            without: without.as_deref(),
            project_key: project.as_ref().map(|project| project.key.as_str()),
            session: params.text("session"),
            kinds: &wanted.kinds,
            file: params.text("file").or(query.file.as_deref()),
            from: wanted.from,
            to: wanted.to,
            what: &wanted.what,
            order: wanted.order,
            limit: wanted.limit,
            offset: wanted.offset,
        })?)
    });
    Ok(json(&hits.await?.iter().map(shapes::hit).collect::<Vec<Value>>()))
}

/// Tells what happened around a record.
pub(crate) async fn timeline(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let id = ids::parse(params.needed("id")?)?;
    let side = |name: &str| Ok::<_, Problem>(usize::try_from(params.number(name, 0..=100, 3)?).unwrap_or_default());
    let (before, after) = (side("before")?, side("after")?);
    let hits = worker.database.ask(move |store| Ok(store.timeline(id, before, after)?)).await?;
    if hits.is_empty() {
        return Err(ids::unknown(id));
    }
    Ok(json(&hits.iter().map(shapes::hit).collect::<Vec<Value>>()))
}

fn order(params: &Params) -> Result<Order, Problem> {
    match params.text("order") {
        None | Some("relevance") => Ok(Order::Relevance),
        Some("newest") => Ok(Order::Newest),
        Some("oldest") => Ok(Order::Oldest),
        Some(other) => Err(Problem::unreadable(format!("order is {other:?}"), "use relevance, newest or oldest")),
    }
}

/// Writes terms of which none may occur.
fn any_of(terms: &[Term]) -> Option<String> {
    let words = terms.iter().filter(|term| term.text.chars().any(char::is_alphanumeric));
    let quoted: Vec<String> = words.map(|term| format!("\"{}\"", term.text.replace('"', "\"\""))).collect();
    Some(quoted.join(" OR ")).filter(|any| !any.is_empty())
}

/// Returns when a day begins on this machine's clock.
fn midnight(date: Date) -> Option<Millis> {
    let day = civil::Date::new(date.year.try_into().ok()?, date.month.try_into().ok()?, date.day.try_into().ok()?);
    let at = day.ok()?.to_zoned(TimeZone::system()).ok()?.timestamp().as_millisecond();
    Some(Millis(u64::try_from(at).unwrap_or_default()))
}
