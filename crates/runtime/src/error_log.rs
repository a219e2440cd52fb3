//! `longhaul.log`: one line per error, limited in size.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use longhaul_core::clock::{date_of, time_of};
use longhaul_core::{Env, Millis};
use longhaul_memory::redact;

use crate::{Home, files};

/// When the log exceeds this size, it is renamed to `longhaul.log.1`, which replaces the previous one.
const MAX_BYTES: u64 = 512 * 1024;

/// Maximum length of a message, in characters.
const MAX_MESSAGE: usize = 2_000;

/// The error log. Writes nothing if there is no data directory.
#[derive(Debug, Clone)]
pub struct ErrorLog {
    path: Option<PathBuf>,
    now: Millis,
    who: String,
}

impl ErrorLog {
    /// Returns the log for messages of the program or hook `who`.
    pub fn new(env: &Env, who: &str) -> Self {
        Self { path: Home::of(env).ok().map(|home| home.error_log()), now: env.now, who: who.to_owned() }
    }

    /// Appends a line. Never fails: an error of the log cannot be reported anywhere.
    pub fn write(&self, message: &str) {
        let Some(path) = &self.path else { return };
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        // A message may quote output of a program or text of a person.
        let message = redact(message);
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
fn utc(at: Millis) -> String {
    format!("{}T{}Z", date_of(at, 0), time_of(at, 0))
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
