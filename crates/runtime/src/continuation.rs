//! Over the context limit without a person: what hooks, injector and command line share.

mod deliver;

use std::fs::File;
use std::path::Path;

use fs2::FileExt;
use longhaul_core::{Config, Env, Millis, config};
use longhaul_handoff::continuation::{
    Document, MARKER_FILE, Occasion, Plan, PlanAction, PlanOutcome, PlanRules, WrittenFile, WrittenKind,
};
use longhaul_store::{Chain, ChainId};

pub(crate) use self::deliver::{KIND, deliver};
use crate::{Error, Home, Sanitizer, files, process, project_file};

/// Where the model may have written a handoff unasked.
const PROJECT_DIR: &str = ".claude";
const HANDOFF_FILE: &str = "handoff.md";

/// Returns what is set for a session: the user's own settings, and what the project may set.
pub(crate) fn settings(own: &Config, home: &Home, project: Option<&Path>) -> config::Continuation {
    project_file::in_force(own, home, project).continuation
}

/// What is set, and whether there is a terminal or a module of the client's: what a plan goes by, but for its own past.
pub(crate) struct Course {
    pub(crate) settings: config::Continuation,
    pub(crate) can_type: bool,
}

impl Course {
    /// Returns the rules for a plan in whose rounds so far `remaining` was left to do.
    pub(crate) fn rules<'a>(&'a self, remaining: &'a [String]) -> PlanRules<'a> {
        PlanRules {
            limits: &self.settings.at.0,
            max_rounds: self.settings.max_rounds.0 as u32,
            step_ms: self.settings.step_seconds.seconds_as_millis(),
            prompt: self.settings.prompt.as_str(),
            can_type: self.can_type,
            remaining,
        }
    }

    /// Lets a plan meet an occasion.
    pub(crate) fn meet(&self, plan: &Plan, occasion: &Occasion<'_>, remaining: &[String], now: Millis) -> PlanOutcome {
        plan.meet(occasion, &self.rules(remaining), now)
    }
}

/// Returns the handoffs that stand in the project's files, without what is private.
pub(crate) fn written(project: Option<&Path>, sanitizer: Sanitizer) -> Vec<WrittenFile> {
    let Some(dir) = project.map(|dir| dir.join(PROJECT_DIR)) else { return Vec::new() };
    [(HANDOFF_FILE, WrittenKind::Handoff), (MARKER_FILE, WrittenKind::Marker)]
        .into_iter()
        .filter_map(|(name, kind)| {
            let (text, modified) = files::read_foreign(&dir.join(name))?;
            Some(WrittenFile { kind, modified: files::since_epoch(modified)?, text: sanitizer.clean(&text) })
        })
        .collect()
}

/// Returns a random word that the answer to a question must carry.
pub(crate) fn nonce() -> Result<String, Error> {
    let bytes = files::random::<8>()?;
    // Letters first: a nonce that reads as a number would be one in YAML.
    Ok(bytes.iter().fold("lh-".to_owned(), |nonce, byte| format!("{nonce}{byte:02x}")))
}

/// Starts the process that types what a chain waits for.
pub fn start_injector(chain: &Chain) -> Result<(), Error> {
    let args = [chain.plan.session.clone(), KIND.to_owned(), chain.id.to_string()];
    process::spawn_sibling("longhaul-injector", &args).map(drop)
}

/// Carries on, or ends, a chain on a person's word; returns what it is now.
pub fn decide_by_hand(env: &Env, resume: bool, id: ChainId) -> Result<Option<Chain>, Error> {
    let home = Home::of(env)?;
    let (config, _) = crate::config(env)?;
    let store = home.store(crate::waiting_times::DATABASE)?;
    let Some(chain) = store.chain(id)? else { return Ok(None) };
    let settings = settings(&config, &home, Some(Path::new(&chain.project_path)));
    // The client's module cannot be called: it comes at the end of a turn, which would end the chain.
    let course = Course { settings, can_type: chain.terminal_lock.is_some() };
    let occasion = if resume { Occasion::Resumed } else { Occasion::Cancelled };
    let met = store.meet(id, env.now, |plan, remaining| course.meet(plan, &occasion, remaining, env.now))?;
    let Some(met) = met else { return Ok(None) };
    if met.act == PlanAction::TypeAgain {
        start_injector(&met.chain)?;
    }
    Ok(Some(met.chain))
}

/// Keeps a handoff as a file, too, where people find it.
pub(crate) fn keep_file(home: &Home, session: &str, handoff: &Document) -> Result<(), Error> {
    files::replace(&home.handoff_file(session), handoff.to_text().as_bytes())
}

/// Takes the lock of whoever types for a chain, which is given back when the file is dropped.
///
/// `None` while somebody has it: whoever was killed has not.
pub(crate) fn lock(home: &Home, id: ChainId) -> Result<Option<File>, Error> {
    let file = files::open_append(&home.locks().join(format!("continuation-{id}")))?;
    Ok(file.try_lock_exclusive().is_ok().then_some(file))
}
