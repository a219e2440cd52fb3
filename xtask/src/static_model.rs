//! The files of the static model, which `cargo xtask model` makes and a bundle includes.

use std::path::PathBuf;

use crate::workspace::Workspace;

/// The name of the model's file.
pub const FILE: &str = "static.lhvec";

/// The files beside it.
const BESIDE: [&str; 2] = ["LICENSE", "PROVENANCE.md"];

/// Returns the folder that the model is in after it has been made.
pub fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("model/made")
}

/// Returns the model's file, or `None` if no model has been made.
pub fn file(workspace: &Workspace) -> Option<PathBuf> {
    Some(folder(workspace).join(FILE)).filter(|path| path.is_file())
}

/// Returns every file that a bundle with a model includes; none if no model has been made.
pub fn files(workspace: &Workspace) -> Vec<PathBuf> {
    let Some(model) = file(workspace) else { return Vec::new() };
    let beside = BESIDE.map(|name| model.with_file_name(name)).into_iter().filter(|path| path.is_file());
    beside.chain([model.clone()]).collect()
}
