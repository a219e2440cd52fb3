#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod change;
mod folder_modes;
mod left_out;
mod paths;
mod restore_command;
mod restore_plan;
mod retention;
mod summary;

pub use crate::change::{Change, Entry, ParseError, parse_changes};
pub use crate::folder_modes::{FolderChange, FolderModes};
pub use crate::left_out::{Candidate, FileKind, LeftOut, LeftOutReason, Limits, MAX_FILES, looks_secret};
pub use crate::paths::{ancestors, decoded_path, encoded_path, is_below, is_selected, names_git, shown_path};
pub use crate::restore_command::{
    RESTORE_DISABLED, RESTORE_IN_BACKGROUND, RESTORE_IN_TERMINAL, RESTORE_USAGE, restore_arguments, restore_command,
    rewind_message,
};
pub use crate::restore_plan::{Disk, KeptReason, OnDisk, Refusal, RestorePlan, Step, StepKind};
pub use crate::retention::{Kept, retention};
pub use crate::summary::{
    ChangeCount, bytes_text, count_changes, kept_line, left_out_line, plan_lines, plan_size, step_line,
};

#[cfg(test)]
mod tests;
