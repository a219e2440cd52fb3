//! Lists sessions and running sessions, and what happened in one.

use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use longhaul_core::{Config, Env, SessionId};
use longhaul_runtime::memory::{Host, HostPrompt, ReportedCall};
use longhaul_store::{Only, Session, SessionOverview, Store, What};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::database::lock;
use crate::routes::{ApiRequest, Problem};
use crate::serve::Worker;
use crate::shapes;
use crate::stream::event;
use crate::watch;

pub(crate) fn sessions(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let ApiRequest { worker, store, params, .. } = request;
    let (limit, before) = (params.limit(200, 50)?, params.cursor("before")?);
    let project = request.project()?;
    let key = project.as_ref().map(|project| project.key.as_str());
    let mut rows = store.session_overviews(key, before, limit + 1)?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|row| format!("{}-{}", row.created_at.0, row.id));
    Ok(json!({ "items": shown(worker, store, &rows)?, "next": next }))
}

pub(crate) fn timeline(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let ApiRequest { worker, store, params, id, .. } = request;
    let (limit, before) = (params.limit(2_000, 500)?, params.cursor("before")?);
    let session = SessionId::new(id).map(|id| id.to_string()).unwrap_or_default();
    let unknown = || Problem::missing(format!("there is no session {id:?}"), "/api/sessions lists the sessions");
    let row = store.session_overview(&session)?.ok_or_else(unknown)?;
    let (moments, more) = store.moments(&session, before.map(|(at, _)| at), limit)?;
    let next = moments.first().filter(|_| more).map(|moment| moment.at.0.to_string());
    let items: Vec<Value> = moments.iter().map(shapes::moment).collect();
    let session = shown(worker, store, &[row])?.pop();
    Ok(json!({ "session": session, "items": items, "next": next }))
}

pub(crate) fn agents(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let ApiRequest { worker, store, .. } = request;
    let (env, config) = worker.now()?;
    let mut eyes = lock(&worker.eyes);
    let seen = eyes.look(&worker.home, &config)?;
    Ok(watch::agents(store, seen, &config.models.windows, env.now)?.into())
}

/// Returns sessions with their states and context use.
fn shown(worker: &Worker, store: &Store, rows: &[SessionOverview]) -> Result<Vec<Value>, Problem> {
    let (env, config) = worker.now()?;
    let mut eyes = lock(&worker.eyes);
    let seen = eyes.look(&worker.home, &config)?;
    let agents = watch::agents(store, seen, &config.models.windows, env.now)?;
    let show = |row: &SessionOverview| {
        let state = agents.iter().find(|agent| agent["session"] == row.session.as_str());
        let observation = &seen.observation;
        let observed = observation.sessions.iter().find(|observed| observed.session == row.session);
        let context = watch::context(&row.session, observed, &observation.contexts, &config.models.windows);
        shapes::session(row, state.unwrap_or(&Value::Null), context)
    };
    Ok(rows.iter().map(show).collect())
}

#[derive(Deserialize)]
struct Init {
    session_id: String,
    cwd: PathBuf,
    prompt: Option<String>,
    prompt_id: Option<String>,
}

#[derive(Deserialize)]
struct Call {
    session_id: String,
    cwd: Option<PathBuf>,
    prompt_id: Option<String>,
    tool_use_id: String,
    tool_name: String,
    tool_input: Option<Box<RawValue>>,
    tool_response: Option<Box<RawValue>>,
    #[serde(default)]
    is_error: bool,
    duration_ms: Option<u64>,
}

#[derive(Deserialize)]
struct TurnEnd {
    session_id: String,
    cwd: Option<PathBuf>,
    prompt_id: Option<String>,
    last_assistant_message: Option<String>,
}

#[derive(Deserialize)]
struct End {
    session_id: String,
    reason: Option<String>,
}

/// A session begins, or is prompted.
pub(crate) fn init(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let init: Init = request.body()?;
    let session = session_id(&init.session_id)?;
    needs_folder(&init.cwd)?;
    let prompt_id = init.prompt_id.filter(|id| !id.is_empty());
    if init.prompt.is_some() && prompt_id.is_none() {
        let fix = "send a unique id with every prompt, so that a repeated request is recognised";
        return Err(Problem::unreadable("prompt_id is missing", fix));
    }
    let (env, config) = memory_must_be_on(request.worker)?;
    let host = Host { home: &request.worker.home, env: &env, config: &config };
    let begun = |session: &str, project: &str, key: &str, number: Option<i64>, kept: bool| json!({ "session_id": session, "project": project, "project_key": key, "prompt_number": number, "kept": kept });
    if host.excludes(&init.cwd) {
        return Ok(begun(session.as_str(), "", "", None, false));
    }
    let known = host.begin(request.store, &session, &init.cwd)?.ok_or_else(|| unknown(&session))?;
    let number = match (&init.prompt, &prompt_id) {
        (Some(text), Some(id)) => host.prompt(request.store, &session, HostPrompt { id, text })?,
        _ => None,
    };
    let kept = number.is_some() || init.prompt.is_none();
    Ok(begun(&known.session, &known.project, &known.project_key, number, kept))
}

/// A tool was used.
pub(crate) fn observations(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let call: Call = request.body()?;
    let session = session_id(&call.session_id)?;
    for (name, value) in [("tool_use_id", &call.tool_use_id), ("tool_name", &call.tool_name)] {
        if value.is_empty() {
            return Err(Problem::unreadable(format!("{name} is empty"), "see openapi.yaml"));
        }
    }
    let (env, config) = memory_must_be_on(request.worker)?;
    let host = Host { home: &request.worker.home, env: &env, config: &config };
    let cwd = match (call.cwd, request.store.session(session.as_str())?) {
        (_, Some(known)) => PathBuf::from(known.project_path),
        (Some(cwd), None) => cwd,
        (None, None) => return Err(unknown(&session)),
    };
    needs_folder(&cwd)?;
    let raw = |json: &Option<Box<RawValue>>| json.as_ref().map(|json| json.get().to_owned()).unwrap_or_default();
    let reported = ReportedCall {
        id: &call.tool_use_id,
        tool: &call.tool_name,
        prompt_id: call.prompt_id.as_deref(),
        input: &raw(&call.tool_input),
        response: &raw(&call.tool_response),
        in_subagent: false,
        is_error: call.is_error,
        duration_ms: call.duration_ms,
    };
    let noted = host.note(request.store, &session, &cwd, &reported)?;
    Ok(json!({ "session_id": session.as_str(), "tool_use_id": call.tool_use_id, "outcome": noted.as_str() }))
}

/// A turn is over.
pub(crate) fn summarize(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let end: TurnEnd = request.body()?;
    let session = session_id(&end.session_id)?;
    let (env, config) = memory_must_be_on(request.worker)?;
    let host = Host { home: &request.worker.home, env: &env, config: &config };
    let known = known_session(&host, request.store, &session, end.cwd.as_deref())?;
    if !host.excludes(Path::new(&known.project_path)) {
        let reply = end.last_assistant_message.as_deref().unwrap_or_default();
        host.end_turn(request.store, &known, end.prompt_id.as_deref(), reply)?;
    }
    let only = Only { session: Some(session.as_str()), limit: 1, ..Only::default() };
    let summary = request.store.entries(What::Summary, &only)?.first().map(shapes::entry);
    Ok(json!({ "session_id": session.as_str(), "summary": summary }))
}

/// A session is over.
pub(crate) fn complete(request: &ApiRequest<'_>) -> Result<Value, Problem> {
    let end: End = request.body()?;
    let session = session_id(&end.session_id)?;
    let (env, config) = memory_must_be_on(request.worker)?;
    let host = Host { home: &request.worker.home, env: &env, config: &config };
    known_session(&host, request.store, &session, None)?;
    host.complete(request.store, &session, end.reason.as_deref().unwrap_or("other"))?;
    let ended = json!({ "session_id": session.as_str(), "status": "completed" });
    // The host has no row in the tracker, and the end of a session adds no record: nothing else tells the listeners.
    request.worker.hub.send(&event("session", None, &ended));
    Ok(ended)
}

fn known_session(host: &Host<'_>, store: &Store, session: &SessionId, cwd: Option<&Path>) -> Result<Session, Problem> {
    let known = store.session(session.as_str())?;
    let known = match (known, cwd) {
        (None, Some(cwd)) if !host.excludes(cwd) => {
            needs_folder(cwd)?;
            host.begin(store, session, cwd)?
        }
        (known, _) => known,
    };
    known.ok_or_else(|| unknown(session))
}

fn session_id(text: &str) -> Result<SessionId, Problem> {
    SessionId::new(text).ok_or_else(|| Problem::unreadable("session_id is empty", "send an id of your own"))
}

fn unknown(session: &SessionId) -> Problem {
    Problem::missing(format!("there is no session {session}"), "start it with POST /api/sessions/init, or send its cwd")
}

fn needs_folder(cwd: &Path) -> Result<(), Problem> {
    if cwd.is_absolute() {
        return Ok(());
    }
    Err(Problem::unreadable(format!("cwd is {cwd:?}"), "send the absolute path of the project's folder"))
}

fn memory_must_be_on(worker: &Worker) -> Result<(Env, Config), Problem> {
    let (env, config) = worker.now()?;
    if config.memory.enabled {
        return Ok((env, config));
    }
    let fix = "set memory.enabled to true in the configuration";
    Err(Problem::new(StatusCode::CONFLICT, "the memory is disabled", fix))
}
