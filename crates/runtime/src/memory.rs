//! The memory: hooks write tool calls to a spool, which is stored in the database before anything is read.

mod events;
mod http_sessions;
pub mod meaning;
mod named_project;
mod page_input;
pub mod prompt_recall;
pub mod salvage;
mod search;
mod spool;
pub mod upkeep;

use std::path::Path;

use longhaul_core::event::Common;
use longhaul_core::{Env, Millis, SessionId, config};
use longhaul_memory::{
    Call, MadeBy, Observation, SUMMED_UP, Summary, TurnText, command_key, fix_of, fold_key, matches, observe, summarize,
};
use longhaul_store::{NewBookmark, NewObservation, Reading, Session, Store};

use self::spool::Notes;
use crate::handoff::Project;
use crate::model::is_model_dir;
use crate::private_turns::PrivateTurns;
use crate::{Deadline, Error, Home, Sanitizer, waiting_times};

pub use self::events::{
    ReportedCall, drop_old_text, on_prompt, on_session_end, on_session_start, on_tool_failure, on_tool_use,
    on_turn_end, recorded_call,
};
pub(crate) use self::events::{keep_last_reply, note};
pub use self::http_sessions::{Host, HostPrompt, Noted};
pub use self::named_project::{NamedError, folder_of, named_project};
pub use self::page_input::{Reader, render_page};
pub use self::search::{BadFilter, NoWords, Recall, Wanted, answer_json, marked_hits, marker, question};
pub(crate) use self::spool::Spool;
pub use longhaul_memory::{ANSWER_TOKENS, ANSWER_TOKENS_RANGE};

/// The tool name of a prompt in the spool.
const PROMPT: &str = "prompt:";

/// The tool name of a bookmark in the spool. Its note is the input, its commit the response, its tokens the duration.
const BOOKMARK: &str = "bookmark:";

/// Returns the text of a prompt that is stored; `None` if nothing of it may be stored.
pub fn clean_prompt(prompt: &str, sanitizer: Sanitizer) -> Option<String> {
    let prompt = sanitizer.capped(prompt);
    let prompt = prompt.trim();
    (!prompt.is_empty()).then(|| prompt.to_owned())
}

pub fn is_excluded(memory: &config::Memory, env: &Env, project: &Path) -> bool {
    // Sessions that only call a model about the memory are not remembered.
    if env.data_dir.as_ref().is_some_and(|dir| is_model_dir(dir, project)) {
        return true;
    }
    let home = env.home_dir.as_ref().map(|home| home.to_string_lossy());
    let path = project.to_string_lossy();
    memory.exclude.0.iter().any(|pattern| {
        let pattern = match (pattern.strip_prefix("~/"), &home) {
            (Some(below), Some(home)) => format!("{home}/{below}"),
            _ => pattern.clone(),
        };
        let pattern = pattern.trim_end_matches('/');
        // Everything below an excluded folder is excluded as well.
        matches(pattern, &path) || matches(&format!("{pattern}/*"), &path)
    })
}

/// Stores all spools. Called before the memory is read.
///
/// Returns the errors. A spool that cannot be read does not prevent the others from being stored.
pub fn take_in_all(store: &Store, home: &Home, env: &Env, deadline: Option<Deadline>) -> Vec<Error> {
    let mut problems = Vec::new();
    for session in Spool::sessions(home) {
        if deadline.is_some_and(|deadline| deadline.left().is_zero()) {
            break;
        }
        problems.extend(take_in(store, home, &session, env, deadline).err());
    }
    problems
}

/// Returns whether the session that runs this process is in a private turn.
pub fn is_private_now(env: &Env, home: &Home) -> bool {
    let session = env.client_session.as_deref().and_then(SessionId::new);
    session.is_some_and(|session| PrivateTurns::load(home, &session).is_running())
}

/// Stores the spool of a session. Returns whether anything was stored.
///
/// There is one transaction for every few megabytes. The position is stored with them, so that nothing is lost or
/// stored twice if the process ends.
pub(crate) fn take_in(
    store: &Store,
    home: &Home,
    session: &SessionId,
    env: &Env,
    deadline: Option<Deadline>,
) -> Result<bool, Error> {
    let spool = Spool::of(home, session);
    let mut position = store.spool_position(session.as_str())?;
    let in_time = || deadline.is_none_or(|deadline| deadline.left() > waiting_times::SPOOL_READ_NEEDED);
    let mut taken = false;
    while spool.has_more(position) && in_time() {
        let notes = spool.read(position)?;
        if notes.position == position {
            break;
        }
        taken |= store_notes(store, session, &notes, position)?;
        position = notes.position;
    }
    if spool.is_worth_emptying(position, env.now) {
        empty(store, &spool, session, position)?;
    }
    Ok(taken)
}

/// Stores and removes all spools, because deleted text must not remain in them.
pub fn empty_spools(store: &Store, home: &Home, env: &Env) -> Result<(), Error> {
    if let Some(problem) = take_in_all(store, home, env, None).into_iter().next() {
        return Err(problem);
    }
    for session in Spool::sessions(home) {
        let position = store.spool_position(session.as_str())?;
        empty(store, &Spool::of(home, &session), &session, position)?;
    }
    Ok(())
}

fn empty(store: &Store, spool: &Spool, session: &SessionId, position: u64) -> Result<bool, Error> {
    spool.empty(position, || Ok(store.reset_spool(session.as_str(), position)?))
}

fn store_notes(store: &Store, session: &SessionId, notes: &Notes, from: u64) -> Result<bool, Error> {
    let calls = &notes.calls;
    let root = match (store.session(session.as_str())?, calls.first()) {
        (Some(known), _) => known.project_path,
        (None, Some(call)) => register(store, session, call)?,
        (None, None) => return Ok(false),
    };
    for call in calls.iter().filter(|call| call.tool == PROMPT) {
        store.remember_prompt(session.as_str(), given(&call.prompt_id), &call.input, call.at)?;
    }
    for call in calls.iter().filter(|call| call.tool == BOOKMARK) {
        store_bookmark(store, session, call)?;
    }
    let calls: Vec<&Call> = calls.iter().filter(|call| call.tool != PROMPT && call.tool != BOOKMARK).collect();
    let reading = Reading { from, to: notes.position, is_current: &|| notes.hold() };
    store_calls(store, session, &calls, &root, Some(reading))
}

/// Stores calls, each once even if it is reported several times. Returns whether anything was new.
pub(crate) fn store_calls(
    store: &Store,
    session: &SessionId,
    calls: &[&Call],
    root: &str,
    reading: Option<Reading<'_>>,
) -> Result<bool, Error> {
    let keys: Vec<Option<String>> = calls.iter().map(|call| command_key(call)).collect();
    let observed = calls.iter().zip(&keys).filter_map(|(call, key)| {
        let observation = observe(call, Some(root))?;
        let fix = fix_of(call, key.as_deref(), &observation);
        Some(new_observation(call, key.as_deref(), observation, fix))
    });
    let new: Vec<NewObservation<'_>> = observed.collect();
    let taken = store.take_in(session.as_str(), &new, reading)?;
    Ok(taken.is_some_and(|taken| taken.stored + taken.folded > 0))
}

/// Returns the row of a call. `fix` is stored instead if the same command had failed before.
pub fn new_observation<'a>(
    call: &'a Call,
    key: Option<&'a str>,
    observation: Observation,
    fix: Option<Observation>,
) -> NewObservation<'a> {
    NewObservation {
        tool_use_id: &call.tool_use_id,
        prompt_number: None,
        prompt_id: Some(call.prompt_id.as_str()).filter(|id| !id.is_empty()),
        observation,
        after_problem: fix,
        made_by: MadeBy::Rule,
        command_key: key,
        fold_key: Some(fold_key(call) as i64),
        input: &call.input,
        response: &call.response,
        is_error: call.is_error,
        in_subagent: call.in_subagent,
        at: call.at,
    }
}

/// Returns a prompt in the form of the spool, for when the database cannot be written.
pub(crate) fn noted_prompt(common: &Common, prompt: String, at: Millis) -> Call {
    let prompt_id = common.prompt_id.clone().unwrap_or_default();
    let mut call = Call::default();
    call.tool_use_id = format!("{PROMPT}{prompt_id}");
    call.tool = PROMPT.to_owned();
    call.prompt_id = prompt_id;
    call.input = prompt;
    call.cwd = common.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default();
    call.at = at;
    call
}

/// Returns a bookmark in the form of the spool, for when the database cannot be written.
pub(crate) fn noted_bookmark(bookmark: &NewBookmark<'_>) -> Call {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let mut call = Call::default();
    call.tool_use_id = format!("{BOOKMARK}{}", bookmark.created_at);
    call.tool = BOOKMARK.to_owned();
    call.prompt_id = text(bookmark.prompt_id);
    call.input = text(bookmark.note);
    call.response = text(bookmark.git_commit);
    call.cwd = text(bookmark.cwd);
    call.at = Millis(bookmark.created_at);
    call.duration_ms = bookmark.context_tokens;
    call
}

fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Stores a bookmark of the spool, once even if the spool is read again.
fn store_bookmark(store: &Store, session: &SessionId, call: &Call) -> Result<(), Error> {
    if store.bookmarks(Some(session.as_str()))?.iter().any(|stored| stored.created_at == call.at.0) {
        return Ok(());
    }
    Ok(store.add_bookmark(&NewBookmark {
        session: session.as_str(),
        created_at: call.at.0,
        prompt_id: given(&call.prompt_id),
        note: given(&call.input),
        cwd: given(&call.cwd),
        git_commit: given(&call.response),
        context_tokens: call.duration_ms,
    })?)
}

/// Adds a session of which only calls are known. Returns its folder.
fn register(store: &Store, session: &SessionId, call: &Call) -> Result<String, Error> {
    let project = Project::in_dir(Path::new(&call.cwd));
    store.register_session(&project.session(session, call.at))?;
    Ok(project.path)
}

/// Writes a summary of a session by rules, if there is something to say.
pub(crate) fn sum_up(store: &Store, session: &Session, now: Millis) -> Result<(), Error> {
    let summary = summary_of(store, &session.session)?;
    if summary != Summary::default() {
        store.write_summary(&session.session, i64::from(session.prompts), &summary, MadeBy::Rule, now)?;
    }
    Ok(())
}

/// Returns the summary of a session by rules.
fn summary_of(store: &Store, session: &str) -> Result<Summary, Error> {
    let turns = store.newest_words(session, SUMMED_UP)?;
    let own: Vec<TurnText<'_>> = turns
        .iter()
        // Text that the client wrote itself is not a request.
        .map(|turn| match turn.role.as_str() {
            "user" | "command" | "shell" => TurnText { asked: &turn.asked, replied: &turn.replied },
            _ => TurnText { asked: "", replied: &turn.replied },
        })
        .collect();
    let observations = store.observations_of(session, SUMMED_UP)?;
    Ok(summarize(&own, &observations))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use longhaul_core::{Env, Millis, Platform, SessionId};
    use longhaul_memory::{Call, RawCall};
    use tempfile::TempDir;

    use super::{Spool, empty, store_notes, take_in};
    use crate::Home;

    fn call(id: &str) -> Call {
        let input = format!(r#"{{"command":"echo {id}"}}"#);
        let mut raw = RawCall::new(id, "Bash");
        raw.input = &input;
        raw.at = Millis(1);
        Call::new(&raw)
    }

    /// Two processes read the same spool. Before the second stores its position, the first removes the spool, and a new
    /// one is started.
    #[test]
    fn how_far_a_spool_was_read_says_nothing_of_the_next() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().display().to_string();
        let env = Env::new(Millis(1), Platform::Unix, |name| (name == "HOME").then(|| path.clone()));
        let home = Home::of(&env).unwrap();
        let session = SessionId::new("s").unwrap();
        let spool = Spool::of(&home, &session);
        let store = home.store(Duration::from_secs(1)).unwrap();
        spool.append(&call("a")).unwrap();
        let slow = spool.read(0).unwrap();
        assert!(take_in(&store, &home, &session, &env, None).unwrap());
        assert!(empty(&store, &spool, &session, slow.position).unwrap());
        spool.append(&call("b")).unwrap();
        assert!(!store_notes(&store, &session, &slow, 0).unwrap());
        assert!(take_in(&store, &home, &session, &env, None).unwrap());
        assert!(store.knows_call("b").unwrap());
    }
}
