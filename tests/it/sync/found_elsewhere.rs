//! What one machine did is found on the other, with the name of the machine beside it.

use serde_json::{Value, json};

use super::machine::{Machine, exchange};
use super::postgres_server::PostgresServer;
use crate::sandbox::Outcome;
use crate::worker::served::Served;

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
    exchange(&[&a, &b]);

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
    let has = |tool: &str, arguments: Value, text: &str| mcp(&b, tool, &arguments).contains(text);
    assert!(has("search", json!({ "query": "zstandard" }), "@heron"));
    let question = "why does the importer stall on zstandard frames?";
    assert!(has("recall", json!({ "question": question }), "@heron"));
    assert!(!has("recall", json!({ "question": question, "from_host": "here" }), "window size"));
    assert!(!has("search", json!({ "from_host": "heron" }), "rename the settings"));
    let record = b.sandbox.rows("SELECT 'P' || id FROM prompts WHERE prompt LIKE '%zstandard%'").remove(0);
    assert!(has("timeline", json!({ "id": record }), "@heron"));
    assert!(has("get_observations", json!({ "ids": [record] }), "@heron"));
}

/// Calls a tool of the MCP server. Returns the text of its answer.
fn mcp(machine: &Machine, tool: &str, arguments: &Value) -> String {
    let requests = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": tool, "arguments": arguments } }),
    ];
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let outcome = Outcome::of(machine.sandbox.executable("longhaul").arg("mcp"), input.as_bytes());
    let mut answers = outcome.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answer = answers.find(|answer| answer["id"] == 2).unwrap_or_else(|| panic!("{outcome:?}"));
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Also on the command line, beside every kind of record.
#[test]
fn the_command_line_and_the_viewer_show_where_records_come_from() {
    let (a, b) = (Machine::new("heron"), Machine::new("stork"));
    a.init(&format!("folder:{}", a.sandbox.path("circle").display()));
    b.join(&a);
    a.work("paint the boathouse", "Painted.");
    a.bookmark("before the boathouse");
    b.bookmark("before the harbour");
    exchange(&[&a, &b]);

    let run = |arguments: &[&str]| {
        let outcome = b.sandbox.longhaul(arguments);
        assert_eq!(outcome.status, Some(0), "{arguments:?}: {outcome:?}");
        outcome.stdout
    };
    let listed = run(&["bookmarks"]);
    let line = |text: &str| listed.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("{listed}"));
    assert!(line("before the boathouse").contains("@heron"), "{listed}");
    assert!(!line("before the harbour").contains('@'), "{listed}");
    let json: Value = serde_json::from_str(&run(&["bookmarks", "--json"])).unwrap();
    let hosts: Vec<&Value> = json.as_array().unwrap().iter().map(|bookmark| &bookmark["host"]).collect();
    assert_eq!(hosts, [&json!("heron"), &Value::Null]);

    let record = b.sandbox.rows("SELECT 'P' || id FROM prompts WHERE prompt = 'paint the boathouse'").remove(0);
    assert!(run(&["memory", "timeline", &record]).contains("@heron"));
    assert!(run(&["memory", "get", &record]).contains("@heron"));
    b.work("paint the harbour", "Painted.");
    let here = run(&["memory", "search", "from:here"]);
    assert!(here.contains("harbour") && !here.contains("boathouse"), "{here}");

    let served = Served::new(&b.sandbox);
    let session = b.sandbox.rows("SELECT session_id FROM bookmarks WHERE note LIKE '%boathouse%'").remove(0);
    let timeline = served.get(&format!("/api/sessions/{session}/timeline")).json();
    assert_eq!((&timeline["items"][0]["type"], &timeline["items"][0]["host"]), (&json!("bookmark"), &json!("heron")));
    assert_eq!(timeline["session"]["host"], "heron");
}
