//! What is in force in place of a value that cannot be used and was probably to forbid something.

use super::{Config, Names, Warning};

/// The stricter side of a value, and how a warning says it.
type Stricter = (fn(&mut Config), &'static str);

const NOT_REMEMBERED: Stricter =
    (|config| config.memory.enabled = false, "nothing is remembered until it is corrected");
const ALL_EXCLUDED: Stricter =
    (|config| config.memory.exclude = Names::everything(), "every project is excluded until it is corrected");
const NO_TOOLS: Stricter =
    (|config| config.memory.skip_tools = Names::everything(), "no tool call is recorded until it is corrected");
const NO_SNAPSHOTS: Stricter =
    (|config| config.snapshots.enabled = false, "no snapshot is taken until it is corrected");
const NO_HANDOFF: Stricter = (|config| config.handoff.enabled = false, "no handoff is recorded until it is corrected");
const NO_EXCHANGE: Stricter = (|config| config.sync.enabled = false, "nothing is exchanged until it is corrected");

/// The values that decide what is recorded or sent. The default of `memory.redact_secrets` is the stricter side already.
const PRIVATE: [(&str, Stricter); 11] = [
    ("memory", NOT_REMEMBERED),
    ("memory.enabled", NOT_REMEMBERED),
    ("memory.exclude", ALL_EXCLUDED),
    ("memory.skip_tools", NO_TOOLS),
    ("snapshots", NO_SNAPSHOTS),
    ("snapshots.enabled", NO_SNAPSHOTS),
    ("snapshots.exclude", NO_SNAPSHOTS),
    ("handoff", NO_HANDOFF),
    ("handoff.enabled", NO_HANDOFF),
    ("sync", NO_EXCHANGE),
    ("sync.enabled", NO_EXCHANGE),
];

/// Puts the stricter side in force for every value that a warning calls unusable, and says so in the warning.
pub(super) fn apply(config: &mut Config, warnings: &mut [Warning]) {
    for warning in warnings.iter_mut() {
        let Some((_, (restrict, instead))) = PRIVATE.iter().find(|(key, _)| *key == warning.key) else { continue };
        restrict(config);
        warning.set_instead(instead);
        if warning.key == "memory" {
            // `exclude` may have been in it, and holds for the handoff and the tracker too.
            config.memory.exclude = Names::everything();
        }
    }
}

impl Config {
    /// Returns the configuration in which nothing is recorded, typed or sent.
    pub fn closed() -> Self {
        let mut config = Self::default();
        config.bookmarks.enabled = false;
        config.tracker.enabled = false;
        config.snapshots.enabled = false;
        config.handoff.enabled = false;
        config.continuation.enabled = false;
        config.memory.enabled = false;
        config.memory.exclude = Names::everything();
        config.sync.enabled = false;
        config.guard.enabled = false;
        config.bridge.enabled = false;
        config
    }
}
