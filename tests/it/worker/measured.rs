//! What the worker costs. Run with `cargo test --release --test it worker::measured -- --ignored --nocapture`.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::client::Events;
use super::served::Served;
use crate::sandbox::Sandbox;

const OBSERVATIONS: usize = 100_000;

#[test]
#[ignore = "measures: takes a minute, and means something in a release build only"]
fn it_starts_at_once_and_stays_small() {
    let sandbox = Sandbox::new();
    drop(Served::new(&sandbox));
    fill(&sandbox);
    let begun = Instant::now();
    let served = Served::new(&sandbox);
    assert_eq!(served.get("/api/health").status, 200);
    tell(&format!("start to first byte {:?}", begun.elapsed()));
    ask_around(&served, 10);
    let after_some = resident(&served);
    tell(&format!("resident after some requests {after_some} kB"));
    ask_around(&served, 1_250);
    let after_many = resident(&served);
    tell(&format!("resident after 10,000 requests {after_many} kB"));
    for _ in 0..3 {
        let mut clients: Vec<Events> = (0..100).map(|_| Events::open(&served)).collect();
        clients.iter_mut().for_each(|client| assert_eq!(client.next().0, "hello"));
        tell(&format!("resident with 100 pages open {} kB", resident(&served)));
    }
    std::thread::sleep(Duration::from_secs(1));
    let at_the_end = resident(&served);
    tell(&format!("resident when they are closed {at_the_end} kB"));
    assert!(at_the_end <= 20 * 1024, "{at_the_end} kB");
}

fn ask_around(served: &Served, rounds: usize) {
    let paths = [
        "/api/search?q=parse+conf",
        "/api/search?q=zzz&type=observations",
        "/api/observations?limit=20",
        "/api/sessions?limit=20",
        "/api/stats",
        "/api/timeline?id=50000",
        "/api/agents",
        "/api/health",
    ];
    let mut slowest = (Duration::ZERO, "");
    for path in (0..rounds).flat_map(|_| paths) {
        let begun = Instant::now();
        assert_eq!(served.get(path).status, 200, "{path}");
        slowest = slowest.max((begun.elapsed(), path));
    }
    tell(&format!("slowest of {} requests {slowest:?}", rounds * paths.len()));
}

fn resident(served: &Served) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", served.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn fill(sandbox: &Sandbox) {
    let mut database = Connection::open(sandbox.data_dir().join("longhaul.db")).unwrap();
    let transaction = database.transaction().unwrap();
    transaction
        .execute_batch(
            "INSERT INTO projects (id, project_key, name) VALUES (1, '/p', 'p');
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
             INSERT INTO sessions (id, session_id, project, project_key, project_path, status, created_at)
             SELECT i, 's' || i, 'p', '/p', '/p', 'completed', 1700000000000 + i * 86400000 FROM n;",
        )
        .unwrap();
    let mut insert = transaction
        .prepare(
            "INSERT INTO observations (session_id, project_id, prompt_number, tool_use_id, kind, tool_name, title,
                                       narrative, facts, files_read, files_modified, made_by, created_at)
             VALUES (?1, 1, 1, 't' || ?2, 'change', 'Edit', ?3, ?4, '[]', '[]', ?5, 'rule', ?6)",
        )
        .unwrap();
    let words = ["parse", "config", "lamp", "render", "socket", "token", "budget", "window", "cursor", "table"];
    for n in 0..OBSERVATIONS {
        let word = |k: usize| words[(n / 7usize.pow(k as u32) + k) % words.len()];
        let title = format!("Edited src/{}_{}.rs", word(0), n % 977);
        let text: Vec<&str> = (0..60).map(|k| word(k % 5)).collect();
        let files = format!("[\"src/{}_{}.rs\"]", word(0), n % 977);
        let at = 1_700_000_000_000 + n as i64 * 432_000;
        insert.execute((n as i64 / 200 + 1, n as i64, title, text.join(" "), files, at)).unwrap();
    }
    drop(insert);
    transaction.commit().unwrap();
}

fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "worker: {text}");
}
