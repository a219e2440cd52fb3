//! The exchange with other machines as hooks, the command line and the doctor see it: whether this machine has a circle, when
//! the next exchange is due, and how the last one went. `longhaul-sync` does the exchange itself.
//!
//! ```text
//! sync/started       when an exchange was last started, as its modification time; there only with a circle
//! sync/circle.json   the address of the engine
//! sync/state.json    how the last exchange went
//! sync.key           the key, beside the configuration
//! ```

mod last_exchange;
mod machine;
mod project_origin;
mod secrets;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use longhaul_core::Millis;
use longhaul_sync::is_due;

pub use self::last_exchange::ExchangeState;
pub use self::machine::{host_name, machine_id};
pub use self::project_origin::{ProjectOrigin, project_origin};
pub use self::secrets::{
    Secret, engine_address, key_file, key_words, remove_secrets, shown_address, write_address, write_key_words,
};
use crate::{Error, Home, files, process};

/// The executable that exchanges records.
pub const EXECUTABLE: &str = "longhaul-sync";

/// The argument with which hooks start it.
pub const AUTOMATIC: &str = "exchange";

/// Returns whether this machine has a circle.
pub fn is_on(home: &Home) -> bool {
    started_file(home).exists()
}

/// Records that this machine has a circle: hooks start exchanges from now on.
pub fn turn_on(home: &Home) -> Result<(), Error> {
    files::open_append(&started_file(home)).map(drop)
}

/// Records that this machine has no circle any more.
pub fn turn_off(home: &Home) -> Result<(), Error> {
    files::remove(&started_file(home))?;
    files::remove(&ExchangeState::file(home))
}

/// Starts an exchange in the background, if this machine has a circle and none was started within `interval`.
///
/// Without a circle this is one failed `stat`. Two hooks at the same time may both start one; the second finds the lock of
/// the first and ends.
pub(crate) fn start_exchange(home: &Home, now: Millis, interval: Duration) -> Result<(), Error> {
    let path = started_file(home);
    let Some(last) = files::modified(&path) else { return Ok(()) };
    if !is_due(last, interval, now) {
        return Ok(());
    }
    let file = files::open_append(&path)?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(now.0);
    file.set_modified(time).map_err(|source| Error::Write { path, source })?;
    process::spawn_sibling(EXECUTABLE, &[AUTOMATIC.to_owned()]).map(drop)
}

fn started_file(home: &Home) -> PathBuf {
    home.sync().join("started")
}
