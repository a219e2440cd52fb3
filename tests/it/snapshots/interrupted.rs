//! Processes that are killed in the middle.

use super::*;

/// How many files a restore has to write, so that it can be killed in between.
const FILES: usize = 300;

#[test]
fn a_restore_that_is_killed_is_finished_or_taken_back_by_the_next_command() {
    let session = Session::new();
    let fill = |text: &str| (0..FILES).for_each(|file| session.write(&format!("d{}/f{file}", file % 7), text));
    fill("then\n");
    let snapshot = number(&session.prompt("one"));
    let before = session.files();
    fill("now\n");
    session.write("extra", "now\n");
    let after = session.files();
    let mut dice = Dice(7);
    let journal = || {
        let trees = glob(&session.sandbox.data_dir().join("snapshots"), "trees");
        trees.into_iter().any(|dir| dir.join("journal.json").exists())
    };
    let mut interrupted = 0;
    for round in 0..12 {
        let mut command = session.sandbox.executable("longhaul");
        command.args(["restore", &snapshot, "--yes"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // It is killed at a random point after it has begun.
        wait_until(DEADLINE, "the restore to begin", || journal() || child.try_wait().unwrap().is_some());
        std::thread::sleep(std::time::Duration::from_micros(dice.roll(40_000)));
        kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        interrupted += usize::from(journal());
        if journal() && round % 2 == 0 {
            session.run(&["restore", "--undo", "--yes"]);
            assert_eq!(session.files(), after, "taken back in round {round}");
        } else {
            session.run(&["restore", &snapshot, "--yes"]);
            assert_eq!(session.files(), before, "finished in round {round}");
            fill("now\n");
            session.write("extra", "now\n");
        }
        assert!(!journal());
    }
    assert!(interrupted > 0, "no restore was killed in the middle");
    session.prompt("and a snapshot works");
}

#[test]
fn a_snapshot_that_is_killed_leaves_nothing_that_stops_the_next_one() {
    let session = Session::new();
    for file in 0..200 {
        session.write(&format!("f{file}"), &format!("{file}\n"));
    }
    let mut dice = Dice(3);
    for round in 0..10 {
        session.write("tracked.txt", &format!("{round}\n"));
        let mut command = session.sandbox.executable("longhaul-snapshot");
        command.args([session.id, "prompt", &(1000 + round).to_string(), "", "-"]);
        let mut child = command.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(dice.roll(60_000)));
        let _ = kill_process(Pid::from_child(&child), Signal::KILL);
        child.wait().unwrap();
    }
    session.write("tracked.txt", "last\n");
    let snapshot = session.prompt("after all that");
    assert_eq!(snapshot["skipped"], Value::Null, "{snapshot}");
    session.write("tracked.txt", "later\n");
    session.run(&["restore", &number(&snapshot), "--yes"]);
    assert_eq!(session.read("tracked.txt"), "last\n");
    let status = session.git(&["status", "--porcelain"]).stdout;
    assert!(!status.contains("longhaul") && !status.contains("lock"), "{status}");
}

/// Returns the folders in each folder with the name `name` one level below `dir`.
fn glob(dir: &Path, name: &str) -> Vec<PathBuf> {
    let folders = |dir: &Path| -> Vec<PathBuf> {
        fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    folders(dir).iter().flat_map(|repository| folders(&repository.join(name))).collect()
}
