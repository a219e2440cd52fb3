//! The user's repository is the same before and after everything that is done with snapshots.

use std::time::Instant;

use super::*;

/// Every hook that git knows.
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Returns mode, time of the last change and content of everything at and below a path. The time of a folder shows that not
/// even a temporary file was created in it.
///
/// The time of an object is left out: instead of writing one that the repository has, git marks it as used recently.
fn everything(path: &Path) -> BTreeMap<PathBuf, String> {
    let metadata = path.symlink_metadata().unwrap();
    let content = if metadata.is_file() { fs::read(path).unwrap() } else { Vec::new() };
    let is_object = metadata.is_file() && path.components().any(|part| part.as_os_str() == "objects");
    let (mode, changed) = (metadata.permissions().mode(), (!is_object).then(|| metadata.modified().unwrap()));
    let mut found = BTreeMap::from([(path.to_owned(), format!("{mode:o} {changed:?} {content:?}"))]);
    if metadata.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        found.extend(entries.flat_map(|entry| everything(&entry.unwrap().path())));
    }
    found
}

impl World {
    /// Writes hooks of every kind, which write to the file `ran`.
    fn write_hooks(&self, dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        for hook in HOOKS {
            let path = dir.join(hook);
            fs::write(&path, format!("#!/bin/sh\necho {hook} >> '{}'\n", self.path("ran").display())).unwrap();
            chmod(&path, 0o755);
        }
    }

    /// Makes a repository with reflogs, a stash, hooks, a linked worktree, a submodule and a sparse checkout, in which git
    /// collects garbage at every occasion.
    fn with_everything() -> Self {
        let world = Self::new();
        let module = world.path("module");
        fs::create_dir(&module).unwrap();
        world.git_in(&module, &["init", "-q"]);
        fs::write(module.join("file"), "module\n").unwrap();
        world.git_in(&module, &["add", "."]);
        world.git_in(&module, &["commit", "-qm", "one"]);
        for path in ["in/a", "in/b", "out/c"] {
            world.write(path, "one\n");
        }
        world.commit();
        world.git(&["submodule", "--quiet", "add", module.to_str().unwrap(), "sub"]);
        world.git(&["commit", "-qm", "submodule"]);
        world.git(&["worktree", "add", "-q", "../linked"]);
        world.git(&["sparse-checkout", "set", "in"]);
        world.write("in/a", "stashed\n");
        world.git(&["stash", "-q"]);
        for dir in [world.top(), world.top().join("sub")] {
            world.git_in(&dir, &["config", "gc.auto", "1"]);
            world.git_in(&dir, &["config", "gc.autoDetach", "false"]);
        }
        world.write_hooks(&world.top().join(".git/hooks"));
        let elsewhere = world.path("hooks-of-the-submodule");
        world.write_hooks(&elsewhere);
        world.git(&["-C", "sub", "config", "core.hooksPath", elsewhere.to_str().unwrap()]);
        world
    }

    /// Returns everything that belongs to the repositories: their folders, which hold those of the linked worktree and of the
    /// submodule, and the files that lead there.
    fn repositories(&self) -> BTreeMap<PathBuf, String> {
        let files = [self.path("linked/.git"), self.top().join("sub/.git"), self.path("hooks-of-the-submodule")];
        let mut found = everything(&self.top().join(".git"));
        assert!(found.keys().any(|path| path.ends_with("logs/refs/stash")), "there are reflogs");
        assert!(found.keys().any(|path| path.ends_with("worktrees/linked/index")));
        assert!(found.keys().any(|path| path.ends_with("modules/sub/index")));
        assert!(found.keys().any(|path| path.ends_with("info/sparse-checkout")));
        found.extend(files.iter().flat_map(|path| everything(path)));
        found
    }
}

#[test]
fn nothing_of_a_repository_is_changed_and_none_of_its_hooks_runs() {
    let world = World::with_everything();
    assert!(!world.top().join("out").exists(), "the checkout is sparse");
    let before = world.repositories();
    let check = |what: &str, top: &Path| {
        let after = world.repositories();
        let changed: Vec<&PathBuf> =
            after.keys().chain(before.keys()).filter(|path| after.get(*path) != before.get(*path)).collect();
        assert!(changed.is_empty(), "{what} in {}: {changed:?}", top.display());
        assert!(!world.path("ran").exists(), "{what} in {}: a hook ran", top.display());
    };
    let (store, limits) = (world.store(), &world.limits);
    for (top, file) in [(world.top(), "in/a"), (world.path("linked"), "out/c"), (world.top().join("sub"), "file")] {
        let (place, file) = (world.place_of(&top).unwrap(), top.join(file));
        assert_eq!(place.tree.top, top);
        let env = world.env();
        let event = Event::new("s", env.now.0, SnapshotKind::Prompt);
        let limit = Duration::from_secs(60);
        let then = take(&env, &place, &store, limits, &[event], Duration::ZERO, limit).unwrap().remove(0);
        check("a snapshot", &top);
        let content = fs::read(&file).unwrap();
        fs::write(&file, "changed\n").unwrap();
        fs::write(top.join("new"), "new\n").unwrap();
        let (now, _) = now_tree(&world.env(), &place, limits, Duration::ZERO, limit).unwrap();
        let (git, tree) = (place.git(Instant::now() + limit), then.tree.clone().unwrap());
        assert_eq!(file_changes(&git, &tree, &now).unwrap().len(), 2);
        assert!(file_patch(&git, &tree, &now, b"new", 1000).unwrap().is_some());
        assert!(show_diff(&world.env(), &git, &tree, &now, &["--stat"], &[]).unwrap());
        check("a comparison", &top);
        let prepared = plan_restore(&world.env(), &place, limits, &then, Vec::new()).unwrap();
        prepared.carry_out(&world.env(), &store, limits, "s").unwrap();
        assert_eq!(fs::read(&file).unwrap(), content);
        check("a restore", &top);
        let prepared = plan_undo(&world.env(), &place, limits).unwrap();
        prepared.carry_out(&world.env(), &store, limits, "s").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"changed\n");
        check("an undo", &top);
    }
    let mut config = longhaul_core::Config::default();
    config.snapshots.max_store = longhaul_core::config::Count(1);
    crate::upkeep(&world.env(), &world.home(), &config, &store).unwrap();
    check("upkeep", &world.top());
    // The hooks would have run.
    world.commit();
    world.git(&["-C", "sub", "commit", "-q", "--allow-empty", "-m", "two"]);
    let ran = fs::read_to_string(world.path("ran")).unwrap();
    assert!(ran.contains("post-index-change") && ran.contains("reference-transaction"), "{ran}");
}
