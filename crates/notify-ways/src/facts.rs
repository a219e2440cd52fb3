//! What the decision needs to know of a session, and what a notification says of it.

use longhaul_core::config::{NotifyState, OtherSession};
use longhaul_core::{Env, Millis, SessionId, Status};
use longhaul_memory::redact_command;
use longhaul_notify::{Attention, Focus, SessionNow, TmuxClient, attention, attention_by_draft};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Home, is_headless, open_draft_at, tty, variable};
use longhaul_store::NotifyEvent;
use longhaul_tracker::Agent;

use crate::outgoing::{Display, Outgoing, OwnTerminal};
use crate::question::Question;

/// Returns the session as the decision sees it. `question` is that of the change, if the hook has passed one on.
pub(crate) fn session_now(agent: &Agent, env: &Env, question: Option<&Question>) -> SessionNow {
    let mut session = SessionNow::new(agent.status, Millis(agent.touched_ms));
    session.prompted = agent.prompt_ms.map(Millis);
    session.other = kind(agent, env, &question.cloned().unwrap_or_else(|| Question::of(agent)));
    session
}

/// Returns which kind of session it is; `None` for one of the user's own.
fn kind(agent: &Agent, env: &Env, question: &Question) -> Option<OtherSession> {
    match agent.status {
        _ if !agent.is_counted() => Some(OtherSession::Teammate),
        _ if agent.pid.is_some_and(|pid| is_headless(env, pid)) => Some(OtherSession::Print),
        Status::Blocked if question.asked_by.is_some() => Some(OtherSession::Subagent),
        _ => None,
    }
}

/// Returns what the user does with the session: by the draft that the bridge has reported, or else by its pane.
pub(crate) fn attention_to(agent: &Agent, env: &Env, at: Millis, now: Millis, away_ms: u64) -> Attention {
    let session = SessionId::new(&agent.session);
    let draft = Home::of(env).ok().zip(session).and_then(|(home, session)| open_draft_at(&home, &session));
    attention_by_draft(draft, now, attention_to_pane(agent, at, now, away_ms))
}

/// Returns what the user does with the session's pane. Without a pane, or if tmux does not answer, that is not known.
fn attention_to_pane(agent: &Agent, at: Millis, now: Millis, away_ms: u64) -> Attention {
    let Some(pane) = &agent.pane else { return Attention::Elsewhere };
    let clients = Server::at(&pane.socket).clients().unwrap_or_default();
    let clients: Vec<TmuxClient> = clients
        .into_iter()
        .map(|client| TmuxClient {
            pane: client.pane,
            focus: match client.focused {
                Some(true) => Focus::Focused,
                Some(false) => Focus::Unfocused,
                None => Focus::NotReported,
            },
            active_at: client.active_at,
        })
        .collect();
    attention(&pane.id, &clients, at, now, away_ms)
}

/// Returns the notification about a session.
pub(crate) fn outgoing(event: &NotifyEvent, agent: &Agent, question: Option<&Question>) -> Outgoing {
    let question = question.cloned().unwrap_or_else(|| Question::of(agent));
    let cause = match event.state {
        NotifyState::Blocked => question.wants.as_ref().or(agent.reason.as_ref()),
        NotifyState::Failed | NotifyState::Limit => agent.reason.as_ref(),
        NotifyState::Completed => None,
    };
    let message = longhaul_notify::Message { title: String::new(), text: String::new() };
    let mut outgoing = Outgoing {
        session: event.session.clone(),
        state: event.state,
        at: event.at,
        project: agent.project.clone(),
        branch: agent.branch.clone(),
        // It leaves the machine, so secrets are replaced whatever the configuration says.
        waits_for: cause.map(|cause| redact_command(cause)),
        turn_ms: agent.prompt_ms.map(|prompt| event.at.since(Millis(prompt))),
        message,
        display: display(agent),
    };
    outgoing.message = longhaul_notify::Message::new(&outgoing.subject());
    outgoing
}

fn display(agent: &Agent) -> Display {
    match &agent.pane {
        Some(pane) => Display { server: Some(Server::at(&pane.socket)), tty: None },
        None => Display { server: None, tty: agent.pid.and_then(own_terminal) },
    }
}

/// Returns the terminal of a process.
pub(crate) fn own_terminal(pid: u32) -> Option<OwnTerminal> {
    let value = |name: &str| variable(pid, name).unwrap_or_default();
    let path = tty(pid).filter(|path| path.starts_with("/dev/pts/") || path.starts_with("/dev/tty"))?;
    Some(OwnTerminal { path, term: value("TERM"), program: value("TERM_PROGRAM") })
}
