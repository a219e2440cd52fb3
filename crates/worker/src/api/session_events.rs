//! Events of a session, sent by a host that cannot start a process for each of them.

use std::path::{Path, PathBuf};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use longhaul_core::{Config, Env, SessionId};
use longhaul_runtime::memory::{Host, HostPrompt, ReportedCall};
use longhaul_store::{Only, Session, Store, What};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::body;
use crate::response::{Answer, Problem, json};
use crate::routes::Shared;
use crate::shapes;
use crate::stream::event;
use crate::worker::Worker;

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
pub(crate) async fn init(State(worker): State<Shared>, request: Request) -> Answer {
    let init: Init = body(request).await?;
    let session = session_id(&init.session_id)?;
    needs_folder(&init.cwd)?;
    let prompt_id = init.prompt_id.filter(|id| !id.is_empty());
    if init.prompt.is_some() && prompt_id.is_none() {
        let fix = "send a unique id with every prompt, so that a repeated request is recognised";
        return Err(Problem::unreadable("prompt_id is missing", fix));
    }
    let (env, config) = memory_must_be_on(&worker)?;
    let home = worker.home.clone();
    let answer = worker.database.change(move |store| {
        let host = Host { home: &home, env: &env, config: &config };
        let begun = |session: &str, project: &str, key: &str, number: Option<i64>, kept: bool| {
            json!({
                "session_id": session, "project": project, "project_key": key, "prompt_number": number, "kept": kept,
            })
        };
        if host.excludes(&init.cwd) {
            return Ok(begun(session.as_str(), "", "", None, false));
        }
        let known = host.begin(store, &session, &init.cwd)?.ok_or_else(|| unknown(&session))?;
        let number = match (&init.prompt, &prompt_id) {
            (Some(text), Some(id)) => host.prompt(store, &session, HostPrompt { id, text })?,
            _ => None,
        };
        let kept = number.is_some() || init.prompt.is_none();
        Ok(begun(&known.session, &known.project, &known.project_key, number, kept))
    });
    Ok(json(&answer.await?))
}

/// A tool was used.
pub(crate) async fn observations(State(worker): State<Shared>, request: Request) -> Answer {
    let call: Call = body(request).await?;
    let session = session_id(&call.session_id)?;
    for (name, value) in [("tool_use_id", &call.tool_use_id), ("tool_name", &call.tool_name)] {
        if value.is_empty() {
            return Err(Problem::unreadable(format!("{name} is empty"), "see openapi.yaml"));
        }
    }
    let (env, config) = memory_must_be_on(&worker)?;
    let home = worker.home.clone();
    let answer = worker.database.change(move |store| {
        let host = Host { home: &home, env: &env, config: &config };
        let cwd = match (&call.cwd, store.session(session.as_str())?) {
            (_, Some(known)) => PathBuf::from(known.project_path),
            (Some(cwd), None) => cwd.clone(),
            (None, None) => return Err(unknown(&session)),
        };
        needs_folder(&cwd)?;
        let raw = |json: &Option<Box<RawValue>>| json.as_ref().map(|json| json.get().to_owned()).unwrap_or_default();
        let noted = host.note(
            store,
            &session,
            &cwd,
            &ReportedCall {
                id: &call.tool_use_id,
                tool: &call.tool_name,
                prompt_id: call.prompt_id.as_deref(),
                input: &raw(&call.tool_input),
                response: &raw(&call.tool_response),
                in_subagent: false,
                is_error: call.is_error,
                duration_ms: call.duration_ms,
            },
        )?;
        Ok(json!({ "session_id": session.as_str(), "tool_use_id": call.tool_use_id, "outcome": noted.as_str() }))
    });
    Ok(json(&answer.await?))
}

/// A turn is over.
pub(crate) async fn summarize(State(worker): State<Shared>, request: Request) -> Answer {
    let end: TurnEnd = body(request).await?;
    let session = session_id(&end.session_id)?;
    let (env, config) = memory_must_be_on(&worker)?;
    let home = worker.home.clone();
    let answer = worker.database.change(move |store| {
        let host = Host { home: &home, env: &env, config: &config };
        let known = known_session(&host, store, &session, end.cwd.as_deref())?;
        if !host.excludes(Path::new(&known.project_path)) {
            let reply = end.last_assistant_message.as_deref().unwrap_or_default();
            host.end_turn(store, &known, end.prompt_id.as_deref(), reply)?;
        }
        let only = Only { session: Some(session.as_str()), limit: 1, ..Only::default() };
        let summary = store.entries(What::Summary, &only)?.first().map(shapes::entry);
        Ok(json!({ "session_id": session.as_str(), "summary": summary }))
    });
    Ok(json(&answer.await?))
}

/// A session is over.
pub(crate) async fn complete(State(worker): State<Shared>, request: Request) -> Answer {
    let end: End = body(request).await?;
    let session = session_id(&end.session_id)?;
    let (env, config) = memory_must_be_on(&worker)?;
    let home = worker.home.clone();
    let answer = worker.database.change(move |store| {
        let host = Host { home: &home, env: &env, config: &config };
        known_session(&host, store, &session, None)?;
        host.complete(store, &session, end.reason.as_deref().unwrap_or("other"))?;
        Ok(json!({ "session_id": session.as_str(), "status": "completed" }))
    });
    let ended = answer.await?;
    // The host has no row in the tracker, and the end of a session adds no record: nothing else tells the listeners.
    worker.hub.send(&event("session", None, &ended));
    Ok(json(&ended))
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
