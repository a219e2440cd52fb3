//! What every session did: noted by the hooks in a spool, and taken in where somebody wants to know.

mod host;
mod spool;

use std::path::Path;

use longhaul_core::{Env, Millis, SessionId, config};
use longhaul_memory::{
    Call, Kind, MadeBy, Page, PageInput, PageLine, PageSummary, Summary, TurnText, after_problem, command_key,
    fold_key, matches, observe, page, summarize,
};
use longhaul_store::{NewObservation, NewSession, Session, Store};

pub use self::host::{Host, HostCall, HostPrompt, Noted};
pub(crate) use self::spool::Spool;
use crate::handoff::Project;
use crate::model::is_model_dir;
use crate::{Deadline, Error, Home, Keeper};

/// How many of a session's newest turns and observations its summary is made of.
const SUMMED_UP: usize = 40;

/// How many of a project's newest records a page is made of.
const PAGE_LINES: usize = 200;

/// How much of a prompt is remembered, in characters.
const PROMPT_CHARS: usize = 16_384;

/// With less time than this left, the rest is left to the next time.
const TIME_NEEDED: std::time::Duration = std::time::Duration::from_millis(300);

/// Returns a prompt as it is remembered; `None` where nothing of it may be.
pub(crate) fn clean_prompt(prompt: &str, keeper: Keeper) -> Option<String> {
    let prompt = keeper.clean(prompt);
    let prompt = prompt.trim();
    (!prompt.is_empty()).then(|| longhaul_memory::cap(prompt, PROMPT_CHARS))
}

/// Returns whether a project is not to be remembered.
pub fn is_excluded(memory: &config::Memory, env: &Env, project: &Path) -> bool {
    // What a model was asked about the memory is none.
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
        // What is below an excluded folder is excluded with it.
        matches(pattern, &path) || matches(&format!("{pattern}/*"), &path)
    })
}

/// Takes in everything that hooks have noted and nobody has taken in yet: before anything is looked for.
pub fn take_in_all(store: &mut Store, home: &Home, env: &Env, deadline: Option<Deadline>) -> Result<(), Error> {
    for session in Spool::sessions(home) {
        take_in(store, home, &session, env, deadline)?;
    }
    Ok(())
}

/// Takes in what was noted of a session's tool calls; returns whether anything was.
///
/// One transaction for every few megabytes; the place reached is stored with them, so that nothing is lost or doubled
/// whenever it ends.
pub(crate) fn take_in(
    store: &mut Store,
    home: &Home,
    session: &SessionId,
    env: &Env,
    deadline: Option<Deadline>,
) -> Result<bool, Error> {
    let spool = Spool::of(home, session);
    let mut position = store.spool_position(session.as_str())?;
    if !spool.has_more(position) {
        if position > 0 && spool.is_to_be_put_aside(position, env.now) {
            put_aside(store, &spool, session)?;
        }
        return Ok(false);
    }
    let in_time = || deadline.is_none_or(|deadline| deadline.left() > TIME_NEEDED);
    let mut taken = false;
    let mut old = 0;
    while in_time() {
        let notes = spool.read_old(old)?;
        old = notes.position;
        taken |= store_calls(store, session, &notes.calls, None)?;
        if !notes.more {
            spool.remove_old(env.now);
            break;
        }
    }
    while in_time() {
        let notes = spool.read(position)?;
        let moved = notes.position != position;
        position = notes.position;
        if moved {
            taken |= store_calls(store, session, &notes.calls, Some(position))?;
        }
        if !notes.more {
            break;
        }
    }
    if position > 0 && spool.is_to_be_put_aside(position, env.now) && !spool_has_more(&spool, position) {
        put_aside(store, &spool, session)?;
    }
    Ok(taken)
}

fn spool_has_more(spool: &Spool, position: u64) -> bool {
    spool.read(position).is_ok_and(|notes| notes.position != position)
}

/// The place goes first: whoever finds the old file there with no place reads it from its beginning, and doubles nothing.
fn put_aside(store: &mut Store, spool: &Spool, session: &SessionId) -> Result<(), Error> {
    store.take_in(session.as_str(), &[], Some(0))?;
    spool.put_aside()
}

fn store_calls(store: &mut Store, session: &SessionId, calls: &[Call], read_to: Option<u64>) -> Result<bool, Error> {
    let root = match (store.session(session.as_str())?, calls.first()) {
        (Some(known), _) => known.project_path,
        (None, Some(call)) => register(store, session, call)?,
        (None, None) => return Ok(false),
    };
    let keys: Vec<Option<String>> = calls.iter().map(command_key).collect();
    let new: Vec<NewObservation<'_>> =
        calls.iter().zip(&keys).filter_map(|(call, key)| new_observation(call, key.as_deref(), &root)).collect();
    let taken = store.take_in(session.as_str(), &new, read_to)?;
    Ok(taken.is_some_and(|taken| taken.stored + taken.folded > 0))
}

fn new_observation<'a>(call: &'a Call, key: Option<&'a str>, root: &str) -> Option<NewObservation<'a>> {
    let observation = observe(call, Some(root))?;
    let may_fix = key.is_some() && observation.kind == Kind::Command && !call.is_error;
    Some(NewObservation {
        tool_use_id: &call.tool_use_id,
        prompt_number: None,
        prompt_id: Some(call.prompt_id.as_str()).filter(|id| !id.is_empty()),
        after_problem: may_fix.then(|| after_problem(observation.clone())),
        observation,
        command_key: key,
        fold_key: Some(fold_key(call) as i64),
        input: &call.input,
        response: &call.response,
        is_error: call.is_error,
        at: call.at,
    })
}

/// Records a session of which only its calls are known; returns its folder.
fn register(store: &Store, session: &SessionId, call: &Call) -> Result<String, Error> {
    let project = Project::in_dir(Path::new(&call.cwd));
    store.register_session(&NewSession {
        session: session.as_str(),
        project: &project.name,
        project_key: &project.key,
        project_path: &project.path,
        client_pid: 0,
        transcript: None,
        at: call.at,
    })?;
    Ok(project.path)
}

/// Sums up, by rule, what a session has come to, where there is anything new to say.
pub(crate) fn sum_up(store: &mut Store, session: &Session, now: Millis) -> Result<(), Error> {
    let (turns, _) = store.turns(&session.session, None, SUMMED_UP)?;
    let own: Vec<TurnText<'_>> = turns
        .iter()
        .filter(|turn| turn.origin == session.session)
        .map(|turn| TurnText { asked: &turn.asked, replied: &turn.replied })
        .collect();
    let observations = store.observations_of(&session.session, SUMMED_UP)?;
    let summary = summarize(&own, &observations);
    if summary != Summary::default() {
        store.write_summary(&session.session, i64::from(session.prompts), &summary, MadeBy::Rule, now)?;
    }
    Ok(())
}

/// Whose past is rendered, for whom.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// What tells projects apart.
    pub project_key: &'a str,
    /// The project's name.
    pub project: &'a str,
    /// The session whose last words the reader has seen already.
    pub has_seen: Option<&'a str>,
    /// Now.
    pub now: Millis,
    /// Local time, in seconds east of UTC.
    pub offset_seconds: i32,
}

/// Renders what a new session is shown of its project's past, in at most `chars` characters.
pub fn render_page(store: &Store, reader: Reader<'_>, chars: usize) -> Result<Page, Error> {
    let Reader { project_key, project, has_seen, now, offset_seconds } = reader;
    let stored = store.page_lines(project_key, PAGE_LINES)?;
    let latest = store.latest_summary(project_key)?.filter(|latest| Some(latest.session.as_str()) != has_seen);
    let lines: Vec<PageLine> = stored
        .lines
        .into_iter()
        .map(|line| PageLine {
            id: line.id,
            at: line.at,
            kind: line.kind,
            title: if line.repeats > 0 { format!("{} (×{})", line.title, line.repeats + 1) } else { line.title },
            file: line.file,
            tokens: line.chars / 4,
        })
        .collect();
    let short = latest.as_ref().map(|latest| latest.session.chars().take(8).collect::<String>());
    let summary = latest.as_ref().zip(short.as_ref()).map(|(latest, short)| PageSummary {
        summary: &latest.summary,
        session: short,
        at: latest.at,
    });
    let older = usize::try_from(stored.older).unwrap_or(usize::MAX);
    Ok(page(&PageInput { project, now, offset_seconds, summary, lines: &lines, older }, chars))
}
