//! The process: takes the lock, listens, and exits when it is stopped or has not been used for long. Also the numbers of
//! ports and threads.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use longhaul_core::{Config, Env, config};
use longhaul_runtime::cost::AllUsage;
use longhaul_runtime::worker::{self, Claim, WorkerFile, new_token};
use longhaul_runtime::{Error, ErrorLog, Home, unless_tested, waiting_times};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use crate::database::{Database, lock};
use crate::embeddings;
use crate::model::{self, Summarizer};
use crate::request_checks::{Bucket, REQUESTS, STRANGERS};
use crate::routes::router;
use crate::stream::Hub;
use crate::watch::{Eyes, watch};

/// How many ports are tried, starting with the configured one.
const PORTS: u16 = 100;

/// The number of threads that may block on the database.
const THREADS: usize = 3;

const HEADER_BYTES: usize = 32 * 1024;

/// How often such a worker checks whether it can exit.
const LINGER_PAUSE: Duration = Duration::from_millis(250);

/// Runs the worker: exit status 0 after it has run, 1 if it cannot run or another one runs.
pub fn main(args: impl Iterator<Item = String>) -> ExitCode {
    let args: Vec<String> = args.collect();
    if let Some(code) = model::guard(args.iter().cloned()) {
        return code;
    }
    if args.iter().any(|arg| arg == "--detached") {
        worker::detach();
    }
    let is_for_model = args.iter().any(|arg| arg == worker::FOR_MODEL);
    match run(is_for_model) {
        Ok(Ended::Stopped | Ended::Idle) => ExitCode::SUCCESS,
        Ok(Ended::Another(file)) => {
            let place = file.map_or_else(String::new, |file| format!(" at {}", file.url()));
            say(&format!("longhaul: a worker is already running{place}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            log(&error.chain());
            if is_for_model {
                model::note_failed_start(&longhaul_runtime::env()).unwrap_or_else(|error| log(&error.chain()));
            }
            say(&format!("longhaul: {}", error.chain()));
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

pub(crate) fn log(text: &str) {
    ErrorLog::new(&longhaul_runtime::env(), "worker").write(text);
}

/// Why the worker exits.
enum Ended {
    Stopped,
    /// It was not used for long, or the work for which a hook started it is done.
    Idle,
    Another(Option<WorkerFile>),
}

/// Runs the worker: for the user, who also stops it, or for a model, until that has nothing to do.
fn run(is_for_model: bool) -> Result<Ended, Error> {
    let env = longhaul_runtime::env();
    let home = Home::of(&env)?;
    let (config, _) = longhaul_runtime::config(&env)?;
    let claim = if is_for_model { Claim::take_over(&home)? } else { Claim::take_for_user(&home)? };
    let Some(claim) = claim else { return Ok(Ended::Another(worker::running(&home))) };
    let failed = |source| Error::Start { program: "the worker's server".to_owned(), source };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .build()
        .map_err(failed)?;
    let ended = runtime.block_on(async {
        let listener = listen(&config.worker).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let token = worker::new_token()?;
        let file = WorkerFile { pid: std::process::id(), port, token, started: env.now.0, for_model: is_for_model };
        let state = Arc::new(Worker::new(&env, file.clone())?);
        claim.publish(&file)?;
        say(&format!("longhaul: {}", file.url()));
        make_database(&state);
        tokio::spawn(watch(Arc::clone(&state)));
        let model = model::start(&home, is_for_model);
        let _embedder = embeddings::start(&home);
        serve(listener, state, &model, &claim, unless_tested("LONGHAUL_IDLE_MS", waiting_times::WORKER_UNUSED))
            .await
            .map_err(failed)
    });
    // Whatever still runs only reads the database.
    runtime.shutdown_timeout(waiting_times::RESPONSES_AT_END);
    drop(claim);
    if is_for_model && matches!(ended, Ok(Ended::Idle)) && model::is_work_waiting(&home)? {
        worker::start_for_model(&home, longhaul_runtime::env().now)?;
    }
    ended
}

/// Creates the database if it does not exist, while requests are accepted already: that takes longer than the rest.
fn make_database(worker: &Worker) {
    let database = Arc::clone(&worker.database);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = database.make() {
            log(&error.chain());
        }
    });
}

/// Listens on the configured port, or on the next free one.
async fn listen(config: &config::Worker) -> io::Result<TcpListener> {
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for port in (0..PORTS).filter_map(|step| config.port.0.checked_add(step)) {
        match TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            bound => return bound,
        }
    }
    Err(last)
}

async fn serve(
    listener: TcpListener,
    worker: Arc<Worker>,
    model: &Summarizer,
    claim: &Claim,
    idle: Duration,
) -> io::Result<Ended> {
    let mut asked = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?];
    let [terminate, interrupt, hangup] = &mut asked;
    let connections = Connections::default();
    // Created once: a clone shares the table of paths.
    let router = router(Arc::clone(&worker));
    let ended = loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => take(stream, &router, &connections),
                // There is no free file descriptor now; try again.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            _ = terminate.recv() => break Ended::Stopped,
            _ = interrupt.recv() => break Ended::Stopped,
            _ = hangup.recv() => break Ended::Stopped,
            () = unused(&worker, model, claim, idle) => break Ended::Idle,
        }
    };
    worker.hub.close();
    Ok(ended)
}

/// Serves a connection, if there is a place for it.
fn take(stream: TcpStream, router: &Router, connections: &Connections) {
    let Some(place) = connections.enter() else { return };
    let _ = stream.set_nodelay(true);
    let (router, caller) = (TowerToHyperService::new(router.clone()), place.caller());
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(caller.clone());
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(waiting_times::REQUEST_HEADERS)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    place.hold(async move {
        // A client that disconnects is not an error.
        let _ = connection.await;
    });
}

/// Waits until the worker was not used for long, or until the work for which a hook started it is done.
async fn unused(worker: &Worker, model: &Summarizer, claim: &Claim, idle: Duration) {
    while !worker.is_kept() {
        if model.idle_for() >= waiting_times::WORKER_STAYS {
            return;
        }
        tokio::time::sleep(LINGER_PAUSE).await;
    }
    if worker.file.for_model {
        // From now on it counts as started by the user, also for `worker run`, which would replace it otherwise.
        let file = WorkerFile { for_model: false, ..worker.file.clone() };
        let published = claim.publish(&file);
        published.unwrap_or_else(|error| log(&error.chain()));
    }
    loop {
        // A running request of a model is paid for, so its answer is waited for.
        if model.is_busy() {
            worker.touch();
        }
        let left = idle.saturating_sub(worker.idle());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(waiting_times::WORKER_CHECKS_IDLE).max(Duration::from_millis(50))).await;
    }
}

const CONNECTIONS: usize = 256;

/// Who is at the other end of a connection. Every request of the connection has it as an extension.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller(Arc<AtomicBool>);

impl Caller {
    /// Records that the caller has shown a key. Its connection is not closed for another one.
    pub(crate) fn trust(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_trusted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The open connections, by the order in which they were opened.
#[derive(Debug, Default)]
struct Connections(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    tasks: BTreeMap<u64, (Caller, Option<AbortHandle>)>,
}

impl Connections {
    /// Returns a place for a new connection; `None` if every connection has shown a key.
    pub(crate) fn enter(&self) -> Option<ConnectionPlace> {
        let mut open = lock(&self.0);
        if open.tasks.len() >= CONNECTIONS {
            let oldest = *open.tasks.iter().find(|(_, (caller, _))| !caller.is_trusted())?.0;
            // The task is dropped later, by the runtime, and finds its place gone.
            if let Some((_, Some(task))) = open.tasks.remove(&oldest) {
                task.abort();
            }
        }
        let (number, caller) = (open.next, Caller::default());
        open.next += 1;
        open.tasks.insert(number, (caller.clone(), None));
        Some(ConnectionPlace { number, caller, open: Arc::clone(&self.0) })
    }
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    number: u64,
    caller: Caller,
    open: Arc<Mutex<Open>>,
}

impl ConnectionPlace {
    pub(crate) fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// Starts the task of the connection, which has the place until it ends.
    pub(crate) fn hold(self, connection: impl Future<Output = ()> + Send + 'static) {
        let (number, open) = (self.number, Arc::clone(&self.open));
        let task = tokio::spawn(async move {
            connection.await;
            drop(self);
        });
        if let Some((_, handle)) = lock(&open).tasks.get_mut(&number) {
            *handle = Some(task.abort_handle());
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        lock(&self.open).tasks.remove(&self.number);
    }
}

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) home: Home,
    pub(crate) env: Env,
    pub(crate) file: WorkerFile,
    /// The key with which the page asks. It is in no file of Longhaul, opens only what the page uses, and ends with this
    /// worker.
    pub(crate) page_key: String,
    pub(crate) database: Arc<Database>,
    pub(crate) hub: Hub,
    pub(crate) eyes: Mutex<Eyes>,
    /// The usage of all transcripts, which `/api/cost` reads on from where it was.
    pub(crate) usage: Mutex<AllUsage>,
    pub(crate) requests: Bucket,
    pub(crate) strangers: Bucket,
    /// Held while two snapshots are compared.
    pub(crate) comparisons: Arc<Semaphore>,
    used: Mutex<Instant>,
    is_kept: AtomicBool,
}

impl Worker {
    pub(crate) fn new(env: &Env, file: WorkerFile) -> Result<Self, Error> {
        let now = Instant::now();
        let home = Home::of(env)?;
        Ok(Self {
            database: Arc::new(Database::open(&home)?),
            home,
            env: env.clone(),
            page_key: new_token()?,
            is_kept: AtomicBool::new(!file.for_model),
            file,
            hub: Hub::default(),
            eyes: Mutex::default(),
            usage: Mutex::default(),
            requests: Bucket::new(REQUESTS.0, REQUESTS.1, now),
            strangers: Bucket::new(STRANGERS.0, STRANGERS.1, now),
            comparisons: Arc::new(Semaphore::new(1)),
            used: Mutex::new(now),
        })
    }

    /// Records that the worker is used.
    pub(crate) fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// Records that the user wants the worker: from now on it counts as started by the user, not by a hook.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Returns whether the user wants the worker, so that it stays while a model has nothing to do.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }

    /// Returns for how long the worker was not used.
    pub(crate) fn idle(&self) -> Duration {
        if self.hub.clients() > 0 {
            self.touch();
        }
        lock(&self.used).elapsed()
    }

    /// Returns the current environment and configuration.
    pub(crate) fn now(&self) -> Result<(Env, Config), Error> {
        let mut env = self.env.clone();
        env.now = longhaul_runtime::env().now;
        let (config, _) = longhaul_runtime::config(&env)?;
        Ok((env, config))
    }
}

#[cfg(test)]
mod tests;
