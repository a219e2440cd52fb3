//! A repository that names a program wherever git would run one: Longhaul runs none of them.

mod claimed_identity;
mod commands;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use longhaul_core::catalog::REGISTRATIONS;
use serde_json::json;

use self::commands::COMMANDS;
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, part_of_event, payload, programs, with};

/// Every hook that git knows.
const GIT_HOOKS: [&str; 17] = [
    "applypatch-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
];

/// How a hostile repository gets into a folder.
#[derive(Debug, Clone, Copy)]
enum Disguise {
    /// The folder is a repository.
    Folder,
    /// The folder has a file `.git` that names another place.
    File,
    /// The folder is a bare repository, committed to a harmless one like any other folder.
    Bare,
}

/// A hostile repository, and whether anything of it ran.
struct Hostile<'a> {
    sandbox: &'a Sandbox,
    /// The folder of the session.
    cwd: PathBuf,
}

impl<'a> Hostile<'a> {
    fn new(sandbox: &'a Sandbox, disguise: Disguise) -> Self {
        let (cwd, git_dir) = match disguise {
            Disguise::Folder => (sandbox.project(), sandbox.project().join(".git")),
            Disguise::File => (sandbox.project(), sandbox.path("elsewhere")),
            Disguise::Bare => {
                git(sandbox, &sandbox.project(), &["init", "-q"]);
                let docs = sandbox.project().join("vendor/docs");
                (docs.clone(), docs)
            }
        };
        let hostile = Self { sandbox, cwd };
        let script = sandbox.path("script.sh");
        // It passes its input on, as a filter must.
        let text = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", hostile.marker().display());
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        // In place of a browser, which no test may open.
        fs::create_dir(sandbox.path("browser")).unwrap();
        for name in ["open", "xdg-open"] {
            symlink("/bin/true", sandbox.path("browser").join(name)).unwrap();
        }
        hostile.fill(disguise, &git_dir);
        hostile.arm(disguise, &git_dir, &script);
        hostile
    }

    /// Makes a repository with a commit of a file, which is changed since.
    fn fill(&self, disguise: Disguise, git_dir: &Path) {
        let made = self.sandbox.path("made");
        fs::create_dir_all(&made).unwrap();
        git(self.sandbox, &made, &["init", "-q", "-b", "main"]);
        for (name, text) in [
            ("tracked.txt", "one\n"),
            ("data.bin", "two\n"),
            (".gitattributes", "* filter=evil diff=evil merge=evil\n"),
        ] {
            fs::write(made.join(name), text).unwrap();
        }
        git(self.sandbox, &made, &["add", "."]);
        git(self.sandbox, &made, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]);
        fs::create_dir_all(&self.cwd).unwrap();
        for name in ["tracked.txt", "data.bin", ".gitattributes"] {
            fs::copy(made.join(name), self.cwd.join(name)).unwrap();
        }
        // Of the same length: git has to read it, through the filter.
        fs::write(self.cwd.join("tracked.txt"), "ONE\n").unwrap();
        match disguise {
            Disguise::Bare => {
                for entry in fs::read_dir(made.join(".git")).unwrap() {
                    let path = entry.unwrap().path();
                    fs::rename(&path, git_dir.join(path.file_name().unwrap())).unwrap();
                }
            }
            Disguise::Folder | Disguise::File => fs::rename(made.join(".git"), git_dir).unwrap(),
        }
        if let Disguise::Bare = disguise {
            // The repository around it has a commit, as a clone has: git is started there.
            let project = self.sandbox.project();
            git(self.sandbox, &project, &["add", "."]);
            git(self.sandbox, &project, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]);
            fs::write(self.cwd.join("tracked.txt"), "ONE!\n").unwrap();
        }
        if let Disguise::File = disguise {
            fs::write(self.cwd.join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
        }
    }

    /// Names the script in every setting that git would run.
    fn arm(&self, disguise: Disguise, git_dir: &Path, script: &Path) {
        let run = script.display();
        let hooks = git_dir.join("hooks");
        fs::create_dir_all(&hooks).unwrap();
        for name in GIT_HOOKS {
            fs::copy(script, hooks.join(name)).unwrap();
        }
        let included = self.sandbox.path("included.config");
        fs::write(&included, format!("[core]\n\tfsmonitor = {run}\n[alias]\n\tstatus = !{run}\n")).unwrap();
        let place = match disguise {
            Disguise::Folder => String::new(),
            Disguise::File | Disguise::Bare => format!("\tbare = false\n\tworktree = {}\n", self.cwd.display()),
        };
        let config = format!(
            "[core]\n\trepositoryformatversion = 0\n{place}\tfsmonitor = {run}\n\thooksPath = {hooks}\n\tpager = {run}\n\
             \tsshCommand = {run}\n\teditor = {run}\n\taskPass = {run}\n\tgitProxy = {run}\n\talternateRefsCommand = {run}\n\
             \tattributesFile = {cwd}/.gitattributes\n\
             [filter \"evil\"]\n\tclean = {run}\n\tsmudge = {run}\n\trequired = true\n\
             [filter \"process\"]\n\tprocess = {run}\n\
             [diff]\n\texternal = {run}\n[diff \"evil\"]\n\ttextconv = {run}\n\tcommand = {run}\n\
             [merge \"evil\"]\n\tdriver = {run}\n\
             [pager]\n\tstatus = {run}\n\tlog = {run}\n\tdiff = {run}\n\tbranch = {run}\n\
             [alias]\n\tst = !{run}\n\tstatus = !{run}\n\trev-parse = !{run}\n\tlog = !{run}\n\
             [credential]\n\thelper = !{run}\n[gpg]\n\tprogram = {run}\n[gpg \"ssh\"]\n\tprogram = {run}\n\
             [sequence]\n\teditor = {run}\n[uploadpack]\n\tpackObjectsHook = {run}\n[log]\n\tshowSignature = true\n\
             [status]\n\tsubmoduleSummary = true\n[submodule \"sub\"]\n\turl = ext::{run}\n\tupdate = !{run}\n\tactive = true\n\
             [remote \"origin\"]\n\turl = ext::{run}\n\tpromisor = true\n\tuploadpack = {run}\n\treceivepack = {run}\n\
             [include]\n\tpath = {included}\n[includeIf \"gitdir:/**\"]\n\tpath = {included}\n",
            cwd = self.cwd.display(),
            hooks = hooks.display(),
            included = included.display(),
        );
        fs::write(git_dir.join("config"), &config).unwrap();
        fs::create_dir_all(git_dir.join("info")).unwrap();
        fs::write(git_dir.join("info/attributes"), "*.bin filter=process diff=evil\n").unwrap();
        // A submodule with a configuration of its own.
        let modules = "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n";
        fs::write(self.cwd.join(".gitmodules"), modules).unwrap();
        let sub = self.cwd.join("sub");
        fs::create_dir_all(&sub).unwrap();
        git(self.sandbox, &sub, &["init", "-q"]);
        fs::write(sub.join(".git/config"), config).unwrap();
        // Programs that hooks start, if the current folder is on the search path.
        for name in ["git", "tmux", "sh", "ps", "claude", "node", "screen", "xdg-open", "longhaul", "longhaul-hook"] {
            let path = self.cwd.join(name);
            fs::copy(script, path).unwrap();
        }
    }

    fn marker(&self) -> PathBuf {
        self.sandbox.path("ran")
    }

    /// Returns what ran since the last time.
    fn ran(&self) -> String {
        let ran = fs::read_to_string(self.marker()).unwrap_or_default();
        let _ = fs::remove_file(self.marker());
        ran
    }

    /// Runs an executable of ours in the repository.
    fn run(&self, executable: &str, args: &[&str], stdin: &str) -> Outcome {
        let mut command = self.sandbox.executable(executable);
        command.current_dir(&self.cwd).env("CLAUDE_PROJECT_DIR", &self.cwd).args(args);
        // Relative folders, an empty one among them, as some people have them.
        let path = programs().display();
        let browser = self.sandbox.path("browser");
        command.env("PATH", format!(".:./node_modules/.bin::{}:{path}:", browser.display()));
        // A tmux server that is not there: the program is started all the same.
        command.env("TMUX", format!("{},1,0", self.sandbox.path("no-server").display())).env("TMUX_PANE", "%1");
        let outcome = Outcome::of(&mut command, stdin.as_bytes());
        let ran = self.ran();
        assert_eq!(ran, "", "{executable} {args:?} ran the script");
        outcome
    }

    /// Fires a hook with a recorded payload.
    fn hook(&self, executable: &str, args: &[&str], name: &str, changes: serde_json::Value) {
        let all = json!({ "session_id": "hostile", "cwd": self.cwd, "transcript_path": self.sandbox.path("t.jsonl") });
        let outcome = self.run(executable, args, &payload(name, with(all, &changes)));
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{name}: {outcome:?}");
    }
}

fn git(sandbox: &Sandbox, dir: &Path, args: &[&str]) {
    let output = sandbox.program("git").arg("-C").arg(dir).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
}

/// Returns the names of the recorded payloads.
fn payloads() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/payloads");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

fn nothing_runs(disguise: Disguise) {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"continuation":{"at":"on"},"guard":{"compact_percent":0.76,"deny_percent":0.85}}"#);
    let transcript = "{\"type\":\"assistant\",\"message\":{\"usage\":{\"input_tokens\":41500}}}\n";
    fs::write(sandbox.path("t.jsonl"), transcript).unwrap();
    let is_bare = matches!(disguise, Disguise::Bare);
    let hostile = Hostile::new(&sandbox, disguise);
    // The repository is armed: git itself runs the script.
    let printed = sandbox.program("git").current_dir(&hostile.cwd).arg("status").output().unwrap();
    assert!(!hostile.ran().is_empty(), "git status ran nothing: {printed:?}");

    hostile.hook("longhaul-session-start", &[], "SessionStart", json!({}));
    hostile.hook("longhaul-user-prompt-submit", &[], "UserPromptSubmit", json!({ "prompt": "work" }));
    for call in 0..20 {
        hostile.hook("longhaul-post-tool-use", &[], "PostToolUse", json!({ "tool_use_id": format!("call-{call}") }));
    }
    for prompt in ["·", "· with a note", "/tl", "/longhaul:tl"] {
        hostile.hook("longhaul-user-prompt-submit", &[], "UserPromptSubmit", json!({ "prompt": prompt }));
    }
    for registration in REGISTRATIONS {
        let event = registration.event.as_str();
        for name in payloads().iter().filter(|name| name.split('-').next() == Some(event)) {
            hostile.hook(&part_of_event(registration.event), &[], name, json!({}));
        }
    }
    let codex = longhaul_agents::find("codex").unwrap();
    for rule in codex.events {
        let name = payloads().into_iter().find(|name| name.split('-').next() == Some(rule.theirs));
        if let Some(name) = name {
            hostile.hook("longhaul-codex", &[rule.argument], &name, json!({ "session_id": "other" }));
        }
    }
    // The snapshots of the hooks are taken in the background.
    wait_until(DEADLINE * 2, "a snapshot of every bookmark", || {
        let all = hostile.run("longhaul", &["snapshots", "--json"], "").json();
        let bookmarks = all.as_array().unwrap().iter().filter(|one| one["kind"] == "bookmark");
        bookmarks.filter(|one| one["skipped"].is_null()).count() == 2
    });
    fs::write(hostile.cwd.join("data.bin"), "changed\n").unwrap();
    let restored = hostile.run("longhaul", &["restore", "last", "--yes", "--session", "hostile"], "");
    // Nothing in a bare repository is read or changed.
    let expected = if is_bare { "not in the snapshot: vendor/docs (another repository)" } else { "Restored 1 file" };
    assert!(restored.stdout.contains(expected), "{restored:?}");
    let bookmarks = hostile.run("longhaul", &["bookmarks", "--json"], "").json();
    let bookmarks = bookmarks.as_array().unwrap();
    assert_eq!(bookmarks.len(), 2, "{bookmarks:?}");
    // git was started in each of them. The bare repository is a folder like any other: the one around it counts.
    assert!(bookmarks.iter().all(|one| one["git_commit"].is_string() && one["git_dirty"] == true), "{bookmarks:?}");
    let input = json!({ "workspace": { "current_dir": hostile.cwd }, "session_id": "hostile" }).to_string();
    let stop = payload("Stop", json!({ "session_id": "hostile", "cwd": hostile.cwd }));
    let circle = sandbox.path("circle");
    fs::create_dir(&circle).unwrap();
    let made = hostile.run("longhaul", &["sync", "init", &format!("folder:{}", circle.display())], "");
    assert_eq!(made.status, Some(0), "{made:?}");
    for args in COMMANDS {
        let stdin = match args[0] {
            "statusline" => &input,
            "hook" => &stop,
            _ => "",
        };
        let outcome = hostile.run("longhaul", args, stdin);
        assert_ne!(outcome.status, None, "{args:?}: {outcome:?}");
        assert!(!outcome.stderr.contains("Usage:"), "{args:?} is no such command: {outcome:?}");
    }
    // A process that was left running may come later: none is there any more.
    assert_eq!(hostile.ran(), "");
}

#[test]
fn nothing_runs_of_a_repository() {
    nothing_runs(Disguise::Folder);
}

#[test]
fn nothing_runs_of_a_repository_elsewhere() {
    nothing_runs(Disguise::File);
}

#[test]
fn nothing_runs_of_a_bare_repository_inside_of_another() {
    nothing_runs(Disguise::Bare);
}
