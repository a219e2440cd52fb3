//! How full the context is, of everything that tells: the client itself, the transcript, other sessions, a table.

use std::collections::BTreeMap;

use longhaul_core::Millis;

use crate::{Usage, window_tokens};

/// What the client told of a session's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told<'a> {
    /// The model's id, as the status line has it.
    pub model: Option<&'a str>,
    /// Tokens in the context.
    pub tokens: Option<u64>,
    /// Tokens that it holds.
    pub window: Option<u64>,
    /// When.
    pub at: Millis,
    /// To whom.
    pub to: Listener,
}

/// To whom the client told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// The status line.
    StatusLine,
    /// The plugin's module inside the client.
    Bridge,
}

/// How full a context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filled<'a> {
    /// Tokens in it; `None` before the first reply.
    pub tokens: Option<u64>,
    /// Tokens that it holds.
    pub window: u64,
    /// Who told how many those are.
    pub from: WindowFrom,
    /// The model.
    pub model: Option<&'a str>,
}

/// Who told how large the window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowFrom {
    /// The session's own rollout.
    Rollout,
    /// The client, of this session.
    Told(Listener),
    /// The client, of another session with the same model.
    Model,
    /// The user's config, or what is known of models.
    ModelTable,
}

impl WindowFrom {
    /// Returns the word for it in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rollout => "rollout",
            Self::Told(Listener::StatusLine) => "statusline",
            Self::Told(Listener::Bridge) => "bridge",
            Self::Model => "statusline of the model",
            Self::ModelTable => "model",
        }
    }
}

/// Returns how full a context is.
///
/// What was told is the client's own word, and counts unless a reply or a compaction came after it: then the transcript's
/// `usage` does. The window is the rollout's, else what was told of this session while it has that model, else of `others`,
/// the newest first, else that of `known` (see [`window_tokens`]).
pub fn fill<'a>(
    usage: Option<&'a Usage>,
    told: Option<Told<'a>>,
    mut others: impl Iterator<Item = Told<'a>>,
    known: &BTreeMap<String, u64>,
) -> Filled<'a> {
    let replied = usage.and_then(|usage| usage.at);
    let fresh = told.filter(|told| replied.is_none_or(|at| at <= told.at));
    let of_usage = usage.and_then(|usage| usage.model.as_deref());
    let of_told = told.and_then(|told| told.model);
    let model = fresh.and_then(|fresh| fresh.model).or(of_usage).or(of_told);
    let tokens = fresh.and_then(|fresh| fresh.tokens).or(usage.map(|usage| usage.tokens));
    let of_session = || {
        let told = told.filter(|told| same_model(model, told.model))?;
        Some((told.window?, WindowFrom::Told(told.to)))
    };
    let of_model = || {
        let model = model?;
        others.find_map(|other| other.window.filter(|_| other.model == Some(model))).map(|it| (it, WindowFrom::Model))
    };
    let (window, from) = usage
        .and_then(|usage| usage.window)
        .map(|window| (window, WindowFrom::Rollout))
        .or_else(of_session)
        .or_else(of_model)
        .unwrap_or_else(|| (window_tokens(model, tokens.unwrap_or_default(), known), WindowFrom::ModelTable));
    Filled { tokens, window, from, model }
}

/// Returns whether what the status line calls `told` replies as `model`: a date may follow, a window may be named.
fn same_model(model: Option<&str>, told: Option<&str>) -> bool {
    let base = |id: &str| id.split('[').next().unwrap_or(id).to_owned();
    match (model.map(base), told.map(base)) {
        (Some(model), Some(told)) => model.starts_with(&told) || told.starts_with(&model),
        (None, _) | (_, None) => true,
    }
}
