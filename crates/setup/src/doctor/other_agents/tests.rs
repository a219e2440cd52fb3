use super::{Trust, hooks_in, in_config};

const KEY: &str = "/home/dev/.codex/hooks.json:stop:0:0";

#[test]
fn config_names_the_whole_path_and_may_disable_a_hook() {
    let of = |header: &str, rest: &str| in_config(&format!("a = 1\n{header}\n{rest}\n[z]\nenabled = false\n"), KEY);
    let quoted = format!("[hooks.state.\"{KEY}\"]");
    assert_eq!(of(&quoted, "trusted_hash = \"sha256:1\""), Some(Trust::Trusted));
    assert_eq!(of(&format!("[hooks.state.'{KEY}'] # mine"), "trusted_hash = \"x\""), Some(Trust::Trusted));
    assert_eq!(of(&quoted, "trusted_hash = \"x\"\nenabled = false"), Some(Trust::Disabled));
    assert_eq!(of(&quoted, "# trusted_hash = \"x\""), Some(Trust::Untrusted));
    assert_eq!(of("[hooks.state.\"/other/hooks.json:stop:0:0\"]", "trusted_hash = \"x\""), None);
}

#[test]
fn codexs_own_answer_tells_a_changed_command_from_a_trusted_one() {
    let hook = |key: &str, status: &str, enabled: bool| serde_json::json!({ "key": key, "trustStatus": status, "enabled": enabled });
    let hooks = [hook("a", "trusted", true), hook("b", "modified", true), hook("c", "trusted", false)];
    let listed = hooks_in(&serde_json::json!({ "data": [{ "cwd": "/", "hooks": hooks }] })).unwrap();
    let found: Vec<(&str, Trust)> = listed.iter().map(|(key, trust)| (key.as_str(), *trust)).collect();
    assert_eq!(found, [("a", Trust::Trusted), ("b", Trust::Untrusted), ("c", Trust::Disabled)]);
    assert!(hooks_in(&serde_json::json!({ "error": 1 })).is_none());
}
