//! Folders: repositories among them, their permissions, and empty ones.

use super::*;
use crate::metadata::{MAX_MODES, Metadata};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_git_folder_in_the_work_tree_is_not_touched_whatever_its_name() {
    let separate = World::without_repository();
    let folder = separate.top().join("gitdata");
    separate.git(&["init", "-q", "-b", "main", "--separate-git-dir", folder.to_str().unwrap()]);
    let linked = World::new();
    fs::rename(linked.top().join(".git"), linked.top().join("gitdata")).unwrap();
    symlink("gitdata", linked.top().join(".git")).unwrap();
    for world in [separate, linked] {
        let folder = world.top().join("gitdata");
        world.write("f", "one");
        world.git(&["add", "f"]);
        world.git(&["commit", "-qm", "one"]);
        let then = world.take();
        assert_eq!(then.left_out_some.as_deref(), Some("gitdata (another repository)"));
        world.write("f", "two");
        world.git(&["commit", "-qam", "two"]);
        let before = listing(&folder);
        world.restore(&then);
        assert_eq!(fs::read(world.top().join("f")).unwrap(), b"one");
        world.undo();
        assert_eq!(listing(&folder), before);
    }
}

#[test]
fn a_work_tree_in_its_own_git_folder_has_no_snapshots() {
    let world = World::new();
    let hooks = world.top().join(".git/hooks");
    world.git(&["config", "core.worktree", hooks.to_str().unwrap()]);
    for dir in [world.top(), hooks] {
        assert!(matches!(world.place_of(&dir), Err(Error::Skipped(_))), "{}", dir.display());
    }
}

#[test]
fn a_bare_repository_in_the_work_tree_is_not_touched() {
    let world = World::new();
    world.write("a", "one");
    world.commit();
    let bare = world.top().join("remote.git");
    world.git(&["init", "-q", "--bare", "remote.git"]);
    world.git(&["push", "-q", bare.to_str().unwrap(), "main"]);
    let then = world.take();
    assert_eq!(then.left_out_some.as_deref(), Some("remote.git (another repository)"));
    world.write("a", "two");
    world.git(&["commit", "-qam", "two"]);
    world.git(&["push", "-q", bare.to_str().unwrap(), "main"]);
    let before = listing(&bare);
    world.restore(&then);
    assert_eq!(fs::read(world.top().join("a")).unwrap(), b"one");
    assert_eq!(listing(&bare), before);
}

#[test]
fn settings_that_describe_another_file_system_do_not_matter() {
    let world = World::new();
    for key in ["core.filemode", "core.symlinks"] {
        world.git(&["config", key, "false"]);
    }
    world.git(&["config", "core.ignorecase", "true"]);
    world.write("run", "one");
    chmod(&world.top().join("run"), 0o755);
    world.write("name", "one");
    symlink("run", world.top().join("link")).unwrap();
    world.take();
    world.remove("link");
    world.write("link", "now a file");
    world.write("Name", "another");
    let then = world.take();
    let before = world.files();
    assert_eq!(then.changed.map(|(files, ..)| files), Some(2));
    world.write("run", "two");
    world.remove("link");
    world.remove("Name");
    world.restore(&then);
    assert_eq!(world.files(), before);
}

#[test]
fn a_folder_comes_back_with_its_permissions() {
    let world = World::new();
    world.write("private/notes", "1");
    world.write("closed/sub/file", "1");
    world.write("usual/file", "1");
    world.take();
    // Nothing else changes.
    chmod(&world.top().join("private"), 0o700);
    chmod(&world.top().join("closed/sub"), 0o500);
    chmod(&world.top().join("usual"), 0o755);
    let then = world.take();
    chmod(&world.top().join("closed/sub"), 0o700);
    world.remove("private");
    world.remove("closed");
    world.remove("usual");
    world.write("later/file", "2");
    chmod(&world.top().join("later"), 0o750);
    world.restore(&then);
    let modes = ["private", "closed/sub", "usual"].map(|path| mode(&world.top().join(path)));
    assert_eq!(modes, [0o700, 0o500, 0o755]);
    chmod(&world.top().join("closed/sub"), 0o700);
    world.undo();
    assert_eq!(mode(&world.top().join("later")), 0o750);
}

#[test]
fn an_empty_folder_that_existed_then_stays() {
    let world = World::new();
    world.write("a/file", "1");
    world.write("emptied/file", "1");
    for folder in ["logs/old", "a/empty"] {
        fs::create_dir_all(world.top().join(folder)).unwrap();
    }
    world.take();
    world.remove("emptied/file");
    for _ in 0..2 {
        let then = world.take();
        for path in ["logs/old/x", "logs/new/x", "a/empty/x", "emptied/x", "new/x"] {
            world.write(path, "2");
        }
        world.restore(&then);
        let is_there = |path: &str| world.top().join(path).is_dir();
        assert!(is_there("logs/old") && is_there("a/empty") && is_there("emptied"));
        assert!(!is_there("logs/new") && !is_there("new"));
    }
}

#[test]
fn permissions_of_which_only_some_are_stored_are_not_used() {
    let mut metadata = Metadata::default();
    assert!(metadata.has_modes());
    metadata.modes = (0..MAX_MODES).map(|number| (number.to_string(), 0o664)).collect();
    assert!(!metadata.has_modes(), "an earlier version stored the first ones");
    let metadata = Metadata { has_no_modes: true, ..Metadata::default() };
    assert!(!metadata.has_modes());
}
