//! `longhaul bridge EVENT`: called by the module inside Claude Code, which reports an event and does what the answer says.

use anyhow::bail;
use longhaul_core::Env;
use longhaul_runtime::bridge::{BridgeEvent, handle};
use longhaul_runtime::{read_stdin, waiting_times};

use super::Exit;
use super::out;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The event, with its payload on standard input: start, turn, cleared, end, failed, overtaken or trouble
    event: String,
}

/// Prints what the module should do, as one line of JSON.
pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let Some(event) = BridgeEvent::ALL.into_iter().find(|event| event.as_str() == args.event) else {
        let known: Vec<&str> = BridgeEvent::ALL.map(BridgeEvent::as_str).to_vec();
        bail!("no such event: {:?}; use one of {}", args.event, known.join(", "));
    };
    let input = read_stdin(waiting_times::COMMAND_INPUT).unwrap_or_default();
    out::line(&handle(env, event, &input).to_string())?;
    Ok(Exit::Success)
}
