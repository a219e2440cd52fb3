//! Folders: repositories among them, their permissions, and empty ones.

use super::*;

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
    let world = World::with("a", "one");
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
    let world = World::with("private/notes", "1");
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
    let world = World::with("a/file", "1");
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
fn a_folder_that_still_exists_gets_its_permissions_of_then() {
    let world = World::new();
    for path in ["a/file", "b/c/file", "same/file"] {
        world.write(path, "1");
    }
    chmod(&world.top().join("b/c"), 0o750);
    let then = world.take();
    let before = world.folder_modes();
    for (path, mode) in [("a", 0o700), ("b", 0o555), ("b/c", 0o500)] {
        chmod(&world.top().join(path), mode);
    }
    let after = world.folder_modes();
    let restored = world.restore(&then);
    assert_eq!((restored.plan.steps.len(), restored.plan.folders.len()), (0, 3));
    assert_eq!(restored.conflicts, Vec::<Vec<u8>>::new());
    assert_eq!(world.folder_modes(), before);
    world.undo();
    assert_eq!(world.folder_modes(), after);
    world.undo();
    assert_eq!(world.folder_modes(), before, "taking back can be taken back");
    // A new snapshot knows the same.
    world.undo();
    let closed = world.take();
    chmod(&world.top().join("b"), 0o755);
    chmod(&world.top().join("b/c"), 0o755);
    world.write("b/c/file", "2");
    world.restore(&closed);
    assert_eq!(world.folder_modes(), after);
}

#[test]
fn only_the_selected_folders_get_their_permissions() {
    let world = World::with("a/file", "1");
    world.write("b/sub/file", "1");
    let then = world.take();
    let usual = mode(&world.top().join("a"));
    for path in ["a", "b", "b/sub"] {
        chmod(&world.top().join(path), 0o700);
    }
    let restore = |selected: &str| {
        let selected = vec![selected.as_bytes().to_vec()];
        let prepared = plan_restore(&world.env(), &world.place(), &world.limits, &then, selected).unwrap();
        prepared.carry_out(&world.env(), &world.store(), &world.limits, "s").unwrap();
        ["a", "b", "b/sub"].map(|path| mode(&world.top().join(path)))
    };
    assert_eq!(restore("b/sub/file"), [0o700, 0o700, 0o700]);
    assert_eq!(restore("b/sub"), [0o700, 0o700, usual]);
    assert_eq!(restore("b"), [0o700, usual, usual]);
}

#[test]
fn a_folder_keeps_its_permissions_while_all_its_files_are_replaced() {
    let world = World::with("a/then", "1");
    chmod(&world.top().join("a"), 0o2750);
    let then = world.take();
    world.remove("a/then");
    world.write("a/now", "1");
    world.restore(&then);
    assert_eq!(mode(&world.top().join("a")), 0o2750);
    world.undo();
    assert_eq!(mode(&world.top().join("a")), 0o2750);
}

#[test]
fn the_permissions_of_another_repository_of_an_ignored_folder_and_of_a_new_one_are_not_changed() {
    let world = World::new();
    for path in ["later/file", "hidden/file", "file"] {
        world.write(path, "1");
    }
    let then = world.take();
    world.git_in(&world.top().join("later"), &["init", "-q"]);
    world.write(".gitignore", "hidden/\n");
    world.write("new/file", "1");
    let folders = ["later", "hidden", "new"].map(|path| world.top().join(path));
    folders.iter().for_each(|folder| chmod(folder, 0o700));
    assert_eq!(world.plan(&then).plan.folders, []);
    world.restore(&then);
    assert_eq!([mode(&folders[0]), mode(&folders[1])], [0o700, 0o700]);
    world.undo();
    assert_eq!(mode(&folders[2]), 0o700);
}

#[test]
fn a_folder_that_another_program_changes_meanwhile_is_left_alone() {
    let world = World::with("a/file", "1");
    world.write("b/file", "1");
    let then = world.take();
    let usual = mode(&world.top().join("b"));
    for path in ["a", "b"] {
        chmod(&world.top().join(path), 0o700);
    }
    let prepared = world.plan(&then);
    chmod(&world.top().join("a"), 0o711);
    let restored = prepared.carry_out(&world.env(), &world.store(), &world.limits, "s").unwrap();
    assert_eq!(restored.conflicts, [b"a".to_vec()]);
    assert_eq!(["a", "b"].map(|path| mode(&world.top().join(path))), [0o711, usual]);
}

#[test]
fn an_interrupted_change_of_permissions_is_finished_or_taken_back() {
    let world = World::with("a/file", "1");
    chmod(&world.top().join("a"), 0o555);
    let then = world.take();
    chmod(&world.top().join("a"), 0o700);
    world.write("a/file", "2");
    chmod(&world.top().join("a"), 0o500);
    world.restore(&then);
    assert_eq!(mode(&world.top().join("a")), 0o555);
    let dir = world.place().dir;
    for _ in 0..2 {
        // As if it had been killed before the folder was closed again.
        chmod(&world.top().join("a"), 0o700);
        fs::rename(dir.join("last-restore.json"), dir.join("journal.json")).unwrap();
        assert_eq!(recover(&world.env(), &world.place()).unwrap().unwrap().conflicts, Vec::<Vec<u8>>::new());
        assert_eq!(mode(&world.top().join("a")), 0o555);
    }
    chmod(&world.top().join("a"), 0o700);
    fs::rename(dir.join("last-restore.json"), dir.join("journal.json")).unwrap();
    world.undo();
    assert_eq!(mode(&world.top().join("a")), 0o500);
    assert_eq!(fs::read(world.top().join("a/file")).unwrap(), b"2");
}
