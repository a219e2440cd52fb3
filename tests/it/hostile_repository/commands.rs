//! Every command, as it is run in a hostile repository.

use crate::sandbox::Sandbox;

/// Every command, with arguments that lead into its work. Those that ask the user for something get an answer.
pub(super) const COMMANDS: [&[&str]; 89] = [
    &["install", "--dry-run"],
    &["install", "--no-tmux", "--no-statusline"],
    &["update"],
    &["doctor"],
    &["doctor", "--json"],
    &["bookmarks"],
    &["snapshots"],
    &["diff", "last"],
    &["diff", "last", "--stat"],
    &["restore", "last", "--dry-run"],
    &["restore", "last", "--yes"],
    &["restore", "--undo", "--yes"],
    &["bookmark", "here", "--session", "hostile"],
    &["status"],
    &["status", "--json"],
    &["send", "hostile", "hello"],
    &["cost"],
    &["goto", "hostile"],
    &["notify", "test"],
    &["notify", "log"],
    &["reopen", "--yes"],
    &["resume", "--dry-run"],
    &["monitor", "--json"],
    &["monitor", "--vscode-task"],
    &["statusline"],
    &["statusline", "--", "sh", "-c", "cat >/dev/null; echo own"],
    &["next"],
    &["tmux", "setup"],
    &["tmux", "refresh"],
    &["tmux", "status-bar"],
    &["tmux", "menu"],
    &["tmux", "goto", "%1"],
    &["tmux", "pane-focus", "%1"],
    &["tmux", "scan"],
    &["tmux", "cleanup"],
    &["tmux", "teardown"],
    &["detail", "1", "--session", "hostile"],
    &["handoff", "show"],
    &["handoff", "log"],
    &["handoff", "write"],
    &["handoff", "drop"],
    &["continuation", "status"],
    &["continuation", "resume"],
    &["continuation", "cancel"],
    &["continuation", "log"],
    &["memory", "search", "one"],
    &["memory", "similar", "one"],
    &["memory", "recall", "one"],
    &["memory", "timeline", "P1"],
    &["memory", "get", "P1"],
    &["memory", "save", "note"],
    &["memory", "stats"],
    &["memory", "export", "--all"],
    &["memory", "import"],
    &["memory", "forget", "P1", "--yes"],
    &["memory", "purge", "--older-than", "30"],
    &["memory", "upkeep"],
    &["sync", "init", "folder:circle"],
    &["sync", "join", "nothing"],
    &["sync", "share", "--past"],
    &["sync", "now"],
    &["sync", "status"],
    &["sync", "hosts"],
    &["sync", "projects"],
    &["sync", "key"],
    &["sync", "code"],
    &["sync", "rotate"],
    &["sync", "unshare"],
    &["sync", "leave"],
    &["mcp"],
    &["worker", "start"],
    &["worker", "status"],
    &["worker", "open"],
    &["worker", "stop"],
    &["import"],
    &["hook", "Stop"],
    &["bridge", "start"],
    &["config", "show"],
    &["config", "path"],
    &["config", "schema"],
    &["config", "check"],
    &["config", "trust"],
    &["config", "trust", "--list"],
    &["config", "untrust"],
    &["handoff", "show", "--session", "hostile"],
    &["completions", "bash"],
    &["man", "man-pages"],
    &["uninstall", "--dry-run"],
    &["uninstall"],
];

#[test]
fn every_command_is_run_there() {
    check_all_run(&Sandbox::new(), &mut Vec::new());
}

/// Checks that each subcommand of the command with these words is among [`COMMANDS`].
fn check_all_run(sandbox: &Sandbox, words: &mut Vec<String>) {
    /// It serves until it is ended: `worker start` starts the same server.
    const SERVES: [&str; 2] = ["worker", "run"];

    let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(args == SERVES || COMMANDS.iter().any(|command| command.starts_with(&args)), "{args:?} is not run");
    args.push("--help");
    let help = sandbox.longhaul(&args).stdout;
    let Some(listed) = help.split("Commands:\n").nth(1) else { return };
    for line in listed.split("\n\n").next().unwrap().lines() {
        let Some(name) = line.strip_prefix("  ").and_then(|line| line.split(' ').next()) else { continue };
        if !matches!(name, "" | "help") {
            words.push(name.to_owned());
            check_all_run(sandbox, words);
            words.pop();
        }
    }
}
