//! `longhaul worker`: starts, stops and opens the viewer.

use longhaul_core::Env;
use longhaul_runtime::worker::{self, WorkerFile};
use longhaul_runtime::{Home, ModelStatus, model_status, waiting_times};
use serde_json::{Value, json};

use super::{Exit, out};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Serve the viewer until interrupted; exit 1 if a worker is already running
    Run,
    /// Start the worker in the background and print the address of the viewer
    Start,
    /// Stop the worker
    Stop,
    /// Show whether the worker runs, and its address; exit 1 if it does not run
    Status {
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Open the viewer in the browser; start the worker if it does not run
    Open,
}

pub(crate) fn run(env: &Env, command: &Command) -> anyhow::Result<Exit> {
    let home = Home::of(env)?;
    match command {
        Command::Run => return Ok(Exit::Code(longhaul_worker::main(std::iter::empty()))),
        Command::Start => out::line(&worker::start(&home)?.url())?,
        Command::Stop => {
            let ended = worker::stop(&home)?;
            out::message(if ended { "The worker has stopped." } else { "The worker is not running." });
        }
        Command::Status { json } => return status(env, &home, *json),
        Command::Open => {
            let worker = worker::start(&home)?;
            if worker::open_browser(env, &home, &worker).is_err() {
                out::message("No browser could be opened. Open this address:");
            }
            out::line(&worker.url())?;
        }
    }
    Ok(Exit::Success)
}

fn status(env: &Env, home: &Home, as_json: bool) -> anyhow::Result<Exit> {
    let file = worker::running(home);
    let model = model(env, home)?;
    let health = file.as_ref().and_then(health);
    if as_json {
        out::json(&json!({
            "running": file.is_some(),
            "answers": health.is_some(),
            "pid": file.as_ref().map(|file| file.pid),
            "port": file.as_ref().map(|file| file.port),
            "url": file.as_ref().map(WorkerFile::url),
            "started": file.as_ref().map(|file| file.started),
            "started_by": file.as_ref().map(WorkerFile::started_by),
            "clients": health.as_ref().map(|health| health["clients"].clone()),
            "model": model.as_ref().map(ModelStatus::to_json),
        }))?;
    } else {
        match (&file, &health) {
            (Some(file), Some(health)) => {
                let clients = health["clients"].as_u64().unwrap_or_default();
                let until =
                    if file.for_model { "; started by a hook, exits when the model has nothing to do" } else { "" };
                out::line(&format!("{} (process {}, {clients} pages open{until})", file.url(), file.pid))?;
            }
            (Some(file), None) => out::message(&format!("Process {} runs but does not answer.", file.pid)),
            (None, _) => {
                out::message("The worker is not running. `longhaul worker open` starts it and opens the viewer.")
            }
        }
        // Not shown if no model is enabled.
        if let Some(model) = model.filter(|model| model.enabled) {
            out::line(&model.to_string())?;
        }
    }
    Ok(if health.is_some() { Exit::Success } else { Exit::Problem })
}

/// Returns what a model has cost today; `None` if nothing is stored yet.
fn model(env: &Env, home: &Home) -> anyhow::Result<Option<ModelStatus>> {
    let (config, _) = longhaul_runtime::config(env)?;
    let Some(store) = home.existing_store()? else { return Ok(None) };
    Ok(Some(model_status(&store, home, &config, env.now)?))
}

fn health(file: &WorkerFile) -> Option<Value> {
    serde_json::from_str(&file.ask("/api/health", waiting_times::WORKER_ANSWER)?).ok()
}
