//! Clock and environment, read once.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::{Env, Millis, Platform};

/// Reads the clock and the environment of this process.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads them")]
pub fn env() -> Env {
    let platform = if cfg!(target_os = "macos") { Platform::MacOs } else { Platform::Unix };
    // A variable that is not UTF-8 is no value that we could pass on.
    Env::new(clock(), platform, |name| std::env::var(name).ok())
}

/// Returns the time now; only waiting needs more than the one reading in [`Env`].
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads it")]
pub(crate) fn clock() -> Millis {
    Millis(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64))
}

/// Returns the time after waiting; never before the event that it all belongs to.
pub(crate) fn now(env: &Env) -> Millis {
    env.now.max(clock())
}

/// Returns how many seconds east of UTC this machine's clock on the wall is.
pub fn utc_offset_seconds(at: Millis) -> i32 {
    let instant = i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default();
    time_zone().to_offset(instant).seconds()
}

/// Returns the machine's time zone, without its name where none is set: finding that reads the folders of all zones.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads it")]
fn time_zone() -> TimeZone {
    let unnamed = std::env::var_os("TZ").is_none().then(|| std::fs::read("/etc/localtime").ok()).flatten();
    unnamed.and_then(|file| TimeZone::tzif("", &file).ok()).unwrap_or_else(TimeZone::system)
}
