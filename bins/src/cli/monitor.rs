//! `longhaul monitor`: shows the context use of all sessions.

mod layout;
mod live;
mod rows;
mod vscode;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};

use jiff::Timestamp;
use longhaul_core::{Env, Millis};
use longhaul_runtime::{Home, Observation, Observer};
use serde_json::json;

use self::layout::Frame;
pub(crate) use self::layout::frame;
pub(crate) use self::rows::{Row, Wanted, limits, rows};
use super::paint::{Colours, render};
use super::{Exit, out};

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
    fn wanted(&self) -> Wanted<'_> {
        match &self.session {
            Some(prefix) => Wanted::Session(prefix),
            None if self.all => Wanted::All,
            None => Wanted::Active,
        }
    }
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    if args.vscode_task {
        return vscode::run(env);
    }
    let home = Home::of(env)?;
    let mut view = View { home: &home, observer: Observer::default(), wanted: args.wanted() };
    if args.json {
        let (rows, _) = view.rows(env)?;
        let rows: Vec<_> = rows.iter().map(|row| to_json(row, env.now)).collect();
        out::json(&rows)?;
    } else if args.once || !io::stdout().is_terminal() {
        let is_terminal = io::stdout().is_terminal();
        let size = is_terminal.then(crossterm::terminal::size).and_then(Result::ok);
        let columns = size.map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0).or(env.columns);
        let colours = if is_terminal && !env.no_color { Colours::Yes } else { Colours::No };
        for line in view.frame(env, columns.unwrap_or(DEFAULT_COLUMNS), None)?.lines {
            out::line(render(&line, colours).trim_end())?;
        }
    } else {
        live::run(&mut view)?;
    }
    Ok(Exit::Success)
}

/// Returns the context use of each running session in percent, if it is known.
pub(crate) fn percentages(env: &Env, home: &Home) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut view = View { home, observer: Observer::default(), wanted: Wanted::All };
    let (rows, _) = view.rows(env)?;
    Ok(rows.into_iter().filter_map(|row| Some((row.session.clone(), row.percent()?))).collect())
}

/// What is shown, and how it is read.
struct View<'a> {
    home: &'a Home,
    observer: Observer,
    wanted: Wanted<'a>,
}

impl View<'_> {
    fn rows(&mut self, env: &Env) -> anyhow::Result<(Vec<Row>, Observation)> {
        let (config, _) = longhaul_runtime::config(env)?;
        let observation = self.observer.look(self.home)?;
        Ok((rows(&observation, &config.context.windows, self.wanted, env.now), observation))
    }

    fn frame(&mut self, env: &Env, columns: usize, lines: Option<usize>) -> anyhow::Result<Frame> {
        let (rows, observation) = self.rows(env)?;
        let limits = limits(&observation);
        Ok(frame(&rows, &limits, env.now, columns, lines))
    }
}

fn to_json(row: &Row, now: Millis) -> serde_json::Value {
    let time = |at: Millis| i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    json!({
        "session": row.session,
        "project": row.project,
        "cwd": row.cwd,
        "status": row.state.as_str(),
        "age_seconds": now.since(row.last_heard) / 1000,
        "started_at": row.started_at.and_then(time).map(|at| at.to_string()),
        "model": row.model,
        "used_tokens": row.used,
        "window_tokens": row.window,
        "window_from": row.window_from.as_str(),
        "remaining_tokens": row.remaining(),
        "used_percent": row.percent().map(|percent| (percent * 10.0).round() / 10.0),
        "warnings": row.warnings(),
    })
}
