//! `longhaul bridge EVENT`: for the client's own module, which tells what happened and does what the answer says.

use std::time::Duration;

use anyhow::bail;
use longhaul_core::Env;
use longhaul_runtime::bridge::{BridgeEvent, tell};
use longhaul_runtime::read_stdin;

use super::Exit;
use super::out;

/// How long what the module tells is waited for.
const INPUT_LIMIT: Duration = Duration::from_secs(1);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What happened: start, turn, cleared, end, failed, overtaken or trouble
    event: String,
}

/// Prints what the module is to do, as one line of JSON.
pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let Some(event) = BridgeEvent::ALL.into_iter().find(|event| event.as_str() == args.event) else {
        let known: Vec<&str> = BridgeEvent::ALL.map(BridgeEvent::as_str).to_vec();
        bail!("no such event: {:?}; known are {}", args.event, known.join(", "));
    };
    let input = read_stdin(INPUT_LIMIT).unwrap_or_default();
    out::line(&tell(env, event, &input).to_string())?;
    Ok(Exit::Success)
}
