//! Reads the sessions of this machine, once a second, and reports them if something has changed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, SystemTime};

use longhaul_core::{Config, Env, Status};
use longhaul_cost::{Prices, Sum};
use longhaul_runtime::{Home, Observation, Observed, Observer, Tracker, waiting_times};
use longhaul_store::Store;
use longhaul_tracker::{Agent, Options};
use longhaul_usage_reader::SessionCosts;
use longhaul_view::{PaneAddress, RowId, SessionRow};

use super::app::News;
use crate::cli::limits::Limit;
use crate::cli::monitor;
use crate::cli::paint::tokens;
use crate::cli::{session_numbers, status};

/// The sessions of this machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocalSessions {
    pub(crate) rows: Vec<SessionRow>,
    /// The signs of the states, in the order of [`Status::ALL`].
    pub(crate) icons: Vec<String>,
    /// What the other tab shows.
    pub(crate) contexts: Vec<monitor::Row>,
    pub(crate) limits: Vec<Limit>,
    /// Why they could not be read.
    pub(crate) problem: Option<String>,
}

/// Starts the thread, which ends when there is no receiver any more.
pub(crate) fn start(home: &Home, news: Sender<News>) {
    let mut collector = Collector::new(home.clone());
    std::thread::spawn(move || {
        loop {
            if let Some(sessions) = collector.look()
                && news.send(News::Local(sessions)).is_err()
            {
                return;
            }
            std::thread::sleep(waiting_times::VIEW_LOOKS_FOR_CHANGES);
        }
    });
}

/// What was read last: if it is the same, nothing has changed.
#[derive(Debug, Clone, PartialEq, Default)]
struct Fingerprint {
    database: Option<(u64, i64)>,
    transcripts: Vec<Option<(u64, SystemTime)>>,
}

struct Collector {
    home: Home,
    observer: Observer,
    costs: SessionCosts,
    store: Option<(u64, Store)>,
    transcripts: Vec<PathBuf>,
    seen: Fingerprint,
    read: Option<Instant>,
    tidied: Option<Instant>,
}

impl Collector {
    fn new(home: Home) -> Self {
        Self {
            home,
            observer: Observer::default(),
            costs: SessionCosts::default(),
            store: None,
            transcripts: Vec::new(),
            seen: Fingerprint::default(),
            read: None,
            tidied: None,
        }
    }

    /// Returns the sessions if something has changed.
    fn look(&mut self) -> Option<LocalSessions> {
        let env = longhaul_runtime::env();
        let is_due = |last: Option<Instant>, every: Duration| last.is_none_or(|last| last.elapsed() >= every);
        if is_due(self.tidied, waiting_times::VIEW_CORRECTS_STATES) && self.home.database().exists() {
            self.tidied = Some(Instant::now());
            // What is wrong here is wrong in the reading below, too.
            let _ = Tracker::open(&env, &self.home).and_then(|mut tracker| tracker.tidy());
        }
        let now = self.fingerprint();
        if now == self.seen && !is_due(self.read, waiting_times::VIEW_READS_ALL) {
            return None;
        }
        self.read = Some(Instant::now());
        Some(
            self.read_all(&env).unwrap_or_else(|error| LocalSessions {
                problem: Some(format!("{error:#}")),
                ..LocalSessions::default()
            }),
        )
    }

    fn fingerprint(&mut self) -> Fingerprint {
        let file = self.home.database().metadata().ok().map(|metadata| metadata.ino());
        if self.store.as_ref().map(|(file, _)| *file) != file {
            let opened = self.home.existing_store().ok().flatten();
            self.store = file.and_then(|file| Some((file, opened?)));
        }
        let version = self.store.as_ref().and_then(|(file, store)| Some((*file, store.data_version().ok()?)));
        let state = |path: &PathBuf| path.metadata().ok().and_then(|file| Some((file.len(), file.modified().ok()?)));
        Fingerprint { database: version, transcripts: self.transcripts.iter().map(state).collect() }
    }

    fn read_all(&mut self, env: &Env) -> anyhow::Result<LocalSessions> {
        let (config, _) = longhaul_runtime::config(env)?;
        let observation = self.observer.look(&self.home)?;
        let windows = &config.context.windows;
        let all = monitor::rows(&observation, windows, monitor::Wanted::All, env.now);
        let percent = all.into_iter().filter_map(|row| Some((row.session.clone(), row.percent()?))).collect();
        let options = match self.store {
            Some(_) => Tracker::open(env, &self.home)?.options(),
            None => Options::default(),
        };
        self.remember_transcripts(&observation);
        Ok(LocalSessions {
            rows: self.rows(&observation, &percent, &config, env),
            icons: Status::ALL.iter().map(|status| options.icon(*status).to_owned()).collect(),
            contexts: monitor::rows(&observation, windows, monitor::Wanted::Active, env.now),
            limits: monitor::limits(&observation),
            problem: None,
        })
    }

    fn remember_transcripts(&mut self, observation: &Observation) {
        let running = observation.sessions.iter().filter(|session| session.agent.is_some());
        self.transcripts = running.filter_map(|session| session.record.as_ref()?.transcript.clone()).collect();
        self.costs.keep_only(&self.transcripts.iter().map(PathBuf::as_path).collect::<Vec<&Path>>());
        self.seen = self.fingerprint();
    }

    fn rows(
        &mut self,
        observation: &Observation,
        percent: &BTreeMap<String, f64>,
        config: &Config,
        env: &Env,
    ) -> Vec<SessionRow> {
        let running = observation.sessions.iter().filter_map(|session| Some((session.agent.as_ref()?, session)));
        let running: Vec<(&Agent, &Observed)> = running.collect();
        let ids = running.iter().map(|(agent, _)| agent.session.as_str());
        let numbers = session_numbers::assign(&self.home, ids, env.now);
        let prices = Prices::new(&config.cost.prices);
        let row = |(agent, session): &(&Agent, &Observed)| {
            let mut row = row(agent);
            row.number = numbers.of(&agent.session);
            row.context_percent = percent.get(&agent.session).copied();
            let transcript = session.record.as_ref().and_then(|record| record.transcript.as_deref());
            row.cost = transcript.and_then(|path| shown_cost(&self.costs.of(path, &prices)));
            row
        };
        running.iter().map(row).collect()
    }
}

/// Returns cost and tokens as text, such as `$1.24 410k`; `None` before the first request.
fn shown_cost(sum: &Sum) -> Option<String> {
    let total = Some(sum.tokens.total()).filter(|total| *total > 0).map(tokens)?;
    Some(sum.known_cost().map_or_else(|| total.clone(), |cost| format!("${:.2} {total}", cost.dollars())))
}

fn row(agent: &Agent) -> SessionRow {
    let id = RowId { host: None, session: agent.session.clone() };
    let mut row = SessionRow::new(id, agent.status, agent.project.clone(), agent.updated_at);
    row.waits_for = agent.waits_for().map(str::to_owned);
    row.branch = agent.branch.clone();
    row.notes = agent.notes().map(str::to_owned).collect();
    row.works_for_another = !agent.is_counted();
    row.prompt = agent.prompt_summary.clone();
    row.pane = agent.pane.as_ref().map(|pane| PaneAddress { socket: pane.socket.clone(), id: pane.id.clone() });
    row.place = Some(status::place(agent)).filter(|place| place != "-");
    row
}
