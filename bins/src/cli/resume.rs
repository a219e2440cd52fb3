//! `longhaul resume`: continues a session in this terminal, with the agent that ran it.

use std::path::Path;

use anyhow::{Context, bail};
use longhaul_core::{Env, SessionId};
use longhaul_inject::{TerminalCommand, printable, shell_single_quote};
use longhaul_reopen::{Refusal, SessionPlace, refusal};
use longhaul_runtime::handoff::Project;
use longhaul_runtime::{Home, Shell, reopen, run_program_in_terminal};
use longhaul_store::{Session, Store};

use super::{Exit, handoff, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The session whose id begins with ID, instead of the newest of this project
    #[arg(value_name = "ID")]
    session: Option<String>,
    /// Print the command without running it
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let Some(store) = Home::of(env)?.existing_store()? else { bail!("nothing is recorded yet") };
    let here = std::env::current_dir().ok();
    let session = handoff::find(&store, &Project::of(env, here.as_deref()), args.session.as_deref())?;
    let place = place_of(&store, &session)?;
    let facts = reopen::facts(&place, &Shell::read());
    match refusal(&place, &facts) {
        // It is continued in this terminal, wherever it ran before.
        None | Some(Refusal::NoTmux) => {}
        Some(refusal) => bail!("session {} cannot be resumed: {refusal}", session.session),
    }
    let program = facts.program.with_context(|| format!("there is no {} on the PATH", place.client))?;
    let resume = super::reopen::resume(&program, &place);
    let folder = place.folder.as_deref().unwrap_or("/");
    if args.dry_run {
        let words: Vec<String> = resume.argv.iter().map(|word| shell_single_quote(word)).collect();
        out::text(&printable(&format!("cd {} && {}", shell_single_quote(folder), words.join(" "))))?;
        return Ok(Exit::Success);
    }
    if reopen::is_running(&place) {
        bail!("session {} is open already: `longhaul goto {}` shows its window", session.session, session.session);
    }
    std::env::set_current_dir(folder).with_context(|| format!("cannot enter {folder}"))?;
    let words = std::iter::once("env".to_owned()).chain(resume.variables).chain(resume.argv);
    let is_done = run_program_in_terminal(&TerminalCommand { argv: words.collect(), stdin: None })?;
    Ok(if is_done { Exit::Success } else { Exit::Problem })
}

/// Returns where a session ran: as its hooks recorded it, or else by its project.
fn place_of(store: &Store, session: &Session) -> anyhow::Result<SessionPlace> {
    let recorded = store.session_places()?.into_iter().find(|place| place.session == session.session);
    let mut place = recorded.unwrap_or_else(|| {
        let client = SessionId::new(&session.session).map_or("claude", |id| id.client());
        let mut place = SessionPlace::new(&session.session, client, session.created_at.0);
        let folder = Path::new(&session.project_path);
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        place.folder = real.to_str().map(str::to_owned);
        place
    });
    // After a rewind, Codex writes another transcript than at the start.
    place.transcript = session.transcript.clone().or(place.transcript);
    reopen::add_last_model(&mut place, store)?;
    Ok(place)
}
