//! Reads the usage that transcripts report, those of subagents too. What it costs is decided in `cost`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use longhaul_core::{Env, Millis};
use longhaul_cost::{Ledger, Prices, ProjectIndex, RolloutUsage, Sum, UsageLine, UsageScanner};

use crate::handoff::Project;
use crate::memory::folder_of;
use crate::{TranscriptFile, files, transcript_place};

/// The maximum depth below a folder of transcripts. Claude Code's own are at most four deep:
/// `PROJECT/SESSION/subagents/agent-ID.jsonl`.
const DEEPEST: usize = 8;

/// A transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageFile {
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
fn is_rollout(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"rollout"))
}

/// Returns whether a transcript is compressed. Only Codex does that.
fn is_packed(path: &Path) -> bool {
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

/// How far a transcript was read.
#[derive(Debug)]
struct FollowedFile {
    offset: u64,
    scanner: UsageScanner,
    /// What is known from the lines of a rollout; `None` for a transcript of Claude Code.
    rollout: Option<RolloutUsage>,
    is_packed: bool,
}

impl FollowedFile {
    /// Returns a file of which nothing was read.
    pub(crate) fn new(path: &Path) -> Self {
        let rollout = is_rollout(path).then(RolloutUsage::default);
        let scanner = if rollout.is_some() { UsageScanner::for_rollouts() } else { UsageScanner::default() };
        Self { offset: 0, scanner, rollout, is_packed: is_packed(path) }
    }

    fn is_rollout(&self) -> bool {
        self.rollout.is_some()
    }

    /// Returns whether a file of this length is shorter than what was read, so that it is another file.
    fn has_shrunk_to(&self, length: u64) -> bool {
        length < self.offset
    }

    /// Returns whether a file of this length was read completely.
    fn is_read_to(&self, length: u64) -> bool {
        length <= self.offset
    }

    /// Reads what was added since the last call, up to this length. Calls `found` with every complete line with usage.
    ///
    /// A compressed file that has changed is read from its beginning: its requests are recognised.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        length: u64,
        piece: &mut [u8],
        mut found: impl FnMut(UsageLine<'_>),
    ) -> io::Result<()> {
        if self.is_read_to(length) {
            return Ok(());
        }
        let mut content = TranscriptFile::open(path)?;
        let most = if self.is_packed {
            *self = Self::new(path);
            u64::MAX
        } else {
            content.go_to(self.offset)?;
            length - self.offset
        };
        let mut content = content.take(most);
        loop {
            match content.read(piece) {
                Ok(0) => break,
                Ok(read) => {
                    self.offset += if self.is_packed { 0 } else { read as u64 };
                    let Self { scanner, rollout, .. } = self;
                    scanner.feed(&piece[..read], |line| take(rollout, line, &mut found));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.is_packed {
            self.offset = length;
        }
        Ok(())
    }

    /// Ends the file: calls `found` with the last line if it has no line break. Nothing can be read after that.
    fn finish(&mut self, mut found: impl FnMut(UsageLine<'_>)) {
        let Self { scanner, rollout, .. } = self;
        scanner.finish(|line| take(rollout, line, &mut found));
    }

    /// Returns the number of lines that were too long.
    fn skipped(&self) -> u64 {
        self.scanner.skipped()
    }
}

/// Parses a line, and passes on what it reports.
fn take(rollout: &mut Option<RolloutUsage>, line: &[u8], found: &mut impl FnMut(UsageLine<'_>)) {
    match rollout {
        Some(rollout) => rollout.line(line).into_iter().for_each(found),
        None => UsageLine::parse(line).into_iter().for_each(found),
    }
}

/// Number of bytes that are read at a time.
const PIECE: usize = 1 << 20;

/// Reads transcripts into a ledger. The memory does not depend on their size, only on the number of requests.
#[derive(Debug, Default)]
pub struct AllUsage {
    /// The requests.
    pub ledger: Ledger,
    /// The transcripts that could not be read, with the reasons.
    pub failed: Vec<(PathBuf, io::Error)>,
    files: HashMap<PathBuf, ReadFile>,
    projects: HashMap<String, ProjectIndex>,
}

#[derive(Debug)]
struct ReadFile {
    content: FollowedFile,
    /// The project of its first request. All requests of a file belong to the project in which its session was started.
    project: Option<ProjectIndex>,
}

impl ReadFile {
    fn new(path: &Path) -> Self {
        Self { content: FollowedFile::new(path), project: None }
    }
}

impl AllUsage {
    /// Reads transcripts to their end, in this order.
    pub fn read(files: &[UsageFile]) -> Self {
        let mut usage = Self::default();
        usage.update(files);
        for file in files {
            let mut read = usage.files.remove(&file.path).unwrap_or_else(|| ReadFile::new(&file.path));
            read.content.finish(|line| usage.count(&line, &file.path, &mut read.project));
            usage.files.insert(file.path.clone(), read);
        }
        usage
    }

    /// Reads what was added to the transcripts since the last call, and new ones.
    ///
    /// Begins again if one was deleted or has become shorter. The last line counts when it is complete.
    pub fn update(&mut self, files: &[UsageFile]) {
        let there: HashSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        let has_shrunk =
            |file: &UsageFile| self.files.get(&file.path).is_some_and(|read| read.content.has_shrunk_to(file.bytes));
        if self.files.keys().any(|path| !there.contains(path.as_path())) || files.iter().any(has_shrunk) {
            *self = Self::default();
        }
        self.failed.clear();
        let mut piece = vec![0; PIECE];
        for file in files {
            let mut read = self.files.remove(&file.path).unwrap_or_else(|| ReadFile::new(&file.path));
            let ReadFile { content, project } = &mut read;
            let result =
                content.read(&file.path, file.bytes, &mut piece, |line| self.count(&line, &file.path, project));
            if let Err(error) = result {
                self.failed.push((file.path.clone(), error));
            }
            self.files.insert(file.path.clone(), read);
        }
    }

    /// Returns the number of lines that are too long, and were skipped.
    pub fn skipped_lines(&self) -> u64 {
        self.files.values().map(|file| file.content.skipped()).sum()
    }

    fn count(&mut self, line: &UsageLine<'_>, path: &Path, project: &mut Option<ProjectIndex>) {
        let project = *project.get_or_insert_with(|| self.project(line.folder.as_deref(), path));
        let session = path.file_stem().unwrap_or_default().to_string_lossy();
        self.ledger.add(line, &session, project);
    }

    /// Returns the project of a folder, or of a transcript that names none.
    fn project(&mut self, folder: Option<&str>, path: &Path) -> ProjectIndex {
        let Some(folder) = folder.filter(|folder| folder.starts_with('/')) else {
            let name = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            return self.ledger.project(&name, &name);
        };
        if let Some(project) = self.projects.get(folder) {
            return *project;
        }
        let key = Project::in_dir(Path::new(folder)).key;
        let root = folder_of(&key);
        let name = Path::new(&root).file_name().map_or_else(|| root.clone(), |name| name.to_string_lossy().into());
        let project = self.ledger.project(&key, &name);
        self.projects.insert(folder.to_owned(), project);
        project
    }
}

/// Number of bytes that are read at a time.
const SESSION_PIECE: usize = 256 * 1024;

/// The tokens and the cost of running sessions. Reads only what was added to a transcript since the last call.
#[derive(Debug, Default)]
pub struct SessionCosts {
    sessions: HashMap<PathBuf, FollowedSession>,
}

/// A session whose transcripts are read as they grow.
#[derive(Debug, Default)]
struct FollowedSession {
    ledger: Ledger,
    files: HashMap<PathBuf, FollowedFile>,
}

impl SessionCosts {
    /// Returns the tokens and the cost of a session so far, with those of its subagents.
    ///
    /// `transcript` is the path of the session's transcript. Claude Code names it by the session's id. Requests that a forked
    /// session has copied belong to the original session. What cannot be read counts nothing, and is tried again
    /// at the next call. The first call reads the whole transcript; later ones cost a look at the size of each file.
    pub fn of(&mut self, transcript: &Path, prices: &Prices) -> Sum {
        let session = transcript.file_stem().unwrap_or_default().to_string_lossy();
        let followed = self.sessions.entry(transcript.to_owned()).or_default();
        let length = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        // Codex compresses a rollout that was not changed for a while.
        let place = transcript_place(transcript).unwrap_or_else(|| transcript.to_owned());
        let subagents = usage_files(&[transcript.with_extension("")]).into_iter().map(|file| (file.path, file.bytes));
        let files: Vec<(PathBuf, u64)> = std::iter::once((place.clone(), length(&place))).chain(subagents).collect();
        followed.read(&files, &session);
        followed.ledger.session(&session, prices)
    }

    /// Forgets every session but those with these transcripts.
    pub fn keep_only(&mut self, transcripts: &[&Path]) {
        self.sessions.retain(|transcript, _| transcripts.contains(&transcript.as_path()));
    }
}

impl FollowedSession {
    fn read(&mut self, files: &[(PathBuf, u64)], session: &str) {
        let has_shrunk =
            |(path, length): &(PathBuf, u64)| self.files.get(path).is_some_and(|file| file.has_shrunk_to(*length));
        if files.iter().any(has_shrunk) {
            *self = Self::default();
        }
        let Self { ledger, files: followed } = self;
        let project = ledger.project("", "");
        let mut piece = Vec::new();
        for (path, length) in files {
            let file = followed.entry(path.clone()).or_insert_with(|| FollowedFile::new(path));
            let is_rollout = file.is_rollout();
            if file.is_read_to(*length) {
                continue;
            }
            piece.resize(SESSION_PIECE, 0);
            // After an error, the next call tries again.
            let _ = file.read(path, *length, &mut piece, |mut line| {
                // A rollout has one session, and its file has another name.
                if is_rollout {
                    line.session = None;
                }
                ledger.add(&line, session, project);
            });
        }
    }
}

#[cfg(test)]
mod tests;
