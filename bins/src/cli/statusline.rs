//! `longhaul statusline`: Claude Code's status line. Only there it reports the size of the context window.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use longhaul_core::config::SpendLimit;
use longhaul_core::{Env, Millis, SessionId};
use longhaul_cost::limits::{Measure, Scope, furthest};
use longhaul_runtime::limits::measures_of;
use longhaul_runtime::{
    ActivityLog, Error, ErrorLog, Home, Relay, git_branch, read_stdin, recalled_passages, waiting_times,
};
use longhaul_store::ContextUse;
use serde_json::Value;

use super::paint::{Colours, Span, Tone, bar, fit, fit_line, harmless, level, render, tokens};
use super::rate_limits::{self, RateLimit};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also show what the session cost so far, and the limit of which most is spent
    #[arg(long)]
    cost: bool,
    /// Your own status line command; it gets the same input, and its output is shown
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Prints a line, whatever happens: otherwise the status line would be empty.
pub(crate) fn run(env: &Env, args: &Args) {
    let input = read_stdin(waiting_times::COMMAND_INPUT).unwrap_or_default();
    let relay =
        (!args.command.is_empty()).then(|| Relay::start(&args.command, input.clone(), waiting_times::USER_STATUS_LINE));
    let report = Report::read(&input);
    let log = ErrorLog::new(env, "statusline");
    // Recorded while the user's command runs, so that it takes no extra time.
    if let Err(error) = record(env, &report) {
        log.write(&error.chain());
    }
    let relay = relay.transpose().unwrap_or_else(|error| {
        log.write(&error.chain());
        None
    });
    let printed = relay.and_then(Relay::finish);
    let bytes = printed.unwrap_or_else(|| own(env, &report, args.cost).into_bytes());
    // If the output cannot be written, there is nothing left to do.
    let _ = io::stdout().lock().write_all(&bytes);
}

fn record(env: &Env, report: &Report) -> Result<(), Error> {
    let Some(context) = report.context(env.now).filter(|_| !env.disabled) else { return Ok(()) };
    Home::of(env)?.store(waiting_times::DATABASE_FOR_STATUS_LINE)?.record_context(&context)?;
    Ok(())
}

fn own(env: &Env, report: &Report, shows_cost: bool) -> String {
    let session = report.session.as_deref().and_then(SessionId::new);
    let found = Home::of(env).ok().zip(session);
    let context = LineContext {
        branch: report.dir.as_deref().and_then(|dir| git_branch(Path::new(dir))),
        bookmarks: found.as_ref().map_or(0, |(home, session)| ActivityLog::bookmarks_since_prompt(home, session)),
        shown: found.as_ref().and_then(|(home, session)| shown_to(home, session)).unwrap_or_default(),
        now: env.now.0 / 1000,
        shows_cost,
        limit: found
            .as_ref()
            .filter(|_| shows_cost)
            .and_then(|(home, session)| furthest(&measures_of(home, session, env.now))),
    };
    let colours = if env.no_color { Colours::No } else { Colours::Yes };
    format!("{}\n", render(&line(report, &context, env.columns), colours))
}

/// Returns how many turns and records the session began with, and how many passages were added to its prompts.
fn shown_to(home: &Home, session: &SessionId) -> Option<[u64; 3]> {
    // Claude Code draws the line again and again: it never waits for a database that another process holds.
    let store = home.database().exists().then(|| home.store(waiting_times::DATABASE_FOR_STATUS_LINE).ok())??;
    let shown = store.shown_to(session.as_str()).ok()?;
    Some([shown.turns, shown.records, recalled_passages(home, session)])
}

/// The maximum width of the name of a model, a project or a branch.
const MAX_NAME: usize = 30;

const BAR_CELLS: usize = 10;

/// The columns that Claude Code leaves free beside the line.
const MARGIN: usize = 4;

/// What the line shows besides Claude Code's report.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineContext {
    pub(crate) branch: Option<String>,
    /// Bookmarks since the last prompt.
    pub(crate) bookmarks: u64,
    /// Turns of the session before, records of the memory, and passages added to prompts that the session was shown.
    pub(crate) shown: [u64; 3],
    /// In seconds since the epoch.
    pub(crate) now: u64,
    /// Whether the cost of the session is shown.
    shows_cost: bool,
    limit: Option<Measure>,
}

/// Lays out the line. If it is too wide, what was shown is left out first, then the limits, the cost, the bookmarks, and the
/// project.
pub(crate) fn line(report: &Report, around: &LineContext, columns: Option<usize>) -> Vec<Span> {
    let most = columns.map_or(usize::MAX, |columns| columns.saturating_sub(MARGIN));
    let mut parts = [
        model(report),
        context(report),
        place(report, around),
        bookmarks(around),
        cost(report, around),
        limits(report, around),
        shown(around),
    ];
    for part in [6, 5, 4, 3, 2] {
        if total(&parts) > most {
            parts[part].clear();
        }
    }
    let [model, context, place, bookmarks, cost, limits, shown] = parts;
    let mut line: Vec<Span> = Vec::new();
    for part in [model, place, context, bookmarks, shown, cost, limits].into_iter().filter(|part| !part.is_empty()) {
        if !line.is_empty() {
            line.push(Span::new("  ", Tone::Plain));
        }
        line.extend(part);
    }
    if line.is_empty() {
        line.push(Span::new("longhaul", Tone::Dim));
    }
    fit_line(&line, most)
}

fn total(parts: &[Vec<Span>]) -> usize {
    let width = |part: &Vec<Span>| part.iter().map(Span::width).sum::<usize>();
    let widths = parts.iter().filter(|part| !part.is_empty()).map(width);
    widths.map(|width| width + 2).sum::<usize>().saturating_sub(2)
}

fn name(text: &str) -> String {
    fit(&harmless(text), MAX_NAME)
}

fn model(report: &Report) -> Vec<Span> {
    let model = report.model_name.as_ref().or(report.model.as_ref());
    model.map(|model| Span::new(name(model), Tone::Bold)).into_iter().collect()
}

fn place(report: &Report, around: &LineContext) -> Vec<Span> {
    let Some(dir) = &report.dir else { return Vec::new() };
    let project = dir.trim_end_matches('/').rsplit('/').next().filter(|project| !project.is_empty()).unwrap_or("/");
    let mut spans = vec![Span::new(name(project), Tone::Plain)];
    spans.extend(around.branch.as_ref().map(|branch| Span::new(format!(" ({})", name(branch)), Tone::Dim)));
    spans
}

fn context(report: &Report) -> Vec<Span> {
    let Some(percent) = report.percent() else {
        // Before the first reply, only the size is known.
        let window = report.window.map(|window| format!("{} left", tokens(window)));
        return window.map(|window| Span::new(window, Tone::Dim)).into_iter().collect();
    };
    let left = report.window.map(|window| {
        let used = report.used.unwrap_or((window as f64 * percent / 100.0) as u64);
        format!(" · {} left", tokens(window.saturating_sub(used)))
    });
    let [used, free] = bar(percent, BAR_CELLS);
    vec![
        used,
        free,
        Span::new(format!(" {percent:.0}%"), level(percent)),
        Span::new(left.unwrap_or_default(), Tone::Dim),
    ]
}

fn bookmarks(around: &LineContext) -> Vec<Span> {
    match around.bookmarks {
        0 => Vec::new(),
        count => vec![Span::new(format!("·{count}"), Tone::Dim)],
    }
}

fn shown(around: &LineContext) -> Vec<Span> {
    let counted = |count: u64, what: &str| {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        (count > 0).then(|| longhaul_core::counted(count, what))
    };
    let [turns, records, passages] = around.shown;
    let began: Vec<String> = counted(turns, "turn").into_iter().chain(counted(records, "record")).collect();
    let began = (!began.is_empty()).then(|| format!("began with {}", began.join(" and ")));
    let recalled = counted(passages, "passage").map(|passages| format!("recalled {passages}"));
    let said: Vec<String> = began.into_iter().chain(recalled).collect();
    if said.is_empty() { Vec::new() } else { vec![Span::new(said.join(", "), Tone::Dim)] }
}

fn cost(report: &Report, around: &LineContext) -> Vec<Span> {
    let cost = report.cost.filter(|_| around.shows_cost);
    let mut spans: Vec<Span> = cost.map(|cost| Span::new(format!("${cost:.2}"), Tone::Dim)).into_iter().collect();
    if let Some(limit) = &around.limit {
        // A limit of the session in dollars says what it has cost, too.
        if limit.scope == Scope::Session && matches!(limit.limit, SpendLimit::Dollars(_)) {
            spans.clear();
        }
        let gap = if spans.is_empty() { "" } else { " · " };
        let today = if limit.scope == Scope::Session { "" } else { " today" };
        let tone = if limit.is_near() { level(limit.share() * 100.0) } else { Tone::Dim };
        spans.push(Span::new(gap, Tone::Dim));
        spans.push(Span::new(format!("{limit}{today}"), tone));
    }
    spans
}

fn limits(report: &Report, around: &LineContext) -> Vec<Span> {
    rate_limits::show(&report.limits, around.now)
}

/// A longer list of limits is ignored.
const MAX_LIMITS_BYTES: usize = 4096;

/// A larger number of tokens is ignored.
const MAX_TOKENS: f64 = 1e12;

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Report {
    pub(crate) session: Option<String>,
    pub(crate) model: Option<String>,
    model_name: Option<String>,
    /// The working folder of Claude Code.
    pub(crate) dir: Option<String>,
    pub(crate) window: Option<u64>,
    /// The tokens in the window; `None` before the first reply.
    pub(crate) used: Option<u64>,
    pub(crate) used_percent: Option<f64>,
    /// What Claude Code says that the session cost so far, in dollars.
    pub(crate) cost: Option<f64>,
    pub(crate) limits: Vec<RateLimit>,
    limits_json: Option<String>,
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
            limits: limits.map(rate_limits::read).unwrap_or_default(),
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
mod tests;
