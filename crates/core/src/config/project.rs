//! What a project's own `.claude/longhaul.json` may set, and in which range. Pure.
//!
//! A cloned project is not trusted: its files may have been written by an attacker. Without the user's consent such a file
//! may only make a setting stricter, and only those settings that [`PROJECT_KEYS`] lists. Every other key is refused, so a
//! setting that is added to [`Config`] stays refused until it is added to that list.

use serde_json::Value;

use crate::config::{
    BookmarksOn, Config, ContextLimits, Count, Guard, Key, Limits, Names, Setting, SpendLimit, Warning, setting,
};
use crate::json_text::without_byte_order_mark;

/// Whether the user has allowed a project's file with exactly this content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The user has allowed it.
    Trusted,
    /// The user has not allowed it, or the content has changed since.
    Untrusted,
}

/// Whether one value in a project's file is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is in force.
    InForce,
    /// It would be in force if the user trusted the file. Holds what is allowed without trust.
    NeedsTrust(String),
    /// It is not in force, whether or not the file is trusted. Holds the reason.
    Refused(String),
}

/// One value in a project's file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProjectValue {
    /// The key, such as `continuation.at`.
    pub key: String,
    /// What the file sets it to.
    pub asked: Value,
    /// Whether it is in force.
    pub verdict: Verdict,
}

impl ProjectValue {
    /// Returns what the file sets it to, cut to `most` characters.
    pub fn shown(&self, most: usize) -> String {
        let text = self.asked.to_string();
        match text.char_indices().nth(most) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// The result of applying a project's file to a user's own configuration.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProjectReading {
    /// The configuration in force: the user's own, with the project's values that are allowed.
    pub config: Config,
    /// Every value in the file.
    pub values: Vec<ProjectValue>,
    /// Why the file as a whole cannot be used.
    pub problem: Option<String>,
}

impl ProjectReading {
    /// Returns the values that wait for the user's consent.
    pub fn waiting(&self) -> impl Iterator<Item = &ProjectValue> {
        self.values.iter().filter(|value| matches!(value.verdict, Verdict::NeedsTrust(_)))
    }

    /// Returns the values that are refused even with the user's consent.
    pub fn refused(&self) -> impl Iterator<Item = &ProjectValue> {
        self.values.iter().filter(|value| matches!(value.verdict, Verdict::Refused(_)))
    }
}

/// A rule for one key: compares the project's value with the user's own.
struct Rule {
    holds: fn(own: &Config, asked: &Config) -> bool,
    /// The rule in words, after "may be".
    words: &'static str,
}

/// A key that a project's file may set.
struct ProjectKey {
    path: &'static str,
    /// Which values are stricter than the user's own and need no consent.
    stricter: Rule,
    /// Which values are allowed once the user has consented.
    trusted: Rule,
}

/// The lowest limits that a project may set. Below them, a session would be cleared at nearly every turn.
const LEAST_SHARE: f64 = 0.2;
const LEAST_TOKENS: f64 = 20_000.0;

/// Every key that a project's file may set.
const PROJECT_KEYS: &[ProjectKey] = &[
    ProjectKey {
        path: "continuation.at",
        stricter: Rule {
            holds: |own, asked| is_later(&own.continuation.at, &asked.continuation.at),
            words: "only off, or, where your own is on, that value or higher",
        },
        trusted: Rule {
            holds: |_, asked| {
                let limits = &asked.continuation.at.limits;
                limits.iter().all(|at| *at >= if *at > 1.0 { LEAST_TOKENS } else { LEAST_SHARE })
            },
            words: "on or off, 0.2 of the window or more, or 20000 tokens or more",
        },
    },
    ProjectKey {
        path: "continuation.max_rounds",
        stricter: Rule {
            holds: |own, asked| asked.continuation.max_rounds <= own.continuation.max_rounds,
            words: "only your own value or lower",
        },
        trusted: Rule {
            holds: |own, asked| asked.continuation.max_rounds <= own.continuation.max_rounds,
            words: "only your own value or lower",
        },
    },
    ProjectKey {
        path: "continuation.after_rate_limit",
        stricter: Rule { holds: |_, asked| !asked.continuation.after_rate_limit, words: "only false" },
        trusted: Rule { holds: |_, asked| !asked.continuation.after_rate_limit, words: "only false" },
    },
    spend_limit("limits.session", |own, asked| is_less(own, asked, |limits| limits.session)),
    spend_limit("limits.day", |own, asked| is_less(own, asked, |limits| limits.day)),
    spend_limit("limits.project_day", |own, asked| is_less(own, asked, |limits| limits.project_day)),
    spend_limit("limits.subagents.at_once", |own, asked| is_fewer(own, asked, |limits| limits.subagents.at_once)),
    spend_limit("limits.subagents.in_turn", |own, asked| is_fewer(own, asked, |limits| limits.subagents.in_turn)),
];

/// Returns a limit, which a project may only make stricter, trusted or not.
const fn spend_limit(path: &'static str, holds: fn(&Config, &Config) -> bool) -> ProjectKey {
    let words = "only your own value or lower, in the same unit";
    ProjectKey { path, stricter: Rule { holds, words }, trusted: Rule { holds, words } }
}

fn is_less(own: &Config, asked: &Config, limit: fn(&Limits) -> SpendLimit) -> bool {
    limit(&asked.limits).is_within(limit(&own.limits))
}

/// Returns whether a number of subagents is no higher; 0 is no limit.
fn is_fewer(own: &Config, asked: &Config, limit: fn(&Limits) -> Count) -> bool {
    let (own, asked) = (limit(&own.limits).0, limit(&asked.limits).0);
    own == 0 || (asked != 0 && asked <= own)
}

/// Returns whether the limits `asked` are reached no more often and no earlier than `own`.
///
/// A share and a number of tokens cannot be compared without the size of the window. Such a pair does not count as later.
fn is_later(own: &ContextLimits, asked: &ContextLimits) -> bool {
    if !asked.is_on || !own.is_on {
        return !asked.is_on;
    }
    let (own, asked) = (&own.limits, &asked.limits);
    let is_share = |limit: f64| limit <= 1.0;
    let no_earlier = |asked: &f64| {
        let same_kind = own.iter().copied().filter(|own| is_share(*own) == is_share(*asked));
        same_kind.reduce(f64::min).is_some_and(|earliest| *asked >= earliest)
    };
    asked.len() <= own.len() && asked.iter().all(no_earlier)
}

impl Config {
    /// Returns every key that a project's file may set, with its allowed values without the user's consent and with it.
    pub fn project_keys() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        PROJECT_KEYS.iter().map(|key| (key.path, key.stricter.words, key.trusted.words))
    }

    /// Reads a project's file over this configuration, which is the user's own.
    pub fn with_project(&self, text: &str, trust: Trust) -> ProjectReading {
        let mut reading = ProjectReading { config: self.clone(), values: Vec::new(), problem: None };
        match serde_json::from_str::<Value>(without_byte_order_mark(text)) {
            Ok(file @ Value::Object(_)) => {
                let keys = Self::keys();
                read_section(self, &file, "", trust, &keys, &mut reading);
                heed_unknown(&mut reading, &keys);
            }
            Ok(_) => reading.problem = Some("is not a JSON object".to_owned()),
            Err(error) => reading.problem = Some(format!("is not JSON ({error})")),
        }
        reading
    }
}

fn read_section(own: &Config, json: &Value, path: &str, trust: Trust, keys: &[Key], reading: &mut ProjectReading) {
    for (name, value) in json.as_object().into_iter().flatten().filter(|(name, _)| *name != "$schema") {
        let path = setting::join(path, name);
        let below = format!("{path}.");
        if value.is_object() && keys.iter().any(|key| key.path.starts_with(&below)) {
            read_section(own, value, &path, trust, keys, reading);
            continue;
        }
        let verdict = match PROJECT_KEYS.iter().find(|key| key.path == path) {
            Some(key) => read_value(own, key, value, trust, &mut reading.config),
            None if is_known(&path, keys) => Verdict::Refused("only your own configuration may set it".to_owned()),
            None => Verdict::Refused(unknown(name, &path, keys)),
        };
        reading.values.push(ProjectValue { key: path, asked: value.clone(), verdict });
    }
}

/// Returns the message for an unknown key, with the key that may have been meant.
fn unknown(name: &str, path: &str, keys: &[Key]) -> String {
    let section = &path[..path.len() - name.len()];
    let siblings = keys.iter().filter_map(|key| key.path.strip_prefix(section)?.split('.').next());
    let meant = setting::nearest_key(name, &siblings.collect::<Vec<_>>(), section.trim_end_matches('.'));
    let mut warning = Warning::unknown(path, meant.as_deref());
    if is_of_continuation(path) {
        warning.set_instead(NOT_CONTINUED.1);
    }
    warning.problem
}

/// Returns whether `path` is a key, or a section of keys.
fn is_known(path: &str, keys: &[Key]) -> bool {
    let below = format!("{path}.");
    keys.iter().any(|key| key.path == path || key.path.starts_with(&below))
}

/// Returns whether a key that does not exist was probably to be in `continuation`.
fn is_of_continuation(path: &str) -> bool {
    section_meant(path).is_some_and(|section| section == "continuation")
}

/// Switches continuation off if the file has a key that does not exist and was probably to be in `continuation`: it may have been
/// to forbid it.
fn heed_unknown(reading: &mut ProjectReading, keys: &[Key]) {
    let is_unknown = |value: &ProjectValue| !is_known(&value.key, keys) && is_of_continuation(&value.key);
    let Some(unknown) = reading.values.iter().find(|value| is_unknown(value)) else { return };
    let why = format!("{} is no key: {}", unknown.key, NOT_CONTINUED.1);
    (NOT_CONTINUED.0)(&mut reading.config);
    for value in reading.values.iter_mut().filter(|value| value.key == "continuation.at" && value.asked != "off") {
        value.verdict = Verdict::Refused(why.clone());
    }
}

/// Decides about one value, and writes it into `config` if it is in force.
fn read_value(own: &Config, key: &ProjectKey, value: &Value, trust: Trust, config: &mut Config) -> Verdict {
    let nested = key.path.rsplit('.').fold(value.clone(), |value, name| serde_json::json!({ name: value }));
    let mut warnings = Vec::new();
    let asked = Config::read(None, &nested, own.clone(), "", &mut warnings);
    if let Some(warning) = warnings.pop() {
        return Verdict::Refused(warning.problem);
    }
    let holds = |rule: &Rule| asked == *own || (rule.holds)(own, &asked);
    if !holds(&key.stricter) {
        if !holds(&key.trusted) {
            return Verdict::Refused(format!("in a project it may be {}", key.trusted.words));
        }
        if trust == Trust::Untrusted {
            return Verdict::NeedsTrust(format!("without your trust it may be {}", key.stricter.words));
        }
    }
    *config = Config::read(None, &nested, config.clone(), "", &mut warnings);
    Verdict::InForce
}

// What is in force in place of a value that cannot be used and was probably to forbid something.

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
const NOT_CONTINUED: Stricter =
    (|config| config.continuation.at.is_on = false, "`continuation.at` is off until it is corrected");
const NOT_GUARDED: Stricter = (
    |config| config.guard = Guard::default(),
    "`guard.compact_percent` and `guard.deny_percent` are off until it is corrected",
);

/// The values that decide what is recorded or sent, and the sections that decide whether something is done in a session by itself.
/// The default of `memory.redact_secrets` is the stricter side already.
const PRIVATE: [(&str, Stricter); 13] = [
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
    ("continuation", NOT_CONTINUED),
    ("guard", NOT_GUARDED),
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

/// Returns the section in [`PRIVATE`] that a key which does not exist was probably to be in: it is in one, or has nearly the name
/// of one or of a value in one.
fn section_meant(key: &str) -> Option<String> {
    let meant = match key.split_once('.') {
        // Several sections have an `exclude`; without any, it was to keep something from being recorded.
        None if key.eq_ignore_ascii_case("exclude") => return Some("memory".to_owned()),
        None => {
            let keys = Config::keys();
            let sections: Vec<&str> = keys.iter().filter_map(|key| Some(key.path.split_once('.')?.0)).collect();
            setting::nearest_key(key, &sections, "")?
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
        config.bookmarks.enabled = BookmarksOn::Never;
        config.tracker.enabled = false;
        config.snapshots.enabled = false;
        config.handoff.enabled = false;
        config.memory.enabled = false;
        config.memory.exclude = Names::everything();
        config.sync.enabled = false;
        config
    }
}
