//! Which prompt wrote which line.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use xtask::run;

use super::super::world::{Cast, World};

/// An edit, a shell command, a formatter, a person and a second session, then commit, amend, rebase and squash: every line
/// has the same origin before and after.
pub(crate) fn blame(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    world.set("permissions", json!({ "allow": ["Bash", "Read", "Write", "Edit"] }))?;
    let file = world.project.join("a.txt");
    let git = |args: &[&str]| {
        let mut git = run::program("git");
        git.arg("-C").arg(&world.project).args(["-c", "user.name=e2e", "-c", "user.email=e2e@example.org"]).args(args);
        run::output(git.env("HOME", home).env("GIT_EDITOR", "true"))
    };
    fs::write(&file, "first line\nsecond line\nthird line\nfourth line\n")?;
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "--message", "first"])?;
    let session = world.open(&[])?;
    let edit = |old: &str, new: &str| {
        let input = json!({ "file_path": file, "old_string": old, "new_string": new });
        format!("TOOL:Edit {input}")
    };
    session.say(&format!("READ:{}", file.display()))?;
    let mut turns = 1;
    let mut say = |prompt: &str| -> Result<()> {
        session.say(prompt)?;
        turns += 1;
        // The end of the turn is in the snapshots before anybody else changes a file.
        world.wait("the snapshot at the end of the turn", || Ok(count(&world, "end")? >= turns))
    };
    say(&edit("second line", "second line, edited by the tool"))?;
    say("RUN:sed -i 's/third line/third line, by a command/' a.txt")?;
    say("RUN:sed -i 's/^/    /' a.txt")?;
    let person = fs::read_to_string(&file)?.replace("fourth line", "fourth line, by a person");
    fs::write(&file, person)?;
    let other = world.open(&[])?;
    other.say(&format!("READ:{}", file.display()))?;
    other.say(&edit("first line", "first line, by the other session"))?;
    world.wait("the snapshot at the end of the other turn", || Ok(count(&world, "end")? >= turns + 2))?;
    let expected = [
        ("prompt", "by the other session"),
        ("prompt", "edited by the tool"),
        ("command", "s/third line/"),
        ("outside", ""),
    ];
    let check = |when: &str| -> Result<()> {
        let found = world.longhaul_json(&["blame", "a.txt"])?;
        for (at, (kind, text)) in expected.iter().enumerate() {
            let number = found["lines"][at]["origin"].as_u64().unwrap_or(u64::MAX);
            let origin: &Value = &found["origins"][number as usize];
            let is_right = origin["kind"] == *kind && origin["text"].as_str().unwrap_or_default().contains(text);
            ensure!(is_right, "{when}, line {}: {origin}", at + 1);
        }
        Ok(())
    };
    check("uncommitted")?;
    git(&["checkout", "--quiet", "-b", "work"])?;
    git(&["commit", "--quiet", "--all", "--message", "all of it"])?;
    check("committed")?;
    git(&["commit", "--quiet", "--amend", "--message", "the same"])?;
    check("amended")?;
    git(&["checkout", "--quiet", "main"])?;
    fs::write(world.project.join("other.txt"), "beside it\n")?;
    git(&["add", "other.txt"])?;
    git(&["commit", "--quiet", "--message", "beside"])?;
    git(&["checkout", "--quiet", "work"])?;
    git(&["rebase", "--quiet", "main"])?;
    check("rebased")?;
    git(&["reset", "--quiet", "--soft", "main"])?;
    git(&["commit", "--quiet", "--message", "squashed"])?;
    check("squashed")?;
    let why = world.longhaul(&["why", "a.txt:3"])?;
    ensure!(why.contains("sed -i"), "the prompt is not shown: {why}");
    world.check_errors()
}

/// Returns how many snapshots of a kind there are.
fn count(world: &World, kind: &str) -> Result<usize> {
    let snapshots = world.longhaul_json(&["snapshots"])?;
    Ok(snapshots.as_array().into_iter().flatten().filter(|snapshot| snapshot["kind"] == kind).count())
}
