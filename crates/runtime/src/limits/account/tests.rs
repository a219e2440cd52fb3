use std::fs::{self, OpenOptions};
use std::io::Write;
use std::ops::ControlFlow::{Break, Continue};
use std::path::Path;

use longhaul_core::Millis;
use longhaul_cost::Prices;
use serde_json::json;
use tempfile::tempdir;

use super::Account;

/// 2026-11-15 12:00 UTC.
const NOON: Millis = Millis(1_794_744_000_000);

/// Appends a line with usage. `filler` makes it longer.
fn append(path: &Path, message: &str, output: u64, filler: usize) {
    let line = json!({
        "timestamp": "2026-11-15T11:00:00Z", "sessionId": "s", "filler": "x".repeat(filler),
        "message": { "id": message, "model": "claude-opus-5-5", "usage": { "input_tokens": 0, "output_tokens": output } },
    });
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    writeln!(OpenOptions::new().create(true).append(true).open(path).unwrap(), "{line}").unwrap();
}

fn on_this_day() -> Account {
    let mut account = Account::default();
    account.begin_day(NOON, String::new);
    account
}

/// Reads everything. Returns how often the account was kept.
fn read(account: &mut Account, transcript: &Path, piece: u64) -> usize {
    let mut kept = 0;
    account.read(transcript, &Prices::default(), piece, |_| {
        kept += 1;
        Continue(())
    });
    kept
}

#[test]
fn what_is_cut_off_after_any_piece_goes_on_there_and_counts_nothing_twice() {
    let dir = tempdir().unwrap();
    let transcript = dir.path().join("s.jsonl");
    for n in 0..20 {
        // A reply is written in pieces, and some lines are longer than what is read at a time.
        for output in [10, 10, 1_000] {
            append(&transcript, &format!("m{n}"), output, n % 4 * 700);
        }
        append(&dir.path().join("s/subagents/agent-a.jsonl"), &format!("a{n}"), 100, 0);
    }
    let mut whole = on_this_day();
    assert_eq!(read(&mut whole, &transcript, u64::MAX), 0, "the last piece is saved with the rest");
    assert_eq!((whole.session.tokens, whole.day.spent), (22_000, whole.session));
    for piece in [1, 100, 1_000, 10_000] {
        let mut saved = serde_json::to_vec(&on_this_day()).unwrap();
        let (mut hooks, mut is_cut_off) = (0, true);
        while std::mem::take(&mut is_cut_off) {
            // Each hook knows only what the one before has saved.
            let mut account: Account = serde_json::from_slice(&saved).unwrap();
            account.read(&transcript, &Prices::default(), piece, |account| {
                saved = serde_json::to_vec(account).unwrap();
                is_cut_off = true;
                Break(())
            });
            if !is_cut_off {
                saved = serde_json::to_vec(&account).unwrap();
            }
            hooks += 1;
        }
        assert!(hooks > 3, "{piece}: {hooks}");
        assert_eq!(serde_json::from_slice::<Account>(&saved).unwrap(), whole, "{piece}");
    }
}

#[test]
fn a_reply_is_recognised_after_those_of_many_other_subagents() {
    let dir = tempdir().unwrap();
    let transcript = dir.path().join("s.jsonl");
    let agent = |n: u32| dir.path().join(format!("s/subagents/agent-{n}.jsonl"));
    let mut account = on_this_day();
    for output in [100, 1_000] {
        for n in 0..50 {
            append(&agent(n), &format!("m{n}"), output, 0);
        }
        read(&mut account, &transcript, u64::MAX);
    }
    assert_eq!(account.session.tokens, 50_000);
}

#[test]
fn of_hundreds_of_subagents_the_requests_of_few_are_remembered() {
    let dir = tempdir().unwrap();
    let transcript = dir.path().join("s.jsonl");
    let mut account = on_this_day();
    for n in 0..300 {
        for request in 0..5 {
            append(&dir.path().join(format!("s/subagents/agent-{n}.jsonl")), &format!("m{n}-{request}"), 10, 0);
        }
    }
    append(&transcript, "m", 10, 0);
    read(&mut account, &transcript, u64::MAX);
    assert_eq!(account.session.tokens, 15_010);
    let saved = serde_json::to_vec(&account).unwrap();
    assert!(saved.len() < 60_000, "{}", saved.len());
    assert!(read(&mut on_this_day(), &transcript, 10_000) > 10, "many small transcripts are saved in between, too");
}

#[test]
fn a_transcript_that_was_replaced_is_read_again() {
    let dir = tempdir().unwrap();
    let transcript = dir.path().join("s.jsonl");
    let mut account = on_this_day();
    for n in 0..5 {
        append(&transcript, &format!("m{n}"), 100, 0);
    }
    read(&mut account, &transcript, u64::MAX);
    fs::remove_file(&transcript).unwrap();
    append(&transcript, "m0", 100, 0);
    read(&mut account, &transcript, u64::MAX);
    assert_eq!((account.session.tokens, account.day.spent.tokens), (100, 100));
}
