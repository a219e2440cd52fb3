//! Continuing a task beyond the context limit without a person: what hooks, injector and command line share.

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

/// The folder in which the model may have written a handoff without being asked.
const PROJECT_DIR: &str = ".claude";
const HANDOFF_FILE: &str = "handoff.md";

/// Returns the settings of a session: the user's, with those that the project may change.
pub(crate) fn settings(own: &Config, home: &Home, project: Option<&Path>) -> config::Continuation {
    project_file::in_force(own, home, project).continuation
}

/// The settings, and whether text can be typed or submitted by the bridge: everything that a plan depends on except its
/// own history.
pub(crate) struct Course {
    pub(crate) settings: config::Continuation,
    pub(crate) can_type: bool,
}

impl Course {
    /// Returns the rules for a plan. `remaining` lists what was left to do after each round so far.
    pub(crate) fn rules<'a>(&'a self, remaining: &'a [String]) -> PlanRules<'a> {
        let mut rules = PlanRules::new(self.settings.prompt.as_str());
        rules.limits = &self.settings.at.0;
        rules.max_rounds = u32::try_from(self.settings.max_rounds.0).unwrap_or(u32::MAX);
        rules.step_ms = self.settings.step_seconds.as_millis();
        rules.can_type = self.can_type;
        rules.remaining = remaining;
        rules
    }

    /// Applies an occasion to a plan.
    pub(crate) fn meet(&self, plan: &Plan, occasion: &Occasion<'_>, remaining: &[String], now: Millis) -> PlanOutcome {
        plan.meet(occasion, &self.rules(remaining), now)
    }
}

/// Returns the handoffs in the project's files, without private text.
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

/// Returns a random word that the answer to a question must contain.
pub(crate) fn nonce() -> Result<String, Error> {
    let bytes = files::random::<8>()?;
    // It begins with letters, so that YAML does not read it as a number.
    Ok(bytes.iter().fold("lh-".to_owned(), |nonce, byte| format!("{nonce}{byte:02x}")))
}

/// Starts the process that types the text that a chain waits for.
pub fn start_injector(chain: &Chain) -> Result<(), Error> {
    let args = [chain.plan.session.clone(), KIND.to_owned(), chain.id.to_string()];
    process::spawn_sibling("longhaul-injector", &args).map(drop)
}

/// Resumes or cancels a chain at the user's request. Returns the chain after that.
pub fn decide_by_hand(env: &Env, resume: bool, id: ChainId) -> Result<Option<Chain>, Error> {
    let home = Home::of(env)?;
    let (config, _) = crate::config(env)?;
    let store = home.store(crate::waiting_times::DATABASE)?;
    let Some(chain) = store.chain(id)? else { return Ok(None) };
    let settings = settings(&config, &home, Some(Path::new(&chain.project_path)));
    // The bridge cannot be called: it reports at the end of a turn, and a turn would end the chain.
    let course = Course { settings, can_type: chain.terminal_lock.is_some() };
    let occasion = if resume { Occasion::Resumed } else { Occasion::Cancelled };
    let met = store.meet(id, env.now, |plan, remaining| course.meet(plan, &occasion, remaining, env.now))?;
    let Some(met) = met else { return Ok(None) };
    if met.act == PlanAction::TypeAgain {
        start_injector(&met.chain)?;
    }
    Ok(Some(met.chain))
}

/// Stores a handoff also as a file, for people to read.
pub(crate) fn keep_file(home: &Home, session: &str, handoff: &Document) -> Result<(), Error> {
    files::replace(&home.handoff_file(session), handoff.to_text().as_bytes())
}

/// Takes the lock of the process that types for a chain. Dropping the file releases it.
///
/// Returns `None` while another process holds the lock. The lock of a killed process is released.
pub(crate) fn lock(home: &Home, id: ChainId) -> Result<Option<File>, Error> {
    let file = files::open_append(&home.locks().join(format!("continuation-{id}")))?;
    Ok(file.try_lock_exclusive().is_ok().then_some(file))
}
