//! Made-up files of the other programs that `longhaul import` reads.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::sandbox::Sandbox;

/// Milliseconds at which everything begins.
pub(crate) const BEGAN: i64 = 1_780_000_000_000;

/// claude-mem's database, as its newest versions make it.
pub(crate) struct ClaudeMem {
    pub(crate) connection: Connection,
}

impl ClaudeMem {
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        let dir = sandbox.home().join(".claude-mem");
        fs::create_dir_all(&dir).unwrap();
        let connection = Connection::open(dir.join("claude-mem.db")).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection
            .execute_batch(
                "CREATE TABLE sdk_sessions (
                     id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT UNIQUE NOT NULL,
                     memory_session_id TEXT UNIQUE, project TEXT NOT NULL, user_prompt TEXT, started_at TEXT NOT NULL,
                     started_at_epoch INTEGER NOT NULL, completed_at TEXT, completed_at_epoch INTEGER,
                     status TEXT NOT NULL DEFAULT 'active', prompt_counter INTEGER DEFAULT 0);
                 CREATE TABLE user_prompts (
                     id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT NOT NULL, prompt_number INTEGER NOT NULL,
                     prompt_text TEXT NOT NULL, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
                 CREATE TABLE observations (
                     id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL,
                     text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT,
                     files_read TEXT, files_modified TEXT, prompt_number INTEGER, discovery_tokens INTEGER DEFAULT 0,
                     content_hash TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
                 CREATE INDEX idx_observations_sdk_session ON observations (memory_session_id);
                 CREATE TABLE session_summaries (
                     id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL,
                     request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, files_read TEXT,
                     files_edited TEXT, notes TEXT, prompt_number INTEGER, created_at TEXT NOT NULL,
                     created_at_epoch INTEGER NOT NULL);
                 PRAGMA user_version = 20;",
            )
            .unwrap();
        Self { connection }
    }

    pub(crate) fn session(&self, id: &str, project: &str) -> &Self {
        self.run(
            "INSERT INTO sdk_sessions (content_session_id, memory_session_id, project, user_prompt, started_at, started_at_epoch)
             VALUES (?1, 'memory-' || ?1, ?2, 'never read', '', ?3)",
            &[&id, &project, &BEGAN],
        )
    }

    pub(crate) fn prompt(&self, session: &str, number: i64, text: &str) -> &Self {
        self.run(
            "INSERT INTO user_prompts (content_session_id, prompt_number, prompt_text, created_at, created_at_epoch)
             VALUES (?1, ?2, ?3, '', ?4)",
            &[&session, &number, &text, &(BEGAN + number * 600_000)],
        )
    }

    pub(crate) fn observation(&self, session: &str, number: i64, kind: &str, title: &str, narrative: &str) -> &Self {
        self.run(
            "INSERT INTO observations (memory_session_id, project, type, title, subtitle, facts, narrative, concepts,
                                       files_read, files_modified, prompt_number, created_at, created_at_epoch)
             VALUES ('memory-' || ?1, coalesce((SELECT project FROM sdk_sessions WHERE content_session_id = ?1), 'lost'),
                     ?2, ?3, 'in short', '[\"a fact\"]', ?4, '[\"gotcha\"]', '[]', '[\"src/main.rs\"]', ?5, '', ?6)",
            &[&session, &kind, &title, &narrative, &number, &(BEGAN + number * 600_000 + 1000)],
        )
    }

    pub(crate) fn summary(&self, session: &str, number: i64, request: &str) -> &Self {
        self.run(
            "INSERT INTO session_summaries (memory_session_id, project, request, investigated, learned, completed,
                                            next_steps, notes, prompt_number, created_at, created_at_epoch)
             VALUES ('memory-' || ?1, 'x', ?2, 'looked', 'found', 'did', 'more', 'nota bene', ?3, '', ?4)",
            &[&session, &request, &number, &(BEGAN + number * 600_000 + 2000)],
        )
    }

    /// Fills it with sessions of 50 observations each.
    pub(crate) fn fill(&self, observations: usize) {
        self.connection.execute_batch("BEGIN").unwrap();
        for n in 0..observations {
            let (session, number) = (format!("{:05}-filled", n / 50), (n % 50 / 10) as i64 + 1);
            if n % 50 == 0 {
                self.session(&session, &format!("project-{}", n / 50 % 20));
            }
            if n % 10 == 0 {
                self.prompt(&session, number, &format!("question {number} of {session}"));
            }
            let narrative =
                format!("The part number {n} was looked at, and {}", "it was much as one would think. ".repeat(8));
            self.observation(
                &session,
                number,
                ["bugfix", "feature", "discovery"][n % 3],
                &format!("Part {n} of the engine"),
                &narrative,
            );
            if n % 10 == 9 {
                self.summary(&session, number, &format!("What became of {number} in {session}"));
            }
        }
        self.connection.execute_batch("COMMIT").unwrap();
    }

    fn run(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> &Self {
        self.connection.execute(sql, values).unwrap();
        self
    }
}

/// Makes a database of Throughline with one session of two turns.
pub(crate) fn throughline(sandbox: &Sandbox, session: &str, folder: &Path) {
    let dir = sandbox.home().join(".throughline");
    fs::create_dir_all(&dir).unwrap();
    let connection = Connection::open(dir.join("throughline.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE sessions (session_id TEXT PRIMARY KEY, project_path TEXT NOT NULL, status TEXT NOT NULL DEFAULT
                 'active', created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, merged_into TEXT);
             CREATE TABLE bodies (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, origin_session_id TEXT NOT
                 NULL, turn_number INTEGER NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL, token_count INTEGER,
                 created_at INTEGER NOT NULL);
             CREATE TABLE details (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, origin_session_id TEXT,
                 turn_number INTEGER, tool_name TEXT NOT NULL, input_text TEXT, output_text TEXT, token_count INTEGER NOT
                 NULL DEFAULT 0, created_at INTEGER NOT NULL, kind TEXT, source_id TEXT);
             PRAGMA user_version = 8;",
        )
        .unwrap();
    let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
        connection.execute(sql, values).unwrap();
    };
    run("INSERT INTO sessions VALUES (?1, ?2, 'active', ?3, ?3, NULL)", &[&session, &folder.to_string_lossy(), &BEGAN]);
    for (turn, role, text) in [
        (1, "user", "why does the windmill stop"),
        (1, "assistant", "The bearing is worn."),
        (4, "user", "then mend it"),
        (4, "assistant", "Mended, with AKIAIOSFODNN7EXAMPLE."),
    ] {
        let at = BEGAN + turn * 60_000 + i64::from(role == "assistant") * 30_000;
        run(
            "INSERT INTO bodies (session_id, origin_session_id, turn_number, role, text, created_at) VALUES (?1, ?1, ?2, ?3, ?4, ?5)",
            &[&session, &turn, &role, &text, &at],
        );
    }
    let at = BEGAN + 250_000;
    let detail = "INSERT INTO details (session_id, origin_session_id, turn_number, tool_name, input_text, output_text, created_at,
                                       kind, source_id) VALUES (?1, ?1, 4, 'Bash', ?2, ?3, ?4, ?5, ?6)";
    run(detail, &[&session, &"{\"command\":\"make bearing\"}", &None::<String>, &at, &"tool_input", &"toolu_1"]);
    run(detail, &[&session, &None::<String>, &"bearing made", &(at + 1), &"tool_output", &"toolu_1:result"]);
}
