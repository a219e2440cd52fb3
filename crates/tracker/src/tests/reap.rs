//! Who is dead.

use longhaul_core::Status::{self, Blocked, Completed, Idle, Working};

use super::{NOW, agent, live, pane, process};
use crate::{Agent, Process, RemovalReason, dead_agents, stale_agents};

/// A server `/s` with a client in %1, a shell in %2, and a process 70 outside of tmux.
#[track_caller]
fn check(agent: Agent, expected: Option<RemovalReason>) {
    let panes = [live("/s", "%1", 10), live("/s", "%2", 20)];
    let processes = [process(10, 1, "zsh"), process(11, 10, "claude"), process(20, 1, "zsh"), process(70, 1, "claude")];
    let agents = [agent];
    let found = dead_agents(&agents, &["/s"], &panes, &processes, NOW);
    assert_eq!(found.first().map(|(_, why)| *why), expected, "{:?}", agents[0]);
}

fn in_pane(status: Status, age: u64, socket: &str, id: &str) -> Agent {
    Agent { pane: Some(pane(socket, id)), ..agent("s", status, age) }
}

fn with_pid(pid: u32, agent: Agent) -> Agent {
    Agent { pid: Some(pid), ..agent }
}

#[test]
fn a_row_whose_pane_is_gone_goes_whatever_it_was() {
    for status in Status::ALL {
        check(in_pane(status, 0, "/s", "%9"), Some(RemovalReason::PaneGone));
    }
}

#[test]
fn a_row_whose_client_is_gone_goes_unless_it_wants_to_be_seen() {
    for status in [Working, Blocked, Idle] {
        check(in_pane(status, 0, "/s", "%2"), Some(RemovalReason::ClientGone));
        check(in_pane(status, 90_000, "/s", "%1"), None);
    }
    check(in_pane(Completed, 90_000, "/s", "%2"), None);
}

#[test]
fn a_row_of_another_server_is_judged_by_its_client_only() {
    check(in_pane(Working, 90_000, "/t", "%1"), None);
    check(with_pid(70, in_pane(Working, 90_000, "/t", "%9")), None);
    check(in_pane(Working, 90_000, "/t", "%9"), None);
    check(with_pid(71, in_pane(Working, 0, "/t", "%9")), Some(RemovalReason::ClientGone));
}

#[test]
fn a_row_without_a_pane_goes_after_ten_minutes_unless_its_client_lives() {
    check(agent("s", Idle, 600), None);
    check(agent("s", Idle, 601), Some(RemovalReason::Silent));
    check(agent("s", Completed, 601), Some(RemovalReason::Silent));
    check(with_pid(70, agent("s", Working, 90_000)), None);
    check(with_pid(71, agent("s", Working, 601)), Some(RemovalReason::ClientGone));
    check(with_pid(71, agent("s", Working, 1)), Some(RemovalReason::ClientGone));
}

#[test]
fn old_is_what_has_not_changed_for_a_day() {
    let agents = [agent("day", Idle, 86_400), agent("more", Working, 86_401), agent("new", Idle, 0)];
    let found: Vec<(&str, RemovalReason)> =
        stale_agents(&agents, NOW).iter().map(|(agent, why)| (agent.session.as_str(), *why)).collect();
    assert_eq!(found, [("more", RemovalReason::Old)]);
}

#[test]
fn a_client_in_the_pane_keeps_its_row_whatever_its_name() {
    let panes = [live("/s", "%1", 10)];
    let row = || [with_pid(11, in_pane(Working, 0, "/s", "%1"))];
    let is_removed =
        |agents: &[Agent], processes: &[Process]| !dead_agents(agents, &["/s"], &panes, processes, NOW).is_empty();
    assert!(!is_removed(&row(), &[process(10, 1, "zsh"), process(11, 10, "renamed")]));
    assert!(is_removed(&row(), &[process(10, 1, "zsh"), process(11, 1, "renamed")]), "it runs elsewhere");
    assert!(is_removed(&row(), &[process(10, 1, "zsh")]), "it is gone");
    // The pane lists its first process although that has ended.
    let first = [with_pid(10, in_pane(Working, 0, "/s", "%1"))];
    assert!(is_removed(&first, &[]));
    assert!(!is_removed(&first, &[process(10, 1, "renamed")]));
}
