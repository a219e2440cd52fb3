//! Where a session runs, as its hook or a scan reports it.

use std::path::Path;

use longhaul_core::event::Common;
use longhaul_core::{Env, Millis, SessionId};
use longhaul_inject::Terminal;
use longhaul_store::Sighting;
use longhaul_tracker::{Pane, agent_type, project_and_worktree};

use crate::{git, process};

/// Where a session runs, according to its hook.
pub(super) struct Place {
    pub(super) session: SessionId,
    pub(super) cwd: Option<String>,
    pub(super) project: String,
    pub(super) branch: Option<String>,
    pub(super) agent_type: Option<String>,
    pub(super) pane: Option<Pane>,
    pub(super) pid: Option<u32>,
}

impl Place {
    pub(super) fn of(env: &Env, common: &Common) -> Self {
        let pane = match Terminal::detect(env) {
            Ok(Terminal::Tmux(pane)) => Some(Pane { socket: pane.socket, id: pane.pane }),
            Ok(_) | Err(_) => None,
        };
        Self {
            pane,
            pid: env.client_pid,
            ..Self::in_dir(
                common.session.clone(),
                common.cwd.as_deref(),
                launched_by(env.launched_by.as_deref(), env.client_pid).as_deref(),
            )
        }
    }

    pub(super) fn in_dir(session: SessionId, cwd: Option<&Path>, launched_by: Option<&str>) -> Self {
        let text = cwd.map(|cwd| cwd.to_string_lossy().into_owned());
        let (project, worktree) = text.as_deref().map_or(("/", None), project_and_worktree);
        Self {
            project: project.to_owned(),
            agent_type: agent_type(session.as_str(), worktree, launched_by),
            session,
            branch: cwd.and_then(git::branch),
            cwd: text,
            pane: None,
            pid: None,
        }
    }

    pub(super) fn sighting(&self, at: Millis) -> Sighting<'_> {
        Sighting {
            session: self.session.as_str(),
            cwd: self.cwd.as_deref(),
            project: &self.project,
            branch: self.branch.as_deref(),
            agent_type: self.agent_type.as_deref(),
            pane: self.pane.as_ref(),
            target: None,
            client: self.session.client(),
            pid: self.pid,
            at,
        }
    }
}

/// Returns the sessions that started a client, separated by commas.
///
/// The client takes the list out of the environment of its hooks, so that its own environment is read where the system allows
/// it. In a command of a session, the variables of that session name it. `inherited` is the list of a hook's own environment.
pub(super) fn launched_by(inherited: Option<&str>, client: Option<u32>) -> Option<String> {
    let of_client = |name| client.and_then(|pid| process::variable(pid, name));
    let session = of_client("CLAUDECODE").and_then(|_| of_client("CLAUDE_CODE_SESSION_ID"));
    let list = of_client("CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS").or_else(|| inherited.map(str::to_owned));
    let sessions: Vec<String> = session.into_iter().chain(list).collect();
    (!sessions.is_empty()).then(|| sessions.join(","))
}
