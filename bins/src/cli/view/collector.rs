//! The threads behind the view: they read the sessions of this machine, those of other hosts, and the screen of the chosen
//! session, and report what has changed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime};

use longhaul_core::{Config, Env, Millis, SessionId, Status};
use longhaul_cost::limits::furthest;
use longhaul_cost::{Prices, Sum};
use longhaul_inject::{TerminalCommand, TmuxPane};
use longhaul_runtime::cost::SessionCosts;
use longhaul_runtime::limits::measures_of;
use longhaul_runtime::{
    DialogPane, Home, Observation, Observed, Observer, Tracker, inspect_pane, plain_rows, run_program_bounded,
    waiting_times,
};
use longhaul_store::Store;
use longhaul_tracker::{Agent, Options, Pane};

use super::app::News;
use super::rows::{RowId, SessionRow, rows_of_host};
use crate::cli::paint::tokens;
use crate::cli::rate_limits::RateLimit;
use crate::cli::{monitor, sessions, tracker};

#[derive(Debug, Clone, Default)]
pub(crate) struct LocalSessions {
    pub(crate) rows: Vec<SessionRow>,
    /// The signs of the states, in the order of [`Status::ALL`].
    pub(crate) icons: Vec<String>,
    /// What the other tab shows.
    pub(crate) contexts: Vec<monitor::Row>,
    pub(crate) limits: Vec<RateLimit>,
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
        let windows = &config.models.windows;
        let all = monitor::rows(&observation, windows, monitor::SessionFilter::All, env.now);
        let percent = all.into_iter().filter_map(|row| Some((row.session.clone(), row.percent()?))).collect();
        let options = match self.store {
            Some(_) => Tracker::open(env, &self.home)?.options(),
            None => Options::default(),
        };
        self.remember_transcripts(&observation);
        Ok(LocalSessions {
            rows: self.rows(&observation, &percent, &config, env),
            icons: Status::ALL.iter().map(|status| options.icon(*status).to_owned()).collect(),
            contexts: monitor::rows(&observation, windows, monitor::SessionFilter::Active, env.now),
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
        let numbers = sessions::assign_numbers(&self.home, ids, env.now);
        let prices = Prices::new(&config.models.prices);
        let row = |(agent, session): &(&Agent, &Observed)| {
            let mut row = row(agent);
            row.number = numbers.of(&agent.session);
            row.context_percent = percent.get(&agent.session).copied();
            let transcript = session.record.as_ref().and_then(|record| record.transcript.as_deref());
            row.notes.extend(limit_note(&self.home, &agent.session, env.now));
            row.cost = transcript.and_then(|path| shown_cost(&self.costs.of(path, &prices)));
            row
        };
        running.iter().map(row).collect()
    }
}

/// Returns the note of a session that is near a limit, or has reached it: `82% of $5`.
fn limit_note(home: &Home, session: &str, now: Millis) -> Option<String> {
    let furthest = furthest(&measures_of(home, &SessionId::new(session)?, now))?;
    furthest.is_near().then(|| format!("{:.0}% of {}", (furthest.share() * 100.0).floor(), furthest.limit))
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
    row.pane = agent.pane.clone();
    row.place = Some(tracker::place(agent)).filter(|place| place != "-");
    row
}

/// The maximum size of an answer, in bytes.
const MAX_BYTES: usize = 512 * 1024;

/// What runs on the host. The shell of `ssh` does not read the user's profile, and the usual folder is added to its path.
const STATUS: &str = r#"sh -c 'PATH="$HOME/.local/bin:$PATH" exec longhaul status --json'"#;

/// The same with the cost of each session, for which the host reads whole transcripts.
const STATUS_WITH_COST: &str = r#"sh -c 'PATH="$HOME/.local/bin:$PATH" exec longhaul status --json --cost'"#;

#[derive(Debug, Clone, Default)]
pub(crate) struct HostSessions {
    pub(crate) name: String,
    pub(crate) rows: Vec<SessionRow>,
    /// Why they could not be read.
    pub(crate) problem: Option<String>,
}

/// Starts the thread, which ends when there is no receiver any more.
pub(crate) fn follow_host(host: &str, news: Sender<News>) {
    let host = host.to_owned();
    std::thread::spawn(move || {
        let mut costs = BTreeMap::new();
        for round in 0.. {
            if news.send(News::Host(ask_in_round(&host, round, &mut costs))).is_err() {
                return;
            }
            std::thread::sleep(waiting_times::OTHER_HOST_ASKED_AGAIN);
        }
    });
}

/// Asks a host. `costs` are the last that are known, by session.
fn ask_in_round(host: &str, round: usize, costs: &mut BTreeMap<String, String>) -> HostSessions {
    let asks_for_cost = round.is_multiple_of(waiting_times::OTHER_HOST_COSTS_EVERY);
    let began = Instant::now();
    let mut answer = ask(host, if asks_for_cost { STATUS_WITH_COST } else { STATUS });
    // An older version there does not know the option, and says so at once.
    if asks_for_cost && answer.problem.is_some() && began.elapsed() < waiting_times::OTHER_HOST / 2 {
        answer = ask(host, STATUS);
    }
    for row in &mut answer.rows {
        match &row.cost {
            Some(cost) => drop(costs.insert(row.id.session.clone(), cost.clone())),
            None => row.cost = costs.get(&row.id.session).cloned(),
        }
    }
    answer
}

fn ask(host: &str, command: &str) -> HostSessions {
    // BatchMode: ssh asks for no password.
    let connect = format!("ConnectTimeout={}", waiting_times::OTHER_HOST_CONNECT.as_secs());
    let options = ["-o", "BatchMode=yes", "-o", connect.as_str(), "-T"];
    let words = ["ssh"].into_iter().chain(options).chain(["--", host, command]);
    let step = TerminalCommand { argv: words.map(str::to_owned).collect(), stdin: None };
    let answer = run_program_bounded(&step, MAX_BYTES, waiting_times::OTHER_HOST);
    let rows = answer.map_err(|error| error.chain()).and_then(|output| {
        let now = longhaul_runtime::env().now.0 / 1000;
        rows_of_host(host, &output, now).ok_or_else(|| "longhaul is not installed there, or too old".to_owned())
    });
    let (rows, problem) = rows.map_or_else(|problem| (Vec::new(), Some(problem)), |rows| (rows, None));
    HostSessions { name: host.to_owned(), rows, problem }
}

/// What is to be read.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    Screen(RowId, Pane),
    /// The last turn of a session without a pane.
    LastTurn(RowId),
    /// A dialog that is shown to the user, and may have closed meanwhile.
    Dialog(RowId, DialogPane),
}

/// Starts the thread. It ends when the returned sender is dropped.
pub(crate) fn start_preview(home: Home, news: Sender<News>) -> Sender<Task> {
    let (tasks, received) = mpsc::channel();
    std::thread::spawn(move || work(&home, &received, &news));
    tasks
}

fn work(home: &Home, tasks: &Receiver<Task>, news: &Sender<News>) {
    while let Ok(mut task) = tasks.recv() {
        // Only the newest is still wanted.
        while let Ok(newer) = tasks.try_recv() {
            task = newer;
        }
        let result = match task {
            Task::Screen(id, pane) => News::Preview(id, screen(&pane)),
            Task::LastTurn(id) => {
                let rows = last_turn(home, &id.session);
                News::Preview(id, rows)
            }
            Task::Dialog(id, pane) => News::DialogNow(id, pane.read(&longhaul_runtime::env())),
        };
        if news.send(result).is_err() {
            return;
        }
    }
}

fn screen(pane: &Pane) -> Vec<String> {
    let pane = TmuxPane { socket: pane.socket.clone(), pane: pane.id.clone() };
    match inspect_pane(&pane) {
        Ok(Some(inspection)) => plain_rows(&inspection),
        Ok(None) => vec![format!("Pane {} does not exist any more.", pane.pane)],
        Err(error) => vec![error.chain()],
    }
}

fn last_turn(home: &Home, session: &str) -> Vec<String> {
    let turns = home.existing_store().ok().flatten().and_then(|store| store.newest_turns(session, 1).ok());
    let Some(turn) = turns.and_then(|mut turns| turns.pop()) else {
        return vec!["No turn is recorded yet.".to_owned()];
    };
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    [vec![format!("❯ {}", turn.asked.lines().next().unwrap_or_default()), String::new()], lines(&turn.replied)].concat()
}
