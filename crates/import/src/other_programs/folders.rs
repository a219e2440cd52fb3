//! Finds the folder of a session of another program that stored only the name of the project.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use longhaul_core::SessionId;
use longhaul_store::Store;

use crate::transcripts::{sources, started_in};
use longhaul_runtime::Error;
use longhaul_runtime::handoff::Project;

/// What is known of sessions and projects.
pub(super) struct Folders {
    /// Claude Code's transcripts, by session.
    transcripts: HashMap<String, PathBuf>,
    /// Projects by name; `None` if several have that name.
    named: HashMap<String, Option<Project>>,
    /// Projects by folder, so that git files are read once for each.
    folders: HashMap<PathBuf, Project>,
}

impl Folders {
    /// Finds the transcripts in Claude Code's folder.
    pub(super) fn new(client_dir: Option<&Path>) -> Self {
        let found = client_dir.and_then(|dir| sources(&dir.join("projects")).ok()).unwrap_or_default();
        let stem = |path: &Path| SessionId::new(path.file_stem()?.to_str()?).map(|id| id.to_string());
        let transcripts = found.into_iter().filter_map(|source| Some((stem(&source.path)?, source.path))).collect();
        Self { transcripts, named: HashMap::new(), folders: HashMap::new() }
    }

    /// Returns whether the transcript of a session still exists.
    pub(super) fn has_transcript(&self, session: &SessionId) -> bool {
        self.transcripts.contains_key(session.as_str())
    }

    /// Returns the project of a session from Longhaul's database or its transcript, and records it by name.
    pub(super) fn of_session(
        &mut self,
        store: Option<&Store>,
        session: &SessionId,
        name: &str,
    ) -> Result<Option<Project>, Error> {
        let known = store.map_or(Ok(None), |store| store.session(session.as_str()))?;
        let project = match known {
            Some(known) => Some(Project { name: known.project, key: known.project_key, path: known.project_path }),
            None => {
                let transcript = self.transcripts.get(session.as_str());
                let folder = transcript.and_then(|path| started_in(path).ok().flatten());
                folder.map(|folder| self.in_folder(&folder))
            }
        };
        if let Some(project) = &project {
            let seen = self.named.entry(name.to_owned()).or_insert_with(|| Some(project.clone()));
            // Two projects have the same name, so that it identifies neither.
            if seen.as_ref().is_some_and(|seen| seen.key != project.key) {
                *seen = None;
            }
        }
        Ok(project)
    }

    /// Returns the only project with that name.
    pub(super) fn named(&self, name: &str) -> Option<Project> {
        self.named.get(name).cloned().flatten()
    }

    /// Returns the project in a folder.
    pub(super) fn in_folder(&mut self, folder: &Path) -> Project {
        self.folders.entry(folder.to_owned()).or_insert_with(|| Project::in_dir(folder)).clone()
    }

    /// Returns the project of a file with an absolute path, if one of its parent folders has the name.
    pub(super) fn of_file(&mut self, file: &str, name: &str) -> Option<Project> {
        let path = Path::new(file);
        // The name of a worktree may contain that of its repository.
        let leaf = name.rsplit('/').next().filter(|leaf| !leaf.is_empty())?;
        let mut above = path.is_absolute().then(|| path.ancestors().skip(1))?;
        let folder = above.find(|folder| folder.file_name().is_some_and(|name| name == leaf))?.to_owned();
        Some(self.in_folder(&folder))
    }
}
