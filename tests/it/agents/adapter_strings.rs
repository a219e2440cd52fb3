//! What Claude Code's busiest hook does not carry with it.

use std::fs;

use longhaul_agents::ALL;

use crate::sandbox::bin_dir;

/// Returns texts that only the tables of the agents contain, from each of them.
fn adapter_strings() -> Vec<&'static str> {
    let mut strings = Vec::new();
    for agent in ALL {
        let fields = agent.fields.iter().chain(agent.tools).map(|(theirs, _)| *theirs);
        // Claude Code's own payloads have names of one word.
        strings.extend(fields.filter(|name| name.contains('_')));
        strings.extend(agent.events.iter().map(|rule| rule.theirs).filter(|name| name.contains('.')));
    }
    strings.extend(["google_web_search", "todowrite", "BeforeAgent", "nothing is typed into"]);
    strings
}

#[test]
fn the_hook_of_a_tool_call_has_nothing_of_the_adapters_in_it() {
    let read = |name: &str| String::from_utf8_lossy(&fs::read(bin_dir().join(name)).unwrap()).into_owned();
    // Claude Code's own transcripts count web searches, which cost something.
    let hook = read("longhaul-post-tool-use").replace("web_search_requests", "");
    let adapters = read("longhaul-hook");
    let strings = adapter_strings();
    assert!(strings.contains(&"run_shell_command") && strings.contains(&"tool.execute.after"), "{strings:?}");
    let found: Vec<&str> = strings.iter().copied().filter(|text| hook.contains(text)).collect();
    assert_eq!(found, Vec::<&str>::new());
    // The strings are those that the other executable needs.
    assert!(adapters.contains("run_shell_command") && adapters.contains("tool.execute.after"));
}
