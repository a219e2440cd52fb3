//! A folder that claims to belong to the repository of another project does not get its memory. Worktrees and submodules
//! that git has made do.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::past::Past;
use crate::sandbox::{Outcome, Sandbox, payload};

const QUESTION: &str = "what made the importer stall at night?";

/// What was asked in the other project.
const ASKED: &str = "why does the importer stall every night?";

/// What only the memory of the other project has.
const KEPT: &str = "the exchange rates hold the lock of zanzibar";

/// Folders of repositories, in a temporary place.
struct World {
    sandbox: Sandbox,
}

impl World {
    /// Makes a repository `victim` with a linked worktree `tree`.
    fn new() -> Self {
        let world = Self { sandbox: Sandbox::new().at(1_794_707_999_000).with_env("TZ", "UTC") };
        world.repository("victim");
        world.git("victim", &["worktree", "add", "-q", "../tree"]);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path(name)
    }

    fn git(&self, dir: &str, args: &[&str]) {
        let own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
        let mut command = self.sandbox.program("git");
        let outcome = Outcome::of(command.arg("-C").arg(self.path(dir)).args(own).args(args), b"");
        assert_eq!(outcome.status, Some(0), "git {args:?}: {outcome:?}");
    }

    fn repository(&self, name: &str) {
        fs::create_dir_all(self.path(name)).unwrap();
        self.git(name, &["init", "-q"]);
        self.git(name, &["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    /// Makes a file in a folder that is created where it is missing.
    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// Makes a folder whose `.git` is a file that names a folder.
    fn linked(&self, name: &str, git_dir: impl AsRef<Path>) {
        self.write(&format!("{name}/.git"), &format!("gitdir: {}\n", git_dir.as_ref().display()));
    }

    /// Remembers a session in a folder.
    fn remember(&self, dir: &str) {
        Past::within(&self.sandbox, "aaaa-1111", &self.path(dir))
            .prompt(ASKED)
            .reply(&format!("It stalls because {KEPT}; chunks of 500 rows cured the importer."));
        assert_eq!(self.sandbox.longhaul(&["memory", "import", "--quiet"]).status, Some(0));
    }

    /// Runs an executable of ours in a folder.
    fn run(&self, dir: &str, executable: &str, args: &[&str], stdin: &str) -> Outcome {
        let dir = self.path(dir);
        let mut command = self.sandbox.executable(executable);
        command.current_dir(&dir).env("CLAUDE_PROJECT_DIR", &dir).args(args);
        Outcome::of(&mut command, stdin.as_bytes())
    }

    /// Returns what the hook of an event adds to the context of a new session in a folder.
    fn context(&self, dir: &str, executable: &str, event: &str, session: &str) -> String {
        let changes = json!({ "session_id": session, "cwd": self.path(dir), "prompt": QUESTION, "prompt_id": "p1",
                              "transcript_path": "/nowhere.jsonl" });
        let outcome = self.run(dir, executable, &[], &payload(event, changes));
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{dir}: {outcome:?}");
        let answer = outcome.json();
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    /// Checks whether sessions in a folder get what is remembered: by the page, by a prompt, and by a question; and the key
    /// under which they are stored.
    #[track_caller]
    fn check(&self, dir: &str, key: &str, is_expected: bool) {
        let sessions = ["page", "prompt"].map(|kind| format!("{kind}-{}", dir.replace('/', "-")));
        let [page, prompt] = &sessions;
        let found = [
            // The page shows what was asked.
            self.context(dir, "longhaul-session-start", "SessionStart", page).replace(ASKED, KEPT),
            self.context(dir, "longhaul-user-prompt-submit", "UserPromptSubmit", prompt),
            self.run(dir, "longhaul", &["memory", "recall", QUESTION], "").stdout,
        ];
        assert_eq!(found.each_ref().map(|text| text.contains(KEPT)), [is_expected; 3], "{dir}: {found:?}");
        let database = self.sandbox.database();
        let sql = "SELECT project_key FROM sessions WHERE session_id = ?1";
        let stored: String = database.query_row(sql, [prompt], |row| row.get(0)).unwrap();
        assert_eq!(Path::new(&stored), self.path(key).canonicalize().unwrap(), "{dir}");
        // The next folder is not asked the question of this one.
        let forgotten = self.sandbox.longhaul(&["memory", "forget", "--session", prompt, "--yes"]);
        assert_eq!(forgotten.status, Some(0), "{forgotten:?}");
    }

    #[track_caller]
    fn is_refused(&self, dir: &str, key: &str) {
        self.check(dir, key, false);
    }

    #[track_caller]
    fn is_accepted(&self, dir: &str, key: &str) {
        self.check(dir, key, true);
    }
}

#[test]
fn a_link_to_another_repository_brings_nothing_of_it() {
    let world = World::new();
    world.remember("victim");
    let [victim, tree] = [".git", ".git/worktrees/tree"].map(|name| world.path("victim").join(name));
    world.linked("file", &victim);
    world.is_refused("file", "file");
    world.linked("relative", "../victim/.git");
    world.is_refused("relative", "relative");
    // That of another worktree, whose way back leads elsewhere.
    world.linked("other", &tree);
    world.is_refused("other", "other");
    for (name, target) in [("symlink", &victim), ("symlink-to-tree", &tree)] {
        fs::create_dir(world.path(name)).unwrap();
        symlink(target, world.path(name).join(".git")).unwrap();
        world.is_refused(name, name);
    }
    // Also from a folder in it.
    fs::create_dir(world.path("file/sub")).unwrap();
    world.is_refused("file/sub", "file");
    // The project itself still has it.
    world.is_accepted("victim", "victim/.git");
}

#[test]
fn a_git_folder_of_its_own_that_names_another_brings_nothing_of_it() {
    let world = World::new();
    world.remember("victim");
    let victim = world.path("victim/.git").display().to_string();
    world.repository("folder");
    world.write("folder/.git/commondir", &victim);
    world.is_refused("folder", "folder/.git");
    // It has the way back that a worktree has, but is no worktree of that repository.
    let way_back = world.path("fake/.git").display().to_string();
    for (name, text) in [("HEAD", "ref: refs/heads/main"), ("commondir", &victim), ("gitdir", &way_back)] {
        world.write(&format!("fake/worktrees/x/{name}"), text);
    }
    world.linked("fake", "worktrees/x");
    world.is_refused("fake", "fake");
    // A link to a worktree of that repository, in place of such a folder.
    fs::create_dir(world.path("deep")).unwrap();
    symlink(world.path("victim/.git/worktrees/tree"), world.path("deep/git")).unwrap();
    world.linked("deep", "git");
    world.is_refused("deep", "deep");
}

#[test]
fn worktrees_of_a_repository_have_its_memory() {
    let world = World::new();
    world.remember("victim");
    world.is_accepted("tree", "victim/.git");
    symlink(world.path("tree"), world.path("link")).unwrap();
    world.is_accepted("link", "victim/.git");
    world.git("victim", &["worktree", "move", "../tree", "../moved"]);
    world.is_accepted("moved", "victim/.git");
    fs::rename(world.path("moved"), world.path("renamed")).unwrap();
    world.git("victim", &["worktree", "repair", "../renamed"]);
    world.is_accepted("renamed", "victim/.git");
    // As git writes it with `worktree.useRelativePaths`.
    world.linked("renamed", "../victim/.git/worktrees/tree");
    world.write("victim/.git/worktrees/tree/gitdir", "../../../../renamed/.git\n");
    fs::create_dir(world.path("renamed/sub")).unwrap();
    world.is_accepted("renamed/sub", "victim/.git");
}

#[test]
fn the_worktrees_of_a_bare_repository_share_a_memory_with_the_folder_around_them() {
    let world = World::new();
    fs::create_dir(world.path("around")).unwrap();
    world.git("", &["clone", "-q", "--bare", "victim", "around/.bare"]);
    world.linked("around", "./.bare");
    world.git("around", &["worktree", "add", "-q", "feature"]);
    world.remember("around/feature");
    world.is_accepted("around/feature", "around/.bare");
    world.is_accepted("around", "around/.bare");
}

#[test]
fn a_submodule_has_its_memory_and_another_folder_has_not() {
    let world = World::new();
    world.repository("super");
    world.git("super", &["submodule", "--quiet", "add", "../victim", "lib/sub"]);
    world.git("super", &["commit", "-qam", "sub"]);
    world.remember("super/lib/sub");
    let own = "super/.git/modules/lib/sub";
    world.is_accepted("super/lib/sub", own);
    world.git("super/lib/sub", &["worktree", "add", "-q", "../../../of-sub"]);
    world.is_accepted("of-sub", own);
    // It is no other project's: not that of the repository around it, nor of one that names it.
    world.is_refused("super", "super/.git");
    world.linked("hostile", world.path(own));
    world.is_refused("hostile", "hostile");
    // git moves the setting to a file of its own.
    let [whole, of_tree] = ["config", "config.worktree"].map(|name| world.path(own).join(name).display().to_string());
    world.git("victim", &["config", "--file", &of_tree, "core.worktree", "../../../../lib/sub"]);
    world.git("victim", &["config", "--file", &whole, "--unset", "core.worktree"]);
    fs::create_dir(world.path("super/lib/sub/deep")).unwrap();
    world.is_accepted("super/lib/sub/deep", own);
}

/// git writes no way back for it, but the user can.
#[test]
fn a_repository_with_a_separate_git_folder_is_its_work_tree_until_it_names_it() {
    let world = World::new();
    fs::create_dir(world.path("apart")).unwrap();
    world.git("apart", &["init", "-q", "--separate-git-dir=../apart.git"]);
    world.remember("apart");
    world.is_accepted("apart", "apart");
    let work_tree = world.path("apart").display().to_string();
    world.git("apart", &["config", "core.worktree", &work_tree]);
    fs::create_dir(world.path("apart/sub")).unwrap();
    world.is_refused("apart/sub", "apart.git");
}
