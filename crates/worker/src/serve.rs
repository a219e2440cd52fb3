//! The process: takes the lock, listens, and exits when it is stopped or has not been used for long. Also the numbers of
//! ports and threads.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use longhaul_core::config;
use longhaul_runtime::worker::{self, Claim, WorkerFile};
use longhaul_runtime::{Error, ErrorLog, Home, waiting_times};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

use crate::connections::Connections;
use crate::embeddings;
use crate::model::{self, For, Summarizer};
use crate::routes::router;
use crate::watch::watch;
use crate::worker::Worker;

/// How many ports are tried, starting with the configured one.
const PORTS: u16 = 100;

/// The number of threads that may block on the database.
const THREADS: usize = 3;

/// The maximum size of the headers.
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
    let started = if args.iter().any(|arg| arg == worker::FOR_MODEL) { For::Hook } else { For::User };
    let env = longhaul_runtime::env();
    match run(started) {
        Ok(Ended::Asked | Ended::Idle) => ExitCode::SUCCESS,
        Ok(Ended::Another(file)) => {
            let place = file.map_or_else(String::new, |file| format!(" at {}", file.url()));
            say(&format!("longhaul: a worker is already running{place}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            let log = ErrorLog::new(&env, "worker");
            log.write(&error.chain());
            if started == For::Hook {
                model::note_failed_start(&env).unwrap_or_else(|error| log.write(&error.chain()));
            }
            say(&format!("longhaul: {}", error.chain()));
            ExitCode::FAILURE
        }
    }
}

/// Prints a message to standard error.
fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Why the worker exits.
enum Ended {
    /// It was stopped.
    Asked,
    /// It was not used for long, or the work for which a hook started it is done.
    Idle,
    /// Another worker is running.
    Another(Option<WorkerFile>),
}

fn run(started: For) -> Result<Ended, Error> {
    let env = longhaul_runtime::env();
    let home = Home::of(&env)?;
    let (config, _) = longhaul_runtime::config(&env)?;
    let claim = match started {
        For::User => Claim::take_for_user(&home)?,
        For::Hook => Claim::take_over(&home)?,
    };
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
        let for_model = started == For::Hook;
        let file = WorkerFile { pid: std::process::id(), port, token, started: env.now.0, for_model };
        let state = Arc::new(Worker::new(&env, file.clone())?);
        claim.publish(&file)?;
        say(&format!("longhaul: {}", file.url()));
        make_database(&state);
        tokio::spawn(watch(Arc::clone(&state)));
        let model = model::start(&home, started);
        let _embedder = embeddings::start(&home);
        serve(listener, state, &model, &claim, idle(&config.worker)).await.map_err(failed)
    });
    // Whatever still runs only reads the database.
    runtime.shutdown_timeout(waiting_times::RESPONSES_AT_END);
    drop(claim);
    if started == For::Hook && matches!(ended, Ok(Ended::Idle)) && model::is_work_waiting(&home)? {
        worker::start_for_model(&home, longhaul_runtime::env().now)?;
    }
    ended
}

/// Creates the database if it does not exist, while requests are accepted already: that takes longer than the rest.
fn make_database(worker: &Worker) {
    let database = Arc::clone(&worker.database);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = database.make() {
            ErrorLog::new(&longhaul_runtime::env(), "worker").write(&error.chain());
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

/// Returns after how long without use the worker exits; `None` for never.
fn idle(config: &config::Worker) -> Option<Duration> {
    Some(config.idle_minutes.as_duration()).filter(|idle| !idle.is_zero())
}

async fn serve(
    listener: TcpListener,
    worker: Arc<Worker>,
    model: &Summarizer,
    claim: &Claim,
    idle: Option<Duration>,
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
            _ = terminate.recv() => break Ended::Asked,
            _ = interrupt.recv() => break Ended::Asked,
            _ = hangup.recv() => break Ended::Asked,
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
async fn unused(worker: &Worker, model: &Summarizer, claim: &Claim, idle: Option<Duration>) {
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
        published.unwrap_or_else(|error| ErrorLog::new(&longhaul_runtime::env(), "worker").write(&error.chain()));
    }
    let Some(idle) = idle else { return std::future::pending().await };
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
