//! `longhaul monitor`: shows the context use of all sessions.

mod table;
mod vscode;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::Instant;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use longhaul_core::{Env, Millis, Status};
use longhaul_runtime::{Home, Observation, Observed, Observer, how_full, waiting_times};
use longhaul_store::ContextUse;
use longhaul_transcript::{ContextFill, WindowSource};
use ratatui::DefaultTerminal;
use ratatui::text::{Line, Text};
use serde_json::{Value, json};

pub(crate) use self::table::frame;
use super::out;
use super::paint::{Colours, Span, Tone, render, to_line, utc_time};
use super::rate_limits::{self, RateLimit};

/// The width if it is unknown.
const DEFAULT_COLUMNS: usize = 80;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also show sessions that have ended or were idle for more than 15 minutes
    #[arg(long)]
    all: bool,
    /// Only the session whose id begins with ID, in any state
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Print the table once and exit
    #[arg(long)]
    once: bool,
    /// Print a JSON array and exit
    #[arg(long)]
    json: bool,
    /// Add a VS Code task to this folder that opens the monitor
    #[arg(long, conflicts_with_all = ["all", "session", "once", "json"])]
    vscode_task: bool,
}

impl Args {
    fn filter(&self) -> SessionFilter<'_> {
        match &self.session {
            Some(prefix) => SessionFilter::Session(prefix),
            None if self.all => SessionFilter::All,
            None => SessionFilter::Active,
        }
    }
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<()> {
    if args.vscode_task {
        return vscode::run(env);
    }
    let home = Home::of(env)?;
    let mut view = View { home: &home, observer: Observer::default(), filter: args.filter() };
    if args.json {
        let (rows, _) = view.rows(env)?;
        out::json(&rows.iter().map(|row| to_json(row, env.now)).collect::<Vec<_>>())?;
    } else if args.once || !io::stdout().is_terminal() {
        let is_terminal = io::stdout().is_terminal();
        let size = is_terminal.then(crossterm::terminal::size).and_then(Result::ok);
        let columns = size.map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0).or(env.columns);
        let colours = if is_terminal && !env.no_color { Colours::Yes } else { Colours::No };
        for line in view.frame(env, columns.unwrap_or(DEFAULT_COLUMNS), None)? {
            out::line(render(&line, colours).trim_end())?;
        }
    } else {
        show_live(&mut view)?;
    }
    Ok(())
}

/// Returns the context use of each running session in percent, if it is known.
pub(crate) fn percentages(env: &Env, home: &Home) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut view = View { home, observer: Observer::default(), filter: SessionFilter::All };
    let (rows, _) = view.rows(env)?;
    Ok(rows.into_iter().filter_map(|row| Some((row.session.clone(), row.percent()?))).collect())
}

/// What is shown, and how it is read.
struct View<'a> {
    home: &'a Home,
    observer: Observer,
    filter: SessionFilter<'a>,
}

impl View<'_> {
    fn rows(&mut self, env: &Env) -> anyhow::Result<(Vec<Row>, Observation)> {
        let (config, _) = longhaul_runtime::config(env)?;
        let observation = self.observer.look(self.home)?;
        Ok((rows(&observation, &config.models.windows, self.filter, env.now), observation))
    }

    fn frame(&mut self, env: &Env, columns: usize, lines: Option<usize>) -> anyhow::Result<Vec<Vec<Span>>> {
        let (rows, observation) = self.rows(env)?;
        Ok(frame(&rows, &limits(&observation), env.now, columns, lines))
    }
}

fn to_json(row: &Row, now: Millis) -> serde_json::Value {
    json!({
        "session": row.session,
        "project": row.project,
        "cwd": row.cwd,
        "status": row.state.as_str(),
        "age_seconds": now.since(row.last_heard) / 1000,
        "started_at": row.started_at.map(utc_time),
        "model": row.model,
        "used_tokens": row.used,
        "window_tokens": row.window,
        "window_from": row.window_from.as_str(),
        "remaining_tokens": row.remaining(),
        "used_percent": row.percent().map(|percent| (percent * 10.0).round() / 10.0),
        "warnings": row.warnings(),
    })
}

/// Shows the view until `q`, Esc or Ctrl-C; the terminal is then as it was, also after an error or a panic.
fn show_live(view: &mut View<'_>) -> anyhow::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let watched = watch(&mut terminal, view);
    ratatui::try_restore()?;
    watched
}

fn watch(terminal: &mut DefaultTerminal, view: &mut View<'_>) -> anyhow::Result<()> {
    loop {
        // Read for every frame: the time has changed.
        let env = longhaul_runtime::env();
        draw(terminal, view, &env)?;
        let end = Instant::now() + waiting_times::MONITOR_READS;
        loop {
            if !event::poll(end.saturating_duration_since(Instant::now()))? {
                break;
            }
            match event::read()? {
                Event::Key(key) if ends(&key) => return Ok(()),
                Event::Resize(..) => break,
                _ => {}
            }
        }
    }
}

fn ends(key: &KeyEvent) -> bool {
    let is_ctrl_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press && (is_ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
}

fn draw(terminal: &mut DefaultTerminal, view: &mut View<'_>, env: &Env) -> anyhow::Result<()> {
    let size = terminal.size()?;
    // The last line shows the key.
    let lines = usize::from(size.height).saturating_sub(1);
    // An error may be gone a second later.
    let content = view.frame(env, usize::from(size.width), Some(lines));
    let content = content.unwrap_or_else(|error| vec![vec![Span::new(format!("{error:#}"), Tone::Bad)]]);
    let mut text: Vec<Line<'_>> = content.iter().map(|line| to_line(line, env.no_color)).collect();
    text.resize(lines, Line::default());
    text.push(to_line(&[Span::new("q quits", Tone::Dim)], env.no_color));
    terminal.draw(|frame| frame.render_widget(Text::from(text), frame.area()))?;
    Ok(())
}

/// A session without an event for longer than this is hidden.
const IDLE_MS: u64 = 15 * 60 * 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionFilter<'a> {
    /// Those that run and are not idle for long.
    Active,
    /// Also those that have ended or are idle.
    All,
    /// Those whose id begins with this.
    Session(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Alive(Status),
    Ended,
}

impl State {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Alive(status) => status.as_str(),
            Self::Ended => "ended",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) session: String,
    pub(crate) project: String,
    pub(crate) cwd: Option<String>,
    pub(crate) state: State,
    /// Why it is blocked.
    pub(crate) reason: Option<String>,
    pub(crate) started_at: Option<Millis>,
    last_heard: Millis,
    pub(crate) model: Option<String>,
    /// `None` before the first reply.
    pub(crate) used: Option<u64>,
    pub(crate) window: u64,
    window_from: WindowSource,
}

impl Row {
    /// Returns how full the window is.
    pub(crate) fn percent(&self) -> Option<f64> {
        self.used.map(|used| used as f64 * 100.0 / self.window.max(1) as f64)
    }

    /// Returns how many tokens are left.
    pub(crate) fn remaining(&self) -> Option<u64> {
        self.used.map(|used| self.window.saturating_sub(used))
    }

    /// Returns the warnings, the most urgent first.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        match self.percent() {
            Some(100.0..) => warnings.push("full".to_owned()),
            Some(90.0..) => warnings.push("critical".to_owned()),
            Some(70.0..) => warnings.push("high".to_owned()),
            Some(_) => {}
            None => warnings.push("no reply".to_owned()),
        }
        match self.state {
            State::Alive(Status::Blocked) => {
                let reason = self.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
                warnings.push(format!("blocked{reason}"));
            }
            State::Alive(Status::Working | Status::Idle | Status::Completed) => {}
            State::Ended => warnings.push("ended".to_owned()),
        }
        warnings
    }
}

/// Returns the selected sessions: running ones before ended ones, the fullest first.
pub(crate) fn rows(
    observation: &Observation,
    windows: &BTreeMap<String, u64>,
    filter: SessionFilter<'_>,
    now: Millis,
) -> Vec<Row> {
    let is_wanted = |observed: &&Observed| match filter {
        SessionFilter::Active => is_active(observed, now),
        SessionFilter::All => true,
        SessionFilter::Session(prefix) => observed.session.starts_with(prefix),
    };
    let sessions = observation.sessions.iter().filter(is_wanted);
    let mut rows: Vec<Row> = sessions.map(|observed| row(observed, &observation.contexts, windows)).collect();
    let order = |row: &Row| (row.state == State::Ended, -row.percent().unwrap_or(-1.0));
    rows.sort_by(|a, b| {
        let ((a_ended, a_used), (b_ended, b_used)) = (order(a), order(b));
        let names = || (&a.project, &a.session).cmp(&(&b.project, &b.session));
        a_ended.cmp(&b_ended).then(a_used.total_cmp(&b_used)).then_with(names)
    });
    rows
}

/// Returns the account's limits as they were last reported.
pub(crate) fn limits(observation: &Observation) -> Vec<RateLimit> {
    let newest = observation.contexts.iter().find_map(|context| context.rate_limits.as_deref());
    newest
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .map(|json| rate_limits::read(&json))
        .unwrap_or_default()
}

fn state(observed: &Observed) -> State {
    match &observed.agent {
        Some(agent) if observed.client_runs != Some(false) => State::Alive(agent.status),
        Some(_) | None => State::Ended,
    }
}

fn is_active(observed: &Observed, now: Millis) -> bool {
    match state(observed) {
        State::Ended => false,
        // A tool may run for an hour without any event.
        State::Alive(Status::Working) if observed.client_runs == Some(true) => true,
        State::Alive(_) => now.since(observed.last_heard) <= IDLE_MS,
    }
}

fn row(observed: &Observed, contexts: &[ContextUse], windows: &BTreeMap<String, u64>) -> Row {
    let ContextFill { tokens, window, source, model, .. } =
        how_full(&observed.session, observed.usage(), contexts, windows);
    let agent = observed.agent.as_ref();
    let record = observed.record.as_ref();
    let cwd = agent.and_then(|agent| agent.cwd.clone());
    let cwd = cwd.or_else(|| Some(record?.cwd.as_ref()?.to_string_lossy().into_owned()));
    let folder = || Some(cwd.as_ref()?.trim_end_matches('/').rsplit('/').next()?.to_owned());
    let started = record.map(|record| Millis(record.started_at));
    Row {
        session: observed.session.clone(),
        project: agent.map(|agent| agent.project.clone()).or_else(folder).unwrap_or_else(|| "-".to_owned()),
        state: state(observed),
        reason: agent.and_then(|agent| agent.waits_for().map(str::to_owned)),
        started_at: agent.map(|agent| Millis(agent.started_at * 1000)).or(started),
        last_heard: observed.last_heard,
        model: model.map(str::to_owned),
        cwd,
        used: tokens,
        window,
        window_from: source,
    }
}

#[cfg(test)]
mod tests;
