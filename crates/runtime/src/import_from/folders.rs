//! Which folder a session of another program was in, where that kept only the project's name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use longhaul_core::SessionId;
use longhaul_store::Store;

use crate::Error;
use crate::handoff::Project;
use crate::memory::import::{sources, started_in};

/// What is known of sessions and projects.
pub(super) struct Folders {
    /// The client's own transcripts, by session.
    transcripts: HashMap<String, PathBuf>,
    /// Projects by name; `None` where several have it.
    named: HashMap<String, Option<Project>>,
    /// Projects by folder: git is asked once for each.
    folders: HashMap<PathBuf, Project>,
}

impl Folders {
    /// Looks at the transcripts in a folder of the client.
    pub(super) fn new(client_dir: Option<&Path>) -> Self {
        let found = client_dir.and_then(|dir| sources(&dir.join("projects")).ok()).unwrap_or_default();
        let stem = |path: &Path| SessionId::new(path.file_stem()?.to_str()?).map(|id| id.to_string());
        let transcripts = found.into_iter().filter_map(|source| Some((stem(&source.path)?, source.path))).collect();
        Self { transcripts, named: HashMap::new(), folders: HashMap::new() }
    }

    /// Returns whether the client still has a session's transcript.
    pub(super) fn has_transcript(&self, session: &SessionId) -> bool {
        self.transcripts.contains_key(session.as_str())
    }

    /// Returns the project of a session, by what we or the client know of it; notes it by its name.
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
            // Two projects of one name: neither is meant for certain.
            if seen.as_ref().is_some_and(|seen| seen.key != project.key) {
                *seen = None;
            }
        }
        Ok(project)
    }

    /// Returns the one project that is known by a name.
    pub(super) fn named(&self, name: &str) -> Option<Project> {
        self.named.get(name).cloned().flatten()
    }

    /// Returns the project in a folder.
    pub(super) fn in_folder(&mut self, folder: &Path) -> Project {
        self.folders.entry(folder.to_owned()).or_insert_with(|| Project::in_dir(folder)).clone()
    }

    /// Returns the project that a file with a whole path is in, if a folder on the way has the name.
    pub(super) fn of_file(&mut self, file: &str, name: &str) -> Option<Project> {
        let path = Path::new(file);
        // A worktree is named by its repository, too.
        let leaf = name.rsplit('/').next().filter(|leaf| !leaf.is_empty())?;
        let mut above = path.is_absolute().then(|| path.ancestors().skip(1))?;
        let folder = above.find(|folder| folder.file_name().is_some_and(|name| name == leaf))?.to_owned();
        Some(self.in_folder(&folder))
    }
}
