//! The fuzz targets in fuzz/fuzz_targets, one for each parser, with their seeds.

/// A target.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Its initial inputs.
    pub(crate) seeds: Seeds,
}

/// The initial inputs of a target.
pub(crate) enum Seeds {
    /// Recorded files, by their folders in tests and their extension.
    Recorded(&'static [&'static str], &'static str),
    /// Literal texts.
    Written(&'static [&'static str]),
}

const CONFIG: &str = r#"{"bookmarks":{"thresholds":{"min_tokens":100}},"continuation":{"enabled":true,"at":1000}}"#;

/// Every target, sorted by name.
pub(crate) const TARGETS: [Target; 13] = [
    written(
        "activity_log",
        &["S 1000 idle\nP 1000\nT 1000 4\nA 1000 2\nI 1000\nG 1000\nC 1000\nB 1000\nS 1000 completed\n"],
    ),
    recorded("agent_payload", &["payloads/gemini", "payloads/opencode", "payloads/qwen"], "json"),
    written("config", &[CONFIG, r#"{"guard":{"enabled":true},"memory":{"exclude":["/x"]}}"#]),
    written(
        "front_matter",
        &["Sure:\n```md\n---\ncontinue: true\nnonce: lh-1\nmood: [a, b]\n---\n# Task\nx\n# Remaining\n- [ ] y\n```\n"],
    ),
    written("json_text", &[CONFIG, "{ \"a\" :1.50e3 }\n", "{\n\t\"memory\": {\"\\u0062\":  1}, \"z\": 3\n}\n"]),
    written("moment", &["14:03", "2026-11-14T14:03:20", "yesterday 14:00-14:30", "turn 12", "#12", "0d6a98de"]),
    recorded("payload", &["payloads", "payloads/codex", "payloads/foreign"], "json"),
    written(
        "query",
        &[r#"parser "cut in two" -unicode file:src kind:problem project:x since:2026-01-31 before:2026-02-01"#],
    ),
    recorded("rollout", &["codex"], "jsonl"),
    recorded("screen", &["screens"], "ansi"),
    written(
        "spool",
        &[r#"{"tool_use_id":"t","tool":"Bash","input":"{\"command\":\"ls\"}","response":"{\"stdout\":\"a\"}","at":1}"#],
    ),
    recorded("tags", &["payloads"], "json"),
    recorded("transcript", &["transcripts"], "jsonl"),
];

const fn recorded(name: &'static str, folders: &'static [&'static str], extension: &'static str) -> Target {
    Target { name, seeds: Seeds::Recorded(folders, extension) }
}

const fn written(name: &'static str, texts: &'static [&'static str]) -> Target {
    Target { name, seeds: Seeds::Written(texts) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Seeds, TARGETS};

    #[test]
    fn every_folder_of_payloads_is_a_seed() {
        let payloads = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/payloads");
        let entries = fs::read_dir(payloads).unwrap().flatten().filter(|entry| entry.path().is_dir());
        for name in entries.map(|entry| entry.file_name().into_string().unwrap()) {
            let folder = format!("payloads/{name}");
            let is_seed = |seeds: &Seeds| matches!(seeds, Seeds::Recorded(folders, _) if folders.contains(&&*folder));
            assert!(TARGETS.iter().any(|target| is_seed(&target.seeds)), "{folder}");
        }
    }

    #[test]
    fn every_target_is_run_and_compiled() {
        let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
        let files = fs::read_dir(fuzz.join("fuzz_targets")).unwrap().flatten();
        let mut found: Vec<String> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
        found.sort();
        let names = TARGETS.map(|target| target.name);
        assert_eq!(found, names.map(|name| format!("{name}.rs")));
        let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
        let bins: Vec<&str> = manifest.split("[[bin]]\n").skip(1).filter_map(|bin| bin.lines().next()).collect();
        assert_eq!(bins, names.map(|name| format!("name = \"{name}\"")));
    }
}
