use std::path::Path;

use crate::{Env, Millis, Platform, may_receive_secret};

fn env(vars: &[(&str, &str)]) -> Env {
    Env::new(Millis(5), Platform::Unix, |name| {
        vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn the_data_directory_is_found_in_order() {
    let dir = |vars: &[(&str, &str)]| env(vars).data_dir;
    let home = ("HOME", "/h");
    assert_eq!(dir(&[home]).as_deref(), Some(Path::new("/h/.local/share/longhaul")));
    assert_eq!(dir(&[home, ("XDG_DATA_HOME", "/x")]).as_deref(), Some(Path::new("/x/longhaul")));
    assert_eq!(dir(&[home, ("XDG_DATA_HOME", "/x"), ("LONGHAUL_HOME", "/l")]).as_deref(), Some(Path::new("/l")));
    assert_eq!(dir(&[home, ("XDG_DATA_HOME", "relative"), ("LONGHAUL_HOME", "")]), dir(&[home]));
    assert_eq!(dir(&[]), None);
}

#[test]
fn the_clock_can_be_fixed() {
    assert_eq!(env(&[]).now, Millis(5));
    assert_eq!(env(&[("LONGHAUL_NOW_MS", "77")]).now, Millis(77));
    assert_eq!(env(&[("LONGHAUL_NOW_MS", "soon")]).now, Millis(5));
}

#[test]
fn only_one_disables() {
    assert!(env(&[("LONGHAUL_DISABLE", "1")]).disabled);
    assert!(!env(&[("LONGHAUL_DISABLE", "0")]).disabled);
}

#[test]
fn only_one_switches_off() {
    for name in ["LONGHAUL_NO_REAP", "LONGHAUL_DISABLE_AUTO_HANDOFF"] {
        let is_set = |value: &str| {
            let env = env(&[(name, value)]);
            (env.no_reap, env.no_auto_handoff)
        };
        assert_eq!(is_set("1"), (name == "LONGHAUL_NO_REAP", name != "LONGHAUL_NO_REAP"));
        assert_eq!(is_set("true"), (false, false));
    }
}

#[test]
fn the_clients_folders_follow_their_variables() {
    let own = env(&[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/c"), ("CODEX_HOME", "/x"), ("LONGHAUL_CONFIG", "/f")]);
    assert_eq!(own.client_dir.as_deref(), Some(Path::new("/c")));
    assert_eq!(own.client_settings.as_deref(), Some(Path::new("/c/.claude.json")));
    assert_eq!(own.codex_dir.as_deref(), Some(Path::new("/x")));
    assert_eq!(own.config_path.as_deref(), Some(Path::new("/f")));
    let usual = env(&[("HOME", "/h")]);
    assert_eq!(
        (usual.client_config_dir.as_deref(), usual.client_dir.as_deref()),
        (None, Some(Path::new("/h/.claude")))
    );
    assert_eq!(usual.client_settings.as_deref(), Some(Path::new("/h/.claude.json")));
    assert_eq!(usual.codex_dir.as_deref(), Some(Path::new("/h/.codex")));
    assert_eq!(usual.config_path.as_deref(), Some(Path::new("/h/.local/share/longhaul/config.json")));
}

#[test]
fn a_width_of_nothing_is_unknown() {
    assert_eq!(["80", "0", "wide"].map(|columns| env(&[("COLUMNS", columns)]).columns), [Some(80), None, None]);
}

#[test]
fn secrets_go_over_tls_or_stay_on_this_machine() {
    for url in ["https://api.anthropic.com", "http://127.0.0.1:9", "http://localhost/x", "http://[::1]:8080"] {
        assert!(may_receive_secret(url), "{url}");
    }
    for url in ["http://example.org", "http://127.0.0.1.example.org", "http://localhost@example.org/", "ftp://x", ""] {
        assert!(!may_receive_secret(url), "{url}");
    }
}
