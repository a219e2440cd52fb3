//! Formats of other programs.

use super::*;

#[test]
fn a_commit_is_exported_as_a_note_and_as_agent_trace() {
    let work = Work::new("a.txt", "one line\ntwo line\n");
    let mut turn = work.prompt(A, "extend it");
    turn.edit("a.txt", "one line\n", "one line\nadded one\nadded two\n");
    turn.end();
    work.change("a.txt", "two line\n", "two line\nby a person\n");
    work.commit("both");
    let trace = work.sandbox.longhaul(&["blame", "--export", "agent-trace"]).json();
    assert_eq!(trace["version"], "0.1.0");
    assert_eq!(trace["vcs"]["revision"], work.git(&["rev-parse", "HEAD"]).stdout.trim());
    let file = &trace["files"][0];
    assert_eq!(file["path"], "a.txt", "{trace}");
    let range = &file["conversations"][0]["ranges"][0];
    assert_eq!((&range["start_line"], &range["end_line"]), (&json!(2), &json!(3)), "{trace}");
    assert_eq!(file["conversations"].as_array().unwrap().len(), 1, "a person's line is nobody's");
    assert!(!work.path(".git/refs/notes").exists(), "only the export of notes writes to the repository");
    let outcome = work.sandbox.longhaul(&["blame", "--export", "notes"]);
    assert!(outcome.stderr.contains("refs/notes/ai"), "{outcome:?}");
    let note = work.git(&["notes", "--ref=ai", "show", "HEAD"]).stdout;
    let (lines, json) = note.split_once("---\n").unwrap();
    assert!(lines.starts_with("a.txt\n  ") && lines.trim_end().ends_with(" 2-3"), "{note}");
    let json: Value = serde_json::from_str(json).unwrap();
    assert_eq!(json["schema_version"], "authorship/3.0.0");
    let prompt = json["prompts"].as_object().unwrap().values().next().unwrap();
    assert_eq!((&prompt["agent_id"]["id"], &prompt["accepted_lines"]), (&json!(A), &json!(2)));
}
