//! What the next session is shown, and how much of it fits.

use serde_json::json;

use super::{Client, Session, context};
use crate::sandbox::Sandbox;

/// A bookmark in a running turn, one set by hand, and files: the whole of what is shown is what was said and done.
#[test]
fn a_turn_with_bookmarks_is_shown_once_with_the_files_it_changed() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    old.prompt("count the beans");
    old.write("user", json!("count the beans"));
    for (number, file) in ["src/jar.rs", "src/lid.rs", "src/jar.rs"].into_iter().enumerate() {
        if number == 2 {
            old.prompt("·");
            old.write("user", json!("·"));
        }
        let id = format!("toolu_{number}");
        let input = json!({ "file_path": sandbox.project().join(file), "content": "x".repeat(20_000) });
        old.write("assistant", json!([{ "type": "tool_use", "id": id, "name": "Write", "input": input }]));
        old.write("user", json!([{ "type": "tool_result", "tool_use_id": id, "content": "written" }]));
    }
    // The transcript does not have the reply yet.
    old.stop("there are twelve");
    old.prompt("· before the rewrite");
    old.clear();
    // It is there after the end; so is the bookmark that was set by hand.
    old.write("assistant", json!([{ "type": "text", "text": "there are twelve" }]));
    old.write("user", json!("· before the rewrite"));
    let new = Session::new(&sandbox, "new", client.pid());
    let start = new.fire("SessionStart", json!({ "source": "clear" }));
    let shown = context(&start);
    let lines: Vec<&str> = shown.lines().filter(|line| line.starts_with('[')).collect();
    let [asked, replied, files] = lines[..] else { panic!("{shown}") };
    assert!(asked.ends_with("[Last request] count the beans"), "{shown}");
    assert!(replied.ends_with("[Last reply] there are twelve"), "{shown}");
    assert_eq!(files, "[Changed files, newest first] src/jar.rs, src/lid.rs");
    assert!(!shown.contains("before the rewrite"), "{shown}");
    assert!(start["systemMessage"].to_string().contains("1 turn"), "{start}");
}
