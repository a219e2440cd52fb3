use std::fs;
use std::path::Path;

use tempfile::tempdir;

use super::refs::{branch, commit};

const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

#[track_caller]
fn check(files: &[(&str, &str)], expected: (Option<&str>, Option<&str>)) {
    let dir = tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let project: &Path = &dir.path().join("project");
    assert_eq!((branch(project).as_deref(), commit(project).as_deref()), expected, "{files:?}");
}

#[test]
fn branch_and_commit_are_read_from_loose_and_packed_references() {
    let head = ("project/.git/HEAD", "ref: refs/heads/main\n");
    check(&[head, ("project/.git/refs/heads/main", HASH)], (Some("main"), Some(HASH)));
    let packed = format!("# pack-refs\n{}1 refs/heads/xmain\n{HASH} refs/heads/main\n", &HASH[1..]);
    check(&[head, ("project/.git/packed-refs", &packed)], (Some("main"), Some(HASH)));
    check(&[("project/.git/HEAD", HASH)], (Some("01234567"), Some(HASH)));
    check(&[("project/.git", "gitdir: ../real\n"), ("real/HEAD", HASH)], (Some("01234567"), Some(HASH)));
}

#[test]
fn a_branch_in_a_table_of_references_is_not_known() {
    check(&[(".git/HEAD", "ref: refs/heads/.invalid\n")], (None, None));
}

#[test]
fn a_reference_does_not_lead_out_of_its_folder() {
    for name in ["refs/../../../secret", "../../secret", "refs/heads/../../../../secret"] {
        let head = format!("ref: {name}\n");
        let shown = name.strip_prefix("refs/heads/").unwrap_or(name);
        check(&[("project/.git/HEAD", &head), ("secret", HASH)], (Some(shown), None));
    }
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    let secret = dir.path().join("secret");
    fs::write(&secret, HASH).unwrap();
    fs::write(dir.path().join(".git/HEAD"), format!("ref: {}\n", secret.display())).unwrap();
    assert_eq!(commit(dir.path()), None);
}
