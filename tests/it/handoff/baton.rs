//! Which session leaves a baton, and which one takes it.

use std::{fs, thread};

use super::{Client, Session, context};
use crate::sandbox::Sandbox;

#[test]
fn after_clear_the_next_session_is_shown_where_we_are() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "aaaa-old", client.pid());
    old.turn("why does the parser fail", "test parser::quotes ... FAILED", "It loses quotes. I fixed the lexer.");
    old.turn("and the docs?", "docs built", "They are in step now.");
    old.clear();
    let new = Session::new(&sandbox, "bbbb-new", client.pid());
    let shown = new.start("clear");
    assert!(shown.contains("and the docs?") && shown.contains("They are in step now."), "{shown}");
    assert!(shown.contains("why does the parser fail") && !shown.contains("FAILED"), "{shown}");
    assert!(shown.contains("(aaaa-old)"), "{shown}");
    assert!(shown.starts_with("<longhaul-context>") && shown.chars().count() <= 9500, "{shown}");
    new.prompt("go on");

    let detail = new.longhaul(&["detail", "1", "--session", "aaaa"]);
    assert!(detail.stdout.contains("test parser::quotes ... FAILED"), "{detail:?}");
    let events: Vec<String> = new.log().into_iter().map(|line| line.0).collect();
    assert_eq!(events, ["injected", "merged"]);
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn the_memory_of_a_chain_goes_on() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let mut earlier = Vec::new();
    for (n, id) in ["aaaa", "bbbb", "cccc"].iter().enumerate() {
        let session = Session::new(&sandbox, id, client.pid());
        let shown = session.start(if n == 0 { "startup" } else { "clear" });
        assert!(earlier.iter().all(|text| shown.contains(text)), "{shown}");
        let asked = format!("question number {n}");
        session.turn(&asked, "out", "answered");
        earlier.push(asked);
        session.clear();
    }
}

#[test]
fn two_clients_in_one_project_never_swap_memories() {
    let sandbox = Sandbox::new();
    let clients = [Client::new(&sandbox), Client::new(&sandbox)];
    let ids = |round: usize| [format!("left-{round:03}"), format!("right-{round:03}")];
    for round in 0..=20 {
        thread::scope(|scope| {
            for (client, id) in clients.iter().zip(ids(round)) {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    let session = Session::new(sandbox, &id, client.pid());
                    let side = id.split('-').next().unwrap();
                    let shown = session.start(if round == 0 { "startup" } else { "clear" });
                    if round > 0 {
                        let own = format!("{side} asks {}", round - 1);
                        assert!(shown.contains(&own), "{id} was not shown {own}: {shown}");
                        let other = if side == "left" { "right" } else { "left" };
                        assert!(!shown.contains(&format!("{other} asks")), "{id}: {shown}");
                    }
                    session.turn(&format!("{side} asks {round}"), "", "yes");
                    session.clear();
                });
            }
        });
    }
    by_batons_alone(&Session::new(&sandbox, "left-020", clients[0].pid()));
    sandbox.expect_only_waits();
}

#[test]
fn one_that_was_not_shown_the_memory_at_its_start_is_shown_it_at_its_first_prompt() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let real = Session::new(&sandbox, "real", client.pid());
    let old = Session::started(&sandbox, "old", client.pid());
    old.turn("remember the plan", "", "I do.");
    // The other one starts before the baton is written: it finds nothing.
    assert_eq!(real.start("startup"), "");
    old.clear();
    assert!(context(&real.prompt("go on")).contains("remember the plan"));
    assert_eq!(context(&real.prompt("and on")), "");
}

#[test]
fn a_session_that_was_handed_over_and_lives_on_keeps_what_comes_to_itself() {
    let sandbox = Sandbox::new();
    let (here, there) = (Client::new(&sandbox), Client::new(&sandbox));
    let old = Session::started(&sandbox, "old", here.pid());
    old.turn("before", "", "yes");
    assert_eq!(old.prompt("/longhaul:tl")["continue"], false, "it costs nothing");
    // Passed on purpose: another window may take it although this one lives.
    let heir = Session::new(&sandbox, "heir", there.pid());
    assert!(heir.start("startup").contains("before"));
    heir.turn("in the heir", "", "yes");
    old.turn("after, in the old one", "", "yes");
    let shown = heir.longhaul(&["handoff", "show", "--session", "heir"]).stdout;
    assert!(shown.contains("in the heir") && !shown.contains("after, in the old one"), "{shown}");
    old.clear();
    let next = Session::new(&sandbox, "next", here.pid()).start("clear");
    assert!(next.contains("after, in the old one"), "{next}");
}

#[test]
fn tl_as_the_first_prompt_passes_on_what_was_inherited() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    old.turn("remember the plan", "", "I do.");
    old.clear();
    let between = Session::new(&sandbox, "between", client.pid());
    assert!(between.start("clear").contains("remember the plan"));
    between.prompt("/longhaul:tl");
    let last = Session::new(&sandbox, "last", client.pid());
    assert!(last.start("clear").contains("remember the plan"));
}

/// Writes a baton as another client would have.
fn lay(sandbox: &Sandbox, client_pid: u32, session: &str, at: i64) {
    let sql = "INSERT INTO handoff_log (session_id, event, project_path, client_pid, predecessor, reason, created_at)
               SELECT '', 'written', project_path, ?1, ?2, 'tl', ?3 FROM sessions LIMIT 1";
    sandbox.database().execute(sql, (client_pid, session, at)).unwrap();
}

#[test]
fn a_baton_that_is_refused_or_expired_is_dropped_and_the_next_is_taken() {
    let sandbox = Sandbox::new().at(1_794_650_400_000);
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", 0);
    old.turn("remember the plan", "", "I do.");
    let sandbox = sandbox.at(1_794_650_500_000);
    // The own client's comes first, and names nobody; a third is too old.
    lay(&sandbox, client.pid(), "nobody", 1_794_650_400_000);
    lay(&sandbox, 0, "old", 1_794_650_400_000);
    lay(&sandbox, 1_999_999_999, "ancient", 1);
    let new = Session::new(&sandbox, "new", client.pid());
    assert!(new.start("startup").contains("remember the plan"));
    let line = |event: &str, whom: &str, why: &str| (event.to_owned(), whom.to_owned(), why.to_owned());
    let expected = [
        line("discarded", "ancient", "expired"),
        line("refused", "nobody", "predecessor_not_found"),
        line("injected", "old", "tl"),
    ];
    assert_eq!(new.log(), expected);
    // The one that was taken waits for the first prompt.
    let batons = || -> i64 {
        let sql = "SELECT count(*) FROM handoff_log WHERE project_path IS NOT NULL";
        sandbox.database().query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(batons(), 1);
    new.prompt("go on");
    assert_eq!(batons(), 0);
}

#[test]
fn what_another_client_is_working_in_is_not_inherited() {
    let sandbox = Sandbox::new();
    let (here, there) = (Client::new(&sandbox), Client::new(&sandbox));
    let other = Session::started(&sandbox, "other", there.pid());
    other.turn("asked there", "", "yes");
    assert_eq!(Session::new(&sandbox, "new", here.pid()).start("clear"), "");
    drop(there);
    assert!(Session::new(&sandbox, "next", here.pid()).start("clear").contains("asked there"));
}

#[test]
fn clearing_what_was_never_prompted_leaves_the_baton_as_it_was() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    old.turn("remember the plan", "", "I do.");
    old.clear();
    let between = Session::new(&sandbox, "between", client.pid());
    between.start("clear");
    between.clear();
    let new = Session::new(&sandbox, "new", client.pid());
    assert!(new.start("clear").contains("remember the plan"));
    by_batons_alone(&new);
}

/// With the variable, neither SessionEnd nor `/clear` as a prompt writes a baton, and none that another client wrote so is
/// taken; one that the user wrote is.
#[test]
fn without_automatic_handoff_only_a_baton_of_the_user_is_taken() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    old.turn("remember the plan", "", "I do.");
    old.clear();
    let sandbox = sandbox.with_env("LONGHAUL_DISABLE_AUTO_HANDOFF", "1");
    let new = Session::new(&sandbox, "new", client.pid());
    assert_eq!(new.start("clear"), "");
    new.turn("another plan", "", "Yes.");
    new.prompt("/clear");
    new.clear();
    let last = Session::new(&sandbox, "last", client.pid());
    assert_eq!(last.start("clear"), "");
    last.turn("the last plan", "", "Yes.");
    last.prompt("/longhaul:tl");
    last.clear();
    assert!(Session::new(&sandbox, "heir", client.pid()).start("clear").contains("the last plan"));
    let written: Vec<(String, String)> = last
        .whole_log()
        .into_iter()
        .filter(|line| line["event"] == "written")
        .map(|line| (line["predecessor"].as_str().unwrap().to_owned(), line["reason"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(written, [("old".into(), "session_end".into()), ("last".into(), "tl".into())]);
    let log = last.longhaul(&["handoff", "log"]).stdout;
    assert!(log.contains(&format!("written    next of process {} ← old  session_end", client.pid())), "{log}");
    assert!(log.contains("written    next in the project ← last  tl"), "{log}");
}

/// Checks that every session of the log was found by a baton.
#[track_caller]
fn by_batons_alone(session: &Session<'_>) {
    let log = session.log();
    assert!(log.iter().any(|(event, ..)| event == "injected"), "{log:?}");
    assert!(log.iter().all(|(_, _, reason)| reason != "fallback"), "{log:?}");
}

#[test]
fn of_two_that_were_shown_the_same_memory_the_first_to_prompt_has_it() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    old.turn("remember the plan", "", "I do.");
    old.clear();
    let heirs = ["one", "two"].map(|id| Session::new(&sandbox, id, client.pid()));
    for heir in &heirs {
        assert!(heir.start("clear").contains("remember the plan"));
    }
    for heir in &heirs {
        heir.prompt("go on");
    }
    let shown = |heir: &Session<'_>| heir.longhaul(&["handoff", "show", "--session", &heir.id]).stdout;
    assert!(shown(&heirs[0]).contains("remember the plan"));
    assert!(!shown(&heirs[1]).contains("remember the plan"));
    let events: Vec<String> = heirs[0].log().into_iter().map(|line| line.0).collect();
    assert_eq!(events, ["injected", "injected", "merged", "refused"]);
}

#[test]
fn a_fork_is_not_shown_what_it_has_and_never_twice() {
    let sandbox = Sandbox::new();
    let (here, there) = (Client::new(&sandbox), Client::new(&sandbox));
    let origin = Session::started(&sandbox, "origin", here.pid());
    origin.turn("the first question", "", "yes");
    let fork = Session::new(&sandbox, "fork", there.pid());
    fs::copy(origin.transcript(), fork.transcript()).unwrap();
    *fork.last.borrow_mut() = origin.last.borrow().clone();
    fork.written.set(origin.written.get());
    origin.turn("a question after the fork", "", "yes");
    origin.prompt("/longhaul:tl");
    let shown = fork.start("fork");
    assert!(shown.contains("a question after the fork") && !shown.contains("the first question"), "{shown}");
    fork.turn("a question in the fork", "", "yes");
    let mut shown = fork.longhaul(&["handoff", "show", "--session", "fork"]).stdout;
    for next in ["next", "last"] {
        assert_eq!(shown.matches("] the first question").count(), 1, "{shown}");
        let from = if next == "next" { fork.id.clone() } else { "next".to_owned() };
        Session::new(&sandbox, &from, there.pid()).clear();
        let session = Session::new(&sandbox, next, there.pid());
        shown = session.start("clear");
        session.turn(&format!("asked in {next}"), "", "yes");
    }
    assert_eq!(shown.matches("] the first question").count(), 1, "{shown}");
}
