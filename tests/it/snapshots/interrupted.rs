//! Processes that are killed in the middle.

use super::*;

/// How many files a restore has to write, so that it can be killed in between.
const FILES: usize = 80;

/// How often a restore is killed.
const ROUNDS: usize = 18;

/// A session whose files are changed by a restore and changed back.
struct Interrupted {
    session: Session,
    snapshot: String,
    /// The files of the snapshot.
    then: BTreeMap<PathBuf, Vec<u8>>,
    /// The files before a restore.
    now: BTreeMap<PathBuf, Vec<u8>>,
}

impl Interrupted {
    fn new() -> Self {
        let session = Session::new();
        fill(&session, "then\n");
        session.write("gone", "then\n");
        let snapshot = number(&session.prompt("one"));
        let then = session.files();
        let mut this = Self { session, snapshot, then, now: BTreeMap::new() };
        this.change();
        this.now = this.session.files();
        this
    }

    /// Makes the files what they are before a restore.
    fn change(&self) {
        fill(&self.session, "now\n");
        self.session.write("extra", "now\n");
        let _ = fs::remove_file(self.session.sandbox.project().join("gone"));
    }

    /// Returns whether a restore was begun and not finished.
    fn is_unfinished(&self) -> bool {
        let trees = glob(&self.session.sandbox.data_dir().join("snapshots"), "trees");
        trees.into_iter().any(|dir| dir.join("journal.json").exists())
    }

    /// Starts a restore and kills it: after it has begun to write if `is_late`, otherwise at any time of its run.
    fn kill(&self, args: &[&str], dice: &mut Dice, is_late: bool) {
        let mut command = self.session.sandbox.executable("longhaul");
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        if is_late {
            let has_begun = || self.is_unfinished() || child.try_wait().unwrap().is_some();
            wait_until(DEADLINE, "the restore to begin", has_begun);
        }
        let longest = if is_late { 40_000 } else { 400_000 };
        std::thread::sleep(std::time::Duration::from_micros(dice.roll(longest)));
        let _ = kill_process(Pid::from_child(&child), Signal::KILL);
        child.wait().unwrap();
    }

    /// Checks that the files are either those before the restore or those after it.
    #[track_caller]
    fn check_not_half(&self, round: usize) {
        if !self.is_unfinished() {
            let files = self.session.files();
            assert!(files == self.then || files == self.now, "half restored in round {round}");
        }
    }
}

fn fill(session: &Session, text: &str) {
    (0..FILES).for_each(|file| session.write(&format!("d{}/f{file}", file % 7), text));
}

#[test]
fn a_restore_that_is_killed_is_finished_or_taken_back_by_the_next_command() {
    let this = Interrupted::new();
    let restore = ["restore", &this.snapshot, "--yes"];
    let mut dice = Dice(7);
    let mut interrupted = 0;
    for round in 0..ROUNDS {
        let is_late = round % 3 != 2;
        this.kill(&restore, &mut dice, is_late);
        this.check_not_half(round);
        interrupted += usize::from(this.is_unfinished());
        if this.is_unfinished() && round % 2 == 0 {
            this.session.run(&["restore", "--undo", "--yes"]);
            assert_eq!(this.session.files(), this.now, "taken back in round {round}");
        } else {
            this.session.run(&restore);
            assert_eq!(this.session.files(), this.then, "finished in round {round}");
            this.change();
        }
        assert!(!this.is_unfinished());
    }
    assert!(interrupted > 0, "no restore was killed in the middle");
    let snapshot = this.session.prompt("and a snapshot works");
    assert_eq!(snapshot["skipped"], Value::Null, "{snapshot}");
}

#[test]
fn an_undo_that_is_killed_is_finished_by_the_next_command() {
    let this = Interrupted::new();
    let mut dice = Dice(11);
    for round in 0..ROUNDS / 3 {
        this.session.run(&["restore", &this.snapshot, "--yes"]);
        this.kill(&["restore", "--undo", "--yes"], &mut dice, round % 2 == 0);
        this.check_not_half(round);
        if this.is_unfinished() && round % 4 < 2 {
            this.session.run(&["restore", "--undo", "--yes"]);
            assert_eq!(this.session.files(), this.now, "the undo was finished in round {round}");
        } else {
            this.session.run(&["restore", &this.snapshot, "--yes"]);
            assert_eq!(this.session.files(), this.then, "the undo was finished first in round {round}");
        }
        assert!(!this.is_unfinished());
        this.change();
    }
}

#[test]
fn an_undo_that_was_interrupted_is_finished_by_another_undo_and_not_taken_back() {
    let this = Interrupted::new();
    this.session.run(&["restore", &this.snapshot, "--yes"]);
    this.session.run(&["restore", "--undo", "--yes"]);
    // As if it had been killed before its last changes.
    let tree = glob(&this.session.sandbox.data_dir().join("snapshots"), "trees").remove(0);
    fs::rename(tree.join("last-restore.json"), tree.join("journal.json")).unwrap();
    (0..9).for_each(|file| this.session.write(&format!("d{}/f{file}", file % 7), "then\n"));
    let shown = this.session.sandbox.longhaul(&["restore", "--undo", "--dry-run"]);
    assert!(shown.status == Some(1) && shown.stderr.contains("`longhaul restore --undo` finishes it"), "{shown:?}");
    let done = this.session.run(&["restore", "--undo", "--yes"]);
    assert!(done.stderr.contains("It is finished now"), "{done:?}");
    assert_eq!(this.session.files(), this.now);
}

#[test]
fn a_restore_goes_on_although_its_output_is_no_longer_read() {
    let this = Interrupted::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = this.session.sandbox.executable("longhaul");
    command.args(["restore", &this.snapshot, "--yes"]).stdout(writer.try_clone().unwrap()).stderr(writer);
    assert_eq!(command.status().unwrap().code(), Some(0));
    assert_eq!(this.session.files(), this.then);
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
