//! Codex's sessions, with the rollout that version 0.166 wrote.

use super::*;

const SESSION: &str = "01a1de69-9a48-7213-b664-b016f981bf57";

/// Copies the recorded rollout to where Codex writes it.
fn write_rollout(sandbox: &Sandbox, folder: &str, recorded: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/codex").join(recorded);
    let folder = sandbox.home().join(".codex").join(folder);
    fs::create_dir_all(&folder).unwrap();
    let extension = recorded.strip_prefix("rollout").unwrap();
    fs::copy(from, folder.join(format!("rollout-2026-11-15T08-53-45-{SESSION}{extension}"))).unwrap();
}

#[test]
fn the_sessions_of_codex_are_counted_also_compressed_and_each_request_once() {
    for files in [
        &[("sessions/2026/11/15", "rollout.jsonl")][..],
        &[("sessions/2026/11/15", "rollout.jsonl.zst")],
        &[("sessions/2026/11/15", "rollout.jsonl"), ("archived_sessions", "rollout.jsonl.zst")],
    ] {
        let sandbox = sandbox();
        for (folder, recorded) in files {
            write_rollout(&sandbox, folder, recorded);
        }
        let report = json_of(&sandbox, &["--by", "session"]);
        let row = &report["rows"][0];
        assert_eq!(row["key"], json!(format!("codex:{SESSION}")), "{report}");
        assert_eq!((&row["project"], &row["models"]), (&json!("project"), &json!(["gpt-5-codex"])));
        let sums =
            ["requests", "input_tokens", "cache_read_tokens", "output_tokens", "total_tokens", "unpriced_tokens"];
        // As Codex's own last total: 5,800 of input, 4,000 of them from the cache, and 200 of output.
        assert_eq!(sums.map(|key| row[key].as_u64().unwrap()), [4, 1_800, 4_000, 200, 6_000, 6_000], "{files:?}");
        assert_eq!((&row["cost_usd"], &report["unknown_models"]), (&json!(null), &json!(["gpt-5-codex"])));
        assert_eq!(report["rows"].as_array().unwrap().len(), 1, "{report}");
    }
}

#[test]
fn they_are_summed_with_those_of_claude_code_and_priced_by_the_configuration() {
    let sandbox = sandbox();
    two_sessions(&sandbox);
    write_rollout(&sandbox, "sessions/2026/11/15", "rollout.jsonl");
    assert_eq!(json_of(&sandbox, &[])["total"]["total_tokens"], json!(2_600_510 + 6_000));
    sandbox.write_config(r#"{ "models": { "gpt-5": { "input": 1000, "output": 10000, "cache_read": 100 } } }"#);
    let models = rows(&sandbox, &["--by", "model"]);
    let codex = models.iter().find(|(model, ..)| model == "gpt-5-codex").unwrap();
    // 1.8 for the input, 0.4 for what was read from the cache, 2 for the output.
    assert_eq!(*codex, ("gpt-5-codex".to_owned(), 6_000, Some(4.2)));
}
