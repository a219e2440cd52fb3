//! `longhaul send SESSION TEXT`: types a prompt into another session. Waiting and typing are in
//! `runtime/src/typing/send_prompt.rs`.

use std::time::Duration;

use anyhow::{Context, bail};
use longhaul_core::Env;
use longhaul_core::config::OneLineText;
use longhaul_runtime::{Home, PromptOutcome, send_prompt};

use super::session_target::{Target, find_target};
use super::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of the session in `longhaul status`, its id, or the beginning of its id
    session: String,
    /// The prompt
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Give up if the prompt could not be typed within SECONDS, because a turn runs or somebody types; default: the setting inject.patience_seconds
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

/// Sends a prompt to a session that was found, and returns what has happened.
pub(crate) fn send_to(
    env: &Env,
    home: &Home,
    target: &Target,
    text: &str,
    patience: Duration,
    waits: &dyn Fn(&str),
) -> anyhow::Result<String> {
    let project = &target.agent.project;
    let spaced: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let text = OneLineText::new(&spaced).context(
        "a prompt must not be empty, contain control characters, or start with /, !, #, @ or ?: type that in the session itself",
    )?;
    match send_prompt(env, home, &target.record, &text, patience, waits)? {
        PromptOutcome::Received => Ok(format!("{project} has received the prompt.")),
        PromptOutcome::NotSent(why) => bail!("nothing was sent to {project}: {why}"),
        PromptOutcome::NotConfirmed => {
            bail!("the prompt was typed into {project}, but Claude Code has not confirmed it: go there")
        }
    }
}
