//! Where a session runs, as its hook or a scan reports it.

use std::path::Path;

use longhaul_core::event::Common;
use longhaul_core::{Env, Millis, SessionId};
use longhaul_inject::Terminal;
use longhaul_store::Sighting;
use longhaul_tracker::Pane;

use crate::git;

/// Where a session runs, according to its hook.
pub(super) struct Place {
    pub(super) session: SessionId,
    pub(super) cwd: Option<String>,
    pub(super) project: String,
    pub(super) branch: Option<String>,
    pub(super) agent_type: Option<&'static str>,
    pub(super) pane: Option<Pane>,
    pub(super) pid: Option<u32>,
}

impl Place {
    pub(super) fn of(env: &Env, common: &Common) -> Self {
        let pane = match Terminal::detect(env) {
            Ok(Terminal::Tmux(pane)) => Some(Pane { socket: pane.socket, id: pane.pane }),
            Ok(_) | Err(_) => None,
        };
        Self { pane, pid: env.client_pid, ..Self::in_dir(common.session.clone(), common.cwd.as_deref()) }
    }

    pub(super) fn in_dir(session: SessionId, cwd: Option<&Path>) -> Self {
        let name = cwd.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let text = cwd.map(|cwd| cwd.to_string_lossy().into_owned());
        let is_worktree = text.as_ref().is_some_and(|cwd| cwd.contains("/.claude/worktrees/"));
        Self {
            session,
            project: name.unwrap_or_else(|| "/".to_owned()),
            branch: cwd.and_then(git::branch),
            agent_type: is_worktree.then_some("worktree"),
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
            agent_type: self.agent_type,
            pane: self.pane.as_ref(),
            target: None,
            client: self.session.client(),
            pid: self.pid,
            at,
        }
    }
}
