use crate::call::DEFAULT_SKIPPED;
use crate::is_skipped;

#[track_caller]
fn check(tool: &str, configured: &[&str], expected: bool) {
    let configured: Vec<String> = configured.iter().map(|entry| (*entry).to_owned()).collect();
    assert_eq!(is_skipped(tool, &configured), expected, "{tool} {configured:?}");
}

#[test]
fn lists_and_questions_are_skipped_unless_said_otherwise() {
    for tool in ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "ToolSearch", "Skill", "SlashCommand"]
    {
        check(tool, &DEFAULT_SKIPPED, true);
        check(tool, &[], true);
        check(tool, &["Bash"], false);
    }
    for tool in ["Bash", "Task", "TaskOutput", "Edit", "mcp__fk__ping", "Agent"] {
        check(tool, &DEFAULT_SKIPPED, false);
        check(tool, &[], false);
    }
}

#[test]
fn our_own_tools_are_always_skipped() {
    check("mcp__longhaul__search", &[], true);
    check("mcp__plugin_longhaul_longhaul__get_observations", &[], true);
    check("mcp__other__search", &[], false);
    check("", &[], true);
}

#[test]
fn a_star_stands_for_anything() {
    check("mcp__a__b", &["mcp__*"], true);
    check("mcp__a__b", &["*__b"], true);
    check("mcp__a__b", &["mcp__*__b"], true);
    check("mcp__a__b", &["mcp__*__c"], false);
    check("mcp__a__b", &["*"], true);
    check("aa", &["aa*a"], false);
    check("Bash", &["bash", "Bas", ""], false);
}
