//! The contents of each bundle: of one job, or of all.

use std::collections::BTreeSet;

use super::{Job, REGISTRATIONS, Registration};

/// An executable that no hook event starts.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Companion {
    /// The executable in the bundle's `bin/`.
    pub executable: &'static str,
    /// The jobs that need it; the bundle of all jobs has it in any case.
    pub jobs: &'static [Job],
}

/// The executable that Gemini CLI, Qwen Code and opencode start for every event, with the agent and its event as arguments.
pub const AGENT_EXECUTABLE: &str = "longhaul-agent";

/// The executable that Codex starts for every event, with the event as its argument.
pub const CODEX_EXECUTABLE: &str = "longhaul-codex";

/// Every executable that no hook event starts.
pub const COMPANIONS: &[Companion] = &[
    Companion { executable: "longhaul", jobs: &Job::ALL },
    Companion { executable: AGENT_EXECUTABLE, jobs: &[] },
    Companion { executable: CODEX_EXECUTABLE, jobs: &[] },
    Companion { executable: "longhaul-injector", jobs: &[Job::Bookmarks, Job::Continuation] },
    Companion { executable: "longhaul-notify", jobs: &[Job::Tracker] },
    Companion { executable: "longhaul-snapshot", jobs: &[Job::Bookmarks] },
    Companion { executable: "longhaul-sync", jobs: &[Job::Memory] },
    Companion { executable: "longhaul-worker", jobs: &[Job::Memory] },
];

/// Returns the registrations that `job` needs; all of them for `None`.
pub fn registrations(job: Option<Job>) -> impl Iterator<Item = &'static Registration> {
    REGISTRATIONS.iter().filter(move |registration| job.is_none_or(|job| registration.jobs.contains(&job)))
}

/// Returns the names of the executables in the bundle of `job`, or of all jobs for `None`, sorted and without duplicates.
pub fn executables(job: Option<Job>) -> impl Iterator<Item = &'static str> {
    let companions = COMPANIONS.iter().filter(|companion| job.is_none_or(|job| companion.jobs.contains(&job)));
    let hooks = registrations(job).map(|registration| registration.executable);
    companions.map(|companion| companion.executable).chain(hooks).collect::<BTreeSet<_>>().into_iter()
}
