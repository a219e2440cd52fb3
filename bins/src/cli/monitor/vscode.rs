//! `--vscode-task`: the VS Code task that opens the monitor with the folder.

use std::path::Path;

use anyhow::{anyhow, bail};
use longhaul_core::Env;
use longhaul_core::json_text::{Item, JsonFile, List, NotEditable};
use longhaul_runtime::shared_file::{self, Backup, NewFile};
use serde_json::{Value, json};

use crate::cli::out;
use crate::cli::tmux::own_path;

/// The label by which the task is recognised.
const LABEL: &str = "Longhaul monitor";

const FOLDER: &str = ".vscode";

const FILE: &str = ".vscode/tasks.json";

/// The key of the list of tasks.
const TASKS: &str = "tasks";

/// Writes the task into the current folder.
pub(crate) fn run(env: &Env) -> anyhow::Result<()> {
    let exe = own_path(env)?;
    let task = task(&exe.to_string_lossy());
    for path in [FOLDER, FILE].map(Path::new) {
        // The folder may be hostile: a link could make this command change any file.
        if let Ok(target) = path.read_link() {
            let (path, target) = (path.display(), target.display());
            bail!(
                "{path} is a link to {target} and was not changed: replace the link by a file, or add the task by hand: {task}"
            );
        }
    }
    let refused = |refusal| anyhow!("{FILE} {refusal} and was not changed: add the task by hand: {task}");
    let is_new = shared_file::change(Path::new(FILE), (Backup::None, NewFile::Usual), |text| {
        merge(text, &task).map_err(refused)
    })?;
    let when = "when VS Code is allowed to run automatic tasks in it";
    out::message(&match is_new {
        true => format!("{FILE}: the task {LABEL:?} opens with this folder {when}."),
        false => format!("{FILE} already has the task {LABEL:?}."),
    });
    Ok(())
}

fn task(program: &str) -> Value {
    json!({
        "label": LABEL,
        "type": "process",
        "command": program,
        "args": ["monitor"],
        "isBackground": true,
        "problemMatcher": [],
        "presentation": { "reveal": "always", "focus": false, "panel": "dedicated", "echo": false },
        "runOptions": { "runOn": "folderOpen" },
    })
}

/// Why the file is not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("has comments or is not JSON")]
    NotJson,
    #[error("is not an object with a list of tasks")]
    NotTasks,
}

/// Returns the file with the task, or `None` if it has the task already.
///
/// Everything else stays as it is, byte for byte.
fn merge(existing: Option<&str>, task: &Value) -> Result<Option<String>, Refusal> {
    let mut file = JsonFile::parse(existing.unwrap_or_default()).map_err(|unfit| match unfit {
        NotEditable::NotJson => Refusal::NotJson,
        NotEditable::NotObject => Refusal::NotTasks,
    })?;
    // With two lists of tasks it is not clear which one VS Code uses.
    let mut list = match file.members.get(TASKS).map_err(|_| Refusal::NotTasks)? {
        Some(list) => List::parse(list).ok_or(Refusal::NotTasks)?,
        None => List::default(),
    };
    let new = file.style.write(task, 2);
    let parsed = |item: &Item| serde_json::from_str::<Value>(&item.text).unwrap_or_default();
    match list.items.iter_mut().find(|item| parsed(item)["label"] == LABEL) {
        Some(ours) if parsed(ours) == *task => return Ok(None),
        Some(ours) => ours.text = new,
        None => list.items.push(Item::new(new)),
    }
    if !file.members.names().any(|name| name == "version" || name == TASKS) {
        file.members.set("version", Value::from("2.0.0").to_string());
    }
    file.members.set(TASKS, list.write(&file.style, 1));
    Ok(Some(file.write()))
}

#[cfg(test)]
mod tests;
