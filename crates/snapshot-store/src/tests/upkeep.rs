//! Retention, packing, and objects that disappear.

use longhaul_core::Config;

use super::*;

pub(super) fn upkeep_at(world: &World, now: u64, config: &Config) -> usize {
    world.now.set(now);
    let dropped = crate::upkeep(&world.env(), &world.home(), config, &world.store()).unwrap();
    assert_eq!(dropped.failures, Vec::<String>::new());
    assert_eq!(dropped.in_use, 0);
    dropped.snapshots
}

/// Returns bytes that cannot be compressed.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed + 1;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    noise.take(length).collect()
}

#[test]
fn old_snapshots_are_dropped_and_the_others_still_work() {
    let world = World::new();
    world.write("a", "1\n".repeat(1000));
    let first = world.take();
    world.now.set(40 * 86_400_000);
    world.write("a", "2\n".repeat(1000));
    let second = world.take();
    let before = world.files();
    world.write("a", "3\n".repeat(1000));
    world.take();
    let day = 86_400_000;
    assert_eq!(upkeep_at(&world, 41 * day, &Config::default()), 1);
    let left = world.store().snapshots(None).unwrap();
    assert!(left.iter().all(|snapshot| snapshot.id != first.id));
    let git = world.place().git(std::time::Instant::now() + Duration::from_secs(10));
    assert!(git.run(&["cat-file", "-e", first.commit.as_deref().unwrap()], b"").is_err(), "its objects are deleted");
    world.restore(&second);
    assert_eq!(world.files(), before);
    world.undo();
    assert_eq!(upkeep_at(&world, 42 * day, &Config::default()), 0);
}

#[test]
fn a_clock_that_jumps_ahead_and_back_drops_nothing_for_a_day() {
    let world = World::new();
    let day = 86_400_000;
    let upkeep = |now: u64| {
        longhaul_runtime::memory::upkeep::note_run(&world.home(), longhaul_core::Millis(now)).unwrap();
        upkeep_at(&world, now, &Config::default())
    };
    for (number, at) in [100, 101, 501, 102].into_iter().enumerate() {
        world.now.set(at * day);
        world.write("a", format!("{number}\n"));
        world.take();
        assert_eq!(upkeep(at * day), 0, "day {at}");
    }
    world.now.set(103 * day);
    world.take();
    assert_eq!(upkeep(103 * day), 0);
    assert_eq!(world.store().snapshots(None).unwrap().len(), 5);
    for at in (104..140).filter(|at| at % 2 == 0) {
        upkeep(at * day);
    }
    assert_eq!(world.store().snapshots(None).unwrap().len(), 1, "that of day 501 is the newest");
}

#[test]
fn a_store_above_its_cap_drops_the_oldest_and_pinned_ones_last() {
    let world = World::new();
    let mut taken = Vec::new();
    for seed in 0..4_u64 {
        world.write("noise", noise(seed, 200_000));
        taken.push(world.take());
    }
    let config = Config::from_json(r#"{"snapshots": {"max_store": 300000}}"#).0;
    assert!(upkeep_at(&world, 10_000_000, &config) >= 2);
    let left: Vec<i64> = world.store().snapshots(None).unwrap().iter().map(|snapshot| snapshot.id).collect();
    assert_eq!(left.last(), Some(&taken[3].id), "the newest stays: {left:?}");
    assert!(store_size(&world.home()).bytes < 450_000, "{:?}", store_size(&world.home()));
}

#[test]
fn a_large_first_snapshot_is_dropped_alone_if_that_is_enough() {
    let world = World::new();
    world.write("noise", noise(1, 600_000));
    let first = world.take();
    assert!(first.bytes >= 600_000, "{}", first.bytes);
    world.remove("noise");
    let mut others = Vec::new();
    for number in 0..4 {
        world.write("a", format!("{number}\n"));
        others.push(world.take().id);
    }
    let config = Config::from_json(r#"{"snapshots": {"max_store": 500000}}"#).0;
    assert_eq!(upkeep_at(&world, 10_000_000, &config), 1);
    let left: Vec<i64> = world.store().snapshots(None).unwrap().iter().map(|snapshot| snapshot.id).collect();
    assert_eq!(left, others);
}

#[test]
fn a_pinned_snapshot_survives_the_loss_of_the_repository_s_objects() {
    let world = World::with("a", "one\n");
    world.commit();
    let env = world.env();
    let event = Event { is_pinned: true, ..Event::new("s", env.now.0, SnapshotKind::Bookmark) };
    let second = Duration::from_secs(60);
    let pinned = take(&env, &world.place(), &world.store(), &world.limits, &[event], second, second).unwrap().remove(0);
    upkeep_at(&world, env.now.0, &Config::default());
    world.write("a", "two\n");
    world.git(&["add", "a"]);
    world.git(&["commit", "-q", "--amend", "-m", "two"]);
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "-q", "--prune=now"]);
    world.restore(&pinned);
    assert_eq!(fs::read_to_string(world.top().join("a")).unwrap(), "one\n");
}

#[test]
fn a_pruned_object_is_stored_again_from_the_file() {
    let world = World::with("dir/a", "one\n");
    world.write("b", "one\n");
    world.commit();
    world.take();
    // The file keeps a content that no commit has any more.
    world.git(&["update-ref", "-d", "HEAD"]);
    world.git(&["rm", "-q", "-r", "--cached", "."]);
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "-q", "--prune=now"]);
    upkeep_at(&world, 5_000_000, &Config::default());
    world.write("b", "two\n");
    let then = world.take();
    let before = world.files();
    world.remove("dir");
    world.restore(&then);
    assert_eq!(world.files(), before);
}

#[test]
fn the_store_of_forgotten_snapshots_is_removed() {
    let world = World::with("a", "one\n");
    let taken = world.take();
    world.store().drop_snapshots(&[taken.id]).unwrap();
    upkeep_at(&world, 5_000_000, &Config::default());
    assert_eq!(store_size(&world.home()), StoreSize::default());
    world.take();
}

#[test]
fn many_loose_objects_are_packed() {
    let world = World::new();
    for file in 0..4000 {
        world.write(&format!("{}/{file}", file % 50), format!("content {file}\n"));
    }
    let mut world = world;
    world.limits.max_files = 10_000;
    let then = world.take();
    crate::upkeep::pack_if_many(&world.place());
    let packs = fs::read_dir(world.place().objects().join("pack")).unwrap().count();
    assert!(packs >= 2, "{packs}");
    world.remove("7");
    world.restore(&then);
    assert!(world.top().join("7/7").exists());
}

#[test]
fn what_is_stored_of_a_removed_worktree_goes_with_its_last_snapshot_and_stops_no_upkeep() {
    let world = World::with("a", "1");
    world.commit();
    world.git(&["worktree", "add", "-q", "../linked"]);
    let linked = world.place_of(&world.path("linked")).unwrap();
    let event = Event::new("s", 5, SnapshotKind::Start);
    let limit = Duration::from_secs(60);
    let taken = take(&world.env(), &linked, &world.store(), &world.limits, &[event], limit, limit).unwrap();
    world.take();
    world.git(&["worktree", "remove", "--force", "../linked"]);
    // Left by a process that was killed.
    fs::create_dir_all(linked.dir.join("requests")).unwrap();
    fs::write(linked.dir.join("requests/5-1.json"), "{").unwrap();
    upkeep_at(&world, 5_000_000, &Config::default());
    assert!(linked.dir.exists() && !linked.dir.join("index").exists(), "its snapshot can still be compared");
    world.store().drop_snapshots(&[taken[0].id]).unwrap();
    upkeep_at(&world, 6_000_000, &Config::default());
    assert!(!linked.dir.exists());
    let (place, commit) = (world.place(), taken[0].commit.as_deref().unwrap());
    assert!(place.dir.join("HEAD").exists());
    let git = place.git(std::time::Instant::now() + limit);
    assert!(git.run(&["cat-file", "-e", commit], b"").is_err(), "its objects are deleted");
}

#[test]
fn temporary_objects_of_a_git_that_was_killed_are_removed() {
    let world = World::with("a", "1");
    world.take();
    let half = ["17/tmp_obj_half", "pack/tmp_pack_half"].map(|name| world.place().objects().join(name));
    for path in &half {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "half").unwrap();
    }
    upkeep_at(&world, 5_000_000, &Config::default());
    assert!(half.iter().all(|path| !path.exists()));
}
