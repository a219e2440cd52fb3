//! The order in which sessions need the user's attention.

use std::cmp::Reverse;

use longhaul_core::Status;

use crate::Agent;

/// The sort key of every list of sessions; the smallest needs attention first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attention {
    status: u8,
    waits_since: u64,
    changed: Reverse<u64>,
    session: String,
}

/// Returns the sort key of `agent`: blocked sessions come first, then completed, working and idle ones.
///
/// Of several blocked or completed sessions, the one that has waited longest comes first. Of the others, the one that
/// changed last comes first. Sessions that work for another one come last.
pub fn attention(agent: &Agent) -> Attention {
    let (status, waits) = match agent.status {
        _ if !agent.is_counted() => (4, false),
        Status::Blocked => (0, true),
        Status::Completed => (1, true),
        Status::Working => (2, false),
        Status::Idle => (3, false),
    };
    Attention {
        status,
        waits_since: if waits { agent.updated_at } else { 0 },
        changed: Reverse(agent.updated_at),
        session: agent.session.clone(),
    }
}
