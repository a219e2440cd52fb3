//! The past of a session: a long transcript, or a thousand earlier sessions.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use longhaul_core::Millis;
use longhaul_store::{NewSession, Store};
use serde_json::json;

use super::large::{Library, Words};

/// Bytes of tool output in a turn.
const OUTPUT: usize = 8 * 1024;

/// Number of earlier sessions.
const SESSIONS: usize = 1_000;

/// Fills the memory of the project in `home` with `count` observations.
pub(crate) fn write_observations(data: &Path, home: &Path, count: usize) -> Result<()> {
    let mut store = Store::open(&data.join("longhaul.db"), Duration::from_secs(5))?;
    Library::fill_one(&mut store, &Words::new(), count, &home.to_string_lossy())?;
    Ok(())
}

/// Writes a transcript of at least `bytes` bytes; returns its number of turns.
pub(crate) fn write_transcript(path: &Path, bytes: u64) -> Result<usize> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut out = BufWriter::new(file);
    let mut written = 0;
    let mut turns = 0;
    while written < bytes {
        let turn = turn(turns);
        written += turn.len() as u64;
        turns += 1;
        out.write_all(turn.as_bytes())?;
    }
    out.flush()?;
    Ok(turns)
}

/// Appends the turn with this number, from 0, to a transcript.
pub(crate) fn grow(path: &Path, number: usize) -> Result<()> {
    let mut file =
        OpenOptions::new().append(true).open(path).with_context(|| format!("cannot open {}", path.display()))?;
    Ok(file.write_all(turn(number).as_bytes())?)
}

/// Returns a turn as Claude Code writes it: a prompt, a call, its output, a reply.
fn turn(number: usize) -> String {
    let uuid = |entry: usize| format!("{number:08x}-0000-4000-8000-{entry:012}");
    let parent = |entry: usize| match entry {
        0 if number == 0 => None,
        0 => Some(format!("{:08x}-0000-4000-8000-{:012}", number - 1, 3)),
        entry => Some(uuid(entry - 1)),
    };
    let call = format!("toolu_{number:08x}");
    let command = if number.is_multiple_of(2) { "make check".to_owned() } else { format!("make part-{number}") };
    let contents = [
        ("user", json!(format!("question {number} about the parser"))),
        ("assistant", json!([{ "type": "tool_use", "id": call, "name": "Bash", "input": { "command": command } }])),
        (
            "user",
            json!([{ "type": "tool_result", "tool_use_id": call, "content": "line of output\n".repeat(OUTPUT / 15) }]),
        ),
        ("assistant", json!([{ "type": "text", "text": format!("answer {number}: it works now") }])),
    ];
    let entry = |(at, (kind, content)): (usize, (&str, serde_json::Value))| {
        let line = json!({
            "type": kind, "uuid": uuid(at), "parentUuid": parent(at), "isSidechain": false,
            "timestamp": "2026-09-21T14:13:20.000Z", "message": { "role": kind, "content": content },
        });
        format!("{line}\n")
    };
    contents.into_iter().enumerate().map(entry).collect()
}

/// Fills a database with a thousand sessions, the newest of which leaves a baton for the client `pid`.
pub(crate) fn write_sessions(data: &Path, project: &Path, pid: u32, now: Millis) -> Result<()> {
    let store = Store::open(&data.join("longhaul.db"), Duration::from_secs(5))?;
    let transcript = data.join("past.jsonl");
    write_transcript(&transcript, 300 * 1024)?;
    let project = project.to_string_lossy();
    let name = |number: usize| format!("past-{number:04}");
    for number in 0..SESSIONS {
        store.register_session(&NewSession {
            session: &name(number),
            project: "past",
            project_key: &project,
            project_path: &project,
            client_pid: 0,
            transcript: Some(&transcript.to_string_lossy()),
            at: Millis(now.0 - 1_000_000 + number as u64),
        })?;
        store.count_prompt(&name(number), Some("question"))?;
        if number % 10 == 0 || number + 1 == SESSIONS {
            let session = store.session(&name(number))?.context("the session was just written")?;
            longhaul_runtime::handoff::catch_up(
                &store,
                &session,
                &longhaul_core::Config::default(),
                now,
                u64::MAX,
                None,
            )?;
        }
    }
    store.write_baton(&project, pid, &name(SESSIONS - 1), "session_end", Millis(now.0 - 1000))?;
    Ok(())
}
