//! Files of ignore rules and attributes that are none: git would open a pipe and wait for ever.

use std::time::Instant;

use super::*;
use crate::rule_files::search;

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
    let world = World::new();
    world.write("tracked/deep/file", "1");
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
    let world = World::new();
    world.write("file", "1");
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
    let world = World::new();
    world.write("file", "1");
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
    let world = World::new();
    world.write("file", "1");
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
    let world = World::new();
    world.write(".gitignore", "build/\n");
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
