//! Three machines over PostgreSQL: whatever happens, their memories of the shared project become equal.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::machine::Machine;
use super::postgres_server::PostgresServer;
use crate::dice::Dice;

/// Thirty sessions, with kills at random times, forgettings, and a project that is shared for a while only.
#[test]
fn the_memories_of_three_machines_become_equal() {
    let Some(server) = PostgresServer::start() else { return };
    let machines = [Machine::new("laptop"), Machine::new("server"), Machine::new("desk")];
    machines[0].init(&server.new_database("team"));
    machines[1].join(&machines[0]);
    machines[2].join(&machines[0]);
    let mut dice = Dice(22);
    for round in 0..10 {
        for machine in &machines {
            machine.work(&format!("task {round} of {}", machine.name), &format!("done {round} on {}", machine.name));
            kill_an_exchange(machine, &mut dice);
        }
        if round == 4 {
            machines[1].done(&["now"]);
            machines[0].done(&["now"]);
            forget(&machines[1], "task 2 of server");
        }
        if round == 6 {
            machines[2].done(&["now"]);
            machines[2].done(&["unshare"]);
            machines[2].work("kept to myself", "not shared");
            machines[2].done(&["now"]);
            machines[2].done(&["share"]);
        }
    }
    converge(&machines);
    let expected = machines[0].memory();
    assert!(expected.iter().filter(|row| row.starts_with("prompt ")).count() >= 28, "{expected:#?}");
    for machine in &machines[1..] {
        let mut memory = machine.memory();
        memory.retain(|row| !row.contains("kept to myself") && !row.contains("desk-7 "));
        let mut others = expected.clone();
        others.retain(|row| !row.contains("desk-7 "));
        assert_eq!(memory, others, "{}", machine.name);
    }
    for machine in &machines {
        assert!(!machine.remembers("task 2 of server"), "{} has forgotten it", machine.name);
        assert_eq!(machine.sandbox.error_log(), "", "{}", machine.name);
    }
    assert!(!machines[0].remembers("kept to myself") && !machines[1].remembers("kept to myself"));
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
        for machine in machines {
            machine.done(&["now"]);
        }
    }
}

/// Forgets the session of a prompt.
fn forget(machine: &Machine, prompt: &str) {
    let sql = format!(
        "SELECT s.session_id FROM user_prompts u JOIN sessions s ON s.id = u.session_id WHERE u.prompt = '{prompt}'"
    );
    let session = machine.rows(&sql).remove(0);
    let outcome = machine.sandbox.longhaul(&["memory", "forget", "--session", &session, "--yes"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
}

/// The record is gone on both machines, and its ciphertext is gone in the engine.
#[test]
fn forgetting_travels_and_erases_the_ciphertext() {
    let Some(server) = PostgresServer::start() else { return };
    let (a, b) = (Machine::new("a"), Machine::new("b"));
    a.init(&server.new_database("team"));
    b.join(&a);
    a.work("remember the heron", "A heron.");
    a.work("remember the stork", "A stork.");
    a.done(&["now"]);
    b.done(&["now"]);
    assert!(b.remembers("heron") && b.remembers("stork"));
    let payloads = || server.sql("team", "SELECT count(payload) FROM longhaul.records").parse::<u32>().unwrap();
    let before = payloads();
    forget(&b, "remember the heron");
    b.done(&["now"]);
    a.done(&["now"]);
    for machine in [&a, &b] {
        assert!(!machine.remembers("heron") && machine.remembers("stork"), "{}: {:#?}", machine.name, machine.memory());
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
    let code = a.done(&["code"]);
    b.done(&["join", code.trim().rsplit(' ').next().unwrap()]);
    assert!(!b.remembers("before the sharing"));
    let projects = b.done(&["projects"]);
    assert!(projects.contains("no") && projects.contains("project"), "{projects}");
    b.done(&["share"]);
    b.done(&["now"]);
    assert!(b.remembers("before the sharing"));
}
