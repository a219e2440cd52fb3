//! Every kind of repository: it is never changed, and its files come back byte for byte.

use super::*;

/// Takes, compares, restores and undoes, and checks that the repository is byte for byte the same.
#[track_caller]
fn check_untouched(world: &World, change: impl Fn()) {
    let repository = world.repository();
    let then = world.take();
    let before = world.files();
    change();
    let changed = world.repository();
    let after = world.files();
    world.restore(&then);
    assert_eq!(world.files(), before);
    world.undo();
    assert_eq!(world.files(), after);
    assert_eq!(world.repository(), changed);
    let names = |all: &BTreeMap<OsString, String>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&repository), names(&changed), "the change itself does not use git");
}

#[test]
fn a_repository_with_hooks_filters_and_garbage_collection_is_not_touched() {
    let world = World::with("a.txt", "one\r\ntwo\n");
    world.write("b.bin", "one");
    world.commit();
    let marker = world.path("ran");
    let script = world.path("script");
    fs::write(&script, format!("#!/bin/sh\necho x >> '{}'\ncat\n", marker.display())).unwrap();
    chmod(&script, 0o755);
    let run = script.to_str().unwrap();
    let hooks =
        ["post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc", "pre-commit", "post-commit"];
    for hook in hooks {
        fs::copy(&script, world.top().join(".git/hooks").join(hook)).unwrap();
    }
    for (key, value) in [
        ("core.fsmonitor", run),
        ("filter.evil.clean", run),
        ("filter.evil.smudge", run),
        ("filter.evil.process", run),
        ("filter.evil.required", "true"),
        ("diff.external", run),
        ("diff.evil.textconv", run),
        ("diff.evil.command", run),
        ("core.pager", run),
        ("gc.auto", "1"),
        ("gc.autoDetach", "false"),
        ("core.alternateRefsCommand", run),
        ("credential.helper", run),
        ("core.splitIndex", "false"),
    ] {
        world.git(&["config", key, value]);
    }
    world.write(".gitattributes", "* filter=evil diff=evil text eol=crlf ident\n");
    fs::write(world.top().join(".git/info/attributes"), "*.bin filter=evil\n").unwrap();
    let _ = fs::remove_file(&marker);
    check_untouched(&world, || {
        world.write("a.txt", "three\r\nfour\n$Id$\n");
        world.write("b.bin", "\r\n");
        world.remove(".gitattributes");
        world.write("new", "x");
    });
    assert!(!marker.exists(), "something of the repository ran");
}

#[test]
fn bytes_come_back_whatever_git_would_convert() {
    let world = World::new();
    world.git(&["config", "core.autocrlf", "true"]);
    world.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    world.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    world.write(".gitattributes", "*.up filter=upper\n*.txt text eol=crlf ident working-tree-encoding=UTF-16\n");
    world.write("a.up", "text");
    world.write("lf", "one\ntwo\n");
    world.write("crlf", "one\r\ntwo\r\n");
    world.commit();
    world.write("b.txt", "$Id$\none\n");
    world.git(&["checkout-index", "--all", "--force"]);
    check_untouched(&world, || {
        for path in ["a.up", "lf", "crlf", "b.txt"] {
            world.write(path, "other\r\nbytes\n");
        }
    });
}

#[test]
fn files_of_git_lfs_come_back_and_not_their_pointers() {
    let world = World::new();
    world.git(&["lfs", "install", "--local"]);
    world.git(&["lfs", "track", "*.bin"]);
    let content: Vec<u8> = (0..50_000_u32).map(|n| (n % 251) as u8).collect();
    world.write("a.bin", &content);
    world.commit();
    assert!(world.git(&["show", "HEAD:a.bin"]).starts_with("version https://git-lfs"));
    check_untouched(&world, || {
        world.remove("a.bin");
        world.write("b.bin", "new");
    });
}

#[test]
fn flags_that_hide_changes_from_git_do_not_hide_them_from_a_snapshot() {
    let world = World::new();
    for path in ["assumed", "skipped"] {
        world.write(path, "committed");
    }
    world.commit();
    world.git(&["update-index", "--assume-unchanged", "assumed"]);
    world.git(&["update-index", "--skip-worktree", "skipped"]);
    for path in ["assumed", "skipped"] {
        world.write(path, "local");
    }
    check_untouched(&world, || {
        for path in ["assumed", "skipped"] {
            world.write(path, "other");
        }
    });
}

#[test]
fn other_repositories_and_submodules_are_left_out_and_not_touched() {
    let world = World::with("a", "1");
    world.commit();
    let module = world.path("module");
    fs::create_dir(&module).unwrap();
    world.git_in(&module, &["init", "-q"]);
    fs::write(module.join("file"), "module").unwrap();
    world.git_in(&module, &["add", "."]);
    world.git_in(&module, &["commit", "-qm", "one"]);
    world.git(&["submodule", "--quiet", "add", module.to_str().unwrap(), "sub"]);
    world.write("nested/file", "1");
    world.git_in(&world.top().join("nested"), &["init", "-q"]);
    world.write("later/file", "1");
    let then = world.take();
    assert_eq!(then.left_out_some.as_deref(), Some("nested (another repository), sub (another repository)"));
    let inside =
        |world: &World| ["sub/file", "nested/file", "later/file"].map(|path| fs::read(world.top().join(path)).ok());
    world.write("sub/file", "changed");
    world.write("nested/file", "changed");
    // It was an ordinary folder when the snapshot was taken.
    world.git_in(&world.top().join("later"), &["init", "-q"]);
    world.write("later/file", "changed");
    world.write("a", "2");
    let before = inside(&world);
    world.restore(&then);
    assert_eq!(inside(&world), before);
    assert_eq!(fs::read(world.top().join("a")).unwrap(), b"1");
    assert_eq!(world.take().left_out, 3);
}

#[test]
fn worktrees_have_snapshots_of_their_own() {
    let world = World::with("a", "1");
    world.commit();
    world.git(&["worktree", "add", "-q", "../linked"]);
    let linked = world.path("linked");
    let (main, other) = (world.place(), world.place_of(&linked).unwrap());
    assert_eq!(main.repository_dir, other.repository_dir);
    assert_ne!(main.key, other.key);
    let before = listing(&world.top().join(".git"));
    let (env, store) = (world.env(), world.store());
    let event = Event::new("s", 5, SnapshotKind::Start);
    let taken = take(&env, &other, &store, &world.limits, &[event], Duration::ZERO, Duration::from_secs(60)).unwrap();
    fs::write(linked.join("a"), "2").unwrap();
    let prepared = plan_restore(&env, &other, &world.limits, &taken[0], Vec::new()).unwrap();
    prepared.carry_out(&world.env(), &store, &world.limits, "s").unwrap();
    assert_eq!(fs::read(linked.join("a")).unwrap(), b"1");
    assert_eq!(listing(&world.top().join(".git")), before);
}

#[test]
fn a_sparse_checkout_is_restored_as_far_as_it_is_checked_out() {
    let world = World::new();
    for path in ["in/a", "out/b"] {
        world.write(path, "1");
    }
    world.commit();
    world.git(&["sparse-checkout", "set", "--sparse-index", "in"]);
    assert!(!world.top().join("out").exists());
    check_untouched(&world, || world.write("in/a", "2"));
    assert!(!world.top().join("out").exists());
}

#[test]
fn an_unborn_branch_a_split_index_and_a_merge_conflict_have_snapshots() {
    let world = World::with("a", "1\n");
    let unborn = world.take();
    assert_eq!((unborn.head, unborn.branch.as_deref()), (None, Some("main")));
    world.commit();
    world.git(&["update-index", "--split-index"]);
    world.write(".env", "tracked\n");
    world.git(&["add", "-f", ".env"]);
    check_untouched(&world, || world.write(".env", "changed\n"));
    world.git(&["commit", "-qam", "main"]);
    world.git(&["checkout", "-qb", "side"]);
    world.write("a", "side\n");
    world.git(&["commit", "-qam", "side"]);
    world.git(&["checkout", "-q", "main"]);
    world.write("a", "main\n");
    world.git(&["commit", "-qam", "main"]);
    assert!(!world.try_git_in(&world.top(), &["merge", "-q", "side"]).status.success());
    let snapshot = world.take();
    assert_eq!((snapshot.under_way.as_deref(), snapshot.index_tree), (Some("merge"), None));
    check_untouched(&world, || world.write("a", "resolved\n"));
}

#[test]
fn a_git_file_and_a_separate_git_folder_work_and_a_bare_one_with_a_work_tree_says_why_not() {
    let world = World::without_repository();
    let separate = world.path("separate");
    world.git(&["init", "-q", "--separate-git-dir", separate.to_str().unwrap()]);
    world.write("a", "1");
    world.commit();
    let before = listing(&separate);
    let then = world.take();
    world.write("a", "2");
    world.restore(&then);
    assert_eq!(fs::read(world.top().join("a")).unwrap(), b"1");
    assert_eq!(listing(&separate), before);
    world.git(&["config", "core.worktree", world.top().to_str().unwrap()]);
    world.take();
    world.git(&["config", "core.bare", "true"]);
    let failed = world.try_take().unwrap_err();
    assert!(matches!(failed, Error::Skipped(Skip::NoWorkTree(_))), "{failed:?}");
}

#[test]
fn there_is_no_snapshot_without_a_repository_in_the_home_folder_and_above_the_limits() {
    let world = World::without_repository();
    let why = |world: &World| match world.try_take() {
        Err(Error::Skipped(skip)) => skip.to_string(),
        taken => panic!("{taken:?}"),
    };
    assert_eq!(why(&world), "not in a git repository");
    let home = world.path("home");
    world.git_in(&home, &["init", "-q"]);
    let found = world.place_of(&home);
    assert!(matches!(found, Err(Error::Skipped(Skip::HomeOrRoot))), "{found:?}");
    // A repository that claims a folder above itself.
    world.git(&["init", "-q"]);
    world.git(&["config", "core.worktree", world.path("").to_str().unwrap()]);
    assert_eq!(why(&world), Skip::HomeOrRoot.to_string());
    world.git(&["config", "--unset", "core.worktree"]);
    let mut world = world;
    for file in 0..20 {
        world.write(&format!("{file}"), file.to_string());
    }
    world.limits.max_files = 10;
    assert!(why(&world).contains("too many files"));
    assert!(why(&world).contains("too many files"), "without a scan");
    let mut other = World::new();
    other.limits.max_new_bytes = 100;
    other.write("a", vec![b'x'; 99]);
    other.take();
    other.write("b", vec![b'y'; 101]);
    assert!(why(&other).contains("too many for a snapshot"));
    // What the repository already has is not new.
    other.now.set(100_000_000);
    other.commit();
    other.take();
}

#[test]
fn files_that_cannot_be_read_or_are_no_files_are_left_out_and_said() {
    let world = World::with("a", "1");
    world.write("locked", "1");
    chmod(&world.top().join("locked"), 0);
    world.write(".env.local", "TOKEN=1");
    world.write("keys/server.pem", "x");
    let pipe = world.top().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    symlink("/etc/passwd", world.top().join("outside")).unwrap();
    let snapshot = world.take();
    let some = snapshot.left_out_some.unwrap();
    assert!(some.contains(".env.local (looks like a secret), keys/server.pem (looks like a secret)"), "{some}");
    // The superuser can read everything.
    assert!(some.contains("locked (cannot be read)") || rustix::process::geteuid().is_root(), "{some}");
    let git = world.place().git(std::time::Instant::now() + Duration::from_secs(10));
    let listed = git.run(&["ls-tree", "-r", snapshot.tree.as_deref().unwrap()], b"").unwrap();
    let listed = String::from_utf8_lossy(&listed);
    assert!(listed.contains("120000 blob") && listed.contains("\toutside") && !listed.contains("pipe"), "{listed}");
}

#[test]
fn names_that_git_refuses_are_left_out_and_said() {
    let world = World::new();
    for path in ["a", ".git\\b", "git~1", ".GIT/config"] {
        world.write(path, "1");
    }
    symlink("a", world.top().join(".gitmodules")).unwrap();
    let snapshot = world.take();
    assert_eq!(
        snapshot.left_out_some.as_deref(),
        Some(
            ".GIT/config (another repository), .git\\\\b (another repository), .gitmodules (not a regular file), \
             git~1 (another repository)"
        )
    );
    let before = world.files();
    world.write("a", "2");
    world.restore(&snapshot);
    assert_eq!(world.files(), before);
}

#[test]
fn the_users_own_ignore_rules_count() {
    let world = World::new();
    let ignore = world.path("home").join(".config/git/ignore");
    fs::create_dir_all(ignore.parent().unwrap()).unwrap();
    fs::write(&ignore, "*.swp\n").unwrap();
    fs::write(world.top().join(".git/info/exclude"), "notes\n").unwrap();
    for path in ["a", "a.swp", "notes", "kept.tmp"] {
        world.write(path, "1");
    }
    let names = |snapshot: &Snapshot| {
        let git = world.place().git(std::time::Instant::now() + Duration::from_secs(10));
        let tree = snapshot.tree.as_deref().unwrap();
        String::from_utf8_lossy(&git.run(&["ls-tree", "-r", "--name-only", tree], b"").unwrap()).into_owned()
    };
    assert_eq!(names(&world.take()), "a\nkept.tmp\n");
    world.git(&["config", "--global", "core.excludesFile", "~/own"]);
    fs::write(world.path("home").join("own"), "*.tmp\n").unwrap();
    world.write("a", "2");
    world.write("b.tmp", "2");
    assert_eq!(names(&world.take()), "a\na.swp\n");
    // Tracked files are not ignored.
    world.write("notes", "tracked");
    world.git(&["add", "-f", "notes"]);
    assert!(names(&world.take()).contains("notes"));
    world.remove("notes");
    assert!(!names(&world.take()).contains("notes"));
    world.write("notes", "again");
    assert!(names(&world.take()).contains("notes"));
}

#[test]
fn a_repository_with_an_endless_file_is_refused_before_git_reads_it() {
    for name in ["commondir", "config", "HEAD", "objects/info/alternates"] {
        let world = World::with("a.txt", "one");
        world.commit();
        let path = world.top().join(".git").join(name);
        let file = fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        let refused = world.place_of(&world.top()).unwrap_err().to_string();
        assert!(refused.contains("is not a file of usual size"), "{name}: {refused}");
    }
}
