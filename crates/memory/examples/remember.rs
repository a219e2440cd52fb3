//! Turns a tool call into what is remembered of it, and a search into what SQLite is asked.

#![expect(clippy::print_stdout, reason = "an example shows what comes out")]

use longhaul_core::Millis;
use longhaul_memory::{Call, Query, RawCall, observe};

fn main() {
    let call = Call::new(&RawCall {
        tool_use_id: "toolu_1",
        tool: "Bash",
        input: r#"{"command": "cargo test", "env": "<private>never kept</private>"}"#,
        response: r#"{"stdout": "test parser::cut ... FAILED\n\ntest result: FAILED. 41 passed; 1 failed", "stderr": ""}"#,
        cwd: "/work/parser",
        at: Millis(1_790_000_000_000),
        ..RawCall::default()
    });
    println!("as it waits in the spool: {}", call.to_line());
    if let Some(observation) = observe(&call, Some("/work/parser")) {
        println!("as it is remembered: {}: {}", observation.kind, observation.title);
    }
    let query = Query::parse(r#"parser "cut in two" -unicode kind:problem since:2026-01-31"#);
    println!("as it is found again: {} {:?}", query.fts().unwrap_or_default(), query.kind);
}
