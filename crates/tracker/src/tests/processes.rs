//! Which process is a client.

use super::process;
use crate::{Process, agent_below, is_below};

#[track_caller]
fn check(name: &str, arguments: &str, expected: Option<&str>) {
    let one = Process { arguments: arguments.to_owned(), ..process(3, 2, name) };
    let found = agent_below(1, &[process(1, 0, "tmux"), process(2, 1, "zsh"), one]);
    assert_eq!(found.map(|(_, client)| client), expected, "{name} {arguments}");
    assert!(found.is_none_or(|(pid, _)| pid == 3));
}

#[test]
fn a_client_is_known_by_its_name_or_by_the_script_it_is() {
    check("claude", "", Some("claude"));
    check("codex", "", Some("codex"));
    check("gemini", "", Some("gemini"));
    check("claude-code-x", "", None);
    check("vim", "claude", None);
    check("node", "node /usr/local/bin/gemini", Some("gemini"));
    check("node", "/opt/homebrew/bin/codex --full-auto", Some("codex"));
    check("node", "node --no-warnings=x --enable-source-maps /a/bin/claude", Some("claude"));
    check("node", "/usr/bin/node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js -c", Some("claude"));
    check("MainThread", "node /x/node_modules/@google/gemini-cli/dist/index.js", Some("gemini"));
    check("bun", "bun /x/node_modules/@openai/codex/bin/codex.js", Some("codex"));
}

#[test]
fn a_program_that_only_mentions_one_is_none() {
    check("node", "node /home/claude/server.js", None);
    check("node", "node /work/gemini/app.js --model claude", None);
    check("node", "node server.js gemini", None);
    check("node", "node", None);
    check("node", "", None);
}

#[test]
fn below_is_the_process_itself_and_all_under_it() {
    let processes = [process(10, 1, "sh"), process(11, 10, "sh"), process(12, 11, "claude"), process(20, 1, "sh")];
    assert!(is_below(10, 10, &processes) && is_below(12, 10, &processes));
    assert!(!is_below(10, 12, &processes) && !is_below(12, 20, &processes) && !is_below(99, 10, &processes));
    assert_eq!(agent_below(10, &processes), Some((12, "claude")));
    assert_eq!(agent_below(12, &processes), Some((12, "claude")));
    assert_eq!(agent_below(20, &processes), None);
}

#[test]
fn parents_are_followed_for_sixty_four_processes() {
    let processes: Vec<Process> = (1..100).map(|pid| process(pid, pid - 1, "sh")).collect();
    assert!(is_below(64, 1, &processes));
    assert!(!is_below(65, 1, &processes));
}

#[test]
fn a_circle_of_parents_ends() {
    let processes = [process(1, 2, "a"), process(2, 1, "claude")];
    assert!(!is_below(1, 9, &processes));
    assert_eq!(agent_below(9, &processes), None);
}
