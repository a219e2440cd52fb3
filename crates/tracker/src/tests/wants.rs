use crate::{failure_reason, permission_reason, prompt_summary, shown_input, wants};

#[test]
fn a_dialog_says_what_the_tool_is_about_to_do() {
    for (tool, input, expected) in [
        ("Bash", Some("cargo publish"), "wants to run: cargo publish"),
        ("Bash", Some("  "), "wants to use: Bash"),
        ("Bash", None, "wants to use: Bash"),
        ("shell", Some("make"), "wants to run: make"),
        ("Write", Some("/home/me/api/src/main.rs"), "wants to write: main.rs"),
        ("Edit", Some("main.rs"), "wants to edit: main.rs"),
        ("MultiEdit", Some("/a/b/"), "wants to edit: b"),
        ("NotebookEdit", Some("/a/n.ipynb"), "wants to edit: n.ipynb"),
        ("Read", Some("/etc/passwd"), "wants to read: passwd"),
        ("Read", Some("/"), "wants to read: /"),
        ("WebFetch", Some("https://x.example/"), "wants to fetch: https://x.example/"),
        ("WebSearch", Some("rust"), "wants to search the web for: rust"),
        ("ExitPlanMode", None, "wants approval for a plan"),
        ("AskUserQuestion", None, "asks a question"),
        ("mcp__github__merge", None, "wants to use: merge of github"),
        ("mcp__odd", None, "wants to use: mcp__odd"),
        ("Task", Some("not shown"), "wants to use: Task"),
        ("", None, "wants permission"),
    ] {
        assert_eq!(wants(tool, input), expected);
    }
}

#[test]
fn the_content_that_a_tool_writes_is_never_shown() {
    let shown = [
        "Bash",
        "PowerShell",
        "shell",
        "Write",
        "Edit",
        "MultiEdit",
        "Read",
        "NotebookEdit",
        "WebFetch",
        "WebSearch",
        "Task",
    ]
    .map(shown_input);
    assert_eq!(
        shown,
        [
            Some("command"),
            Some("command"),
            Some("command"),
            Some("file_path"),
            Some("file_path"),
            Some("file_path"),
            Some("file_path"),
            Some("notebook_path"),
            Some("url"),
            Some("query"),
            None
        ]
    );
}

#[test]
fn a_reason_names_the_tool_or_the_error() {
    assert_eq!(
        (permission_reason("Bash"), permission_reason("")),
        ("permission: Bash".to_owned(), "permission".to_owned())
    );
    assert_eq!((failure_reason("rate_limit"), failure_reason("")), ("rate_limit", "error"));
}

#[test]
fn the_summary_of_a_prompt_is_one_line() {
    assert_eq!(prompt_summary("  fix\n the   parser \u{1b}[31m"), "fix the parser [31m");
    assert_eq!(prompt_summary(&"é".repeat(200)).chars().count(), 80);
}
