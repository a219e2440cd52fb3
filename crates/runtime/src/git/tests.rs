use std::fs;
use std::path::Path;
use std::time::Duration;

use longhaul_core::{Env, Millis, Platform};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::tempdir;

use super::work_tree::{NoWorkTree, WorkTree, core_worktree};
use super::{GitVersion, branch, commit, identity};

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

#[test]
fn an_included_pipe_is_not_waited_for() {
    let dir = tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let git = dir.join("project/.git");
    fs::create_dir_all(git.join("objects")).unwrap();
    fs::create_dir_all(git.join("refs")).unwrap();
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    mknodat(CWD, dir.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let env = Env::new(Millis(1), Platform::Unix, |name| (name == "HOME").then(|| dir.display().to_string()));
    // Long enough that the test would be stopped, if git waited for the pipe.
    let around = |config: &str| {
        fs::write(git.join("config"), config).unwrap();
        WorkTree::around(&env, &dir.join("project"), Duration::from_secs(600))
    };
    fs::write(dir.join("more"), "[include]\n\tpath = pipe\n").unwrap();
    for config in [
        "[include]\n\tpath = ../../pipe\n",
        "[INCLUDE]path=\"../../pi\\\npe\"\n",
        "[core]\n\tbare = false\n[includeIf \"gitdir:**\"]\n\tpath = ~/pipe # always\n",
        "[include]\n\tpath = ../../more\n",
    ] {
        let refused = around(config).expect_err(config);
        assert!(matches!(&refused, NoWorkTree::Refused(why) if why.contains("pipe is not a file")), "{refused}");
    }
    assert!(matches!(around("[include]\n\tpath = ~root/x\n"), Err(NoWorkTree::Refused(_))));
    assert!(matches!(around("[include]\n\tpath = config\n"), Err(NoWorkTree::Refused(_))), "it includes itself");
    around("[include]\n\tpath = ../../nothing\n").unwrap();
}

#[test]
fn a_link_is_not_waited_for_and_needs_a_way_back() {
    for trap in ["commondir", "gitdir", "config", "config.worktree"] {
        let dir = tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (project, real) = (dir.join("project"), dir.join("common/worktrees/real"));
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(&real).unwrap();
        fs::write(project.join(".git"), format!("gitdir: {}\n", real.display())).unwrap();
        assert_eq!(identity(&project).as_ref(), Some(&project));
        let way_back = format!("{}/.git\n", project.display());
        for (name, text) in [("commondir", "../.."), ("gitdir", &way_back), ("config", "[user]\nname = x\n")] {
            fs::write(real.join(name), text).unwrap();
        }
        assert_eq!(identity(&project), Some(dir.join("common")));
        let _ = fs::remove_file(real.join(trap));
        if trap.starts_with("config") {
            fs::remove_file(real.join("commondir")).unwrap();
        }
        mknodat(CWD, real.join(trap), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(identity(&project).as_ref(), Some(&project), "{trap}");
    }
}

#[test]
fn the_work_tree_is_read_from_the_configuration_as_git_reads_it() {
    for (text, expected) in [
        ("[core]\n\tworktree = ../../x\n", Some("../../x")),
        ("[core]\r\n\tworktree = ../x\r\n[user]\n", Some("../x")),
        ("\u{feff}[CORE] WorkTree=/a b/c  # the rest\n", Some("/a b/c")),
        ("[core]\nworktree = \"/a;b \\\"c\\\\ \" ; x", Some("/a;b \"c\\ ")),
        ("[core]\nworktree = /a\\\n/b\nworktree = /c\\\n/d", Some("/c/d")),
        ("[core]\nbare\nworktree = /x\n[core \"worktree\"]\nworktree = /y\n", Some("/x")),
        ("[remote \"]\"]\nworktree = /y\n[core]x = y\nworktree = /x", Some("/x")),
        ("[remote \"a\\\"]\"]\nurl = \\\n[core]\nworktree = /x\n", None),
        ("; [core]\n# worktree = /x\n[core]\n;worktree = /x\n", None),
        ("[core]\n%%%\n=\nx-worktree = /x\nworktreex = /x", None),
        ("worktree = /x", None),
        ("[core]\nworktree", None),
        ("", None),
    ] {
        assert_eq!(core_worktree(text.as_bytes()).as_deref(), expected.map(str::as_bytes), "{text:?}");
    }
}

#[test]
fn the_version_is_read_however_it_is_printed() {
    let cases = [
        ("git version 2.47.3\n", Some((2, 47))),
        ("git version 2.30\n", Some((2, 30))),
        ("git version 2.39.5 (Apple Git-154)\n", Some((2, 39))),
        ("git version 3\n", None),
        ("git version two\n", None),
        ("", None),
    ];
    for (printed, expected) in cases {
        let read = GitVersion::parse(printed).map(|GitVersion { major, minor }| (major, minor));
        assert_eq!(read, expected, "{printed}");
    }
}
