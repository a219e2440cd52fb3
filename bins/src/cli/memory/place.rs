//! Whose memory is meant, and where it is.

use std::path::PathBuf;
use std::time::Duration;

use crate::cli::out;
use anyhow::{Result, anyhow, bail};
use longhaul_core::{Config, Env};
use longhaul_runtime::Home;
use longhaul_runtime::handoff::Project;
use longhaul_runtime::memory::{NamedError, empty_spools, is_private_now, named_project, take_in_all};
use longhaul_store::{KnownProject, Store};

/// How long to wait for others' writes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which projects are meant.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Whose {
    /// The project of this name, or in this folder, instead of the one here
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub(crate) project: Option<String>,
    /// Every project
    #[arg(long)]
    pub(crate) all: bool,
}

/// The memory of this user, as a command sees it.
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

    /// Opens what there is, with everything that hooks have noted; `None` where there is nothing yet.
    pub(crate) fn existing(&self) -> Result<Option<Store>> {
        // Hooks on the hot path write to the spool only, and may have been the only ones so far.
        let has_notes = std::fs::read_dir(self.home.spool()).is_ok_and(|mut notes| notes.next().is_some());
        let store = match self.home.existing_store()? {
            Some(store) => store,
            None if has_notes => self.home.store(PATIENCE)?,
            None => return Ok(None),
        };
        for problem in take_in_all(&store, &self.home, self.env, None) {
            out::message(&format!("longhaul: {}", problem.chain()));
        }
        Ok(Some(store))
    }

    /// Leaves nothing in the spools: what is to be forgotten may lie there, too.
    pub(crate) fn empty_spools(&self, store: &Store) -> Result<()> {
        Ok(empty_spools(store, &self.home, self.env)?)
    }

    /// Removes the handoffs that sessions have left as files.
    pub(crate) fn remove_handoffs(&self, of: impl Fn(&str) -> bool) {
        for entry in std::fs::read_dir(self.home.handoffs()).into_iter().flatten().flatten() {
            if entry.path().file_stem().is_some_and(|session| of(&session.to_string_lossy())) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Refuses in a turn of which nothing may be kept.
    pub(crate) fn must_be_public(&self) -> Result<()> {
        if is_private_now(self.env, &self.home) {
            bail!("this turn is private: nothing of it is kept")
        }
        Ok(())
    }

    /// Opens the memory to write to it.
    pub(crate) fn store(&self) -> Result<Store> {
        match self.existing()? {
            Some(store) => Ok(store),
            None => Ok(self.home.store(PATIENCE)?),
        }
    }

    /// Refuses where the user has switched memory off.
    pub(crate) fn must_be_on(&self) -> Result<()> {
        if self.config.memory.enabled {
            return Ok(());
        }
        bail!("memory is switched off: set memory.enabled to true in the config")
    }

    /// Returns the project in which the command runs.
    pub(crate) fn here(&self) -> Project {
        Project::of(self.env, Some(&self.cwd))
    }

    /// Returns the key of the project that is meant; `None` for every project.
    pub(crate) fn key(&self, store: &Store, whose: &Whose) -> Result<Option<String>> {
        match &whose.project {
            Some(name) => Ok(Some(self.named(store, name)?.key)),
            None if whose.all => Ok(None),
            None => Ok(Some(self.here().key)),
        }
    }

    /// Finds a project by its name, its key, or a folder in it.
    pub(crate) fn named(&self, store: &Store, name: &str) -> Result<KnownProject> {
        let folder = name.contains('/').then(|| self.cwd.join(name));
        named_project(store, name, folder.as_deref()).map_err(|error| match &error {
            NamedError::Unknown(_) => anyhow!("{error}: `longhaul memory stats` lists those that are"),
            NamedError::Several { folders, .. } => {
                anyhow!("{error}: name one by its folder, {}", folders.join(" or "))
            }
            NamedError::Store(_) => error.into(),
        })
    }
}
