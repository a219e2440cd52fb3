use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{Author, check, commit, section, versions};
use crate::run;
use crate::workspace::Workspace;

const RELEASED: &str = "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-01-02\n\n- one\n\n## 1.2.2\n\n- two\n";

#[track_caller]
fn refused(changelog: &str, version: &str, tag: Option<&str>, why: &str) {
    let problems = versions(changelog, version, tag);
    assert!(problems.iter().any(|problem| problem.contains(why)), "{problems:?}");
}

#[test]
fn a_release_whose_parts_agree_goes_through() {
    assert_eq!(versions(RELEASED, "1.2.3", Some("v1.2.3")), [""; 0]);
    assert_eq!(versions(RELEASED, "1.2.3", None), [""; 0]);
    assert_eq!(versions("## Unreleased\n\n- new\n", "1.3.0", None), [""; 0]);
    assert_eq!(versions("## [2.0.0-rc.1]\n- new\n", "2.0.0-rc.1", Some("v2.0.0-rc.1")), [""; 0]);
}

#[test]
fn a_tag_of_another_version_is_refused() {
    for tag in ["v1.2.4", "1.2.3", "v1.2.3 ", "", "v1.2.3-rc.1"] {
        refused(RELEASED, "1.2.3", Some(tag), "is not v1.2.3");
    }
    refused(RELEASED, "1.2", None, "is not a version");
}

#[test]
fn a_version_that_the_changelog_does_not_know_is_refused() {
    refused("## Unreleased\n\n- new\n", "1.2.3", Some("v1.2.3"), "no section \"## 1.2.3\"");
    refused("## 1.2.3\n\n## 1.2.2\n- old\n", "1.2.3", Some("v1.2.3"), "no section \"## 1.2.3\"");
    refused("## 1.2.33\n- other\n", "1.2.3", Some("v1.2.3"), "no section \"## 1.2.3\"");
    refused("## Unreleased\n- new\n## 1.2.3\n- one\n", "1.2.3", Some("v1.2.3"), "still has something");
    refused("# Changelog\n", "1.2.3", None, "neither");
}

#[test]
fn a_section_ends_where_the_next_begins() {
    assert_eq!(section(RELEASED, "1.2.3").unwrap().trim(), "- one");
    assert_eq!(section(RELEASED, "1.2.2").unwrap().trim(), "- two");
    assert_eq!(section(RELEASED, "1.2"), None);
}

#[test]
fn this_very_tree_agrees_and_no_foreign_tag_passes() {
    let workspace = Workspace::load().unwrap();
    check(&workspace, None).unwrap();
    assert!(check(&workspace, Some("v99.0.0")).unwrap_err().to_string().contains("v99.0.0"));
}

fn git(repository: &Path, arguments: &[&str]) -> String {
    let mut git = run::program("git");
    run::output(git.env("GIT_CONFIG_GLOBAL", "/dev/null").arg("-C").arg(repository).args(arguments)).unwrap()
}

#[test]
fn the_branch_has_the_files_of_the_folder_and_the_history_of_the_releases() {
    let temporary = tempfile::tempdir().unwrap();
    let (repository, folder) = (temporary.path().join("repository.git"), temporary.path().join("folder"));
    git(temporary.path(), &["init", "--quiet", "--bare", "repository.git"]);
    fs::create_dir_all(folder.join("longhaul/bin")).unwrap();
    fs::write(folder.join("longhaul/bin/longhaul"), "#!/bin/sh\r\n").unwrap();
    fs::set_permissions(folder.join("longhaul/bin/longhaul"), Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join(".gitignore"), "ignored\n").unwrap();
    fs::write(folder.join("ignored"), "is there all the same").unwrap();
    let [name, email, time] = ["A B", "a@b.c", "2026-01-02T03:04:05+01:00"].map(str::to_owned);
    let author = Author { name, email, time };
    let make = |message: &str| commit(&repository, &folder, "marketplace", message, &author);

    let first = make("longhaul 1.0.0").unwrap();
    assert_eq!(make("longhaul 1.0.0").unwrap(), first, "nothing has changed");
    let listed = git(&repository, &["ls-tree", "-r", "--format=%(objectmode) %(path)", "marketplace"]);
    assert_eq!(listed, "100644 .gitignore\n100644 ignored\n100755 longhaul/bin/longhaul\n");
    assert_eq!(git(&repository, &["show", "marketplace:longhaul/bin/longhaul"]), "#!/bin/sh\r\n");

    fs::remove_file(folder.join("ignored")).unwrap();
    make("longhaul 1.1.0").unwrap();
    let history = git(&repository, &["log", "--format=%s|%an|%ae|%cI", "marketplace"]);
    let who = "A B|a@b.c|2026-01-02T03:04:05+01:00";
    assert_eq!(history.lines().collect::<Vec<_>>(), [format!("longhaul 1.1.0|{who}"), format!("longhaul 1.0.0|{who}")]);
    let names = git(&repository, &["ls-tree", "-r", "--name-only", "marketplace"]);
    assert_eq!(names, ".gitignore\nlonghaul/bin/longhaul\n");

    assert!(commit(&repository, &folder, "not a name", "m", &author).is_err());
    symlink("longhaul", folder.join("longhaul/bin/used")).unwrap();
    assert!(make("longhaul 1.2.0").unwrap_err().to_string().contains("is a link"));
}
