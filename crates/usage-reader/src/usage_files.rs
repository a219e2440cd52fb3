//! Finds the transcripts, those of subagents too.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_core::{Env, Millis};
use longhaul_runtime::files;

/// The maximum depth below a folder of transcripts. Claude Code's own are at most four deep:
/// `PROJECT/SESSION/subagents/agent-ID.jsonl`.
const DEEPEST: usize = 8;

/// A transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageFile {
    /// Its path.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed.
    pub modified: Millis,
}

/// Returns the folders with the transcripts of Claude Code and Codex. They may not exist.
pub fn transcript_folders(env: &Env) -> Vec<PathBuf> {
    let claude = env.client_dir.iter().map(|dir| dir.join("projects"));
    let codex = env.codex_dir.iter().flat_map(|dir| [dir.join("sessions"), dir.join("archived_sessions")]);
    claude.chain(codex).collect()
}

/// Returns whether a transcript is one of Codex, by its name: `rollout-TIME-ID.jsonl`. Those of Claude Code are named by ids.
pub(crate) fn is_rollout(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"rollout"))
}

/// Returns whether a transcript is compressed. Only Codex does that.
pub(crate) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

fn is_transcript(path: &Path) -> bool {
    let is_plain = |path: &Path| path.extension().is_some_and(|extension| extension == "jsonl");
    is_plain(path) || (is_packed(path) && is_rollout(path) && is_plain(&path.with_extension("")))
}

/// Returns the transcripts in folders and their subfolders, the most recently changed last.
///
/// In this order, the transcript that a session was resumed or forked from comes before its copy. Symbolic links below
/// the folders are ignored: they could lead anywhere, and back. What cannot be read is left out.
pub fn usage_files(folders: &[PathBuf]) -> Vec<UsageFile> {
    let mut found = Vec::new();
    for folder in folders {
        add_folder(&mut found, folder, 0);
    }
    found.sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
    found
}

fn add_folder(found: &mut Vec<UsageFile>, folder: &Path, depth: usize) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEEPEST => add_folder(found, &path, depth + 1),
            Ok(kind) if kind.is_file() && is_transcript(&path) => {
                found.extend(entry.metadata().ok().map(|metadata| UsageFile {
                    path,
                    bytes: metadata.len(),
                    modified: metadata.modified().ok().and_then(files::since_epoch).unwrap_or_default(),
                }));
            }
            Ok(_) | Err(_) => {}
        }
    }
}
