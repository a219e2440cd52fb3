//! Changes that only the record of Claude Code shows.

use longhaul_core::Millis;
use longhaul_core::Status::{self, Blocked, Completed, Idle, Working};

use crate::tests::{NOW, agent, live, pane, process};
use crate::{
    Agent, ClientRecord, ClientStatus, CodexWindow, Process, RemovalReason, Trigger, Viewer, agent_below, codex_window,
    dead_agents, has_been_seen, is_below, may_be_interrupted, reconcile, scan, stale_agents,
};

const HOOK: Millis = Millis(5_000);

/// Soon after the hook, when an older record may not be up to date.
const SOON: Millis = Millis(6_000);

fn record(status: ClientStatus, since: u64) -> ClientRecord {
    ClientRecord {
        pid: 1,
        session: "s".to_owned(),
        cwd: None,
        pane: None,
        status,
        waiting_for: None,
        since: Millis(since),
    }
}

#[track_caller]
fn check(record: &ClientRecord, statuses: [Status; 4], expected: [Option<Trigger>; 4]) {
    for (status, expected) in statuses.into_iter().zip(expected) {
        assert_eq!(reconcile(&agent("s", status, 0), HOOK, record, SOON), expected, "{status:?}, {record:?}");
    }
}

const ORDER: [Status; 4] = [Working, Blocked, Idle, Completed];

#[test]
fn a_newer_record_corrects_what_differs_from_it() {
    let idle = Some(Trigger::ClientIdle);
    check(&record(ClientStatus::Idle, 5_001), ORDER, [idle, idle, None, None]);
    let busy = Some(Trigger::ClientBusy);
    check(&record(ClientStatus::Busy, 5_001), ORDER, [None, busy, busy, busy]);
    let waiting = Some(Trigger::ClientWaiting);
    check(&record(ClientStatus::Waiting, 5_001), ORDER, [waiting, None, waiting, waiting]);
    // At the same moment the record, which is written on every change, is the later word.
    check(&record(ClientStatus::Idle, 5_000), ORDER, [idle, idle, None, None]);
}

#[test]
fn an_older_record_and_that_of_another_session_are_ignored() {
    for status in [ClientStatus::Idle, ClientStatus::Busy, ClientStatus::Waiting] {
        check(&record(status, 4_999), ORDER, [None; 4]);
        check(&ClientRecord { session: "other".to_owned(), ..record(status, 9_000) }, ORDER, [None; 4]);
    }
}

#[test]
fn idle_after_a_stop_is_completed() {
    let record = record(ClientStatus::Idle, 9_000);
    for (status, expected) in [
        (Working, Some(Trigger::ClientIdleAfterStop)),
        (Blocked, Some(Trigger::ClientIdleAfterStop)),
        (Idle, None),
        (Completed, None),
    ] {
        let stopped = Agent { stopped: true, ..agent("s", status, 0) };
        assert_eq!(reconcile(&stopped, HOOK, &record, SOON), expected, "{status:?}");
    }
}

#[test]
fn a_dialog_that_the_user_opened_blocks_a_running_turn_only() {
    let opened = ClientRecord { waiting_for: Some("dialog open".to_owned()), ..record(ClientStatus::Waiting, 9_000) };
    check(&opened, ORDER, [Some(Trigger::ClientInDialog), None, None, None]);
    let asks = ClientRecord { waiting_for: Some("permission prompt".to_owned()), ..opened };
    let waiting = Some(Trigger::ClientWaiting);
    check(&asks, ORDER, [waiting, None, waiting, waiting]);
}

#[test]
fn an_older_record_is_believed_if_it_stands_for_three_seconds_after_the_hook() {
    for (status, trigger) in
        [(ClientStatus::Idle, Trigger::ClientIdle), (ClientStatus::Waiting, Trigger::ClientWaiting)]
    {
        for (now, expected) in [(7_999, None), (8_000, Some(trigger))] {
            let record = record(status, 4_000);
            assert_eq!(reconcile(&agent("s", Working, 0), HOOK, &record, Millis(now)), expected, "{status:?} {now}");
        }
    }
}

#[test]
fn a_turn_that_failed_stays_shown_while_the_client_is_idle() {
    let failed = Agent { failed: true, ..agent("s", Blocked, 0) };
    assert_eq!(reconcile(&failed, HOOK, &record(ClientStatus::Idle, 9_000), SOON), None);
    let busy = record(ClientStatus::Busy, 9_000);
    assert_eq!(reconcile(&failed, HOOK, &busy, SOON), Some(Trigger::ClientBusy));
}

#[test]
fn after_the_clock_was_set_back_the_record_is_believed() {
    let agent = agent("s", Working, 0);
    let idle = record(ClientStatus::Idle, 5_000);
    // A hook an hour in the future, and one that is only a little ahead.
    assert_eq!(reconcile(&agent, Millis(3_600_000), &idle, Millis(6_000)), Some(Trigger::ClientIdle));
    assert_eq!(reconcile(&agent, Millis(7_000), &idle, Millis(6_000)), None);
}

#[test]
fn only_a_silent_session_that_should_work_may_be_interrupted() {
    let mut agent = Agent::new("s", 1);
    agent.status = Status::Working;
    assert!(may_be_interrupted(&agent, Millis(1_000), Millis(11_000)));
    assert!(!may_be_interrupted(&agent, Millis(1_001), Millis(11_000)));
    agent.status = Status::Idle;
    assert!(!may_be_interrupted(&agent, Millis(0), Millis(1_000_000)));
}

#[test]
fn the_end_of_a_turn_on_the_screen_is_seen_by_somebody_who_is_there() {
    let ended = |age| Agent { pane: Some(pane("/s", "%1")), ..agent("s", Completed, age) };
    let check = |age, id: &str, focused, idle_seconds, expected| {
        let viewer = Viewer { pane: id.to_owned(), focused, idle_seconds };
        assert_eq!(has_been_seen(&ended(age), std::slice::from_ref(&viewer), NOW, 5), expected, "{age} {viewer:?}");
    };
    // Not before a refresh, whatever is known.
    check(4, "%1", Some(true), 0, false);
    check(5, "%1", Some(true), 1000, true);
    check(1000, "%1", Some(false), 0, false);
    check(1000, "%2", Some(true), 0, false);
    // Without a report of the focus, a key since then.
    check(5, "%1", None, 5, false);
    check(5, "%1", None, 4, true);
    assert!(!has_been_seen(&ended(1000), &[], NOW, 0));
}

fn window(pid: u32, shows_prompt: bool, resumed: Option<&str>) -> CodexWindow {
    CodexWindow { pid, shows_prompt, resumed: resumed.map(str::to_owned) }
}

#[track_caller]
fn check_codex_window(windows: &[CodexWindow], recorded: Option<u32>, expected: Option<u32>) {
    assert_eq!(codex_window(windows, "own", recorded), expected, "{windows:?}");
}

#[test]
fn a_single_window_is_the_one() {
    check_codex_window(&[window(1, false, None)], None, Some(1));
    check_codex_window(&[], Some(1), None);
}

#[test]
fn the_screen_with_the_prompt_decides() {
    check_codex_window(&[window(1, false, None), window(2, true, None)], None, Some(2));
    check_codex_window(&[window(1, false, None), window(2, true, None)], Some(1), Some(2));
}

#[test]
fn the_record_decides_where_the_screens_do_not() {
    let neither = [window(1, false, None), window(2, false, None)];
    check_codex_window(&neither, Some(2), Some(2));
    check_codex_window(&neither, None, None);
    check_codex_window(&neither, Some(3), None);
    let both = [window(1, true, None), window(2, true, None)];
    check_codex_window(&both, Some(1), Some(1));
    check_codex_window(&both, None, None);
    check_codex_window(&[window(1, true, None), window(2, true, None), window(3, false, None)], Some(3), None);
}

#[test]
fn a_window_that_was_started_for_the_session_is_it_unless_there_are_two() {
    let other = window(2, false, Some("other"));
    check_codex_window(&[window(1, false, Some("own")), other.clone()], None, Some(1));
    check_codex_window(&[window(1, false, Some("own")), window(3, false, Some("own")), other], None, None);
}

// Sessions that run without a row.

fn record_of(pid: u32, session: &str, status: ClientStatus) -> ClientRecord {
    ClientRecord { pid, session: session.to_owned(), cwd: Some("/work/r".to_owned()), ..record(status, 0) }
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

fn names(found: &[Agent]) -> Vec<(&str, Status, &str, Option<&str>)> {
    let mut names = Vec::new();
    for session in found {
        let id = session.pane.as_ref().map(|pane| pane.id.as_str());
        names.push((session.session.as_str(), session.status, session.client.as_str(), id));
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
        let found = scan(&[], &panes()[..1], &processes(), &[record_of(11, "real", says)]);
        assert_eq!(names(&found), [("real", status, "claude", Some("%1"))]);
        assert_eq!((found[0].cwd.as_deref(), found[0].target.as_deref()), (Some("/work/r"), Some("main:10.0")));
        assert_eq!(found[0].pid, Some(11));
    }
    let waits = ClientRecord {
        waiting_for: Some("permission prompt".to_owned()),
        ..record_of(11, "real", ClientStatus::Waiting)
    };
    assert_eq!(scan(&[], &panes()[..1], &processes(), &[waits])[0].reason.as_deref(), Some("permission prompt"));
}

#[test]
fn outside_tmux_a_record_is_a_session_without_a_pane() {
    let found = scan(&[], &[], &processes(), &[record_of(70, "real", ClientStatus::Busy)]);
    assert_eq!(names(&found), [("real", Status::Working, "claude", None)]);
}

#[test]
fn a_client_with_neither_row_nor_record_gets_a_row_that_stands_in() {
    let found = scan(&[], &panes(), &processes(), &[]);
    let expected = [("scan-1", Status::Idle, "claude", Some("%1")), ("scan-2", Status::Idle, "codex", Some("%2"))];
    assert_eq!(names(&found), expected);
    assert_eq!((found[1].cwd.as_deref(), found[1].pid), (Some("/work/p"), Some(20)));
}

#[test]
fn what_has_a_row_is_not_found_again() {
    let row = |session: &str, id: &str| Agent { pane: Some(pane("/s", id)), ..agent(session, Status::Idle, 0) };
    let records = [record_of(11, "real", ClientStatus::Idle)];
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
    let records = [record_of(11, "real", ClientStatus::Busy)];
    assert_eq!(names(&scan(&[], &panes()[..1], &processes(), &records)).len(), 1);
    // A second client in the pane of a recorded session adds no session of its own.
    let mut two = processes();
    two.insert(0, process(12, 10, "codex"));
    assert_eq!(names(&scan(&[], &panes()[..1], &two, &records)), [("real", Status::Working, "claude", Some("%1"))]);
    // A recorded client whose session has a row adds none for its pane, which the row does not know.
    let row = [agent("real", Status::Working, 0)];
    assert_eq!(scan(&row, &panes()[..1], &processes(), &records), []);
    // Another client's record_of hides nothing.
    let other = [record_of(70, "outside", ClientStatus::Idle)];
    let found = scan(&[], &panes()[..1], &processes(), &other);
    let expected = [("outside", Status::Idle, "claude", None), ("scan-1", Status::Idle, "claude", Some("%1"))];
    assert_eq!(names(&found), expected);
}

// Which process is a client.

#[track_caller]
fn check_processes(name: &str, arguments: &str, expected: Option<&str>) {
    let client = Process { arguments: arguments.to_owned(), ..process(3, 2, name) };
    let found = agent_below(1, &[process(1, 0, "tmux"), process(2, 1, "zsh"), client]);
    assert_eq!(found.map(|(_, client)| client), expected, "{name} {arguments}");
    assert!(found.is_none_or(|(pid, _)| pid == 3));
}

#[test]
fn a_client_is_known_by_its_name_or_by_the_script_it_is() {
    check_processes("claude", "", Some("claude"));
    check_processes("codex", "", Some("codex"));
    check_processes("gemini", "", Some("gemini"));
    check_processes("claude-code-x", "", None);
    check_processes("vim", "claude", None);
    check_processes("node", "node /usr/local/bin/gemini", Some("gemini"));
    check_processes("node", "/opt/homebrew/bin/codex --full-auto", Some("codex"));
    check_processes("node", "node --no-warnings=x --enable-source-maps /a/bin/claude", Some("claude"));
    check_processes("node", "/usr/bin/node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js -c", Some("claude"));
    check_processes("MainThread", "node /x/node_modules/@google/gemini-cli/dist/index.js", Some("gemini"));
    check_processes("bun", "bun /x/node_modules/@openai/codex/bin/codex.js", Some("codex"));
}

#[test]
fn a_program_that_only_mentions_one_is_none() {
    check_processes("node", "node /home/claude/server.js", None);
    check_processes("node", "node /work/gemini/app.js --model claude", None);
    check_processes("node", "node server.js gemini", None);
    check_processes("node", "node", None);
    check_processes("node", "", None);
}

#[test]
fn below_is_the_process_itself_and_all_under_it() {
    let processes = [process(10, 1, "sh"), process(11, 10, "sh"), process(12, 11, "claude"), process(20, 1, "sh")];
    assert!(is_below(10, 10, &processes) && is_below(12, 10, &processes));
    assert!(!is_below(10, 12, &processes) && !is_below(12, 20, &processes) && !is_below(99, 10, &processes));
    assert_eq!(agent_below(10, &processes), Some((12, "claude")));
    assert_eq!(agent_below(12, &processes), Some((12, "claude")));
    assert_eq!(agent_below(20, &processes), None);
}

#[test]
fn parents_are_followed_for_sixty_four_processes() {
    let processes: Vec<Process> = (1..100).map(|pid| process(pid, pid - 1, "sh")).collect();
    assert!(is_below(64, 1, &processes));
    assert!(!is_below(65, 1, &processes));
}

#[test]
fn a_circle_of_parents_ends() {
    let processes = [process(1, 2, "a"), process(2, 1, "claude")];
    assert!(!is_below(1, 9, &processes));
    assert_eq!(agent_below(9, &processes), None);
}

// Who is dead.

/// A server `/s` with a client in %1, a shell in %2, and a process 70 outside of tmux.
#[track_caller]
fn check_dead(agent: Agent, expected: Option<RemovalReason>) {
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
        check_dead(in_pane(status, 0, "/s", "%9"), Some(RemovalReason::PaneGone));
    }
}

#[test]
fn a_row_whose_client_is_gone_goes_unless_it_wants_to_be_seen() {
    for status in [Working, Blocked, Idle] {
        check_dead(in_pane(status, 0, "/s", "%2"), Some(RemovalReason::ClientGone));
        check_dead(in_pane(status, 90_000, "/s", "%1"), None);
    }
    check_dead(in_pane(Completed, 90_000, "/s", "%2"), None);
}

#[test]
fn a_row_of_another_server_is_judged_by_its_client_only() {
    check_dead(in_pane(Working, 90_000, "/t", "%1"), None);
    check_dead(with_pid(70, in_pane(Working, 90_000, "/t", "%9")), None);
    check_dead(in_pane(Working, 90_000, "/t", "%9"), None);
    check_dead(with_pid(71, in_pane(Working, 0, "/t", "%9")), Some(RemovalReason::ClientGone));
}

#[test]
fn a_row_without_a_pane_goes_after_ten_minutes_unless_its_client_lives() {
    check_dead(agent("s", Idle, 600), None);
    check_dead(agent("s", Idle, 601), Some(RemovalReason::Silent));
    check_dead(agent("s", Completed, 601), Some(RemovalReason::Silent));
    check_dead(with_pid(70, agent("s", Working, 90_000)), None);
    check_dead(with_pid(71, agent("s", Working, 601)), Some(RemovalReason::ClientGone));
    check_dead(with_pid(71, agent("s", Working, 1)), Some(RemovalReason::ClientGone));
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
