//! `longhaul send SESSION TEXT`: types a prompt into another session. Waiting and typing are in
//! `runtime/src/typing/send_prompt.rs`.

use std::time::Duration;

use longhaul_core::Env;
use longhaul_runtime::Home;

use super::view::{find_target, send_to};
use super::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of the session in `longhaul status`, its id, or the beginning of its id
    session: String,
    /// The prompt
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// How long to wait for the end of a turn, instead of inject.patience_seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    wait: Option<u64>,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let home = Home::of(env)?;
    let target = find_target(&home, &args.session)?;
    let (config, _) = longhaul_runtime::config(env)?;
    let patience = args.wait.map_or_else(|| config.inject.patience(), Duration::from_secs);
    let waits = |why: &str| out::message(&format!("Waiting up to {} s: {why}", patience.as_secs()));
    out::message(&send_to(env, &home, &target, &args.text.join(" "), patience, &waits)?);
    Ok(Exit::Success)
}
