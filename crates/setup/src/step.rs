//! One thing that is done, as data: planned, shown, and then done.

use std::fmt;
use std::path::{Path, PathBuf};

use longhaul_runtime::shared_file::Backup;

use crate::bundle::Bundle;
use crate::client::{self, Plugin};
use crate::codex;
use crate::keybindings;
use crate::manifest::Manifest;
use crate::settings::{self, Refusal};
use crate::tmux_conf;

/// A change of a file that belongs to somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Our hooks into settings.json, their executables in this folder.
    AddHooks(PathBuf),
    /// Our hooks out of it.
    RemoveHooks,
    /// Our status line into it, run as this word of a shell.
    AddStatusLine(&'static str),
    /// The status line as it was.
    RemoveStatusLine,
    /// Members away that the client has left behind empty; and the file, where it held nothing else.
    RemoveEmpty(Vec<String>, WhenEmpty),
    /// Our chords into keybindings.json.
    AddChords,
    /// Our chords out of it; and the file, where it was not there.
    RemoveChords {
        /// The text of the file before us.
        before: Option<String>,
        /// The chords that were added, where that is recorded.
        added: Option<Vec<String>>,
    },
    /// Our line into tmux.conf.
    AddTmuxLine,
    /// Our line out of it.
    RemoveTmuxLine,
    /// Our hooks into Codex's hooks.json, which start this program.
    AddCodexHooks(PathBuf),
    /// Our hooks out of it; and the file, where it held nothing else.
    RemoveCodexHooks,
    /// Our skill.
    AddSkill,
    /// Our skill away.
    RemoveSkill,
}

/// What becomes of a file in which nothing is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenEmpty {
    /// It was there before us.
    Keep,
    /// It was not.
    Remove,
}

impl Edit {
    /// Returns whether the file is kept as it was.
    pub(crate) fn backup(&self) -> Backup {
        match self {
            Self::AddHooks(_) | Self::AddStatusLine(_) | Self::AddChords | Self::AddTmuxLine => Backup::Keep,
            // Taking ours out again leaves what was there, to the byte; or what is taken out is all ours.
            Self::AddCodexHooks(_) | Self::RemoveCodexHooks | Self::AddSkill | Self::RemoveSkill => Backup::None,
            Self::RemoveHooks | Self::RemoveStatusLine | Self::RemoveChords { .. } => Backup::None,
            Self::RemoveEmpty(..) | Self::RemoveTmuxLine => Backup::None,
        }
    }

    /// Returns what becomes of a file's text, `None` where nothing does; an empty text stands for no file.
    pub fn apply(&self, text: Option<&str>) -> Result<Option<String>, Refusal> {
        let old = text.unwrap_or_default();
        match self {
            Self::AddHooks(bin) => settings::with_hooks(text, bin),
            Self::AddStatusLine(program) => settings::with_status_line(text, program),
            Self::AddChords => keybindings::with_chords(text),
            Self::AddTmuxLine => Ok(tmux_conf::with_line(text)),
            Self::AddCodexHooks(program) => codex::with_hooks(text, program),
            Self::AddSkill => codex::with_skill(text),
            // What is not there has nothing of ours in it.
            _ if old.trim().is_empty() => Ok(None),
            Self::RemoveHooks => settings::without_hooks(old),
            Self::RemoveStatusLine => settings::without_status_line(old),
            Self::RemoveChords { before, added } => {
                keybindings::without_chords(old, before.as_deref(), added.as_deref())
            }
            Self::RemoveTmuxLine => Ok(tmux_conf::without_line(old)),
            Self::RemoveCodexHooks => codex::without_hooks(old),
            Self::RemoveSkill => Ok(codex::without_skill(old)),
            Self::RemoveEmpty(names, when_empty) => {
                let left = settings::without_empty(old, names)?;
                let kept = |left: String| match when_empty {
                    // It was there before, with nothing in it.
                    WhenEmpty::Keep if left.is_empty() => (!settings::names(old).is_empty()).then(|| "{}\n".to_owned()),
                    WhenEmpty::Keep | WhenEmpty::Remove => Some(left),
                };
                Ok(left.and_then(kept))
            }
        }
    }
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Copies a bundle to its place.
    Copy { bundle: Bundle, to: PathBuf },
    /// Writes down what is installed.
    Record(PathBuf, Manifest),
    /// Makes a link, or turns one of ours.
    Link { link: PathBuf, to: PathBuf },
    /// Runs the client in a folder.
    Client { arguments: Vec<String>, dir: PathBuf },
    /// Changes a file of somebody's.
    Edit(PathBuf, Edit),
    /// Shows the counts in the tmux server that this runs in.
    SetUpTmux,
    /// Leaves the tmux server that this runs in as it was.
    TearDownTmux,
    /// Ends the worker, which is of another version or not to be any more.
    StopWorker,
    /// Removes a file, a link or a folder with all that is in it.
    Remove(PathBuf),
    /// Removes a folder if nothing is in it.
    RemoveIfEmpty(PathBuf),
}

impl Step {
    /// Returns a step of the client's.
    pub(crate) fn client<const N: usize>(arguments: [&str; N]) -> Self {
        Self::Client { arguments: arguments.map(str::to_owned).to_vec(), dir: client::ROOT.into() }
    }

    /// Returns the step that takes a plugin from the client, which knows one of a project in that project's folder only.
    pub(crate) fn uninstall(plugin: &Plugin) -> Self {
        let arguments = ["plugin", "uninstall", &plugin.id, "--scope", &plugin.scope].map(str::to_owned).to_vec();
        Self::Client { arguments, dir: plugin.project_path.clone().unwrap_or_else(|| client::ROOT.into()) }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |path: &Path| path.display().to_string();
        match self {
            Self::Copy { bundle, to } => {
                write!(f, "copy {} {} to {}", crate::PLUGIN, bundle.version, show(to))
            }
            Self::Record(path, _) => write!(f, "note in {} what is installed", show(path)),
            Self::Link { link, to } => write!(f, "link {} to {}", show(link), show(to)),
            Self::Client { arguments, dir } if dir == Path::new(client::ROOT) => {
                write!(f, "claude {}", arguments.join(" "))
            }
            Self::Client { arguments, dir } => write!(f, "claude {} in {}", arguments.join(" "), show(dir)),
            Self::Edit(path, edit) => {
                let what = match edit {
                    Edit::AddHooks(_) | Edit::AddCodexHooks(_) => "put our hooks into",
                    Edit::RemoveHooks | Edit::RemoveCodexHooks => "take our hooks out of",
                    Edit::AddStatusLine(_) => "put our status line into",
                    Edit::RemoveStatusLine => "put the status line back in",
                    Edit::RemoveEmpty(..) => "take what the client leaves behind empty out of",
                    Edit::AddChords => "bind a chord that submits, and one that stashes, in",
                    Edit::RemoveChords { .. } => "take our chords out of",
                    Edit::AddTmuxLine => "put our line into",
                    Edit::RemoveTmuxLine => "take our line out of",
                    Edit::AddSkill => "put our skill into",
                    Edit::RemoveSkill => "remove our skill",
                };
                write!(f, "{what} {}", show(path))
            }
            Self::SetUpTmux => write!(f, "show the sessions in this tmux server"),
            Self::TearDownTmux => write!(f, "leave this tmux server as it was"),
            Self::StopWorker => write!(f, "end the worker"),
            Self::Remove(path) => write!(f, "remove {}", show(path)),
            Self::RemoveIfEmpty(path) => write!(f, "remove {}, if it is empty", show(path)),
        }
    }
}
