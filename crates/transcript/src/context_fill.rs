//! How full a session's context is, from every source: Claude Code itself, the transcript, other sessions, a table.

use std::collections::BTreeMap;

use longhaul_core::Millis;

use crate::{Usage, window_tokens};

/// What Claude Code reported about a session's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportedContext<'a> {
    /// The model's id, as the status line receives it.
    pub model: Option<&'a str>,
    /// Tokens in the context.
    pub tokens: Option<u64>,
    /// Size of the context window, in tokens.
    pub window: Option<u64>,
    /// The time of the report.
    pub at: Millis,
    /// The channel that the report came through.
    pub by: ReportedBy,
}

impl ReportedContext<'_> {
    /// Returns a report at the time `at` that says nothing yet.
    pub fn new(at: Millis, by: ReportedBy) -> Self {
        Self { model: None, tokens: None, window: None, at, by }
    }
}

/// The channel through which Claude Code reports a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReportedBy {
    /// The status line command.
    StatusLine,
    /// The plugin's module inside Claude Code.
    Bridge,
}

/// How full a context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextFill<'a> {
    /// Tokens in the context; `None` before the first reply.
    pub tokens: Option<u64>,
    /// Size of the context window, in tokens.
    pub window: u64,
    /// Where `window` comes from.
    pub source: WindowSource,
    /// The model's id.
    pub model: Option<&'a str>,
}

/// Where the size of a context window comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowSource {
    /// The session's own rollout.
    Rollout,
    /// A report about this session.
    Reported(ReportedBy),
    /// A report about another session with the same model.
    SameModel,
    /// The user's configuration, or the built-in sizes.
    ModelTable,
}

impl WindowSource {
    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rollout => "rollout",
            Self::Reported(ReportedBy::StatusLine) => "statusline",
            Self::Reported(ReportedBy::Bridge) => "bridge",
            Self::SameModel => "statusline of the model",
            Self::ModelTable => "model",
        }
    }
}

/// Returns how full a context is.
///
/// The token count is the one in `reported`, unless a reply or a compaction is newer than the report: then it is the
/// transcript's `usage`. The window is the first of these that is known: the rollout's; the one in `reported`, while the
/// session still uses that model; the newest of `others` with the same model; the one that [`window_tokens`] returns for
/// `known`.
pub fn context_fill<'a>(
    usage: Option<&'a Usage>,
    reported: Option<ReportedContext<'a>>,
    mut others: impl Iterator<Item = ReportedContext<'a>>,
    known: &BTreeMap<String, u64>,
) -> ContextFill<'a> {
    let replied_at = usage.and_then(|usage| usage.at);
    let current = reported.filter(|reported| replied_at.is_none_or(|at| at <= reported.at));
    let used_model = usage.and_then(|usage| usage.model.as_deref());
    let reported_model = reported.and_then(|reported| reported.model);
    let model = current.and_then(|current| current.model).or(used_model).or(reported_model);
    let tokens = current.and_then(|current| current.tokens).or(usage.map(|usage| usage.tokens));
    let of_session = || {
        let reported = reported.filter(|reported| is_same_model(model, reported.model))?;
        Some((reported.window?, WindowSource::Reported(reported.by)))
    };
    let of_model = || {
        let model = model?;
        let window = others.find_map(|other| other.window.filter(|_| other.model == Some(model)))?;
        Some((window, WindowSource::SameModel))
    };
    let (window, source) = usage
        .and_then(|usage| usage.window)
        .map(|window| (window, WindowSource::Rollout))
        .or_else(of_session)
        .or_else(of_model)
        .unwrap_or_else(|| (window_tokens(model, tokens.unwrap_or_default(), known), WindowSource::ModelTable));
    ContextFill { tokens, window, source, model }
}

/// Returns whether the reported id names `model`; one of the two may have a date or a window size at its end.
fn is_same_model(model: Option<&str>, reported: Option<&str>) -> bool {
    let base = |id: &str| id.split('[').next().unwrap_or(id).to_owned();
    match (model.map(base), reported.map(base)) {
        (Some(model), Some(reported)) => model.starts_with(&reported) || reported.starts_with(&model),
        (None, _) | (_, None) => true,
    }
}
