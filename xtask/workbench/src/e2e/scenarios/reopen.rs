//! Sessions that come back after their tmux server was killed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::super::world::{Cast, World};

/// How long six sessions may take.
const LIMIT: Duration = Duration::from_secs(20);

/// The tmux sessions, and the index and the name of each of their windows.
const WINDOWS: [(&str, [(&str, &str); 3]); 2] = [
    ("api", [("1", "parser"), ("2", "tests"), ("4", "docs")]),
    ("web", [("0", "styles"), ("3", "forms"), ("5", "images")]),
];

/// Six sessions in two tmux sessions, a killed server, one command: each is in its window, with its conversation.
pub(crate) fn reopen(cast: &Cast, home: &Path) -> Result<()> {
    let mut world = World::new(cast, home, &json!({ "reopen": { "min_memory_mb": 0 } }), Vec::new())?;
    world.wrap_client(&["--plugin-dir", &cast.bundle().display().to_string()])?;
    for (session, windows) in WINDOWS {
        for (at, (index, name)) in windows.into_iter().enumerate() {
            let target = format!("{session}:{index}");
            let place = match at {
                0 => vec!["new-session", "-d", "-s", session, "-x", "140", "-y", "45", "-n", name],
                _ => vec!["new-window", "-d", "-t", &target, "-n", name],
            };
            let client = world.open_at(&place, &["--permission-mode", "manual"])?;
            if at == 0 && index != "0" {
                world.tmux(&["move-window", "-s", &client.pane, "-t", &target])?;
            }
            client.say(&format!("SAY:this is {name}"))?;
        }
    }
    let before = windows(&world)?;
    let mut ids = BTreeMap::new();
    world.wait("the windows of all sessions", || {
        ids = placed(&world.longhaul_json(&["status"])?);
        Ok(ids.len() == 6)
    })?;
    world.kill_server()?;
    let began = Instant::now();
    let said = world.longhaul_outside(&["reopen", "--yes"])?;
    let took = began.elapsed();
    writeln!(io::stdout(), "{}\n  six sessions in {:.1} s", said.trim_end(), took.as_secs_f64())?;
    world.meet_server()?;
    ensure!(windows(&world)? == before, "before:\n{before}\nafter:\n{}", windows(&world)?);
    world.wait("every session in its window", || Ok(placed(&world.longhaul_json(&["status"])?) == ids))?;
    for (session, windows) in WINDOWS {
        for (index, name) in windows {
            let client = world.session_at(&format!("{session}:{index}"))?;
            world.wait("an empty input", || client.awaits_prompt())?;
            client.say(&format!("SAY:again {name}"))?;
            let shown = world.model.shown();
            let request = shown.iter().find(|shown| shown.mentions(&format!("again {name}")));
            let request = request.context("the prompt reached no model")?;
            ensure!(request.mentions(&format!("this is {name}")), "{name} has lost its conversation");
        }
    }
    ensure!(took <= LIMIT, "it took {:.1} s", took.as_secs_f64());
    Ok(())
}

/// Returns the windows with clients.
fn windows(world: &World) -> Result<String> {
    let listing = world.tmux(&["list-windows", "-a", "-F", "#{session_name}:#{window_index} #{window_name}"])?;
    let ours = |line: &&str| WINDOWS.iter().any(|(session, _)| line.starts_with(session));
    Ok(listing.lines().filter(ours).collect::<Vec<_>>().join("\n"))
}

/// Returns the window of each session.
fn placed(status: &Value) -> BTreeMap<String, String> {
    let rows = status.as_array().into_iter().flatten();
    rows.filter_map(|row| Some((row["session"].as_str()?.to_owned(), row["target"].as_str()?.to_owned()))).collect()
}
