//! Finds projects in the memory by name.

use std::path::Path;

use longhaul_store::{KnownProject, Store, StoreError};

use crate::handoff::Project;

/// Why no project was found.
#[derive(Debug, thiserror::Error)]
pub enum NamedError {
    #[error("no project {0:?} is remembered")]
    Unknown(String),
    #[error("several projects are named {name:?}")]
    Several { name: String, folders: Vec<String> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Finds a project by its key, by `folder`, which is `name` as a path, or by its name.
pub fn named_project(store: &Store, name: &str, folder: Option<&Path>) -> Result<KnownProject, NamedError> {
    let mut known = store.projects()?;
    let of_key = |key: &str| known.iter().position(|project| project.key == key);
    if let Some(at) = of_key(name).or_else(|| of_key(&Project::in_dir(folder?).key)) {
        return Ok(known.swap_remove(at));
    }
    known.retain(|project| project.name == name);
    if known.len() > 1 {
        let folders = known.iter().map(|project| folder_of(&project.key)).collect();
        return Err(NamedError::Several { name: name.to_owned(), folders });
    }
    known.pop().ok_or_else(|| NamedError::Unknown(name.to_owned()))
}

pub fn folder_of(key: &str) -> String {
    let path = Path::new(key);
    let folder = if path.file_name().is_some_and(|name| name == ".git") { path.parent() } else { None };
    folder.unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use longhaul_core::{Millis, SessionId};
    use tempfile::TempDir;

    use super::{NamedError, folder_of, named_project};
    use crate::handoff::Project;
    use longhaul_store::Store;

    #[test]
    fn a_project_is_known_by_key_folder_or_name() {
        let dir = TempDir::new().unwrap();
        let store = Store::open(&dir.path().join("longhaul.db"), Duration::from_secs(5)).unwrap();
        let folders = ["one/shop", "two/shop", "two/site"].map(|folder| dir.path().join(folder));
        for (number, folder) in folders.iter().enumerate() {
            std::fs::create_dir_all(folder).unwrap();
            let id = SessionId::new(&format!("s{number}")).unwrap();
            store.register_session(&Project::in_dir(folder).session(&id, Millis(1))).unwrap();
        }
        let key = |folder| Project::in_dir(folder).key;
        assert_eq!(named_project(&store, "site", None).unwrap().key, key(&folders[2]));
        assert_eq!(named_project(&store, &key(&folders[0]), None).unwrap().key, key(&folders[0]));
        let roundabout = folders[0].join("../shop");
        assert_eq!(named_project(&store, "./shop", Some(&roundabout)).unwrap().key, key(&folders[0]));
        let several = named_project(&store, "shop", None);
        assert!(matches!(several, Err(NamedError::Several { folders, .. }) if folders.len() == 2));
        let unknown = named_project(&store, "nowhere", Some(&dir.path().join("nowhere")));
        assert!(matches!(unknown, Err(NamedError::Unknown(name)) if name == "nowhere"));
    }

    #[test]
    fn a_repository_is_where_its_work_tree_is() {
        assert_eq!([folder_of("/w/api/.git"), folder_of("/w/api")], ["/w/api", "/w/api"]);
    }
}
