//! What fuzzing begins with: what the tests have recorded.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::TARGETS;
use crate::workspace::Workspace;

/// Fills fuzz/corpus from the recordings in tests; what fuzzing has added there stays.
pub(crate) fn make(workspace: &Workspace) -> Result<()> {
    for target in TARGETS {
        let folder = workspace.root.join("fuzz/corpus").join(target);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for (number, text) in texts(&workspace.root, target)?.into_iter().enumerate() {
            let path = folder.join(format!("recorded-{number}"));
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

fn texts(root: &Path, target: &str) -> Result<Vec<Vec<u8>>> {
    let own = |texts: &[&str]| Ok(texts.iter().map(|text| text.as_bytes().to_vec()).collect());
    match target {
        "payload" | "tags" => recorded(&root.join("tests/payloads"), "json"),
        "transcript" => recorded(&root.join("tests/transcripts"), "jsonl"),
        "screen" => recorded(&root.join("tests/screens"), "ansi"),
        "activity_log" => {
            own(&["S 1000 idle\nP 1000\nT 1000 4\nA 1000 2\nI 1000\nG 1000\nC 1000\nB 1000\nS 1000 completed\n"])
        }
        "config" => {
            own(&[r#"{"bookmarks":{"thresholds":{"minTokens":100}},"continuation":{"enabled":true,"at":1000}}"#])
        }
        "front_matter" => own(&[
            "Sure:\n```md\n---\ncontinue: true\nnonce: lh-1\nmood: [a, b]\n---\n# Task\nx\n# Remaining\n- [ ] y\n```\n",
        ]),
        "query" => {
            own(&[r#"parser "cut in two" -unicode file:src kind:problem project:x since:2026-01-31 before:2026-02-01"#])
        }
        _ => own(&[
            r#"{"tool_use_id":"t","tool":"Bash","input":"{\"command\":\"ls\"}","response":"{\"stdout\":\"a\"}","at":1}"#,
        ]),
    }
}

/// Returns every recording of that kind in `folder`, in the order of their names.
pub(crate) fn recorded(folder: &Path, extension: &str) -> Result<Vec<Vec<u8>>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths.iter().map(|path| fs::read(path).with_context(|| format!("cannot read {}", path.display()))).collect()
}
