//! The report that Claude Code sends to its status line. Every part may be missing, null or of another type.

use longhaul_core::{Millis, SessionId};
use longhaul_store::ContextUse;
use serde_json::Value;

use crate::cli::limits::{self, Limit};

/// A longer list of limits is ignored.
const MAX_LIMITS_BYTES: usize = 4096;

/// A larger number of tokens is ignored.
const MAX_TOKENS: f64 = 1e12;

/// The report.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Report {
    pub(crate) session: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) model_name: Option<String>,
    /// The working folder of Claude Code.
    pub(crate) dir: Option<String>,
    pub(crate) window: Option<u64>,
    /// The tokens in the window; `None` before the first reply.
    pub(crate) used: Option<u64>,
    pub(crate) used_percent: Option<f64>,
    /// What Claude Code says that the session cost so far, in dollars.
    pub(crate) cost: Option<f64>,
    pub(crate) limits: Vec<Limit>,
    pub(crate) limits_json: Option<String>,
}

impl Report {
    /// Reads the JSON. What cannot be read is `None`.
    pub(crate) fn read(input: &[u8]) -> Self {
        let json: Value = serde_json::from_slice(input).unwrap_or_default();
        let text = |pointer: &str| {
            let text = json.pointer(pointer)?.as_str().filter(|text| !text.is_empty())?;
            Some(text.to_owned())
        };
        let number =
            |pointer: &str| json.pointer(pointer)?.as_f64().filter(|number| (0.0..=MAX_TOKENS).contains(number));
        let usage = |name: &str| number(&format!("/context_window/current_usage/{name}"));
        let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"].map(usage);
        let is_reported = parts.iter().any(Option::is_some);
        let limits = json.get("rate_limits").filter(|limits| limits.is_object());
        Self {
            session: text("/session_id"),
            model: text("/model/id"),
            model_name: text("/model/display_name"),
            dir: text("/workspace/current_dir").or_else(|| text("/cwd")),
            window: number("/context_window/context_window_size").map(|size| size as u64).filter(|size| *size > 0),
            used: is_reported.then(|| parts.into_iter().flatten().sum::<f64>() as u64),
            used_percent: number("/context_window/used_percentage").filter(|percent| *percent <= 1000.0),
            cost: number("/cost/total_cost_usd"),
            limits: limits.map(limits::read).unwrap_or_default(),
            limits_json: limits.map(Value::to_string).filter(|text| text.len() <= MAX_LIMITS_BYTES),
        }
    }

    /// Returns the used percentage of the window: exact if the tokens are reported, or else as Claude Code rounds it.
    pub(crate) fn percent(&self) -> Option<f64> {
        let exact = self.used.zip(self.window).map(|(used, window)| used as f64 * 100.0 / window as f64);
        exact.or(self.used_percent)
    }

    /// Returns what should be stored; `None` if the session is unknown or nothing is reported.
    pub(crate) fn context(&self, now: Millis) -> Option<ContextUse> {
        let session = SessionId::new(self.session.as_deref()?)?;
        let is_reported =
            self.model.is_some() || self.window.is_some() || self.used.is_some() || self.limits_json.is_some();
        is_reported.then(|| ContextUse {
            session: session.to_string(),
            model: self.model.clone(),
            window_tokens: self.window,
            used_tokens: self.used,
            used_percent: self.used_percent,
            rate_limits: self.limits_json.clone(),
            recorded_at: now,
        })
    }
}

#[cfg(test)]
mod tests {
    use longhaul_core::Millis;

    use super::Report;

    const BEFORE: &[u8] = include_bytes!("../../../../tests/statusline/before-first-reply.json");
    const AFTER: &[u8] = include_bytes!("../../../../tests/statusline/after-reply.json");

    #[test]
    fn what_the_client_sends_is_understood() {
        let report = Report::read(AFTER);
        assert_eq!(report.model_name.as_deref(), Some("Opus 5.5"));
        assert_eq!((report.window, report.used, report.used_percent), (Some(1_000_000), Some(13_233), Some(1.0)));
        assert_eq!((report.percent(), report.cost), (Some(1.3233), Some(0.727_836)));
        let before = Report::read(BEFORE);
        assert_eq!((before.window, before.used, before.percent()), (Some(1_000_000), None, None));
    }

    #[test]
    fn nothing_that_comes_is_too_strange() {
        for input in [
            &b""[..],
            b"{",
            b"null",
            b"[1]",
            b"\xff\xfe",
            br#"{"session_id":7,"model":"x","context_window":[],"rate_limits":"no"}"#,
            br#"{"context_window":{"context_window_size":0,"used_percentage":-1,"current_usage":{"input_tokens":"9"}}}"#,
            br#"{"context_window":{"context_window_size":1e300,"current_usage":{"input_tokens":1e300}}}"#,
        ] {
            let report = Report::read(input);
            assert_eq!((report.percent(), report.context(Millis(1))), (None, None), "{input:?}");
        }
    }
}
