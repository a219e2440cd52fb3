//! The files after a rewind.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::run;

use super::super::world::{Cast, World};

/// The message after a rewind.
const MESSAGE: &str = "the conversation is back at";

/// Waits in the middle of the turn, so that the bookmark and its snapshot are between two changes.
const WAIT: &str = "touch \"$HOME/waiting\"; until [ -e \"$HOME/go\" ]; do sleep 0.1; done\n";

/// Mode and content of every file, and the target of every link.
type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Twelve changes by tools and shell commands, with a bookmark in the middle: after a rewind to it the user is notified,
/// one command restores the files without a request, the session goes on, and another command takes the restore back.
pub(crate) fn snapshots(cast: &Cast, home: &Path) -> Result<()> {
    // The only bookmark is the one that is typed here.
    let config = json!({ "bookmarks": { "enabled": "turn_end", "thresholds": { "cooldown_seconds": 100000 } } });
    let world = World::new(cast, home, &config, Vec::new())?;
    world.set("permissions", json!({ "allow": ["Bash", "Read", "Write", "Edit"] }))?;
    create_repository(home, &world.project)?;
    fs::write(home.join("wait"), WAIT)?;
    let path = |name: &str| world.project.join(name).display().to_string();
    let edit = |old: &str, new: &str| {
        let input = json!({ "file_path": path("kept.txt"), "old_string": old, "new_string": new });
        format!("TOOL:Edit {input}")
    };
    let session = world.open(&[])?;
    session.say(&format!("WRITE:{}", path("new.txt")))?;
    session.say(&format!("READ:{}", path("kept.txt")))?;
    session.say(&edit("one", "two"))?;
    let stops = world.events("Stop").len();
    let before = "RUN:sed -i s/one/1/ a.txt;;RUN:rm gone.txt;;RUN:mv from.txt to.txt";
    let after = "RUN:sed -i s/two/2/ a.txt;;RUN:rm to.txt";
    session.submit(&format!("{before};;RUN:sh ../wait;;{after}"))?;
    world.wait("the middle of the turn", || Ok(home.join("waiting").exists()))?;
    session.submit("·")?;
    world.wait("the snapshot of the bookmark", || Ok(snapshot_of_bookmark(&world)?.is_some()))?;
    let number = snapshot_of_bookmark(&world)?.context("the snapshot is gone")?;
    let then = files(&world.project)?;
    fs::write(home.join("go"), "")?;
    world.wait("the end of the turn", || Ok(world.events("Stop").len() > stops))?;
    world.wait("an empty input", || session.awaits_prompt())?;
    session.say("RUN:mv docs/a.md docs/b.md;;RUN:chmod +x run.sh;;RUN:sed -i s/w/W/ new.txt")?;
    session.say(&format!("WRITE:{}", path("late.txt")))?;
    session.say(&edit("two", "three"))?;
    let changed = files(&world.project)?;
    check_changes(&then, &changed)?;

    session.rewind_to("·")?;
    // Not too short: Claude Code writes the prompt to the transcript with a delay.
    session.say("SLOW:200 RUN:cat kept.txt;;SAY:this is the other way")?;
    session.wait_for(MESSAGE)?;
    let screen = session.text()?;
    let command = format!("/longhaul:restore {number} now");
    ensure!(screen.contains(&command), "the message does not name the command {command}: {screen}");
    ensure!(files(&world.project)? == changed, "the rewind has changed files");

    let requests = world.model.shown().len();
    session.tmux.type_text(&session.pane, &command)?;
    session.wait_for(&command)?;
    session.press(&["Enter"])?;
    // A file may disappear between being listed and being read.
    world.wait("the files of the bookmark", || Ok(files(&world.project).is_ok_and(|now| now == then)))?;
    // A slow machine gets the second answer.
    let answers = ["Restored", "The restore goes on in the background"];
    world.wait("the answer to the command", || {
        Ok(answers.iter().any(|answer| session.shows(answer).unwrap_or(false)))
    })?;
    world.wait("an empty input", || session.awaits_prompt())?;
    ensure!(world.model.shown().len() == requests, "the restore has caused a request");

    session.say("RUN:cat kept.txt to.txt")?;
    let results: Vec<_> = world.model.shown().iter().flat_map(longhaul_fake_model::Shown::results).collect();
    ensure!(
        results.iter().any(|result| result.contains("two\nmoved")),
        "the session does not go on with the restored files: {results:?}"
    );
    ensure!(session.text()?.matches(MESSAGE).count() == 1, "the rewind is reported more than once");
    world.longhaul(&["restore", "--undo", "--yes"])?;
    ensure!(files(&world.project)? == changed, "the restore was not taken back");
    world.check_errors()
}

/// Creates a repository with a commit, an untracked file and a link.
fn create_repository(home: &Path, project: &Path) -> Result<()> {
    fs::create_dir(project.join("docs"))?;
    let tracked = [
        ("kept.txt", "one\n"),
        ("a.txt", "one\ntwo\nthree\n"),
        ("gone.txt", "gone\n"),
        ("docs/a.md", "# A\n"),
        ("run.sh", "#!/bin/sh\n"),
    ];
    for (name, text) in tracked {
        fs::write(project.join(name), text)?;
    }
    symlink("docs/a.md", project.join("link"))?;
    let git = |args: &[&str]| {
        let mut git = run::program("git");
        git.arg("-C").arg(project).args(["-c", "user.name=e2e", "-c", "user.email=e2e@example.org"]).args(args);
        run::output(git.env("HOME", home))
    };
    git(&["init", "--quiet"])?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "--message", "first"])?;
    Ok(fs::write(project.join("from.txt"), "moved\n")?)
}

/// Returns the number of the bookmark's snapshot.
fn snapshot_of_bookmark(world: &World) -> Result<Option<i64>> {
    let snapshots = world.longhaul_json(&["snapshots"])?;
    let mut snapshots = snapshots.as_array().into_iter().flatten();
    let bookmark = snapshots.find(|snapshot| snapshot["kind"] == "bookmark");
    if let Some(skipped) = bookmark.map(|bookmark| &bookmark["skipped"]) {
        ensure!(skipped.is_null(), "the bookmark has no snapshot: {skipped}");
    }
    Ok(bookmark.map(|bookmark| &bookmark["id"]).and_then(Value::as_i64))
}

/// Checks that the changes before the bookmark are in `then`, and those after it only in `changed`.
fn check_changes(then: &Files, changed: &Files) -> Result<()> {
    let has = |files: &Files, name: &str, text: &str| {
        files.get(Path::new(name)).is_some_and(|(_, bytes)| bytes == text.as_bytes())
    };
    let is_then = has(then, "new.txt", "written as ordered\n")
        && has(then, "kept.txt", "two\n")
        && has(then, "a.txt", "1\ntwo\nthree\n")
        && has(then, "to.txt", "moved\n")
        && !["gone.txt", "from.txt", "late.txt"].iter().any(|name| then.contains_key(Path::new(name)));
    ensure!(is_then, "at the bookmark, the files were {then:?}");
    let mode = |files: &Files| files.get(Path::new("run.sh")).map(|(mode, _)| mode & 0o100);
    let is_changed = has(changed, "new.txt", "Written as ordered\n")
        && has(changed, "kept.txt", "three\n")
        && has(changed, "a.txt", "1\n2\nthree\n")
        && has(changed, "docs/b.md", "# A\n")
        && has(changed, "late.txt", "written as ordered\n")
        && !["to.txt", "docs/a.md"].iter().any(|name| changed.contains_key(Path::new(name)))
        && mode(then) != mode(changed);
    ensure!(is_changed, "after the changes, the files are {changed:?}");
    Ok(())
}

/// Returns the files of the work tree, without its git folder.
fn files(project: &Path) -> Result<Files> {
    let mut files = Files::new();
    let mut folders = vec![project.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let metadata = path.symlink_metadata()?;
            let content = if metadata.is_symlink() {
                path.read_link()?.into_os_string().into_encoded_bytes()
            } else if metadata.is_file() {
                fs::read(&path)?
            } else {
                if !path.ends_with(".git") {
                    folders.push(path);
                }
                continue;
            };
            files.insert(path.strip_prefix(project)?.to_owned(), (metadata.permissions().mode(), content));
        }
    }
    Ok(files)
}
