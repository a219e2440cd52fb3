//! Three machines over PostgreSQL: whatever happens, their memories of the shared project become equal.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::machine::{Machine, circle, exchange};
use super::postgres_server::PostgresServer;
use crate::dice::Dice;

/// What happens besides the work, in which round: on which machine, and what.
const BETWEEN: [(usize, usize, Between); 8] = [
    (1, 0, Between::Forgets("task 0 of laptop")),
    (1, 1, Between::KeepsToItself),
    (2, 1, Between::Forgets("task 1 of server")),
    (2, 2, Between::Forgets("task 0 of desk")),
    (3, 2, Between::KeepsToItself),
    (3, 0, Between::KeepsToItself),
    (4, 0, Between::Forgets("task 3 of laptop")),
    (4, 2, Between::Forgets("task 4 of desk")),
];

enum Between {
    /// It forgets the session of a prompt of its own.
    Forgets(&'static str),
    /// It does not share the project for a session.
    KeepsToItself,
}

/// Fifteen sessions and as many bookmarks, with kills at random times, forgettings, and projects that are not shared for a while.
#[test]
fn the_memories_of_three_machines_become_equal() {
    let Some(server) = PostgresServer::start() else { return };
    let machines = [Machine::new("laptop"), Machine::new("server"), Machine::new("desk")];
    machines[0].init(&server.new_database("team"));
    machines[1].join(&machines[0]);
    machines[2].join(&machines[0]);
    let mut dice = Dice(22);
    for round in 0..5 {
        for machine in &machines {
            machine.work(&format!("task {round} of {}", machine.name), &format!("done {round} on {}", machine.name));
            machine.bookmark(&format!("mark {round} of {}", machine.name));
            kill_an_exchange(machine, &mut dice);
        }
        for (_, number, what) in BETWEEN.iter().filter(|(when, ..)| *when == round) {
            happens(what, &machines, *number);
        }
    }
    converge(&machines);
    let kept: Vec<Vec<String>> = machines.iter().map(kept_to_itself).collect();
    let shared: Vec<Vec<String>> = machines.iter().zip(&kept).map(|(machine, kept)| without(machine, kept)).collect();
    let count = |kind: &str| shared[0].iter().filter(|row| row.starts_with(kind)).count();
    let forgotten = BETWEEN.iter().filter(|(_, _, what)| matches!(what, Between::Forgets(_))).count();
    assert_eq!((count("prompt "), count("reply ")), (15 - forgotten, 15 - forgotten), "{:#?}", shared[0]);
    assert_eq!(count("bookmark "), 15, "{:#?}", shared[0]);
    for (machine, memory) in machines.iter().zip(&shared) {
        assert_eq!(memory, &shared[0], "{}", machine.name);
        assert_eq!(machine.sandbox.error_log(), "", "{}", machine.name);
    }
    // What was not shared is on its machine, with everything that belongs to it, and nowhere else.
    for (number, rows) in kept.iter().enumerate() {
        for kind in ["prompt ", "reply ", "observation ", "summary "] {
            assert!(rows.iter().any(|row| row.starts_with(kind)), "{kind}: {rows:#?}");
        }
        let others = machines.iter().enumerate().filter(|(other, _)| *other != number);
        for row in others.flat_map(|(_, machine)| machine.memory()) {
            assert!(!rows.contains(&row), "{row}");
        }
    }
    // A repeat sends and fetches nothing, and changes no row of the engine.
    let before = server.sql("team", "SELECT count(*), max(xmin::text::bigint) FROM longhaul.records");
    assert_eq!(machines[0].done(&["now"]), "sent 0 records, fetched 0 records\n");
    assert_eq!(server.sql("team", "SELECT count(*), max(xmin::text::bigint) FROM longhaul.records"), before);
}

/// Starts an exchange and kills it after a random time.
fn kill_an_exchange(machine: &Machine, dice: &mut Dice) {
    let mut child = machine.exchange().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_millis(dice.roll(400)));
    let _ = child.kill();
    let _ = child.wait();
}

/// Exchanges until each machine has seen what each other has.
fn converge(machines: &[Machine]) {
    for _ in 0..2 {
        machines.iter().for_each(|machine| exchange(&[machine]));
    }
}

/// Does what happens between two rounds.
fn happens(what: &Between, machines: &[Machine], number: usize) {
    let machine = &machines[number];
    match what {
        Between::Forgets(prompt) => {
            // The others send it, and it fetches it.
            machines.iter().for_each(|machine| drop(machine.done(&["now"])));
            machine.done(&["now"]);
            machine.forget(prompt);
        }
        Between::KeepsToItself => {
            machine.done(&["now"]);
            machine.done(&["unshare"]);
            machine.work(&format!("kept by {}", machine.name), "not shared");
            machine.done(&["now"]);
            machine.done(&["share"]);
        }
    }
}

/// Returns the rows of the session that a machine did not share.
fn kept_to_itself(machine: &Machine) -> Vec<String> {
    let sql = format!(
        "SELECT s.session_id FROM prompts u JOIN sessions s ON s.id = u.session_id
         WHERE u.prompt = 'kept by {}'",
        machine.name
    );
    let session = format!(" {} ", machine.sandbox.rows(&sql).remove(0));
    machine.memory().into_iter().filter(|row| row.contains(&session)).collect()
}

/// Returns the rows of a machine that are not in `kept`.
fn without(machine: &Machine, kept: &[String]) -> Vec<String> {
    machine.memory().into_iter().filter(|row| !kept.contains(row)).collect()
}

/// The record is gone on both machines, and its ciphertext is gone in the engine.
#[test]
fn forgetting_travels_and_erases_the_ciphertext() {
    let Some((server, a, b)) = circle() else { return };
    a.work("remember the heron", "A heron.");
    a.work("remember the stork", "A stork.");
    exchange(&[&a, &b]);
    assert!(b.remembers("heron") && b.remembers("stork"));
    let payloads = || server.sql("team", "SELECT count(payload) FROM longhaul.records").parse::<u32>().unwrap();
    let before = payloads();
    // What another machine has made is forgotten here only.
    b.forget("remember the stork");
    exchange(&[&b, &a]);
    assert!(!b.remembers("stork") && a.remembers("stork"));
    assert_eq!(payloads(), before);
    a.forget("remember the heron");
    exchange(&[&a, &b]);
    for machine in [&a, &b] {
        assert!(!machine.remembers("heron"), "{}: {:#?}", machine.name, machine.memory());
    }
    assert!(payloads() < before, "{} payloads before, {} now", before, payloads());
}

/// Nothing is shared by default, and what another machine shares waits until the project is shared here, too.
#[test]
fn a_project_is_shared_only_where_the_user_says_so() {
    let Some(server) = PostgresServer::start() else { return };
    let (a, b) = (Machine::new("a"), Machine::new("b"));
    a.done(&["init", &server.new_database("team")]);
    a.work("before the sharing", "x");
    a.done(&["now"]);
    assert_eq!(server.sql("team", "SELECT count(*) FROM longhaul.records"), "0");
    a.done(&["share", "--past"]);
    a.done(&["now"]);
    b.done(&["join", &a.code()]);
    assert!(!b.remembers("before the sharing"));
    let projects = b.done(&["projects"]);
    assert!(projects.contains("no") && projects.contains("project"), "{projects}");
    b.done(&["share"]);
    b.done(&["now"]);
    assert!(b.remembers("before the sharing"));
    let projects = b.done(&["projects"]);
    assert!(projects.contains("/project") && !projects.contains(".git"), "the folder is named: {projects}");
}
