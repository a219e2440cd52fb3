//! `longhaul handoff`: shows what the next session of the project continues and is shown, and changes which one that
//! is.

use anyhow::{Context, bail};
use longhaul_core::text::CONTEXT_CHARS;
use longhaul_core::{Config, Env, SessionId, counted, short_session};
use longhaul_handoff::{BatonTrigger, date_of, time_of};
use longhaul_runtime::compaction::{CompactedTurn, compaction_facts, compaction_footer};
use longhaul_runtime::handoff::{Handover, Project, catch_up, render_session};
use longhaul_runtime::{Home, utc_offset_seconds};
use longhaul_store::{Injection, Session, Store, WRITTEN};
use serde_json::json;

use super::sessions::only_one;
use super::{Exit, out};

/// How many lines of the log are shown.
const LOG_LINES: usize = 50;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Print what the next session of this project would be shown
    Show {
        #[command(flatten)]
        which: Which,
        /// Print what the session itself would be given back after a compaction now, before its summary is known
        #[arg(long)]
        compaction: bool,
    },
    /// List what was passed on to new sessions, what was not, and why
    Log {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Write a baton, the note that makes the next session of this project continue the given session
    Write(Which),
    /// Remove all batons of this project
    Drop,
}

#[derive(clap::Args)]
pub(crate) struct Which {
    /// The session to continue: the one whose id begins with ID, instead of the newest session of this project
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<Exit> {
    let Some(store) = Home::of(env)?.existing_store()? else { bail!("nothing is recorded yet") };
    let (config, _) = longhaul_runtime::config(env)?;
    let here = std::env::current_dir().ok();
    let project = Project::of(env, here.as_deref());
    match command {
        Command::Show { which, compaction } => {
            let session = find(&store, &project, which.session.as_deref())?;
            if let Err(error) = catch_up(&store, &session, &config, env.now, u64::MAX, None) {
                out::message(&format!("longhaul: {}", error.chain()));
            }
            if compaction {
                return show_compaction(&store, &session, &config);
            }
            let id = SessionId::new(&session.session).context("the session has no id")?;
            let rendered = render_session(&store, env, &id, Handover::default(), utc_offset_seconds(env.now))?;
            out::text(&rendered.text)?;
            out::message(&format!(
                "{} characters, about {} tokens instead of {}; {} quoted, {} in one line each, {} left out",
                rendered.chars,
                rendered.tokens,
                rendered.tokens + rendered.tokens_saved,
                counted(rendered.quoted, "turn"),
                rendered.in_a_line,
                rendered.omitted
            ));
        }
        Command::Log { json } => show_log(&store.injections(LOG_LINES)?, json)?,
        Command::Write(which) => {
            let session = find(&store, &project, which.session.as_deref())?;
            // Process 0: any session of the project may take the baton.
            store.write_baton(&project.path, 0, &session.session, BatonTrigger::Tl.as_str(), env.now)?;
            out::message(&format!("The next session in {} continues session {}.", project.path, session.session));
        }
        Command::Drop => {
            let what = match store.drop_batons(&project.path)? {
                0 => "There is no baton".to_owned(),
                dropped => format!("Removed {}", counted(dropped, "baton")),
            };
            out::message(&format!("{what} in {}. A later /clear still passes its session on.", project.path));
        }
    }
    Ok(Exit::Success)
}

fn show_compaction(store: &Store, session: &Session, config: &Config) -> anyhow::Result<Exit> {
    let facts = compaction_facts(store, session, CompactedTurn::default())?;
    let given = facts.render(CONTEXT_CHARS, &compaction_footer(store, &session.session)?);
    if given.text.is_empty() {
        out::message("Nothing of this session is recorded that a compaction could lose.");
    } else {
        out::text(&given.text)?;
        out::message(&format!(
            "{} in {} characters; what the summary contains is left out of it",
            given.contents(),
            given.chars
        ));
    }
    for (key, is_on) in
        [("handoff.enabled", config.handoff.enabled), ("handoff.after_compaction", config.handoff.after_compaction)]
    {
        if !is_on {
            out::message(&format!("It is not given back, because {key} is false."));
        }
    }
    Ok(Exit::Success)
}

/// Finds the session that is named, or else the project's newest session with a turn.
pub(crate) fn find(store: &Store, project: &Project, prefix: Option<&str>) -> anyhow::Result<Session> {
    if let Some(prefix) = prefix {
        return only_one(prefix, store.sessions_like(prefix)?, |session| &session.session);
    }
    let mut newest = None;
    for session in store.sessions_of(&project.key)? {
        if session.prompts > 0 || store.has_turns(&session.session)? {
            newest = Some(session);
            break;
        }
    }
    newest.with_context(|| format!("no session is recorded in {}: name one with --session ID", project.path))
}

fn show_log(lines: &[Injection], json: bool) -> anyhow::Result<()> {
    if json {
        let rows: Vec<_> = lines
            .iter()
            .map(|line| {
                json!({
                    "at_ms": line.at.0,
                    "session": line.session,
                    "event": line.event,
                    "predecessor": line.predecessor,
                    "reason": line.reason,
                    "turns": line.turns,
                    "chars": line.chars,
                    "tokens_saved": line.tokens_saved,
                })
            })
            .collect();
        return out::json(&rows);
    }
    if lines.is_empty() {
        out::message("No baton was written and nothing was passed on yet.");
    }
    for line in lines {
        let offset = utc_offset_seconds(line.at);
        let from = line.predecessor.as_deref().map_or("-", short_session);
        let saved = match line.tokens_saved {
            0 if line.chars > 0 => format!("  {} characters", line.chars),
            0 => String::new(),
            saved => format!(
                "  {}, {} characters, {saved} tokens saved",
                counted(usize::try_from(line.turns).unwrap_or(usize::MAX), "turn"),
                line.chars
            ),
        };
        let reason = line.reason.as_deref().unwrap_or_default();
        out::text(&format!(
            "{} {}  {:9}  {} ← {from}  {reason}{saved}",
            date_of(line.at, offset),
            time_of(line.at, offset),
            line.event,
            if line.event == WRITTEN { &line.session } else { short_session(&line.session) }
        ))?;
    }
    Ok(())
}
