//! What is in force in place of a value that cannot be used and was probably to forbid something.

use super::{Config, Names, Warning, suggestion};

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

/// Puts the stricter side in force for every value that a warning calls unusable, and for every key that does not exist and may
/// have been meant for such a value, and says so in the warning.
pub(super) fn apply(config: &mut Config, warnings: &mut [Warning]) {
    for warning in warnings.iter_mut() {
        let section = if warning.is_unknown_key() { section_meant(&warning.key) } else { None };
        let key = section.as_ref().unwrap_or(&warning.key);
        let Some((_, (restrict, instead))) = PRIVATE.iter().find(|(private, _)| private == key) else { continue };
        restrict(config);
        if key == "memory" {
            // `exclude` may have been in it, and holds for the handoff and the tracker too.
            config.memory.exclude = Names::everything();
        }
        warning.set_instead(instead);
    }
}

/// Returns the private section that a key which does not exist was probably to be in: it is in one, or has nearly the name of one
/// or of a value in one.
fn section_meant(key: &str) -> Option<String> {
    let meant = match key.split_once('.') {
        // Several sections have an `exclude`; without any, it was to keep something from being recorded.
        None if key.eq_ignore_ascii_case("exclude") => return Some("memory".to_owned()),
        None => {
            let keys = Config::keys();
            let sections: Vec<&str> = keys.iter().filter_map(|key| Some(key.path.split_once('.')?.0)).collect();
            suggestion::nearest_key(key, &sections, "")?
        }
        Some((_, rest)) if rest.contains('.') => return None,
        Some(_) => key.to_owned(),
    };
    let section = meant.split('.').next().unwrap_or_default();
    PRIVATE.iter().any(|(private, _)| *private == section).then(|| section.to_owned())
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
