//! The decisions: what is left out, what a restore changes, what is kept, and how it is shown.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_core::Millis;
use proptest::prelude::*;

use crate::Error;
use crate::folders::*;
use crate::left_out::*;
use crate::paths::*;
use crate::restore_plan::*;
use crate::summary::*;

fn entry(id: &str) -> Option<Entry> {
    Some(Entry { mode: 0o100_644, id: id.to_owned() })
}

fn change(path: &str, before: Option<Entry>, after: Option<Entry>) -> Change {
    Change { path: path.as_bytes().to_vec(), before, after }
}

/// A work tree: the files of the snapshot of the present state, and other files that no snapshot holds.
#[derive(Debug, Clone, Default)]
struct Files {
    files: BTreeSet<Vec<u8>>,
    links: BTreeSet<Vec<u8>>,
    repositories: BTreeSet<Vec<u8>>,
}

impl Files {
    fn of(files: &[&str]) -> Self {
        Self { files: files.iter().map(|path| path.as_bytes().to_vec()).collect(), ..Self::default() }
    }
}

impl Disk for Files {
    fn at(&self, path: &[u8]) -> OnDisk {
        if self.links.contains(path) {
            return OnDisk::Link;
        }
        if self.files.contains(path) {
            return OnDisk::File;
        }
        if self.repositories.contains(path) {
            return OnDisk::Repository;
        }
        if self.below(path).is_empty() { OnDisk::Nothing } else { OnDisk::Folder }
    }

    fn below(&self, folder: &[u8]) -> Vec<Vec<u8>> {
        self.files.iter().filter(|file| is_below(file, folder)).cloned().collect()
    }
}

#[track_caller]
fn check(changes: &[Change], disk: &Files, expected: &[&str]) {
    let plan = RestorePlan::new(changes, &[], &[], disk);
    let mut lines: Vec<String> = plan.steps.iter().map(|step| step_line(step).trim().to_owned()).collect();
    lines.extend(plan.refused.iter().map(|(path, why)| format!("refuse {} {why:?}", shown_path(path))));
    assert_eq!(lines, expected);
}

#[test]
fn a_restore_deletes_first_and_then_writes() {
    let changes = [change("a", entry("1"), entry("2")), change("b", None, entry("3")), change("c/d", entry("4"), None)];
    check(&changes, &Files::of(&["a", "c/d"]), &["delete c/d", "write  a", "create b"]);
}

#[test]
fn a_folder_becomes_a_file_only_if_nothing_else_is_in_it() {
    let changes = [change("a", None, entry("1")), change("a/b", entry("2"), None), change("a/c/d", entry("2"), None)];
    check(&changes, &Files::of(&["a/b", "a/c/d"]), &["delete a/c/d", "delete a/b", "create a"]);
    let refused = ["refuse a FolderInTheWay", "refuse a/b FolderInTheWay", "refuse a/c/d FolderInTheWay"];
    check(&changes, &Files::of(&["a/b", "a/c/d", "a/ignored.o"]), &refused);
}

#[test]
fn a_file_becomes_a_folder_if_the_file_is_in_the_snapshot() {
    let changes = [change("a", entry("1"), None), change("a/b", None, entry("2"))];
    check(&changes, &Files::of(&["a"]), &["delete a", "create a/b"]);
    check(&changes[1..], &Files::of(&["a"]), &["refuse a/b Blocked"]);
}

#[test]
fn what_no_snapshot_holds_is_not_overwritten() {
    check(&[change("a", None, entry("1"))], &Files::of(&["a"]), &["refuse a NotInSnapshot"]);
}

#[test]
fn other_repositories_and_git_folders_are_not_touched() {
    let mut disk = Files::of(&["sub/a", "sub/b"]);
    disk.repositories.insert(b"sub".to_vec());
    let changes = [
        change("sub/a", entry("1"), entry("2")),
        change("sub/b", entry("1"), None),
        change(".git/hooks/x", None, entry("1")),
        change("x/.GIT/config", None, entry("1")),
    ];
    let refused = [
        "refuse .git/hooks/x OtherRepository",
        "refuse sub/a OtherRepository",
        "refuse sub/b OtherRepository",
        "refuse x/.GIT/config OtherRepository",
    ];
    check(&changes, &disk, &refused);
}

#[test]
fn nothing_is_written_through_a_link() {
    let mut disk = Files::default();
    disk.links.insert(b"out".to_vec());
    check(&[change("out/a", None, entry("1"))], &disk, &["refuse out/a Blocked"]);
    let link = Some(Entry { mode: 0o120_000, id: "1".to_owned() });
    let both = [change("out", link, None), change("out/a", None, entry("1"))];
    check(&both, &disk, &["delete out", "create out/a"]);
}

#[test]
fn what_was_left_out_or_ignored_then_is_kept() {
    let changes = [change("big", entry("1"), None), change("o/x", entry("1"), None), change("sub/x", entry("1"), None)];
    let left_out = [
        LeftOut { path: b"big".to_vec(), reason: LeftOutReason::TooLarge },
        LeftOut { path: b"sub/".to_vec(), reason: LeftOutReason::OtherRepository },
    ];
    let plan = RestorePlan::new(&changes, &left_out, &[b"o/x".to_vec()], &Files::of(&["big", "o/x", "sub/x"]));
    assert_eq!(plan.steps, []);
    let kept: Vec<_> = plan.kept.iter().map(|(path, why)| (shown_path(path), *why)).collect();
    assert_eq!(
        kept,
        [
            ("big".to_owned(), KeptReason::LeftOutThen),
            ("o/x".to_owned(), KeptReason::IgnoredThen),
            ("sub/x".to_owned(), KeptReason::LeftOutThen),
        ]
    );
}

#[test]
fn secrets_are_recognised_by_their_names() {
    for name in [".env", ".env.local", "prod.env", "a/b/server.PEM", "id_rsa", "tls.key", "credentials.json", ".netrc"]
    {
        assert!(looks_secret(name.as_bytes()), "{name}");
    }
    for name in ["env", ".env.example", "id_ed25519.pub", "keys.rs", "a.pem/notes.txt", "id.rs", "monkey"] {
        assert!(!looks_secret(name.as_bytes()), "{name}");
    }
}

#[test]
fn each_limit_leaves_out_what_it_should() {
    let mut limits = Limits::new(100, 1000, 1000);
    limits.exclude = ["*.log".to_owned(), "data/raw/".to_owned()].to_vec();
    let reason = |path: &str, kind, size| limits.reason(&Candidate::new(path.as_bytes(), kind, size));
    assert_eq!(reason("a", FileKind::File, 100), None);
    assert_eq!(reason("a", FileKind::File, 101), Some(LeftOutReason::TooLarge));
    assert_eq!(reason("x/a.log", FileKind::File, 1), Some(LeftOutReason::Excluded));
    assert_eq!(reason("data/raw/x", FileKind::File, 1), Some(LeftOutReason::Excluded));
    assert_eq!(reason("other/data/raw/x", FileKind::File, 1), None);
    assert_eq!(reason(".env", FileKind::File, 1), Some(LeftOutReason::Secret));
    assert_eq!(reason("pipe", FileKind::Other, 0), Some(LeftOutReason::NotAFile));
    assert_eq!(reason("sub", FileKind::Repository, 0), Some(LeftOutReason::OtherRepository));
    let mut tracked = Candidate::new(b".env", FileKind::File, 1);
    tracked.is_tracked = true;
    assert_eq!(limits.reason(&tracked), None);
    let mut unreadable = Candidate::new(b"a", FileKind::File, 1);
    unreadable.is_readable = false;
    assert_eq!(limits.reason(&unreadable), Some(LeftOutReason::Unreadable));
    for reason in LeftOutReason::ALL {
        assert_eq!(LeftOutReason::from_name(reason.as_str()), Some(reason));
    }
}

#[test]
fn an_excluded_folder_is_recorded_once_and_not_each_file_in_it() {
    let mut limits = Limits::new(100, 1000, 1000);
    limits.exclude = ["raw".to_owned(), "data/*/cache".to_owned(), "*.log".to_owned()].to_vec();
    let path = |path: &str, reason| {
        let candidate = Candidate::new(path.as_bytes(), FileKind::File, 1);
        String::from_utf8(limits.left_out_path(&candidate, reason).to_vec()).unwrap()
    };
    let excluded = LeftOutReason::Excluded;
    assert_eq!(path("data/raw/x/raw/y", excluded), "data/raw");
    assert_eq!(path("data/a/cache/raw/y", excluded), "data/a/cache");
    assert_eq!(path("x/a.log", excluded), "x/a.log");
    assert_eq!(path("x/a.log", LeftOutReason::Secret), "x/a.log");
    assert_eq!(path("data/raw/.env", LeftOutReason::Unreadable), "data/raw/.env");
}

#[test]
fn names_that_git_refuses_to_store_are_left_out() {
    let limits = Limits::new(100, 1000, 1000);
    let reason = |path: &str, kind| limits.reason(&Candidate::new(path.as_bytes(), kind, 1));
    for path in [".git/x", "a/.GIT", "git~1", ".git ", ".git\\x", ".git::$INDEX_ALLOCATION", "a/.g\u{200c}it/b"] {
        assert_eq!(reason(path, FileKind::File), Some(LeftOutReason::OtherRepository), "{path}");
    }
    assert_eq!(reason("a/.gitModules", FileKind::Link), Some(LeftOutReason::NotAFile));
    assert_eq!(reason("a/modules", FileKind::Link), None);
    for path in [".gitmodules", ".gitignore", "x.git", "git", "a\\.git"] {
        assert_eq!(reason(path, FileKind::File), None, "{path}");
    }
}

#[test]
fn the_output_of_git_is_parsed() {
    let raw =
        b":000000 100644 0000 aaaa A\0new\nname\0:100755 120000 bbbb cccc T\0\xff\0:160000 000000 dddd 0000 D\0sub\0";
    let changes = parse_changes(raw).unwrap();
    assert_eq!(changes.len(), 2);
    assert_eq!(changes[0], change("new\nname", None, entry("aaaa")));
    assert_eq!(changes[1].path, b"\xff");
    let (before, after) = (changes[1].before.as_ref().unwrap(), changes[1].after.as_ref().unwrap());
    assert_eq!((before.is_executable(), before.is_link()), (true, false));
    assert_eq!((after.is_executable(), after.is_link()), (false, true));
    assert_eq!(parse_changes(b""), Ok(Vec::new()));
    for bad in [&b"x"[..], b":1 2 3\0a\0", b":100644 100644 a b M\0", b":100644 100644 a;b c M\0p\0"] {
        assert!(matches!(parse_changes(bad), Err(Error::Output)), "{bad:?}");
    }
}

#[test]
fn lines_are_counted_and_binary_files_have_none() {
    let count = count_changes(b"3\t1\ta\0-\t-\tb.bin\0" as &[u8]);
    assert_eq!(count, ChangeCount { files: 2, added: 3, removed: 1 });
    assert_eq!(count.shown(), "2 files +3 -1");
    assert_eq!(count_changes(b"").shown(), "no change");
}

#[test]
fn a_size_has_a_decimal_only_below_ten_units() {
    assert_eq!([950, 1023].map(bytes_text), ["950 B", "1023 B"]);
    assert_eq!([1 << 10, 9728, 10_230, 1023 << 10].map(bytes_text), ["1.0 KB", "9.5 KB", "10 KB", "1023 KB"]);
    assert_eq!([1 << 20, 300 << 20].map(bytes_text), ["1.0 MB", "300 MB"]);
    assert_eq!([3 << 29, 1 << 40].map(bytes_text), ["1.5 GB", "1024 GB"]);
}

#[test]
fn files_that_were_left_out_are_named_with_the_reason() {
    let left_out =
        [("a\n", LeftOutReason::Secret), ("b", LeftOutReason::TooLarge), ("c", LeftOutReason::OtherRepository)]
            .map(|(path, reason)| LeftOut { path: path.as_bytes().to_vec(), reason });
    assert_eq!(
        left_out_line(&left_out, 2).as_deref(),
        Some("not in the snapshot: a\\n (looks like a secret), b (larger than 20 MB) and 1 more")
    );
    assert_eq!(left_out_line(&left_out[2..], 1).as_deref(), Some("not in the snapshot: c (another repository)"));
    assert_eq!(left_out_line(&[], 2), None);
}

#[test]
fn a_plan_names_some_files_of_each_kind_and_counts_the_others() {
    let changes = [
        change("created", None, entry("1")),
        change("deleted", entry("1"), None),
        change("ignored", entry("1"), None),
        change("large", entry("1"), None),
        change("unknown", None, entry("1")),
        change("written-1", entry("1"), entry("2")),
        change("written-2", entry("1"), entry("2")),
        change("x/.git/config", None, entry("1")),
    ];
    let left_out = [LeftOut { path: b"large".to_vec(), reason: LeftOutReason::TooLarge }];
    let disk = Files::of(&["deleted", "ignored", "large", "unknown", "written-1", "written-2"]);
    let plan = RestorePlan::new(&changes, &left_out, &[b"ignored".to_vec()], &disk);
    assert_eq!(
        plan_lines(&plan, 1),
        [
            "4 files to change: 2 written, 1 created, 1 deleted",
            "  write  written-1",
            "  and 1 more",
            "  create created",
            "  delete deleted",
            "kept: ignored (was ignored then) and 1 more",
            "2 files not touched:",
            "  unknown: what is there now is ignored or left out, and could not be brought back",
            "  and 1 more",
        ]
    );
    let all = plan_lines(&plan, 2);
    assert_eq!(all[1..5], ["  write  written-1", "  write  written-2", "  create created", "  delete deleted"]);
    assert_eq!(all[5..7], ["kept: ignored (was ignored then), large (was left out then)", "2 files not touched:"]);
    assert_eq!(all[8..], ["  x/.git/config: it belongs to another repository"]);
}

#[test]
fn a_folder_selects_what_lies_below_it_and_no_selection_selects_everything() {
    let is_selected = |path: &str, selected: &[&str]| {
        let selected: Vec<Vec<u8>> = selected.iter().map(|path| path.as_bytes().to_vec()).collect();
        crate::is_selected(path.as_bytes(), &selected)
    };
    assert!(is_selected("a/b", &[]));
    assert!(is_selected("a/b", &[""]), "the top of the work tree");
    assert!(is_selected("a/b", &["x", "a"]));
    assert!(is_selected("a/b", &["a/b"]));
    assert!(!is_selected("a/b", &["x", "a/c"]));
    assert!(!is_selected("ab", &["a"]));
}

#[test]
fn a_path_cannot_write_to_the_terminal() {
    assert_eq!(shown_path(b"a b/\xc3\xa4\n\x1b[31m\xff\\"), "a b/ä\\n\\033[31m\\377\\\\");
    assert_eq!(shown_path("x\u{202e}y".as_bytes()), "x\\342\\200\\256y");
}

#[test]
fn old_snapshots_go_first_and_pinned_ones_last() {
    let mut all: Vec<Kept> = (1..=5).map(|id| Kept { id, at: Millis(id as u64 * 100), bytes: 10, is_pinned: false }).collect();
    all[0].is_pinned = true;
    assert_eq!(retention(&all, Millis(500), 250, 0), [2]);
    assert_eq!(retention(&all, Millis(500), 300, 0), [0; 0], "one of exactly that age stays");
    assert_eq!(retention(&all, Millis(100_000), 300, 0), [0; 0], "the clock is ahead of the newest one");
    assert_eq!(retention(&all, Millis(600), 0, 0), [0; 0]);
    assert_eq!(retention(&all, Millis(600), 0, 15), [2, 3]);
    assert_eq!(retention(&all, Millis(600), 0, 1000), [2, 3, 4], "the newest stays, and the store is measured again");
    let left = [all[0].clone(), all[4].clone()];
    assert_eq!(retention(&left, Millis(600), 0, 1000), [1], "the pinned one goes when no other is left");
    all[1].bytes = u64::MAX;
    assert_eq!(retention(&all, Millis(600), 0, 1000), [2], "after one of unknown size, the store is measured again");
    assert_eq!(retention(&all, Millis(100_000), 1, 0), [2, 3, 4], "a pinned one does not expire");
}

/// Names that collide: the same folder, file and prefix.
fn path() -> impl Strategy<Value = Vec<u8>> {
    let name = prop::sample::select(vec!["a", "b", "a b", "c.o", "\u{7}"]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/").into_bytes())
}

/// Removes what cannot be in one tree together with a path above it.
fn tree(paths: BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    let is_fine = |path: &&Vec<u8>| !ancestors(path).any(|folder| paths.contains(folder));
    paths.iter().filter(is_fine).cloned().collect()
}

proptest! {
    #[test]
    fn every_plan_can_be_carried_out_and_loses_nothing(
        now in prop::collection::btree_set(path(), 0..8),
        then in prop::collection::btree_map(path(), any::<bool>(), 0..8),
        ignored in prop::collection::btree_set(path(), 0..4),
    ) {
        let now = tree(now);
        let then_paths = tree(then.keys().cloned().collect());
        // Files that no snapshot holds lie beside those that one does.
        let ignored: BTreeSet<Vec<u8>> = ignored
            .into_iter()
            .filter(|path| !now.contains(path) && !ancestors(path).any(|folder| now.contains(folder)))
            .filter(|path| !now.iter().any(|file| is_below(file, path)))
            .collect();
        let ignored = tree(ignored);
        let mut changes: BTreeMap<Vec<u8>, Change> = BTreeMap::new();
        for path in now.union(&then_paths) {
            let before = now.contains(path).then(|| Entry { mode: 0o100_644, id: "1".to_owned() });
            let after = then_paths.contains(path).then(|| Entry { mode: 0o100_644, id: if then[path] { "1" } else { "2" }.to_owned() });
            if before != after {
                changes.insert(path.clone(), Change { path: path.clone(), before, after });
            }
        }
        let changes: Vec<Change> = changes.into_values().collect();
        let disk = Files { files: now.union(&ignored).cloned().collect(), ..Files::default() };
        let plan = RestorePlan::new(&changes, &[], &[], &disk);
        let mut files = disk.files.clone();
        for step in &plan.steps {
            match step.kind() {
                StepKind::Delete => prop_assert!(files.remove(&step.path)),
                StepKind::Write => prop_assert!(files.contains(&step.path)),
                StepKind::Create => {
                    prop_assert!(!files.contains(&step.path));
                    prop_assert!(!files.iter().any(|file| is_below(file, &step.path)), "an empty folder");
                    prop_assert!(!ancestors(&step.path).any(|folder| files.contains(folder)));
                    files.insert(step.path.clone());
                }
            }
        }
        for path in &ignored {
            prop_assert!(files.contains(path), "what is in no snapshot stays");
        }
        prop_assert_eq!(plan.steps.len() + plan.refused.len(), changes.len());
        if ignored.is_empty() {
            prop_assert!(plan.refused.is_empty());
            prop_assert_eq!(files, then_paths);
        }
    }

    #[test]
    fn any_path_can_be_stored_as_text(path in prop::collection::vec(any::<u8>(), 0..40)) {
        let text = encoded_path(&path);
        prop_assert!(!text.contains(|c: char| c.is_ascii_control()));
        prop_assert_eq!(decoded_path(&text), path);
    }

    #[test]
    fn no_path_is_excluded_by_accident_and_matching_always_ends(pattern in "[a*/.]{0,12}", path in "[a/.]{1,20}") {
        let mut limits = Limits::new(10, 10, 10);
        limits.exclude = vec![pattern.clone()];
        let reason = limits.reason(&Candidate::new(path.as_bytes(), FileKind::File, 1));
        if !pattern.contains('*') && !path.contains(pattern.trim_matches('/')) {
            prop_assert_eq!(reason, None);
        }
    }
}

fn modes(umask: u32, unusual: &[(&str, u32)]) -> FolderModes {
    FolderModes { unusual: unusual.iter().map(|(path, mode)| (path.as_bytes().to_vec(), *mode)).collect(), umask }
}

#[test]
fn folders_whose_permissions_differ_are_found_also_if_one_of_them_is_usual() {
    let now = modes(0o022, &[("a", 0o700), ("b", 0o750), ("same", 0o555)]);
    let then = modes(0o022, &[("b", 0o500), ("c", 0o777), ("same", 0o555)]);
    let change = |path: &str, before, after| FolderChange { path: path.as_bytes().to_vec(), before, after };
    assert_eq!(
        now.changes_to(&then),
        [change("a", 0o700, 0o755), change("b", 0o750, 0o500), change("c", 0o755, 0o777)]
    );
    // With another umask, another mode is usual.
    assert_eq!(modes(0o022, &[]).changes_to(&modes(0o077, &[("a", 0o755)])), []);
    assert_eq!((then.of(b"a"), modes(0o077, &[]).of(b"a")), (0o755, 0o700));
}

#[test]
fn a_plan_names_the_folders_and_their_permissions() {
    let folder = |path: &[u8]| FolderChange { path: path.to_vec(), before: 0o755, after: 0o700 };
    let mut plan = RestorePlan { folders: vec![folder(b"a\x1b"), folder(b"b")], ..RestorePlan::default() };
    assert!(plan.changes_something());
    assert_eq!(
        plan_lines(&plan, 1),
        ["Permissions of 2 folders to change:", "  0755 becomes 0700 a\\033", "  and 1 more"]
    );
    assert_eq!(plan_lines(&plan, 2)[1..], ["  0755 becomes 0700 a\\033", "  0755 becomes 0700 b"]);
    assert_eq!(plan_size(&plan), "the permissions of 2 folders");
    plan.steps = vec![Change { path: b"f".to_vec(), before: None, after: entry("1") }];
    assert_eq!(plan_lines(&plan, 5)[..2], ["1 file to change: 0 written, 1 created, 0 deleted", "  create f"]);
    assert_eq!(plan_size(&plan), "1 file and the permissions of 2 folders");
    plan.folders.clear();
    assert_eq!(plan_size(&plan), "1 file");
    assert_eq!(plan_lines(&RestorePlan::default(), 5), ["No file differs."]);
}
