//! Files of ignore rules and attributes that are none: git would open a pipe and wait for ever.

use std::time::Instant;

use crate::restore_plan::KeptReason;
use crate::rules::search;
use crate::tests::*;

/// Creates a pipe, and the folders above it.
fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

/// Checks that no snapshot is taken because of `path`, and that this takes much less than the time limit; then removes it.
#[track_caller]
fn check_refused(world: &World, path: &Path) {
    let started = Instant::now();
    let refused = world.try_take().unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(30), "{refused}: {:?}", started.elapsed());
    let Error::Skipped(skip) = &refused else { panic!("{refused:?}") };
    assert!(skip.is_failure() && skip.to_string().contains(path.to_str().unwrap()), "{skip}");
    fs::remove_file(path).unwrap();
    world.take();
}

#[test]
fn a_pipe_among_the_rules_of_the_work_tree_is_named() {
    let world = World::with("tracked/deep/file", "1");
    world.write("file", "1");
    world.commit();
    for name in [".gitignore", ".gitattributes"] {
        // Of the first snapshot, only the tracked folders are known.
        fs::remove_dir_all(world.place().dir).unwrap_or_default();
        for folder in ["tracked/deep", ""] {
            let path = world.top().join(folder).join(name);
            pipe(&path);
            check_refused(&world, &path);
        }
        world.write("untracked/file", name);
        world.take();
        let path = world.top().join("untracked").join(name);
        pipe(&path);
        // Something must be read.
        world.write("untracked/file", "2");
        check_refused(&world, &path);
        world.remove("untracked");
        // A folder that no snapshot has seen.
        world.write("new/below/file", "1");
        let path = world.top().join("new/below").join(name);
        pipe(&path);
        check_refused(&world, &path);
        world.remove("new");
    }
}

#[test]
fn a_device_and_a_link_to_one_are_named_and_a_folder_or_a_broken_link_do_no_harm() {
    let world = World::with("file", "1");
    let rules = world.top().join(".gitattributes");
    symlink("/dev/zero", &rules).unwrap();
    check_refused(&world, &rules);
    symlink("nowhere", &rules).unwrap();
    world.take();
    fs::create_dir(world.top().join(".gitignore")).unwrap();
    world.take();
}

#[test]
fn a_pipe_among_the_rules_of_the_user_is_named() {
    let world = World::with("file", "1");
    let exclude = world.top().join(".git/info/exclude");
    pipe(&exclude);
    check_refused(&world, &exclude);
    let own = world.path("home").join("own");
    world.git(&["config", "--global", "core.excludesFile", own.to_str().unwrap()]);
    pipe(&own);
    check_refused(&world, &own);
}

#[test]
fn a_pipe_among_the_files_of_the_repository_is_named() {
    let world = World::with("file", "1");
    world.commit();
    for name in ["objects/info/alternates", "objects/info/commit-graph", "objects/pack/multi-pack-index"] {
        let path = world.top().join(".git").join(name);
        pipe(&path);
        let refused = world.place_of(&world.top()).unwrap_err().to_string();
        assert!(refused.contains(name) && refused.contains("is not a file of usual size"), "{refused}");
        fs::remove_file(path).unwrap();
    }
    world.take();
}

#[test]
fn a_pipe_in_a_folder_that_git_does_not_enter_does_no_harm() {
    let world = World::with(".gitignore", "build/\n");
    world.write("nested/file", "1");
    world.git_in(&world.top().join("nested"), &["init", "-q"]);
    for path in ["build/.gitignore", "build/deep/.gitattributes", "nested/.gitignore", "pipe"] {
        pipe(&world.top().join(path));
    }
    world.take();
    let git = world.place().git(Instant::now() + Duration::from_secs(30));
    search(&git).unwrap();
    pipe(&world.top().join("src/.gitignore"));
    let found = search(&git).unwrap_err().to_string();
    assert!(found.contains("src/.gitignore"), "{found}");
}

// What was left out or ignored when a snapshot was taken, and what is now.

impl World {
    /// Returns the paths of a snapshot.
    fn names(&self, snapshot: &Snapshot) -> Vec<String> {
        let git = self.place().git(std::time::Instant::now() + Duration::from_secs(10));
        let listed = git.run(&["ls-tree", "-r", "--name-only", snapshot.tree.as_deref().unwrap()], b"").unwrap();
        String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect()
    }
}

#[test]
fn what_rules_outside_of_the_work_tree_ignored_then_is_kept() {
    let world = World::new();
    let exclude = world.top().join(".git/info/exclude");
    fs::write(&exclude, "data/\n*.keep\n").unwrap();
    let own = world.path("home/.config/git/ignore");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "notes\n").unwrap();
    world.write(".gitignore", "!b.keep\n");
    for path in ["data/x", "notes", "a.keep", "b.keep"] {
        world.write(path, "then");
    }
    let then = world.take();
    assert_eq!(world.names(&then), [".gitignore", "b.keep"]);
    fs::write(&exclude, "").unwrap();
    fs::write(&own, "").unwrap();
    world.write("new", "now");
    let plan = world.plan(&then).plan;
    let kept: Vec<_> = plan.kept.iter().map(|(path, why)| (String::from_utf8_lossy(path), *why)).collect();
    let expected = ["a.keep", "data/x", "notes"].map(|path| (path.into(), KeptReason::IgnoredThen));
    assert_eq!(kept, expected);
    world.restore(&then);
    assert!(world.top().join("data/x").exists() && !world.top().join("new").exists());
}

#[test]
fn what_rules_that_ignore_themselves_ignored_then_is_kept() {
    let world = World::with(".gitignore", "cache/\n");
    for folder in [".venv", "a/b/.venv"] {
        world.write(&format!("{folder}/.gitignore"), "*\n");
        world.write(&format!("{folder}/lib/module.py"), "then");
    }
    world.write("part/.gitignore", "*.log\n.gitignore\n");
    world.write("part/a.log", "then");
    world.write("part/source", "then");
    world.write("part/deep/b.log", "then");
    world.write("cache/.gitignore", "*\n");
    let then = world.take();
    assert_eq!(world.names(&then), [".gitignore", "part/source"]);
    for path in [".venv/.gitignore", "a/b/.venv/.gitignore", "part/.gitignore"] {
        world.remove(path);
    }
    world.write("part/new", "now");
    // Ignored then, whenever it was written.
    world.write(".venv/lib/new.py", "now");
    world.restore(&then);
    let left: Vec<OsString> = world.files().into_keys().collect();
    let expected = [
        ".gitignore",
        ".venv/lib/module.py",
        ".venv/lib/new.py",
        "a/b/.venv/lib/module.py",
        "cache/.gitignore",
        "part/a.log",
        "part/deep/b.log",
        "part/source",
    ];
    assert_eq!(left, expected);
}

#[test]
fn what_was_ignored_then_in_a_folder_with_a_line_break_in_its_name_is_kept() {
    let world = World::with("a\nb/.gitignore", "*.log\n");
    world.write("a\nb/c\n/x.log", "then");
    let then = world.take();
    world.remove("a\nb/.gitignore");
    world.write("a\nb/new", "now");
    world.restore(&then);
    let left: Vec<OsString> = world.files().into_keys().collect();
    assert_eq!(left, ["a\nb/.gitignore", "a\nb/c\n/x.log"]);
}

#[test]
fn a_file_that_is_ignored_excluded_or_no_longer_tracked_is_not_in_the_next_snapshot() {
    let mut world = World::new();
    for path in [".env", "plain", "tracked", "kept"] {
        world.write(path, "1");
    }
    world.git(&["add", "--force", "."]);
    assert_eq!(world.names(&world.take()), [".env", "kept", "plain", "tracked"]);
    world.git(&["rm", "-q", "--cached", ".env", "plain"]);
    world.write(".gitignore", "plain\n");
    let second = world.take();
    assert_eq!(world.names(&second), [".gitignore", "kept", "tracked"]);
    assert_eq!(second.left_out_some.as_deref(), Some(".env (looks like a secret)"));
    world.limits.exclude = vec!["track*".to_owned()];
    assert_eq!(world.names(&world.take()), [".gitignore", "kept"]);
    assert_eq!(world.take().left_out, 2, "it is said again");
}

#[test]
fn a_tracked_and_ignored_file_that_is_too_large_is_said_in_every_snapshot() {
    let mut world = World::new();
    world.limits.max_file = 100;
    world.write("big.bin", vec![0; 200]);
    world.write(".gitignore", "*.bin\n");
    world.git(&["add", "--force", "."]);
    for number in 0..3 {
        world.write("a", number.to_string());
        let taken = world.take();
        assert_eq!(taken.left_out_some.as_deref(), Some("big.bin (larger than 20 MB)"), "{number}");
        // The first one has nothing to be compared with.
        assert_eq!(taken.changed_some, if number == 0 { vec![] } else { vec!["a"] });
    }
}

#[test]
fn a_person_is_not_refused_because_a_limit_was_exceeded_before() {
    let mut world = World::new();
    world.limits.max_new_bytes = 1000;
    world.write("a", "1");
    let then = world.take();
    world.write("big", vec![b'x'; 2000]);
    assert!(matches!(world.try_take(), Err(Error::Skipped(Skip::TooManyBytes(_)))));
    world.remove("big");
    assert!(matches!(world.try_take(), Err(Error::Skipped(Skip::StillTooLarge(_)))));
    world.write("a", "2");
    let limit = Duration::from_secs(60);
    assert!(now_tree(&world.env(), &world.place(), &world.limits, limit, limit).is_ok());
    world.restore(&then);
    assert_eq!(fs::read_to_string(world.top().join("a")).unwrap(), "1");
}

#[test]
fn a_wrong_path_beside_a_right_one_is_an_error() {
    let world = World::with("a", "1");
    let then = world.take();
    world.write("a", "2");
    let selected = vec![b"a".to_vec(), b"b".to_vec()];
    let planned = plan_restore(&world.env(), &world.place(), &world.limits, &then, selected);
    assert!(matches!(planned, Err(Error::Unknown(path)) if path == b"b"));
}

#[test]
fn a_request_that_was_left_long_ago_gets_no_snapshot_of_later_files() {
    let world = World::with("a", "1");
    world.take();
    let place = world.place();
    let request =
        r#"{"session":"s","created_at":5000,"kind":"bookmark","prompt_id":null,"pinned":false,"private":false}"#;
    fs::create_dir_all(place.dir.join("requests")).unwrap();
    fs::write(place.dir.join("requests/5000-1.json"), request).unwrap();
    let (env, config) = (world.env(), longhaul_core::Config::default());
    let log = longhaul_runtime::ErrorLog::new(&env, "snapshot");
    serve_requests(&env, &world.home(), &config, &place, &log).unwrap();
    let late = world.store().snapshots(None).unwrap().remove(0);
    assert_eq!((late.created_at, late.commit), (5000, None));
    assert_eq!(late.skipped.as_deref(), Some("it was not taken in time"));
    assert_eq!(fs::read_dir(place.dir.join("requests")).unwrap().count(), 0);
}
