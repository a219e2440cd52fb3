use super::*;

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
    plan.steps = vec![Step { path: b"f".to_vec(), before: None, after: entry("1") }];
    assert_eq!(plan_lines(&plan, 5)[..2], ["1 file to change: 0 written, 1 created, 0 deleted", "  create f"]);
    assert_eq!(plan_size(&plan), "1 file and the permissions of 2 folders");
    plan.folders.clear();
    assert_eq!(plan_size(&plan), "1 file");
    assert_eq!(plan_lines(&RestorePlan::default(), 5), ["No file differs."]);
}
