//! Reads the clock and the environment, once per process; for the command line also the search path of the user's shell.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use longhaul_agents::{ALL, Folder, FolderVariable};
use longhaul_core::clock::{Date, date_of};
use longhaul_core::{Env, Millis, Platform};

use crate::bounded_read;

/// Reads the clock and the environment of this process.
#[expect(clippy::disallowed_methods, reason = "only this module reads clock and environment")]
pub fn env() -> Env {
    let platform = if cfg!(target_os = "macos") { Platform::MacOs } else { Platform::Unix };
    // A variable that is not UTF-8 is treated as not set.
    Env::new(clock(), platform, |name| std::env::var(name).ok())
}

/// Returns `limit`, or a multiple of it in a test build if `LONGHAUL_PATIENCE` names one: what a test expects of a hook must not
/// depend on how busy the machine is.
pub(crate) fn patient(limit: Duration) -> Duration {
    limit * of_test("LONGHAUL_PATIENCE").unwrap_or(1)
}

/// Returns `time`, or in a test build the number of milliseconds in `variable`, if it is set: a test cannot wait for minutes.
pub fn unless_tested(variable: &str, time: Duration) -> Duration {
    of_test(variable).map_or(time, Duration::from_millis)
}

/// Returns what a test says in `variable`; `None` in a build that is not for tests.
#[expect(clippy::disallowed_methods, reason = "only this module reads the environment")]
pub fn of_test<T: FromStr>(variable: &str) -> Option<T> {
    cfg!(debug_assertions).then(|| std::env::var(variable).ok()?.parse().ok()).flatten()
}

/// Returns the current time. Only code that waits needs it; all other code uses the time in [`Env`].
#[expect(clippy::disallowed_methods, reason = "only this module reads the clock")]
pub(crate) fn clock() -> Millis {
    Millis(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64))
}

/// Returns the current time, but never a time before the event in `env`.
pub fn now(env: &Env) -> Millis {
    env.now.max(clock())
}

/// Returns whether this process can reach the session of a desktop, by its display.
#[expect(clippy::disallowed_methods, reason = "only this module reads the environment")]
pub fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Returns the UTC offset of the local time zone at `at`, in seconds, positive to the east.
pub fn utc_offset_seconds(at: Millis) -> i32 {
    let instant = i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default();
    time_zone().to_offset(instant).seconds()
}

/// Returns a function from a time to its day in local time. It reads the time zone once.
pub fn local_days() -> impl Fn(Millis) -> Date {
    let zone = time_zone();
    move |at| {
        let instant = i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default();
        date_of(at, zone.to_offset(instant).seconds())
    }
}

/// Returns the start of a day in local time. Returns the earliest or the latest possible time for a day out of range.
pub fn midnight(date: Date) -> Millis {
    let far = if date.year < 1970 { Millis(0) } else { Millis(i64::MAX.unsigned_abs()) };
    let day =
        || civil::Date::new(date.year.try_into().ok()?, date.month.try_into().ok()?, date.day.try_into().ok()?).ok();
    let begins = day().and_then(|day| day.to_zoned(time_zone()).ok());
    begins.map_or(far, |at| Millis(u64::try_from(at.timestamp().as_millisecond()).unwrap_or_default()))
}

/// Returns the local time zone. If `TZ` is not set, the zone has no name: finding the name would read the folders of
/// all zones.
#[expect(clippy::disallowed_methods, reason = "only this module reads the environment")]
fn time_zone() -> TimeZone {
    let unnamed = std::env::var_os("TZ")
        .is_none()
        .then(|| bounded_read::bytes(Path::new("/etc/localtime"), bounded_read::LARGE).ok())
        .flatten();
    unnamed.and_then(|file| TimeZone::tzif("", &file).ok()).unwrap_or_else(TimeZone::system)
}

// The variables of a user's shell: the search path, and where settings are stored.

/// The variables that only the command line needs. Not part of `Env`, which every hook reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shell {
    pub path: Option<OsString>,
    /// `$CLAUDE_BIN`: the executable of Claude Code, if it is not `claude` on the path.
    pub client: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, if it is an absolute path.
    pub config_home: Option<PathBuf>,
    /// The folders of agents that have a variable for the place of their settings, by the name of the agent.
    pub agent_folders: Vec<(&'static str, PathBuf)>,
}

impl Shell {
    #[expect(clippy::disallowed_methods, reason = "the environment is read here, in longhaul-runtime")]
    pub fn read() -> Self {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = |name: &str| var(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let of_agent = |agent: &longhaul_agents::Agent| match (agent.config.variable?, agent.config.folder) {
            (FolderVariable::Home(name), Folder::Home(below) | Folder::Config(below)) => {
                Some(folder(name)?.join(below))
            }
            (FolderVariable::Home(_), Folder::Codex) => None,
            (FolderVariable::Folder(name), _) => folder(name),
        };
        Self {
            path: var("PATH"),
            client: var("CLAUDE_BIN").map(PathBuf::from),
            config_home: folder("XDG_CONFIG_HOME"),
            agent_folders: ALL.into_iter().filter_map(|agent| Some((agent.name, of_agent(agent)?))).collect(),
        }
    }

    /// Returns all programs of that name on the path, in the order of the path.
    pub fn find(&self, name: &str) -> Vec<PathBuf> {
        let dirs = self.path.iter().flat_map(std::env::split_paths).filter(|dir| dir.is_absolute());
        dirs.map(|dir| dir.join(name)).filter(|path| is_executable(path)).collect()
    }

    /// Returns the executable of Claude Code.
    pub fn client(&self) -> Option<PathBuf> {
        match &self.client {
            Some(named) if named.components().count() > 1 => Some(named.clone()).filter(|path| is_executable(path)),
            Some(named) => self.find(&named.to_string_lossy()).into_iter().next(),
            None => self.find("claude").into_iter().next(),
        }
    }
}

/// Returns whether `path` is a file that at least one user may execute.
pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use longhaul_core::clock::Date;

    use super::midnight;

    #[test]
    fn every_day_that_can_be_written_begins_somewhere_and_in_order() {
        let days = ["0000-01-01", "1969-12-31", "2026-01-31", "2026-02-01", "9999-12-30", "9999-12-31"];
        let begins = days.map(|day| midnight(Date::parse(day).unwrap()).0);
        assert!(begins.is_sorted(), "{begins:?}");
        assert_eq!(begins[3] - begins[2], 86_400_000);
    }
}
