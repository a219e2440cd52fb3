//! Signals such as Ctrl-C are recorded, so that everything that was started is ended before exit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, ensure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Records signals from now on; the second one ends the program at once.
pub(crate) fn watch() -> Result<()> {
    let interrupted = INTERRUPTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(interrupted))
            .context("cannot watch for signals")?;
        flag::register(signal, Arc::clone(interrupted)).context("cannot watch for signals")?;
    }
    Ok(())
}

/// Fails after a signal was received.
pub(crate) fn check() -> Result<()> {
    let interrupted = INTERRUPTED.get().is_some_and(|interrupted| interrupted.load(Ordering::Relaxed));
    ensure!(!interrupted, "interrupted");
    Ok(())
}
