//! Over the context limit without a person: what hooks, injector and command line share.

mod deliver;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use longhaul_core::{Env, Millis, config};
use longhaul_handoff::continuation::{Act, MARKER_FILE, Occasion, Outcome, Plan, Rules, Written, WrittenAs};
use longhaul_store::Chain;

pub(crate) use self::deliver::{KIND, deliver};
use crate::{Error, Keeper, files, process};

/// Where a project may say that it wants this, and where the model may have written a handoff unasked.
const PROJECT_DIR: &str = ".claude";
const PROJECT_FILE: &str = "longhaul.json";
const HANDOFF_FILE: &str = "handoff.md";

/// The most that is read of a handoff that was written into a file.
const MAX_FILE: u64 = 256 * 1024;

/// Returns what is set for a session: the user's own settings, and what the project says.
pub(crate) fn settings(
    settings: &config::Continuation,
    project: Option<&Path>,
) -> (config::Continuation, Vec<config::Warning>) {
    let text = project.and_then(|dir| std::fs::read_to_string(dir.join(PROJECT_DIR).join(PROJECT_FILE)).ok());
    match text {
        Some(text) => settings.clone().with_project(&text),
        None => (settings.clone(), Vec::new()),
    }
}

/// What is set, and whether there is a terminal: what a plan goes by, but for its own past.
pub(crate) struct Course {
    pub(crate) settings: config::Continuation,
    pub(crate) can_type: bool,
    pub(crate) keeper: Keeper,
}

impl Course {
    /// Returns the rules for a plan in whose rounds so far `remaining` was left to do.
    pub(crate) fn rules<'a>(&'a self, remaining: &'a [String]) -> Rules<'a> {
        Rules {
            limits: &self.settings.at.0,
            max_rounds: self.settings.max_rounds.0 as u32,
            step_ms: self.settings.step_seconds.seconds_as_millis(),
            prompt: self.settings.prompt.as_str(),
            can_type: self.can_type,
            remaining,
        }
    }

    /// Lets a plan meet an occasion; nothing private is in what comes out.
    pub(crate) fn meet(&self, plan: &Plan, occasion: &Occasion<'_>, remaining: &[String], now: Millis) -> Outcome {
        let Outcome { plan, act } = plan.meet(occasion, &self.rules(remaining), now);
        let act = match act {
            Act::Clear(mut handoff) => {
                handoff.body = self.keeper.clean(&handoff.body);
                Act::Clear(handoff)
            }
            act => act,
        };
        Outcome { plan, act }
    }
}

/// Returns the handoffs that stand in the project's files.
pub(crate) fn written(project: Option<&Path>) -> Vec<Written> {
    let Some(dir) = project.map(|dir| dir.join(PROJECT_DIR)) else { return Vec::new() };
    [(HANDOFF_FILE, WrittenAs::Handoff), (MARKER_FILE, WrittenAs::Marker)]
        .into_iter()
        .filter_map(|(name, kind)| {
            let mut file = File::open(dir.join(name)).ok()?;
            let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            let mut text = Vec::new();
            Read::by_ref(&mut file).take(MAX_FILE).read_to_end(&mut text).ok()?;
            let text = String::from_utf8_lossy(&text).into_owned();
            Some(Written { kind, modified: Millis(since.as_millis() as u64), text })
        })
        .collect()
}

/// Returns a random word that the answer to a question must carry.
pub(crate) fn nonce() -> Result<String, Error> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; 8];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    // Letters first: a nonce that reads as a number would be one in YAML.
    Ok(bytes.iter().fold("lh-".to_owned(), |nonce, byte| format!("{nonce}{byte:02x}")))
}

/// Starts the process that types what a chain waits for.
pub fn start_injector(chain: &Chain) -> Result<(), Error> {
    let args = [chain.plan.session.clone(), KIND.to_owned(), chain.id.to_string()];
    process::spawn_sibling("longhaul-injector", &args)
}

/// Carries on, or ends, a chain on a person's word; returns what it is now.
pub fn decide_by_hand(env: &Env, resume: bool, id: i64) -> Result<Option<Chain>, Error> {
    let home = crate::Home::of(env)?;
    let (config, _) = crate::config(env)?;
    let mut store = home.store(crate::home::PATIENCE)?;
    let Some(chain) = store.chain(id)? else { return Ok(None) };
    let (settings, _) = settings(&config.continuation, Some(Path::new(&chain.project_path)));
    let course = Course { settings, can_type: true, keeper: Keeper::new(&config) };
    let occasion = if resume { Occasion::Resumed } else { Occasion::Cancelled };
    let met = store.meet(id, env.now, |plan, remaining| course.meet(plan, &occasion, remaining, env.now))?;
    let Some(met) = met else { return Ok(None) };
    if met.act == Act::TypeAgain {
        start_injector(&met.chain)?;
    }
    Ok(Some(met.chain))
}

/// Keeps a handoff as a file, too, where people find it.
pub(crate) fn keep_file(home: &crate::Home, session: &str, body: &str) -> Result<(), Error> {
    files::replace(&home.handoff_file(session), format!("{body}\n").as_bytes())
}
