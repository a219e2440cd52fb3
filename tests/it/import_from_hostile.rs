//! `longhaul import` of files that block, never end, or do not fit into the memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::poll::becomes_true;
use crate::predecessors::{ClaudeMem, throughline};
use crate::sandbox::{Sandbox, bin_dir};

/// How long an import of next to nothing may take on a busy machine.
const PROMPTLY: Duration = Duration::from_secs(20);

/// How long an import of much may take.
const PATIENTLY: Duration = Duration::from_secs(240);

/// Runs a command to its end and returns what it printed; fails where it does not end in time.
#[track_caller]
fn ends(command: &mut Command, limit: Duration) -> (Option<i32>, String) {
    let output = tempfile::NamedTempFile::new().unwrap();
    command.stdin(Stdio::null()).stdout(output.reopen().unwrap()).stderr(Stdio::inherit());
    let mut child = command.spawn().unwrap();
    let mut status = None;
    becomes_true(limit, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    if status.is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("it did not end within {limit:?}");
    }
    (status.unwrap().code(), fs::read_to_string(output.path()).unwrap())
}

/// Imports everything; returns the reports.
#[track_caller]
fn import(sandbox: &Sandbox) -> Value {
    let (_, printed) = ends(sandbox.executable("longhaul").args(["import", "--json"]), PROMPTLY);
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

fn fifo(path: PathBuf) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&path);
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn a_fifo_is_not_waited_for() {
    for name in [
        ".claude-mem/claude-mem.db",
        ".claude-mem/settings.json",
        ".throughline/throughline.db",
        ".claude/tav/config.json",
        ".claude/tav/state/aaaa.log",
    ] {
        let sandbox = Sandbox::new();
        fifo(sandbox.home().join(name));
        let reports = import(&sandbox);
        let told = reports.to_string();
        let file = Path::new(name).file_name().unwrap().to_str().unwrap();
        assert!(told.contains("not a regular file") && told.contains(file), "{name}: {told}");
    }
}

#[test]
fn a_fifo_beside_a_database_is_not_waited_for() {
    for end in ["-wal", "-shm"] {
        let sandbox = Sandbox::new();
        drop(ClaudeMem::new(&sandbox));
        fifo(sandbox.home().join(format!(".claude-mem/claude-mem.db{end}")));
        let reports = import(&sandbox).to_string();
        assert!(reports.contains("not a regular file"), "{end}: {reports}");
    }
}

#[test]
fn a_view_in_place_of_a_table_is_refused() {
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)";
    let sandbox = Sandbox::new();
    let theirs = ClaudeMem::new(&sandbox);
    theirs.session("aaaa", "shop").observation("aaaa", 1, "change", "zanzibar", "x");
    let view = format!(
        "DROP TABLE observations;
         CREATE VIEW Observations AS {endless} SELECT x AS id, 'memory-aaaa' AS memory_session_id, 'x' AS title FROM c;"
    );
    theirs.connection.execute_batch(&view).unwrap();
    throughline(&sandbox, "bbbb", &sandbox.project());
    let other = Connection::open(sandbox.home().join(".throughline/throughline.db")).unwrap();
    let view = format!(
        "ALTER TABLE bodies RENAME TO other;
         CREATE VIEW bodies AS {endless} SELECT 'bbbb' AS session_id, x AS turn_number, 'user' AS role, 'x' AS text FROM c;"
    );
    other.execute_batch(&view).unwrap();
    let reports = import(&sandbox);
    for (origin, table) in [("claude-mem", "observations"), ("throughline", "bodies")] {
        let report = reports.as_array().unwrap().iter().find(|report| report["from"] == origin).unwrap();
        let why = report["failed"].as_str().unwrap_or_default();
        assert!(why.contains(&format!("its {table} is a view")), "{origin}: {report}");
    }
}

/// How much text there is, and how much more memory than for next to nothing its import may take.
const MEGABYTES: i64 = 36;
const ROOM: usize = 32;

/// Imports with so many kilobytes of address space at most; returns whether it succeeded.
fn imports_within(sandbox: &Sandbox, kilobytes: usize) -> bool {
    let mut command = sandbox.program("/bin/sh");
    command.arg("-c").arg(r#"ulimit -v "$1"; exec "$2" import --json 2>/dev/null"#);
    command.arg("sh").arg(kilobytes.to_string()).arg(bin_dir().join("longhaul"));
    let (status, printed) = ends(&mut command, PATIENTLY);
    status == Some(0) && !printed.contains("\"failed\": \"")
}

/// Returns how much address space an import of next to nothing needs, in kilobytes.
fn needed_for_little(prepare: impl Fn(&Sandbox)) -> usize {
    let fits = |kilobytes: usize| {
        let sandbox = Sandbox::new();
        prepare(&sandbox);
        imports_within(&sandbox, kilobytes)
    };
    (16..).map(|step| step * 8 * 1024).find(|kilobytes| fits(*kilobytes)).unwrap()
}

/// Words, so that it is neither a key nor one long token.
fn megabyte(number: i64) -> String {
    format!("part {number} of it all. ").repeat((1 << 20) / 18).chars().take(1 << 20).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_memory_that_is_larger_than_the_memory_comes_over() {
    let little = |sandbox: &Sandbox| {
        ClaudeMem::new(sandbox).session("aaaa", "shop").observation("aaaa", 1, "change", "zanzibar", "x");
    };
    let needed = needed_for_little(little);
    let sandbox = Sandbox::new();
    let theirs = ClaudeMem::new(&sandbox);
    theirs.session("aaaa", "shop").prompt("aaaa", 1, "zanzibar");
    for number in 0..MEGABYTES {
        theirs.observation("aaaa", 1, "change", "kilimanjaro", &megabyte(number));
    }
    drop(theirs);
    assert!(imports_within(&sandbox, needed + ROOM * 1024), "{needed} KB and {ROOM} MB were not enough");
    let stats = sandbox.database();
    let count: i64 = stats.query_row("SELECT count(*) FROM observations", [], |row| row.get(0)).unwrap();
    assert_eq!(count, MEGABYTES);
}

#[test]
#[cfg(target_os = "linux")]
fn turns_that_are_larger_than_the_memory_come_over() {
    let needed = needed_for_little(|sandbox| throughline(sandbox, "aaaa", &sandbox.project()));
    let sandbox = Sandbox::new();
    throughline(&sandbox, "aaaa", &sandbox.project());
    let theirs = Connection::open(sandbox.home().join(".throughline/throughline.db")).unwrap();
    let sql = "INSERT INTO details (session_id, origin_session_id, turn_number, tool_name, output_text, created_at, kind,
                                    source_id) VALUES ('aaaa', 'aaaa', ?1, 'Bash', ?2, 1, 'tool_output', 'call-' || ?1)";
    let said = "INSERT INTO bodies (session_id, origin_session_id, turn_number, role, text, created_at)
                VALUES ('aaaa', 'aaaa', ?1, 'user', 'go on', 1)";
    for number in 10..10 + MEGABYTES {
        theirs.execute(said, [number]).unwrap();
        theirs.execute(sql, (number, megabyte(number))).unwrap();
    }
    drop(theirs);
    assert!(imports_within(&sandbox, needed + ROOM * 1024), "{needed} KB and {ROOM} MB were not enough");
    let stats = sandbox.database();
    let count: i64 = stats.query_row("SELECT count(*) FROM known_ids", [], |row| row.get(0)).unwrap();
    assert_eq!(count, MEGABYTES + 2);
}
