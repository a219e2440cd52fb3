//! `longhaul.log`: what went wrong, one line each, kept small.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use longhaul_core::{Env, Millis};

use crate::{Home, files};

/// Past this size the log is set aside as `longhaul.log.1`, in place of the one before.
const MAX_BYTES: u64 = 512 * 1024;

/// The longest message of a line.
const MAX_MESSAGE: usize = 2_000;

/// The error log; silent where there is nowhere to write.
#[derive(Debug, Clone)]
pub struct ErrorLog {
    path: Option<PathBuf>,
    now: Millis,
    who: String,
}

impl ErrorLog {
    /// Returns the log, for lines from `who`.
    pub fn new(env: &Env, who: &str) -> Self {
        Self { path: Home::of(env).ok().map(|home| home.error_log()), now: env.now, who: who.to_owned() }
    }

    /// Adds a line. Never fails: there is nobody left to tell.
    pub fn write(&self, message: &str) {
        let Some(path) = &self.path else { return };
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        let message: String = message.chars().take(MAX_MESSAGE).map(printable).collect();
        let line = format!("{} {}: {message}\n", utc(self.now), self.who);
        let Ok(mut file) = files::open_append(path) else { return };
        let _ = file.write_all(line.as_bytes());
        if file.metadata().is_ok_and(|metadata| metadata.len() > MAX_BYTES) {
            let _ = fs::rename(path, path.with_extension("log.1"));
        }
    }
}

/// Returns a time as `2026-01-31T23:59:59Z`.
///
/// By hand, because no hook executable should carry a calendar for its error path. Days are turned into a date by
/// counting from 1 March of year 0, so that the leap day comes last in its year.
fn utc(at: Millis) -> String {
    let seconds = at.0 / 1000;
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use longhaul_core::Millis;

    use super::utc;

    #[test]
    fn times_are_written_as_dates() {
        assert_eq!(utc(Millis(0)), "1970-01-01T00:00:00Z");
        assert_eq!(utc(Millis(951_826_153_000)), "2000-02-29T12:09:13Z");
        assert_eq!(utc(Millis(1_794_707_999_999)), "2026-11-15T01:59:59Z");
        assert_eq!(utc(Millis(4_102_444_799_000)), "2099-12-31T23:59:59Z");
    }
}
