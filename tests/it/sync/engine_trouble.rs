//! An engine that is down, slow, cut off, or refuses: hooks go on, `sync status` names it, and the next exchange goes on.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::machine::{Machine, circle, exchange};
use super::postgres_server::PostgresServer;
use super::proxy::{Proxy, Trouble};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::Sandbox;

#[track_caller]
fn status_names(machine: &Machine, expected: &str) {
    let status = machine.sync(&["status"]);
    assert_eq!(status.status, Some(1), "{status:?}");
    assert!(status.stdout.contains("Last error:") && status.stdout.contains(expected), "{}", status.stdout);
    assert!(!status.stdout.contains("hunter2"), "{}", status.stdout);
    let doctor = machine.sandbox.longhaul(&["doctor"]).stdout;
    assert!(doctor.contains("the last exchange failed"), "{doctor}");
}

#[test]
fn a_server_that_is_down_is_named_and_the_next_exchange_goes_on() {
    let Some((mut server, a, b)) = circle() else { return };
    a.work("find the kingfisher", "Found.");
    server.stop();
    let error = a.refused(&["now"]);
    assert!(error.contains("cannot reach postgres://admin@") && !error.contains("hunter2"), "{error}");
    status_names(&a, "cannot reach postgres://admin@");
    a.work("find the dipper", "Found.");
    server.resume();
    exchange(&[&a, &b]);
    assert!(b.remembers("kingfisher") && b.remembers("dipper"));
    assert_eq!(a.sync(&["status"]).status, Some(0));
    server.kill();
    server.resume();
    assert_eq!(b.done(&["now"]), "sent 0 records, fetched 0 records\n");
}

/// The connection ends in the middle of an answer, and of a request; then everything is there once.
#[test]
fn a_connection_that_is_cut_loses_nothing() {
    let Some(server) = PostgresServer::start() else { return };
    let url = server.new_database("team");
    let proxy = Proxy::start(&server.socket_dir().join(".s.PGSQL.5432"));
    let through = url.replace(&server.socket_dir().display().to_string(), &proxy.dir().display().to_string());
    let (a, b) = (Machine::new("a"), Machine::new("b"));
    a.init(&url);
    b.join(&a);
    for number in 0..6 {
        a.work(&format!("long task {number} {}", "word ".repeat(400)), "Done.");
    }
    // Through the proxy, and cut after more and more bytes.
    a.sandbox.write_config(&json!({ "sync": { "enabled": false, "url": through } }).to_string());
    b.sandbox.write_config(&json!({ "sync": { "enabled": false, "url": through } }).to_string());
    for machine in [&a, &b] {
        let mut bytes = 200;
        loop {
            proxy.set(Trouble::CutAfter(bytes));
            let outcome = machine.sync(&["now"]);
            if outcome.status == Some(0) {
                break;
            }
            assert!(outcome.stderr.contains("postgres://"), "{outcome:?}");
            bytes = bytes * 3 / 2;
        }
    }
    proxy.set(Trouble::None);
    assert_eq!(a.memory(), b.memory());
    assert_eq!(server.sql("team", "SELECT count(*) - count(DISTINCT id) FROM longhaul.records"), "0");
}

/// Six seconds for each answer: the exchange takes its time, and a hook takes none of it.
#[test]
fn a_slow_server_slows_down_no_hook() {
    let Some(server) = PostgresServer::start() else { return };
    let url = server.new_database("team");
    let proxy = Proxy::start(&server.socket_dir().join(".s.PGSQL.5432"));
    let through = url.replace(&server.socket_dir().display().to_string(), &proxy.dir().display().to_string());
    let a = Machine::with_config("a", &json!({}));
    a.init(&url);
    a.sandbox.write_config(&json!({ "sync": { "url": through } }).to_string());
    proxy.set(Trouble::Delay(Duration::from_secs(6)));
    a.fire("s", "UserPromptSubmit", json!({ "prompt": "find the wren" }));
    let started = Instant::now();
    a.fire("s", "Stop", json!({ "last_assistant_message": "Found." }));
    let took = started.elapsed();
    assert!(took < Duration::from_secs(6), "{took:?}");
    proxy.set(Trouble::None);
    a.fire("s", "SessionEnd-prompt_input_exit", json!({}));
    a.done(&["now"]);
    assert_ne!(server.sql("team", "SELECT count(payload) FROM longhaul.records"), "0");
}

#[test]
fn what_a_server_or_a_circle_refuses_is_named() {
    let Some(server) = PostgresServer::start() else { return };
    let a = Machine::new("a");
    let url = server.new_database("team");
    a.init(&url);
    let with_url = |url: &str| {
        a.sandbox.write_config(&json!({ "sync": { "enabled": false, "url": url } }).to_string());
    };
    with_url(&url.replace("hunter2-admin", "hunter2-wrong"));
    assert!(a.refused(&["now"]).contains("refused the login"));
    status_names(&a, "refused the login");
    with_url(&format!("{url}&sslmode=verify-full"));
    assert!(a.sync(&["now"]).status == Some(0), "a socket has no TLS");
    with_url(&url);

    // Another key, of the right form.
    let key = a.sandbox.data_dir().join("sync.key");
    let words = std::fs::read_to_string(&key).unwrap();
    std::fs::write(&key, format!("{} art", "abandon ".repeat(23).trim())).unwrap();
    let records = server.sql("team", "SELECT count(*) FROM longhaul.records");
    a.work("with a wrong key", "x");
    assert!(a.refused(&["now"]).contains("the key does not open the circle"));
    assert_eq!(server.sql("team", "SELECT count(*) FROM longhaul.records"), records, "nothing was written");
    std::fs::write(&key, "not a key").unwrap();
    assert!(a.refused(&["now"]).contains("a key has 24 words"));
    std::fs::write(&key, words).unwrap();

    server.sql("team", "INSERT INTO longhaul.schema VALUES (99)");
    assert!(a.refused(&["now"]).contains("update longhaul"));
    status_names(&a, "schema 99");
    server.sql("team", "DELETE FROM longhaul.schema WHERE version = 99");
    a.done(&["now"]);
}

/// The key is replaced: a machine that has left cannot read on, one that joins again reads everything.
#[test]
fn after_a_rotation_only_the_new_key_opens_the_circle() {
    let Some((_server, a, b)) = circle() else { return };
    a.work("before the rotation", "x");
    a.done(&["now"]);
    a.done(&["rotate"]);
    a.work("after the rotation", "y");
    a.done(&["now"]);
    assert!(b.refused(&["now"]).contains("join again"));
    assert!(!b.remembers("after the rotation"));
    b.join(&a);
    b.done(&["now"]);
    assert!(b.remembers("before the rotation") && b.remembers("after the rotation"));
    b.done(&["leave"]);
    assert!(b.refused(&["now"]).contains("has no circle"));
    assert!(b.remembers("after the rotation"), "what was fetched stays");
    assert!(!b.sandbox.data_dir().join("sync.key").exists());
}

/// Makes the disk of a server full, as far as records are concerned; returns the statement that makes space.
pub(super) fn fill_disk(server: &PostgresServer) -> &'static str {
    server.sql(
        "team",
        "CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
         END $$;
         CREATE TRIGGER no_space BEFORE INSERT ON longhaul.records FOR EACH ROW EXECUTE FUNCTION no_space();",
    );
    "DROP TRIGGER no_space ON longhaul.records; DROP FUNCTION no_space()"
}

/// Hooks go on, the status names it, what others have sent is fetched, and with space again it goes on by itself.
#[test]
fn a_server_whose_disk_is_full_is_named_and_the_exchange_goes_on_by_itself() {
    let Some(server) = PostgresServer::start() else { return };
    let (mut a, b) = (Machine::with_config("a", &json!({})), Machine::new("b"));
    a.init(&server.new_database("team"));
    b.join(&a);
    b.work("find the redwing", "Found.");
    b.done(&["now"]);
    let make_space = fill_disk(&server);
    let started = Instant::now();
    a.work("find the fieldfare", "Found.");
    let took = started.elapsed();
    assert!(took < Duration::from_secs(30), "five hooks took {took:?}");
    wait_until(DEADLINE, "the failed exchange", || a.sync(&["status"]).stdout.contains("no space left"));
    status_names(&a, "no space left: could not extend file: No space left on device");
    assert!(a.remembers("redwing"), "what others have sent is fetched");

    server.sql("team", make_space);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    a.sandbox = std::mem::replace(&mut a.sandbox, Sandbox::new()).at(now + 120_000);
    a.fire("later", "SessionStart", json!({ "source": "startup" }));
    a.fire("later", "Stop", json!({ "last_assistant_message": "Nothing." }));
    wait_until(DEADLINE, "the next exchange", || a.sync(&["status"]).status == Some(0));
    b.done(&["now"]);
    assert!(b.remembers("fieldfare"));
}

/// A server goes on with a statement although its client was killed: the new key must not be lost.
#[test]
fn a_rotation_that_was_killed_may_still_happen() {
    let Some(server) = PostgresServer::start_with(5432, &["max_prepared_transactions=2"]) else { return };
    let (a, b) = (Machine::new("a"), Machine::new("b"));
    a.init(&server.new_database("team"));
    // The header can be read, and not changed.
    server.sql("team", "BEGIN; LOCK TABLE longhaul.circle IN SHARE MODE; PREPARE TRANSACTION 'held'");
    let mut rotate = a.sandbox.executable("longhaul-sync").arg("rotate").spawn().unwrap();
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    wait_until(DEADLINE, "the statement to wait", || server.sql("team", waits) == "1");
    rotate.kill().unwrap();
    rotate.wait().unwrap();
    a.work("find the brambling", "Found.");
    a.done(&["now"]);
    let next = a.sandbox.data_dir().join("sync.key.next");
    assert!(next.exists(), "it may still become the key");
    server.sql("team", "COMMIT PREPARED 'held'");
    wait_until(DEADLINE, "the new header", || server.sql("team", "SELECT epoch FROM longhaul.circle") == "2");
    a.work("find the chaffinch", "Found.");
    a.done(&["now"]);
    assert!(!next.exists());
    b.join(&a);
    b.done(&["now"]);
    assert!(b.remembers("brambling") && b.remembers("chaffinch"));
}

/// The owner's machine goes on as a member: it gets a new id, as records under the old one are the owner's.
#[test]
fn another_user_of_the_database_on_the_same_machine_can_send() {
    let Some((server, a, b)) = circle() else { return };
    a.work("find the owl as owner", "Found.");
    a.done(&["now"]);
    server.sql("team", "CREATE ROLE anna LOGIN PASSWORD 'a' IN ROLE longhaul_member");
    a.done(&["join", &a.code(), "--url", &server.url_of("anna", "a", "team")]);
    a.work("find the owl as anna", "Found.");
    a.done(&["now"]);
    assert!(a.done(&["status"]).contains("got a new id"));
    b.done(&["now"]);
    assert!(b.remembers("owl as owner") && b.remembers("owl as anna"));
    assert_eq!(server.sql("team", "SELECT count(DISTINCT added_by) FROM longhaul.records"), "2");
}

/// A server that announces a row of 2 GB, and sends it, does not fill the memory of this machine.
#[test]
#[cfg(target_os = "linux")]
fn a_row_without_end_is_not_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("postgres://a:hunter2@{}/team?sslmode=disable", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).unwrap() > 0);
        // The login is accepted, the server is ready, and a row begins.
        stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
        assert!(stream.read(&mut request).unwrap() > 0);
        stream.write_all(b"D\x7f\xff\xff\xff").unwrap();
        let megabyte = vec![0; 1 << 20];
        (0..2048).take_while(|_| stream.write_all(&megabyte).is_ok()).count()
    });
    let outcome = Machine::new("a").sync(&["init", &address]);
    assert_ne!(outcome.status, Some(0), "{outcome:?}");
    let megabytes = server.join().unwrap();
    assert!(megabytes < 1024, "{megabytes} MB were read");
}
