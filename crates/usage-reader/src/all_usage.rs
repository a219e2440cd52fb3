//! The usage of many transcripts.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use longhaul_cost::{Ledger, ProjectIndex, UsageLine};
use longhaul_runtime::handoff::Project;
use longhaul_runtime::memory::folder_of;

use crate::followed_file::FollowedFile;
use crate::usage_files::UsageFile;

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

/// A file that was read.
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
