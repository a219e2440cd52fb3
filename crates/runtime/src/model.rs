//! Access to a model (the user's API key, or Claude Code), and its cost.

mod status;

use std::path::{Path, PathBuf};

use longhaul_core::Millis;
use longhaul_core::clock::date_of;

pub use self::status::{ModelStatus, model_budget, model_status};
use crate::{Home, utc_offset_seconds};

/// The address of the API if `ANTHROPIC_BASE_URL` is not set.
const BASE_URL: &str = "https://api.anthropic.com";

/// The environment variables for models. They are not part of `Env`, which has a `Debug` form, because a key must never
/// be printed.
pub struct ModelAccess {
    /// `ANTHROPIC_API_KEY`.
    pub api_key: Option<String>,
    /// `ANTHROPIC_BASE_URL`.
    pub base_url: String,
    /// `LONGHAUL_EMBEDDINGS_KEY`, for an endpoint that requires one.
    pub embeddings_key: Option<String>,
    /// The executable of Claude Code: `CLAUDE_BIN`, or `claude` on the path.
    pub claude: String,
}

impl ModelAccess {
    /// Reads the environment of this process.
    #[expect(clippy::disallowed_methods, reason = "the environment is read here, in longhaul-runtime")]
    pub fn read() -> Self {
        let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            api_key: var("ANTHROPIC_API_KEY"),
            base_url: var("ANTHROPIC_BASE_URL").unwrap_or_else(|| BASE_URL.to_owned()),
            embeddings_key: var("LONGHAUL_EMBEDDINGS_KEY"),
            claude: var("CLAUDE_BIN").unwrap_or_else(|| "claude".to_owned()),
        }
    }
}

/// Returns the local date at `now`: the day whose token budget is used.
pub fn today(now: Millis) -> String {
    date_of(now, utc_offset_seconds(now)).to_string()
}

/// Returns the folder in which Claude Code is started to call a model. Its sessions there belong to no project.
pub fn model_dir(home: &Home) -> PathBuf {
    dir_in(home.dir())
}

/// Returns whether a session in `folder` was started only to call a model.
pub(crate) fn is_model_dir(data_dir: &Path, folder: &Path) -> bool {
    let own = dir_in(data_dir);
    // Claude Code reports the path with symbolic links resolved.
    folder.starts_with(&own) || std::fs::canonicalize(&own).is_ok_and(|own| folder.starts_with(own))
}

fn dir_in(data_dir: &Path) -> PathBuf {
    data_dir.join("model")
}
