//! What one machine did is found on the other, with the name of the machine beside it.

use serde_json::json;

use super::machine::Machine;
use super::postgres_server::PostgresServer;
use crate::sandbox::Outcome;

#[test]
fn a_search_on_one_machine_finds_what_the_other_did_a_minute_ago() {
    let Some(server) = PostgresServer::start() else { return };
    let (a, b) = (Machine::new("heron"), Machine::new("stork"));
    a.init(&server.new_database("team"));
    b.join(&a);
    a.work(
        "why does the importer stall on zstandard frames",
        "It stalls because the window size exceeds the decoder's limit.",
    );
    b.work("rename the settings page", "Renamed.");
    a.done(&["now"]);
    b.done(&["now"]);

    let search = |words: &[&str]| b.sandbox.longhaul(&[&["memory", "search"], words].concat()).stdout;
    assert!(search(&["zstandard"]).contains("@heron"), "{}", search(&["zstandard"]));
    assert!(search(&["from:heron"]).contains("zstandard"));
    assert!(!search(&["from:heron"]).contains("rename the settings"));
    assert!(!search(&["settings"]).contains('@'), "what was done here has no name beside it");
    let recalled = b.sandbox.longhaul(&["memory", "recall", "why does the importer stall on zstandard frames?"]).stdout;
    assert!(recalled.contains("@heron") && recalled.contains("window size"), "{recalled}");

    // At the prompt, without a question to the memory.
    let answer =
        b.fire("later", "UserPromptSubmit", json!({ "prompt": "why does the importer stall on zstandard frames?" }));
    let shown = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
    assert!(shown.contains("window size") && shown.contains("@heron"), "{answer}");

    // Over MCP, as Claude Code asks.
    let requests = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "search", "arguments": { "query": "zstandard" } } }),
    ];
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let answer = Outcome::of(b.sandbox.executable("longhaul").arg("mcp"), input.as_bytes());
    assert!(answer.stdout.contains("@heron"), "{answer:?}");
}
