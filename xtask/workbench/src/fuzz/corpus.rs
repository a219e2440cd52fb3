//! The fuzzing corpus, made from the recordings of the tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xtask::workspace::Workspace;

use super::targets::{Seeds, TARGETS};

/// Maximum bytes of a seed with several lines: libFuzzer runs small inputs far more often than large ones.
const SEED: usize = 8 * 1024;

/// Fills fuzz/corpus from the recordings in tests; files that fuzzing has added there stay.
pub(crate) fn make(workspace: &Workspace) -> Result<()> {
    for target in TARGETS {
        let folder = workspace.root.join("fuzz/corpus").join(target.name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for (number, text) in texts(&workspace.root, &target.seeds)?.into_iter().enumerate() {
            let path = folder.join(format!("recorded-{number}"));
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

fn texts(root: &Path, seeds: &Seeds) -> Result<Vec<Vec<u8>>> {
    match seeds {
        Seeds::Written(texts) => Ok(texts.iter().map(|text| text.as_bytes().to_vec()).collect()),
        Seeds::Recorded(folders, extension) => {
            let mut texts = Vec::new();
            for folder in *folders {
                let recorded = recorded(&root.join("tests").join(folder), extension)?;
                texts.extend(recorded.iter().flat_map(|(_, text)| parts(text)));
            }
            Ok(texts)
        }
    }
}

/// Splits a recording into parts of whole lines.
fn parts(text: &[u8]) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = vec![Vec::new()];
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match parts.last_mut() {
            Some(part) if part.is_empty() || part.len() + line.len() <= SEED => part.extend(line),
            _ => parts.push(line.to_vec()),
        }
    }
    parts
}

/// Returns the name, without the extension, and the content of every file with that extension in `folder`, sorted by name.
pub(crate) fn recorded(folder: &Path, extension: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    let read = |path: &PathBuf| {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), text))
    };
    paths.iter().map(read).collect()
}
