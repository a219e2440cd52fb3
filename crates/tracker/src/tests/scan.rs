//! Sessions that run without a row.

use longhaul_core::{Millis, Status};

use super::{agent, live, pane, process};
use crate::{Agent, ClientRecord, ClientStatus, FoundSession, Process, scan};

fn record(pid: u32, session: &str, status: ClientStatus) -> ClientRecord {
    ClientRecord {
        pid,
        session: session.to_owned(),
        cwd: Some("/work/r".to_owned()),
        pane: None,
        status,
        waiting_for: None,
        since: Millis(0),
    }
}

/// A client in %1 below a shell, codex in %2, a shell in %3.
fn processes() -> Vec<Process> {
    vec![
        process(10, 1, "zsh"),
        process(11, 10, "claude"),
        process(20, 1, "codex"),
        process(30, 1, "zsh"),
        process(70, 1, "claude"),
    ]
}

fn panes() -> Vec<crate::LivePane> {
    vec![live("/s", "%1", 10), live("/s", "%2", 20), live("/s", "%3", 30)]
}

fn names(found: &[FoundSession]) -> Vec<(&str, Status, &str, Option<&str>)> {
    let mut names = Vec::new();
    for one in found {
        let id = one.pane.as_ref().map(|pane| pane.id.as_str());
        names.push((one.session.as_str(), one.status, one.client, id));
    }
    names
}

#[test]
fn a_record_gives_the_real_session_and_status() {
    for (says, status) in [
        (ClientStatus::Idle, Status::Idle),
        (ClientStatus::Busy, Status::Working),
        (ClientStatus::Waiting, Status::Blocked),
    ] {
        let found = scan(&[], &panes()[..1], &processes(), &[record(11, "real", says)]);
        assert_eq!(names(&found), [("real", status, "claude", Some("%1"))]);
        assert_eq!((found[0].cwd.as_deref(), found[0].target.as_deref()), (Some("/work/r"), Some("main:10.0")));
        assert_eq!(found[0].pid, 11);
    }
    let waits =
        ClientRecord { waiting_for: Some("permission prompt".to_owned()), ..record(11, "real", ClientStatus::Waiting) };
    assert_eq!(scan(&[], &panes()[..1], &processes(), &[waits])[0].reason.as_deref(), Some("permission prompt"));
}

#[test]
fn outside_tmux_a_record_is_a_session_without_a_pane() {
    let found = scan(&[], &[], &processes(), &[record(70, "real", ClientStatus::Busy)]);
    assert_eq!(names(&found), [("real", Status::Working, "claude", None)]);
}

#[test]
fn a_client_with_neither_row_nor_record_gets_a_row_that_stands_in() {
    let found = scan(&[], &panes(), &processes(), &[]);
    let expected = [("scan-1", Status::Idle, "claude", Some("%1")), ("scan-2", Status::Idle, "codex", Some("%2"))];
    assert_eq!(names(&found), expected);
    assert_eq!((found[1].cwd.as_deref(), found[1].pid), (Some("/work/p"), 20));
}

#[test]
fn what_has_a_row_is_not_found_again() {
    let row = |session: &str, id: &str| Agent { pane: Some(pane("/s", id)), ..agent(session, Status::Idle, 0) };
    let records = [record(11, "real", ClientStatus::Idle)];
    let rows = [row("real", "%1"), row("codex-session", "%2")];
    assert_eq!(scan(&rows, &panes(), &processes(), &records), []);
    // A row that only stood in, and a session that /clear has replaced, give way to the real one.
    let rows = [row("scan-1", "%1"), row("scan-2", "%2")];
    assert_eq!(names(&scan(&rows, &panes(), &processes(), &records)), [("real", Status::Idle, "claude", Some("%1"))]);
    // The same number on another server is another pane.
    let rows = [Agent { pane: Some(pane("/t", "%2")), ..agent("x", Status::Idle, 0) }];
    assert_eq!(names(&scan(&rows, &panes()[1..2], &processes(), &[])), [("scan-2", Status::Idle, "codex", Some("%2"))]);
}

#[test]
fn a_client_is_found_once() {
    let records = [record(11, "real", ClientStatus::Busy)];
    assert_eq!(names(&scan(&[], &panes()[..1], &processes(), &records)).len(), 1);
    // A second client in the pane of a recorded session adds no session of its own.
    let mut two = processes();
    two.insert(0, process(12, 10, "codex"));
    assert_eq!(names(&scan(&[], &panes()[..1], &two, &records)), [("real", Status::Working, "claude", Some("%1"))]);
    // A recorded client whose session has a row adds none for its pane, which the row does not know.
    let row = [agent("real", Status::Working, 0)];
    assert_eq!(scan(&row, &panes()[..1], &processes(), &records), []);
    // Another client's record hides nothing.
    let other = [record(70, "outside", ClientStatus::Idle)];
    let found = scan(&[], &panes()[..1], &processes(), &other);
    let expected = [("outside", Status::Idle, "claude", None), ("scan-1", Status::Idle, "claude", Some("%1"))];
    assert_eq!(names(&found), expected);
}
