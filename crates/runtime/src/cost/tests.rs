use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use longhaul_core::clock::date_of;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use tempfile::tempdir;

use super::{AllUsage, SessionCosts, usage_files};
use longhaul_cost::{By, Filter, Prices};

/// Returns a line of a transcript, with its line break.
fn line(message: &str, session: &str, output: u64) -> String {
    let line = json!({
        "timestamp": "2026-11-14T10:00:00Z", "sessionId": session, "requestId": "r", "cwd": "/gone/app",
        "message": { "id": message, "model": "claude-opus-5-5", "usage": { "input_tokens": 1, "output_tokens": output } },
    });
    format!("{line}\n")
}

/// Writes a file that was changed this many seconds after the epoch.
fn write(dir: &Path, name: &str, text: &str, modified: u64) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(modified);
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    path
}

#[test]
fn transcripts_of_sessions_and_subagents_are_found_the_oldest_first() {
    let dir = tempdir().unwrap();
    let root = dir.path();
    write(root, "-app/new.jsonl", "", 30);
    write(root, "-app/old.jsonl", "", 10);
    write(root, "-app/old/subagents/agent-1.jsonl", "", 20);
    write(root, "-app/notes.txt", "", 5);
    let found: Vec<_> =
        usage_files(&[root.to_owned(), root.join("missing")]).into_iter().map(|file| file.path).collect();
    let expected = ["-app/old.jsonl", "-app/old/subagents/agent-1.jsonl", "-app/new.jsonl"].map(|name| root.join(name));
    assert_eq!(found, expected);
}

#[test]
fn links_and_what_is_no_file_are_ignored() {
    let dir = tempdir().unwrap();
    let root = dir.path().join("projects");
    let file = write(&root, "app/a.jsonl", &line("m1", "a", 5), 1);
    symlink(&file, root.join("app/b.jsonl")).unwrap();
    symlink("/dev/zero", root.join("app/zero.jsonl")).unwrap();
    symlink(&root, root.join("app/loop")).unwrap();
    mknodat(CWD, root.join("app/fifo.jsonl"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    fs::create_dir(root.join("app/folder.jsonl")).unwrap();
    let files = usage_files(&[root]);
    assert_eq!(files.iter().map(|file| &file.path).collect::<Vec<_>>(), [&file]);
}

#[test]
fn a_file_that_became_something_else_does_not_block_and_is_reported() {
    let dir = tempdir().unwrap();
    let gone = write(dir.path(), "app/a.jsonl", &line("m1", "a", 5), 1);
    write(dir.path(), "app/b.jsonl", &line("m2", "b", 7), 2);
    let files = usage_files(&[dir.path().to_owned()]);
    fs::remove_file(&gone).unwrap();
    mknodat(CWD, &gone, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let usage = AllUsage::read(&files);
    assert_eq!(usage.failed.iter().map(|(path, _)| path).collect::<Vec<_>>(), [&gone]);
    assert_eq!(usage.ledger.session("b", &Prices::default()).tokens.output, 7);
}

#[test]
fn a_file_without_permission_is_reported_and_the_others_are_read() {
    let dir = tempdir().unwrap();
    let closed = write(dir.path(), "app/a.jsonl", &line("m1", "a", 5), 1);
    write(dir.path(), "app/b.jsonl", &line("m2", "b", 7), 2);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let usage = AllUsage::read(&usage_files(&[dir.path().to_owned()]));
    // Root may read everything.
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!((usage.failed.len(), usage.ledger.len()), if is_root { (0, 2) } else { (1, 1) });
}

#[test]
fn damaged_and_half_written_lines_change_nothing_of_the_others() {
    let dir = tempdir().unwrap();
    let whole = line("m1", "a", 5);
    let half = line("m2", "a", 9);
    let half = &half[..half.len() / 2];
    let noise = "\0\u{7f}\"usage\":\n{\"usage\":[[[[\n\n\"usage\":\"usage\":\n";
    write(dir.path(), "app/a.jsonl", &format!("{noise}{whole}{noise}{half}"), 1);
    // The last line has no line break, but is complete.
    write(dir.path(), "app/b.jsonl", line("m3", "b", 7).trim_end(), 2);
    let usage = AllUsage::read(&usage_files(&[dir.path().to_owned()]));
    let output = |session: &str| usage.ledger.session(session, &Prices::default()).tokens.output;
    assert_eq!((output("a"), output("b"), usage.failed.len()), (5, 7, 0));
}

#[test]
fn a_copy_counts_for_the_older_file_and_a_line_across_pieces_is_whole() {
    let dir = tempdir().unwrap();
    let filler = format!("{{\"text\":\"{}\"}}\n", "x".repeat((1 << 20) - 100));
    let original = line("m1", "a", 5);
    write(dir.path(), "app/b.jsonl", &format!("{}{}", line("m1", "b", 5), line("m2", "b", 7)), 20);
    write(dir.path(), "app/a.jsonl", &format!("{filler}{original}{filler}{}", line("m3", "a", 11)), 10);
    let usage = AllUsage::read(&usage_files(&[dir.path().to_owned()]));
    let output = |session: &str| usage.ledger.session(session, &Prices::default()).tokens.output;
    assert_eq!((output("a"), output("b")), (16, 7));
}

#[test]
fn a_project_is_the_folder_of_the_session_or_of_its_transcript() {
    let dir = tempdir().unwrap();
    let repository = dir.path().join("work/repository");
    fs::create_dir_all(repository.join("src")).unwrap();
    fs::create_dir_all(repository.join(".git/objects")).unwrap();
    fs::create_dir_all(repository.join(".git/refs")).unwrap();
    fs::write(repository.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let inside = line("m1", "a", 1).replace("/gone/app", repository.join("src").to_str().unwrap());
    let projects = dir.path().join("projects");
    write(&projects, "x/a.jsonl", &inside, 1);
    write(&projects, "x/b.jsonl", &line("m2", "b", 1), 2);
    write(&projects, "-home-x/c.jsonl", &line("m3", "c", 1).replace("\"cwd\":\"/gone/app\",", ""), 3);
    let usage = AllUsage::read(&usage_files(&[projects]));
    let report = usage.ledger.report(By::Project, &Prices::default(), &Filter::default(), |at| date_of(at, 0));
    let mut names: Vec<&str> = report.rows.iter().filter_map(|row| row.project.as_deref()).collect();
    names.sort_unstable();
    assert_eq!(names, ["-home-x", "app", "repository"]);
}

#[test]
fn an_update_reads_what_is_new_and_begins_again_after_a_deletion() {
    let dir = tempdir().unwrap();
    let folders = [dir.path().to_owned()];
    let mut usage = AllUsage::default();
    let mut requests = || {
        usage.update(&usage_files(&folders));
        (usage.ledger.len(), usage.failed.len())
    };
    write(dir.path(), "app/a.jsonl", &line("m1", "a", 1), 1);
    assert_eq!(requests(), (1, 0));
    assert_eq!(requests(), (1, 0));
    write(dir.path(), "app/a.jsonl", &[line("m1", "a", 1), line("m2", "a", 1)].concat(), 2);
    let b = write(dir.path(), "app/b.jsonl", &line("m3", "b", 1), 3);
    assert_eq!(requests(), (3, 0));
    fs::remove_file(b).unwrap();
    assert_eq!(requests(), (2, 0));
    write(dir.path(), "app/a.jsonl", &line("m9", "a", 1), 4);
    assert_eq!(requests(), (1, 0));
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_session_is_followed_as_its_transcripts_grow() {
    let dir = tempdir().unwrap();
    let transcript = dir.path().join("app/a.jsonl");
    let mut costs = SessionCosts::default();
    let mut output = || costs.of(&transcript, &Prices::default()).tokens.output;
    assert_eq!(output(), 0, "there is no transcript yet");
    write(dir.path(), "app/a.jsonl", &line("m1", "a", 1), 1);
    assert_eq!(output(), 1);
    assert_eq!(output(), 1, "nothing is counted again");
    let next = line("m2", "a", 2);
    let (start, end) = next.split_at(next.len() / 2);
    append(&transcript, start);
    assert_eq!(output(), 1, "half a line counts nothing");
    append(&transcript, end);
    assert_eq!(output(), 3);
    // A streamed piece of the same reply, and a subagent.
    append(&transcript, &line("m2", "a", 20));
    write(dir.path(), "app/a/subagents/agent-1.jsonl", &line("m3", "a", 100), 1);
    assert_eq!(output(), 121);
}

#[test]
fn a_transcript_that_was_replaced_is_read_from_its_beginning() {
    let dir = tempdir().unwrap();
    let text = [line("m1", "a", 1), line("m2", "a", 2)].concat();
    let transcript = write(dir.path(), "app/a.jsonl", &text, 1);
    let mut costs = SessionCosts::default();
    assert_eq!(costs.of(&transcript, &Prices::default()).tokens.output, 3);
    write(dir.path(), "app/a.jsonl", &line("m3", "a", 40), 2);
    assert_eq!(costs.of(&transcript, &Prices::default()).tokens.output, 40);
}

#[test]
fn what_a_fork_has_copied_is_not_its_cost() {
    let dir = tempdir().unwrap();
    let copy = line("m1", "b", 1).replacen('{', "{\"forkedFrom\":{\"sessionId\":\"a\"},", 1);
    let transcript = write(dir.path(), "app/b.jsonl", &[copy, line("m2", "b", 2)].concat(), 1);
    let mut costs = SessionCosts::default();
    let sum = costs.of(&transcript, &Prices::default());
    assert_eq!((sum.requests, sum.tokens.output), (1, 2));
    assert_eq!(sum.cost.dollars(), 0.000_044);
}

#[test]
fn a_session_that_is_forgotten_is_read_again() {
    let dir = tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| write(dir.path(), &format!("app/{name}.jsonl"), &line("m", name, 1), 1));
    let mut costs = SessionCosts::default();
    for _ in 0..2 {
        assert_eq!([&a, &b].map(|path| costs.of(path, &Prices::default()).requests), [1, 1]);
        costs.keep_only(&[a.as_path()]);
    }
}
