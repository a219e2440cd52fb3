//! `cargo xtask release --branch`: commits the universal marketplace to a branch of its own.
//!
//! The commit is made without a checkout, and nothing is pushed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::dist::universal;
use crate::run;
use crate::workspace::{PACKAGE, Workspace};

/// Who has written a commit, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
    /// The time, as git reads it.
    pub time: String,
}

/// Commits `target/universal` to `branch`, in the name of the author of the commit that is released.
pub fn run(workspace: &Workspace, branch: &str) -> Result<()> {
    let folder = universal::folder(workspace);
    let version = version_of(&folder).context("there is no marketplace: run cargo xtask dist --universal first")?;
    ensure!(
        version == workspace.version,
        "{} has version {version}, not {}: run cargo xtask dist --universal again",
        folder.display(),
        workspace.version
    );
    let git = |arguments: &[&str]| run::output(run::program("git").arg("-C").arg(&workspace.root).args(arguments));
    let repository = git(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    let written = git(&["log", "-1", "--format=%an%n%ae%n%aI", "HEAD"])?;
    let [name, email, time] = written.lines().collect::<Vec<_>>()[..] else {
        bail!("git log prints no author of the current commit");
    };
    let [name, email, time] = [name, email, time].map(str::to_owned);
    let author = Author { name, email, time };
    let message = format!("{PACKAGE} {version}");
    let commit = commit(&PathBuf::from(repository.trim_end()), &folder, branch, &message, &author)?;
    writeln!(io::stdout(), "{branch} is at {commit}: git push origin {branch}")?;
    Ok(())
}

/// Commits the content of `folder` to `branch` of a repository, and returns the branch's commit.
///
/// The earlier commit of the branch becomes the parent, so that a clone can be updated. If nothing has changed, no commit
/// is made.
pub fn commit(repository: &Path, folder: &Path, branch: &str, message: &str, author: &Author) -> Result<String> {
    // In a folder that Claude Code has used, links to this machine's executables have replaced the launchers.
    if let Some(link) = first_link(folder)? {
        bail!("{} is a link: run cargo xtask dist --universal again", link.display());
    }
    let reference = format!("refs/heads/{branch}");
    let temporary = tempfile::tempdir()?;
    let git = |arguments: &[&str]| -> Command {
        let mut git = run::program("git");
        git.current_dir(folder).env("GIT_INDEX_FILE", temporary.path().join("index"));
        // The bytes and permissions of the folder, whatever this user or the repository has configured.
        git.env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.args(["-c", "core.autocrlf=false", "-c", "core.fileMode=true", "-c", "core.excludesFile=/dev/null"]);
        git.arg("--git-dir").arg(repository).arg("--work-tree").arg(folder).args(arguments);
        git
    };
    let line = |command: &mut Command| run::output(command).map(|text| text.trim_end().to_owned());
    run::output(&mut git(&["check-ref-format", "--branch", branch]))?;
    let worktrees = line(&mut git(&["worktree", "list", "--porcelain"]))?;
    ensure!(
        !worktrees.lines().any(|line| line == format!("branch {reference}")),
        "{branch} is checked out: check out another branch first"
    );
    run::output(&mut git(&["add", "--all", "--force", "."]))?;
    let tree = line(&mut git(&["write-tree"]))?;
    let parent = line(&mut git(&["rev-parse", "--verify", "--quiet", &reference])).ok();
    if let Some(parent) = &parent
        && line(&mut git(&["rev-parse", &format!("{parent}^{{tree}}")]))? == tree
    {
        return Ok(parent.clone());
    }
    let mut commit = git(&["commit-tree", &tree, "-m", message]);
    commit.args(parent.iter().flat_map(|parent| ["-p", parent]));
    for who in ["AUTHOR", "COMMITTER"] {
        commit.env(format!("GIT_{who}_NAME"), &author.name).env(format!("GIT_{who}_EMAIL"), &author.email);
        commit.env(format!("GIT_{who}_DATE"), &author.time);
    }
    let commit = line(&mut commit)?;
    // Forty zeros mean that the branch must not exist yet.
    let before = parent.unwrap_or_else(|| "0".repeat(commit.len()));
    run::output(&mut git(&["update-ref", "-m", message, &reference, &commit, &before]))?;
    Ok(commit)
}

/// Returns the version in marketplace.json, if there is one.
fn version_of(marketplace: &Path) -> Option<String> {
    let text = fs::read(marketplace.join(".claude-plugin/marketplace.json")).ok()?;
    let list: Value = serde_json::from_slice(&text).ok()?;
    Some(list["metadata"]["version"].as_str()?.to_owned())
}

/// Returns a symbolic link below `folder`, if there is one.
fn first_link(folder: &Path) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            return Ok(Some(entry.path()));
        }
        if kind.is_dir()
            && let Some(link) = first_link(&entry.path())?
        {
            return Ok(Some(link));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::{Author, commit};
    use crate::run;

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
        assert_eq!(
            history.lines().collect::<Vec<_>>(),
            [format!("longhaul 1.1.0|{who}"), format!("longhaul 1.0.0|{who}")]
        );
        let names = git(&repository, &["ls-tree", "-r", "--name-only", "marketplace"]);
        assert_eq!(names, ".gitignore\nlonghaul/bin/longhaul\n");

        assert!(commit(&repository, &folder, "not a name", "m", &author).is_err());
        symlink("longhaul", folder.join("longhaul/bin/used")).unwrap();
        assert!(make("longhaul 1.2.0").unwrap_err().to_string().contains("is a link"));
    }
}
