//! What can be read where: nothing in the engine, nothing of the password in messages, the key for its owner only.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::machine::{Machine, exchange};
use super::postgres_server::PostgresServer;
use crate::sandbox::{Outcome, tool};

/// Returns where files below `dir` contain one of the texts: each time, the file and the text.
fn found(dir: &Path, texts: &[&str]) -> Vec<String> {
    let mut grep = tool("grep");
    grep.args(["--recursive", "--text", "--only-matching", "--fixed-strings"]).env("LC_ALL", "C");
    let outcome = Outcome::of(grep.args(texts.iter().flat_map(|text| ["-e", text])).arg(dir), b"");
    // A server may remove a file meanwhile.
    assert!(outcome.status.is_some_and(|status| status < 2) || outcome.stderr.contains("No such file"), "{outcome:?}");
    outcome.stdout.lines().map(str::to_owned).collect()
}

/// What must not be readable in an engine.
const TEXTS: [&str; 8] =
    ["capercaillie", "ptarmigan", "lapwing", "magpie-host", "jackdaw-host", "git.example", "team/app", "check magpie"];

/// Two machines exchange a prompt with its reply and a bookmark, and one of them forgets the prompt. `check` is called before
/// that and behind it.
fn exchange_and_forget(address: &str, mut check: impl FnMut()) {
    let (a, b) = (Machine::new("magpie-host"), Machine::new("jackdaw-host"));
    a.init(address);
    b.join(&a);
    a.work("why does the capercaillie fly", "Because of the ptarmigan.");
    a.bookmark("before the lapwing");
    exchange(&[&a, &b]);
    assert!(b.remembers("capercaillie") && b.remembers("ptarmigan") && b.remembers("lapwing"));
    check();
    a.forget("why does the capercaillie fly");
    exchange(&[&a, &b]);
    assert!(!b.remembers("capercaillie") && !b.remembers("ptarmigan") && b.remembers("lapwing"));
    check();
    // On a machine that has only fetched it, nothing is left of it either.
    assert_eq!(found(&b.sandbox.data_dir(), &["capercaillie", "ptarmigan"]), [""; 0]);
}

#[test]
fn the_tables_and_the_write_ahead_log_contain_no_text() {
    let Some(mut server) = PostgresServer::start() else { return };
    exchange_and_forget(&server.new_database("team"), || {
        server.sql("team", "CHECKPOINT");
        assert_eq!(found(&server.data(), &TEXTS), [""; 0]);
    });
    server.stop();
    assert_eq!(found(&server.data(), &TEXTS), [""; 0]);
    // The search itself works: the name of the table is there.
    assert!(!found(&server.data(), &["longhaul_member"]).is_empty());
}

#[test]
fn the_files_of_a_folder_contain_no_text() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("circle");
    exchange_and_forget(&format!("folder:{}", folder.display()), || assert_eq!(found(&folder, &TEXTS), [""; 0]));
    assert!(!found(&folder, &["LHSYNC01"]).is_empty(), "the search itself works");
}

/// Arguments are in the list of processes and in the history of the shell: nothing that is printed asks for a secret there.
#[test]
fn secrets_are_read_from_standard_input() {
    let Some(server) = PostgresServer::start() else { return };
    let (a, b) = (Machine::new("a"), Machine::new("b"));
    let with_input = |machine: &Machine, arguments: &[&str], input: &str| {
        Outcome::of(machine.sandbox.executable("longhaul").arg("sync").args(arguments), input.as_bytes())
    };
    let made = with_input(&a, &["init", "-"], &format!("{}\n", server.new_database("team")));
    assert_eq!(made.status, Some(0), "{made:?}");
    assert!(
        made.stdout.contains("`longhaul sync join -`") && !made.stdout.contains("join longhaul-"),
        "{}",
        made.stdout
    );
    server.sql("team", "CREATE ROLE anna LOGIN PASSWORD 'a' IN ROLE longhaul_member");
    let printed = a.sync(&["code", "--without-password"]);
    assert!(printed.stdout.starts_with("longhaul-join-1-"), "only the code: {}", printed.stdout);
    assert!(printed.stderr.contains("`longhaul sync join -`"), "{}", printed.stderr);
    let input = format!("{}{}\n", printed.stdout, server.url_of("anna", "a", "team"));
    let joined = with_input(&b, &["join", "-", "--url", "-"], &input);
    assert_eq!(joined.status, Some(0), "{joined:?}");
    assert!(b.done(&["status"]).contains("anna@"));
    let empty = with_input(&b, &["join", "-"], "");
    assert_eq!(empty.status, Some(1), "{empty:?}");
}

#[test]
fn key_and_address_are_for_their_owner_only_and_come_from_commands_too() {
    let Some(server) = PostgresServer::start() else { return };
    let a = Machine::new("a");
    let url = server.new_database("team");
    a.init(&url);
    for name in ["sync.key", "sync/circle.json"] {
        let mode = fs::metadata(a.sandbox.data_dir().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let words = a.done(&["key"]);
    assert_eq!(words.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)).count(), 24);
    assert!(a.done(&["key", "--qr"]).contains('█'));
    assert!(!a.done(&["status"]).contains("hunter2"));

    // The same from commands of a password manager.
    let (key, address) = (a.sandbox.path("key"), a.sandbox.path("address"));
    fs::rename(a.sandbox.data_dir().join("sync.key"), &key).unwrap();
    assert!(a.refused(&["now"]).contains("no key"));
    fs::write(&address, &url).unwrap();
    fs::remove_file(a.sandbox.data_dir().join("sync/circle.json")).unwrap();
    let config = serde_json::json!({ "sync": {
        "enabled": false, "key_command": ["cat", key], "url": ["cat", address],
    }});
    a.sandbox.write_config(&config.to_string());
    a.done(&["now"]);
    assert!(a.done(&["status"]).contains("the command in sync.url"));
    assert!(!a.sandbox.error_log().contains("hunter2"));
}

/// A code for a team has no password; each member adds an address with a user of their own.
#[test]
fn a_member_of_a_team_joins_with_a_user_of_their_own() {
    let Some(server) = PostgresServer::start() else { return };
    let (owner, anna) = (Machine::new("owner"), Machine::new("anna"));
    owner.init(&server.new_database("team"));
    server.sql("team", "CREATE ROLE anna LOGIN PASSWORD 'a' IN ROLE longhaul_member");
    let code = owner.done(&["code", "--without-password"]);
    let code = code.trim();
    assert!(anna.refused(&["join", code]).contains("refused the login"));
    assert!(!anna.sandbox.data_dir().join("sync.key").exists(), "nothing is stored before the engine was checked");
    anna.done(&["join", code, "--url", &server.url_of("anna", "a", "team")]);
    anna.done(&["share"]);
    anna.work("by anna", "x");
    anna.done(&["now"]);
    owner.done(&["now"]);
    assert!(owner.remembers("by anna"));
    assert!(anna.refused(&["rotate"]).contains("no permission"));
    anna.done(&["now"]);
    let damaged = format!("{}x", &code[..code.len() - 1]);
    assert!(anna.refused(&["join", &damaged]).contains("typing error"));
}
