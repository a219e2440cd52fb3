//! Opens the memory for a command, and finds the project that the arguments name.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use longhaul_core::{Config, Env};
use longhaul_runtime::handoff::Project;
use longhaul_runtime::memory::{NamedError, empty_spools, is_private_now, named_project, take_in_all};
use longhaul_runtime::{Home, waiting_times};
use longhaul_store::{KnownProject, RecordId, Store, What};

use crate::cli::out;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ProjectFilter {
    /// Another project, by its name or a folder in it; by default the current one
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub(crate) project: Option<String>,
    /// All projects
    #[arg(long)]
    pub(crate) all: bool,
}

/// What a command needs to use the memory.
pub(crate) struct Memory<'a> {
    pub(crate) env: &'a Env,
    pub(crate) home: Home,
    pub(crate) config: Config,
    /// The folder in which the command runs.
    pub(crate) cwd: PathBuf,
}

impl<'a> Memory<'a> {
    pub(crate) fn of(env: &'a Env) -> Result<Self> {
        let (config, _) = longhaul_runtime::config(env)?;
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        Ok(Self { env, home: Home::of(env)?, config, cwd })
    }

    /// Opens the database to delete records, after emptying the spools, which may have copies of their text. An empty memory is
    /// an error.
    pub(crate) fn to_delete_from(&self) -> Result<Store> {
        let store = self.existing()?.context("the memory is empty")?;
        empty_spools(&store, &self.home, self.env)?;
        Ok(store)
    }

    /// Opens the database after storing what is in the spools; `None` if there is nothing yet.
    pub(crate) fn existing(&self) -> Result<Option<Store>> {
        // Hooks on the hot path write to the spool only, so there may be a spool without a database.
        let has_spools = std::fs::read_dir(self.home.spool()).is_ok_and(|mut spools| spools.next().is_some());
        let store = match self.home.existing_store()? {
            Some(store) => store,
            None if has_spools => self.home.store(waiting_times::DATABASE)?,
            None => return Ok(None),
        };
        for problem in take_in_all(&store, &self.home, self.env, None) {
            out::message(&format!("longhaul: {}", problem.chain()));
        }
        Ok(Some(store))
    }

    /// Removes the handoff files of the sessions that `of` accepts.
    pub(crate) fn remove_handoffs(&self, of: impl Fn(&str) -> bool) {
        for entry in std::fs::read_dir(self.home.handoffs()).into_iter().flatten().flatten() {
            if entry.path().file_stem().is_some_and(|session| of(&session.to_string_lossy())) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Fails in a private turn, of which nothing may be stored.
    pub(crate) fn must_be_public(&self) -> Result<()> {
        if is_private_now(self.env, &self.home) {
            bail!("this turn is private: nothing of it is stored")
        }
        Ok(())
    }

    /// Opens the database, and creates it if necessary.
    pub(crate) fn store(&self) -> Result<Store> {
        match self.existing()? {
            Some(store) => Ok(store),
            None => Ok(self.home.store(waiting_times::DATABASE)?),
        }
    }

    pub(crate) fn must_be_on(&self) -> Result<()> {
        if self.config.memory.enabled {
            return Ok(());
        }
        bail!("the memory is disabled: set memory.enabled to true in the configuration")
    }

    /// Returns the project in which the command runs.
    pub(crate) fn here(&self) -> Project {
        Project::of(self.env, Some(&self.cwd))
    }

    /// Returns the key of the selected project; `None` for all projects.
    pub(crate) fn key(&self, store: &Store, projects: &ProjectFilter) -> Result<Option<String>> {
        match &projects.project {
            Some(name) => Ok(Some(self.named(store, name)?.key)),
            None if projects.all => Ok(None),
            None => Ok(Some(self.here().key)),
        }
    }

    /// Finds a project by its name, its key, or a folder in it.
    pub(crate) fn named(&self, store: &Store, name: &str) -> Result<KnownProject> {
        let folder = name.contains('/').then(|| self.cwd.join(name));
        named_project(store, name, folder.as_deref()).map_err(|error| match &error {
            NamedError::Unknown(_) => anyhow!("{error}: `longhaul memory stats` lists the known projects"),
            NamedError::Several { folders, .. } => {
                anyhow!("{error}: name one by its folder, {}", folders.join(" or "))
            }
            NamedError::Store(_) => error.into(),
        })
    }
}

/// Parses an id. A number alone is an observation.
pub(crate) fn parse_id(text: &str) -> Result<RecordId> {
    let record = RecordId::parse(text, What::Observation);
    record.with_context(|| format!("{text:?} is not the id of a record: {}", RecordId::EXAMPLES))
}

/// Returns the message that a record does not exist.
pub(crate) fn unknown_record(record: RecordId) -> String {
    format!("there is no record {record}: it was deleted or never existed; `longhaul memory search` lists records")
}

/// Returns the ids without duplicates, in their order. `O1` and `1` are the same.
pub(crate) fn distinct(ids: impl IntoIterator<Item = RecordId>) -> Vec<RecordId> {
    let mut distinct = Vec::new();
    for id in ids {
        if !distinct.contains(&id) {
            distinct.push(id);
        }
    }
    distinct
}
